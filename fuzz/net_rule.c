/*
 * Small sets of rules, made of the input, over a world that is small enough to ask about all of it: each decision is the one of a slow
 * reference, which knows nothing of the code, and what is said to be narrower allows nothing more. A set is within itself.
 */
#include "net/rule.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* ---- the world ---- */

static const char *const patterns[] = { "a", "b.a", "*.a", "*.b.a", "c.b.a", "*", "*.c.b.a", "z" };
static const char *const names[] = { "a", "b.a", "c.b.a", "d.b.a", "d.c.b.a", "z", "ba", "x-a" };
static const char *const prefixes[] = { "0.0.0.0/0", "10.0.0.0/8",    "10.1.0.0/16", "192.0.2.0/24", "192.0.2.7",
					"::/0",      "2001:db8::/32", "fc00::/7",    "8.0.0.0/5" };
static const char *const literals[] = { "192.0.2.7",   "192.0.2.8", "10.1.2.3", "10.2.3.4",         "8.8.8.8",
					"2001:db8::1", "fd00::1",   "::1",      "::ffff:192.0.2.7", "127.0.0.1" };
static const char *const ports[] = { "",        "443",   "80",         "22",     "80,443",
				     "1-65535", "70-90", "443-500,22", "81-442", "443-500" };
static const uint16_t asked[] = { 1, 22, 79, 80, 81, 90, 443, 444, 501, 65535 };
static const char *const methods[] = { "GET", "POST" };
static const char *const path_patterns[] = { "/a", "/a*", "/*", "/b/*", "/*b" };
static const char *const paths[] = { "/", "/a", "/ab", "/b/a", "/b/b" };
static char secret_names[][2] = { "K", "L" };

struct input {
	const uint8_t *p;
	size_t left;
};

static unsigned take(struct input *in, size_t below)
{
	if (!in->left)
		return 0;
	in->left--;
	return (unsigned)(*in->p++ % below);
}

static void die(const char *what, const char *target, unsigned port)
{
	fprintf(stderr, "%s: %s:%u\n", what, target, port);
	abort();
}

static void make_rule(struct input *in, struct net_rule *rule)
{
	unsigned kind = take(in, 4), m, p;

	if (kind)
		rule->host = strdup(patterns[take(in, ARRAY_LEN(patterns))]);
	else {
		const char *text = prefixes[take(in, ARRAY_LEN(prefixes))];

		prefix_parse(text, strlen(text), &rule->prefix);
	}
	const char *list = ports[take(in, ARRAY_LEN(ports))];
	if (*list)
		net_ports_parse(list, strlen(list), rule);
	unsigned protocol = take(in, 4);
	rule->has_protocol = protocol < 3 && *list;
	rule->protocol = rule->has_protocol ? (enum net_protocol)protocol : NET_TLS;
	m = take(in, 4);
	for (size_t i = 0; i < ARRAY_LEN(methods); i++)
		if (m & 1u << i)
			strv_add(&rule->methods, methods[i]);
	p = take(in, 64);
	for (size_t i = 0; i < ARRAY_LEN(path_patterns) && !(p & 32); i++)
		if (p & 1u << i)
			strv_add(&rule->paths, path_patterns[i]);
	unsigned rest = take(in, 16);
	if (rest < 2)
		rule->secret = strdup(secret_names[rest]);
	rule->ech = rest == 15;
}

/* Unless the set would not be one. */
static void add_rule(struct net_rules *rules, struct net_rule *rule)
{
	net_rules_add(rules, rule);
	if (net_rules_check(rules, NULL) < 0)
		net_rule_done(&rules->v[--rules->n]);
}

static void make_rules(struct input *in, struct net_rules *rules)
{
	unsigned flags = take(in, 32), n = take(in, 5);

	rules->mode = flags % 8 == 7 ? NET_NONE : flags & 1 ? NET_OPEN : NET_ALLOW;
	rules->read_only = (flags & 24) == 8;
	rules->allow_private = (flags & 24) == 16;
	for (unsigned i = 0; i < n; i++) {
		struct net_rule rule = { 0 };

		make_rule(in, &rule);
		if (net_rule_check(&rule, NULL) < 0)
			net_rule_done(&rule);
		else
			add_rule(rules, &rule);
	}
}

