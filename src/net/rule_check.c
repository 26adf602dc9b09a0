/*
 * What rules must satisfy, alone and against each other: see rule.h. A rule that could not be enforced as it reads is refused, so that
 * nobody believes in a wall that is not there. Pure; any process, any privilege.
 */
#include "net/rule.h"

#include <errno.h>
#include <string.h>

enum { METHOD_MAX = 19, PATH_MAX_LEN = 1024, NAME_MAX_LEN = 255 };

__attribute__((format(printf, 3, 4))) static int refuse(const struct net_rule *rule, struct cordon_error *err,
							const char *fmt, ...)
{
	auto_free char *text = net_rule_text(rule);
	auto_str struct str why = { 0 };
	va_list ap;

	va_start(ap, fmt);
	str_addv(&why, fmt, ap);
	va_end(ap);
	if (!text || why.failed)
		return fail_memory(err);
	return cordon_fail(err, CORDON_INVALID, 0, "rule for '%s': %s", text, why.data);
}

static int check_target(const struct net_rule *rule, struct cordon_error *err)
{
	char again[HOSTNAME_SIZE + ADDRESS_TEXT];
	struct net_prefix prefix;

	if (rule->host) {
		if (hostname_pattern_parse(rule->host, strlen(rule->host), again) < 0 || strcmp(again, rule->host) != 0)
			return cordon_fail(err, CORDON_INVALID, 0, "'%s' is not a host name", rule->host);
		return 0;
	}
	prefix_text(&rule->prefix, again, sizeof(again));
	if (prefix_parse(again, strlen(again), &prefix) < 0 || prefix.bits != rule->prefix.bits)
		return cordon_fail(err, CORDON_INVALID, 0, "'%s' is not an address or a network", again);
	return 0;
}

static int check_ports(const struct net_rule *rule, struct cordon_error *err)
{
	if (rule->port_count > NET_PORTS_MAX)
		return cordon_fail(err, CORDON_INVALID, 0, "a rule has more than %d ports", NET_PORTS_MAX);
	if (rule->has_protocol && (unsigned)rule->protocol > NET_TCP)
		return refuse(rule, err, "unknown protocol");
	if (rule->has_protocol && !rule->port_count)
		return refuse(rule, err, "a protocol needs its ports");
	for (size_t i = 0; i < rule->port_count; i++) {
		struct net_ports p = rule->ports[i];

		if (!p.first || p.last < p.first)
			return refuse(rule, err, "%u-%u is not a range of ports", p.first, p.last);
		if (!rule->has_protocol && (p.first != p.last || (p.first != 443 && p.first != 80))) {
			refuse(rule, err, "port %u needs a protocol", p.first);
			return fail_hint(err, "say /tls, /http or /tcp behind the ports, or `protocol:` in a policy");
		}
	}
	return 0;
}

static bool method_valid(const char *method)
{
	size_t n = strspn(method, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.");

	return n && n <= METHOD_MAX && !method[n];
}

static int check_requests(const struct net_rule *rule, struct cordon_error *err)
{
	for (size_t i = 0; i < rule->methods.n; i++) {
		if (!method_valid(rule->methods.v[i]))
			return refuse(rule, err, "'%s' is not a method in upper case", rule->methods.v[i]);
		if (strcmp(rule->methods.v[i], "CONNECT") == 0)
			return refuse(rule, err, "CONNECT is for proxies and cannot be allowed");
	}
	for (size_t i = 0; i < rule->paths.n; i++) {
		const char *path = rule->paths.v[i];
		char normal[PATH_MAX_LEN];
		/* A pattern that is not in the form in which paths are compared would match nothing. */
		int rc = net_path_normalise(path, strlen(path), normal, sizeof(normal));

		if (rc == -ENOMEM)
			return fail_memory(err);
		if (rc < 0)
			return refuse(rule, err, "'%s' is not a path; it begins with a slash and has no query", path);
		if (strcmp(normal, path) != 0)
			return refuse(rule, err, "the path '%s' would match nothing; write '%s'", path, normal);
	}
	return 0;
}

bool net_secret_name(const char *name)
{
	size_t n = strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_");

	return n && n <= NAME_MAX_LEN && !name[n] && !(name[0] >= '0' && name[0] <= '9');
}

bool net_rule_restricts(const struct net_rule *rule)
{
	return rule->methods.n || rule->paths.n || rule->secret;
}

static int check_use(const struct net_rule *rule, struct cordon_error *err)
{
	struct net_span spans[NET_PORTS_MAX];
	size_t n = net_rule_spans(rule, spans);
	bool tls = false;

	for (size_t i = 0; i < n; i++) {
		if (spans[i].protocol == NET_TCP && net_rule_restricts(rule))
			return refuse(rule, err, "methods, paths and secrets need tls or http, not tcp");
		tls = tls || spans[i].protocol == NET_TLS;
	}
	if (rule->secret && !net_secret_name(rule->secret))
		return refuse(rule, err, "'%s' is not the name of a secret", rule->secret);
	if (rule->ech && !tls)
		return refuse(rule, err, "ech is a matter of tls");
	if (rule->ech && net_rule_restricts(rule))
		return refuse(rule, err, "what is encrypted with ech cannot be checked for methods, paths or secrets");
	return 0;
}

int net_rule_check(const struct net_rule *rule, struct cordon_error *err)
{
	if (check_target(rule, err) < 0 || check_ports(rule, err) < 0 || check_requests(rule, err) < 0 ||
	    check_use(rule, err) < 0)
		return -1;
	return 0;
}

/* Can both speak for one connection? */
static bool same_target(const struct net_rule *a, const struct net_rule *b)
{
	if (a->host || b->host)
		return a->host && b->host && strcmp(a->host, b->host) == 0;
	return prefix_is_within(&a->prefix, &b->prefix) || prefix_is_within(&b->prefix, &a->prefix);
}

/* A port that both have, or 0; *ret_conflict where they have it in two ways. */
static uint16_t common_port(const struct net_rule *a, const struct net_rule *b, bool *ret_conflict)
{
	struct net_span x[NET_PORTS_MAX], y[NET_PORTS_MAX];
	size_t n = net_rule_spans(a, x), m = net_rule_spans(b, y);
	uint16_t port = 0;

	*ret_conflict = false;
	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j < m; j++) {
			uint16_t first = x[i].first > y[j].first ? x[i].first : y[j].first;

			if (first > x[i].last || first > y[j].last)
				continue;
			if (x[i].protocol != y[j].protocol) {
				*ret_conflict = true;
				return first;
			}
			port = first;
		}
	return port;
}

int net_rules_check(const struct net_rules *rules, struct cordon_error *err)
{
	for (size_t i = 0; i < rules->n; i++) {
		size_t together = 1;

		for (size_t j = 0; j < rules->n; j++) {
			bool conflict;

			if (i == j || !same_target(&rules->v[i], &rules->v[j]))
				continue;
			uint16_t port = common_port(&rules->v[i], &rules->v[j], &conflict);
			if (conflict)
				return refuse(&rules->v[i], err, "another rule has port %u with another protocol",
					      port);
			together += port != 0;
		}
		if (together > NET_MATCH_MAX)
			return refuse(&rules->v[i], err, "more than %d rules for the same host and port",
				      NET_MATCH_MAX);
	}
	return 0;
}