/* Most pairs of sets have nothing to do with each other: some of the rules of one also go to the other. */
static void share_rules(struct input *in, const struct net_rules *from, struct net_rules *to)
{
	unsigned which = take(in, 16);

	for (size_t i = 0; i < from->n; i++) {
		struct net_rule rule;

		if ((which & 1u << i) && net_rule_copy(&rule, &from->v[i]) == 0)
			add_rule(to, &rule);
	}
}

/* ---- the reference ---- */

/* What a rule has at a port: 't'ls, 'h'ttp, 'r'aw or 0. */
static char slow_port(const struct net_rule *rule, unsigned port)
{
	bool there = !rule->port_count && (port == 443 || port == 80);

	for (size_t i = 0; i < rule->port_count; i++)
		there = there || (port >= rule->ports[i].first && port <= rule->ports[i].last);
	if (!there)
		return 0;
	if (!rule->has_protocol)
		return port == 443 ? 't' : port == 80 ? 'h' : 0;
	return "thr"[rule->protocol];
}

static bool slow_match(const char *pattern, const char *path)
{
	if (*pattern == '*')
		return slow_match(pattern + 1, path) || (*path && slow_match(pattern, path + 1));
	return *pattern ? *pattern == *path && slow_match(pattern + 1, path + 1) : !*path;
}

static bool slow_contains(const struct net_prefix *prefix, const struct net_address *address)
{
	if (prefix->base.family != address->family)
		return false;
	for (unsigned i = 0; i < prefix->bits; i++)
		if ((prefix->base.bytes[i / 8] ^ address->bytes[i / 8]) >> (7 - i % 8) & 1)
			return false;
	return true;
}

/* Of the addresses and networks of this world. */
static bool slow_special(const struct net_address *address, unsigned bits)
{
	static const uint8_t zeros[15], mapped[12] = { [10] = 0xff, [11] = 0xff };
	const uint8_t *b = address->bytes;

	if (address->family == AF_INET)
		return (b[0] == 10 || b[0] == 127) && bits >= 8;
	return ((b[0] & 0xfe) == 0xfc && bits >= 7) || (memcmp(b, zeros, 15) == 0 && b[15] == 1 && bits == 128) ||
	       (memcmp(b, mapped, 12) == 0 && bits >= 96);
}

static bool slow_special_address(const struct net_address *address)
{
	return slow_special(address, address->family == AF_INET ? 32 : 128);
}

static bool slow_name(const struct net_rules *rules, const char *name)
{
	bool found = rules->mode == NET_OPEN;

	for (size_t i = 0; i < rules->n; i++) {
		const char *host = rules->v[i].host;
		size_t n = host ? strlen(host) : 0, len = strlen(name);

		if (!host)
			continue;
		found = found || strcmp(host, "*") == 0 || strcmp(host, name) == 0 ||
			(host[0] == '*' && len > n - 1 && strcmp(name + len - (n - 1), host + 1) == 0);
	}
	return found && rules->mode != NET_NONE;
}

struct verdict {
	char protocol; /* 0: refused */
	bool speaks[8];
	bool open; /* what is behind all rules speaks */
};

static bool slow_pattern(const struct net_rules *rules, const char *pattern, unsigned port, struct verdict *v)
{
	for (size_t i = 0; i < rules->n; i++) {
		const struct net_rule *rule = &rules->v[i];
		char protocol = slow_port(rule, port);

		if (!rule->host || strcmp(rule->host, pattern) != 0 || !protocol)
			continue;
		v->protocol = protocol;
		v->speaks[i] = true;
	}
	return v->protocol;
}

static void slow_any(const struct net_rules *rules, unsigned port, struct verdict *v)
{
	if (slow_pattern(rules, "*", port, v) || rules->mode != NET_OPEN)
		return;
	if (!rules->read_only)
		v->protocol = 'r';
	else if (port == 443 || port == 80)
		v->protocol = port == 443 ? 't' : 'h';
	v->open = v->protocol;
}

static struct verdict slow_connect(const struct net_rules *rules, const char *name, const struct net_address *address,
				   unsigned port)
{
	struct verdict v = { 0 };

	if (rules->mode == NET_NONE)
		return v;
	if (name) {
		char pattern[64];

		/* The name, then a star for one label more each time. */
		if (!slow_pattern(rules, name, port, &v)) {
			for (const char *dot = strchr(name, '.'); dot && !v.protocol; dot = strchr(dot + 1, '.')) {
				snprintf(pattern, sizeof(pattern), "*%s", dot);
				slow_pattern(rules, pattern, port, &v);
			}
			if (!v.protocol)
				slow_any(rules, port, &v);
		}
	} else {
		bool special = slow_special_address(address) && !rules->allow_private;

		for (size_t i = 0; i < rules->n; i++) {
			const struct net_rule *rule = &rules->v[i];

			if (rule->host || !slow_contains(&rule->prefix, address) || !slow_port(rule, port) ||
			    (special && !slow_special(&rule->prefix.base, rule->prefix.bits)))
				continue;
			v.protocol = slow_port(rule, port);
			v.speaks[i] = true;
		}
		if (!v.protocol && !special)
			slow_any(rules, port, &v);
	}
	if (rules->read_only && v.protocol == 'r')
		return (struct verdict){ 0 };
	return v;
}

static bool slow_takes(const struct net_rule *rule, const char *method, const char *path)
{
	bool good = !rule->methods.n;

	for (size_t i = 0; i < rule->methods.n; i++)
		good = good || strcmp(rule->methods.v[i], method) == 0;
	if (!good || !rule->paths.n)
		return good;
	for (size_t i = 0; i < rule->paths.n; i++)
		if (slow_match(rule->paths.v[i], path))
			return true;
	return false;
}

/* With `secret`, by a rule that brings it. */
static bool slow_request(const struct net_rules *rules, const struct verdict *v, const char *method, const char *path,
			 const char *secret)
{
	if (rules->read_only && strcmp(method, "GET") != 0)
		return false;
	for (size_t i = 0; i < rules->n; i++)
		if (v->speaks[i] && slow_takes(&rules->v[i], method, path) &&
		    (!secret || (rules->v[i].secret && strcmp(rules->v[i].secret, secret) == 0)))
			return true;
	return v->open && !secret;
}

/* Where every rule that speaks lets it pass (egress/handshake.c). */
static bool slow_ech(const struct net_rules *rules, const struct verdict *v)
{
	bool some = false;

	for (size_t i = 0; i < rules->n; i++) {
		if (v->speaks[i] && !rules->v[i].ech)
			return false;
		some = some || v->speaks[i];
	}
	return some;
}

static bool slow_inspect(const struct net_rules *rules, const struct verdict *v)
{
	bool inspect = rules->read_only;

	for (size_t i = 0; i < rules->n; i++)
		inspect = inspect ||
			  (v->speaks[i] && (rules->v[i].methods.n || rules->v[i].paths.n || rules->v[i].secret));
	return inspect && v->protocol != 'r';
}

/* ---- the comparison ---- */

static void check_requests(const struct net_rules *rules, const struct verdict *v, const struct net_match *match,
			   const char *target, unsigned port)
{
	if (match->inspect != slow_inspect(rules, v))
		die("inspected differently", target, port);
	for (size_t m = 0; m < ARRAY_LEN(methods); m++)
		for (size_t p = 0; p < ARRAY_LEN(paths); p++) {
			const struct net_rule *rule = net_rules_request(rules, match, methods[m], paths[p]);

			if (!!rule != slow_request(rules, v, methods[m], paths[p], NULL))
				die("a request is decided differently", target, port);
			if (rule && !rule->secret &&
			    (slow_request(rules, v, methods[m], paths[p], "K") ||
			     slow_request(rules, v, methods[m], paths[p], "L")))
				die("a secret is left out", target, port);
		}
}

/* Where a name leads: to what is not special, or anywhere where that is allowed. */
static void check_dials(const struct net_rules *rules, const struct net_match *match, unsigned port)
{
	for (size_t i = 0; i < ARRAY_LEN(literals); i++) {
		struct net_address address;

		address_parse(literals[i], strlen(literals[i]), &address);
		if (!net_rules_dial(rules, match, &address) !=
		    (rules->allow_private || !slow_special_address(&address)))
			die("dialled differently", literals[i], port);
	}
}

static void check_target(const struct net_rules *rules, const char *name, const struct net_address *address,
			 const char *target)
{
	if (name && net_rules_name(rules, name) != slow_name(rules, name))
		die("resolved differently", target, 0);
	for (size_t i = 0; i < ARRAY_LEN(asked); i++) {
		struct verdict v = slow_connect(rules, name, address, asked[i]);
		struct net_match match;
		char reason[160] = "";
		int rc = net_rules_connect(rules, name, address, asked[i], &match, reason, sizeof(reason));

		if ((rc == 0) != (v.protocol != 0))
			die("decided differently", target, asked[i]);
		if (rc < 0 && !reason[0])
			die("refused without a reason", target, asked[i]);
		if (rc < 0)
			continue;
		if ("thr"[match.protocol] != v.protocol)
			die("another protocol", target, asked[i]);
		if (name)
			check_dials(rules, &match, asked[i]);
		if (address && net_rules_dial(rules, &match, address))
			die("allowed, but not to be dialled", target, asked[i]);
		check_requests(rules, &v, &match, target, asked[i]);
	}
}

/* Whatever the one allows the other allows. */
static void check_narrower(const struct net_rules *inner, const struct net_rules *outer, const char *name,
			   const struct net_address *address, const char *target)
{
	for (size_t i = 0; i < ARRAY_LEN(asked); i++) {
		struct verdict in = slow_connect(inner, name, address, asked[i]);
		struct verdict out = slow_connect(outer, name, address, asked[i]);

		if (in.protocol && out.protocol != in.protocol && out.protocol != 'r')
			die("wider", target, asked[i]);
		if (in.protocol && out.protocol == 't' && !slow_inspect(outer, &out) && slow_ech(inner, &in) &&
		    !slow_ech(outer, &out))
			die("wider by ech", target, asked[i]);
		if (in.protocol && slow_inspect(outer, &out) && !slow_inspect(inner, &in))
			die("wider by not being looked at", target, asked[i]);
		for (size_t m = 0; in.protocol && in.protocol != 'r' && m < ARRAY_LEN(methods); m++)
			for (size_t p = 0; p < ARRAY_LEN(paths); p++) {
				if (slow_request(inner, &in, methods[m], paths[p], NULL) &&
				    !slow_request(outer, &out, methods[m], paths[p], NULL))
					die("wider by a request", target, asked[i]);
				for (size_t s = 0; s < ARRAY_LEN(secret_names); s++)
					if (slow_request(inner, &in, methods[m], paths[p], secret_names[s]) &&
					    !slow_request(outer, &out, methods[m], paths[p], secret_names[s]))
						die("wider by a secret", target, asked[i]);
			}
	}
}

static void for_all(const struct net_rules *rules, const struct net_rules *outer)
{
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (outer)
			check_narrower(rules, outer, names[i], NULL, names[i]);
		else
			check_target(rules, names[i], NULL, names[i]);
	for (size_t i = 0; i < ARRAY_LEN(literals); i++) {
		struct net_address address;

		address_parse(literals[i], strlen(literals[i]), &address);
		if (outer)
			check_narrower(rules, outer, NULL, &address, literals[i]);
		else
			check_target(rules, NULL, &address, literals[i]);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = { data, size };
	struct net_rules outer = { 0 }, inner = { 0 };

	make_rules(&in, &outer);
	make_rules(&in, &inner);
	share_rules(&in, &outer, &inner);
	for_all(&outer, NULL);
	if (!net_rules_are_within(&outer, &outer))
		die("a set is not within itself", "", 0);
	if (net_rules_are_within(&inner, &outer))
		for_all(&inner, &outer);
	for (size_t i = 0; i < inner.n; i++) {
		struct net_rules alone = { NET_ALLOW, outer.read_only, outer.allow_private, &inner.v[i], 1 };

		if (net_rule_is_within(&inner.v[i], &outer))
			for_all(&alone, &outer);
	}
	net_rules_done(&outer);
	net_rules_done(&inner);
	return 0;
}
