/*
 * What a policy's network allows, asked of the very decision that egress takes: every name, address, port, method and path of a small
 * world. For tests of narrowing, with a generator of policies in that world.
 */
#ifndef TESTS_NETWORK_REFERENCE_H
#define TESTS_NETWORK_REFERENCE_H

#include "policy/network.h"
#include "policy/value.h"
#include "tap.h"

static const char *const world_names[] = { "api.example.com", "x.example.com", "a.b.example.com", "example.com",
					   "other.org" };
static const char *const world_addresses[] = { "10.1.2.3",  "10.9.9.9",     "1.1.1.1", "1.2.3.4",
					       "127.0.0.1", "2606:4700::1", "fd00::1" };
static const uint16_t world_ports[] = { 443, 80, 22, 8443 };
static const char *const world_requests[][2] = {
	{ "GET", "/v1/x" }, { "GET", "/v2" }, { "POST", "/v1/x" }, { "POST", "/v2" }
};

static const char *const world_rules[] = {
	"api.example.com",
	"{host: api.example.com, methods: [GET]}",
	"{host: api.example.com, ports: [443], paths: [\"/v1/*\"]}",
	"{host: api.example.com, secret: K}",
	"{host: api.example.com, secret: L, methods: [GET]}",
	"{host: api.example.com, ports: [22], protocol: tcp}",
	"\"*.example.com\"",
	"{host: \"*.example.com\", methods: [GET, POST], paths: [/v2]}",
	"{host: \"*.example.com\", ports: [443, 8443], protocol: tls}",
	"{host: \"*.example.com\", secret: K}",
	"{host: \"*.b.example.com\", ports: [443]}",
	"{host: x.example.com, ech: allow}",
	"{host: x.example.com, ports: [443], protocol: tcp}",
	"\"*\"",
	"{host: \"*\", ports: [1-65535], protocol: tcp}",
	"{host: \"*\", methods: [GET]}",
	"other.org",
	"{address: 10.1.0.0/16, ports: [22], protocol: tcp}",
	"{address: 10.0.0.0/8, ports: [22, 443], protocol: tcp}",
	"{address: 1.1.1.1, ports: [443], protocol: tls, methods: [GET]}",
	"{address: 1.0.0.0/8, ports: [443], protocol: tls}",
	"{address: 1.0.0.0/8, ports: [22], protocol: tcp}",
	"{address: \"2606:4700::/32\", ports: [22], protocol: tcp}",
};

/* Whether some rule brings this secret to such a request. */
static inline bool may_use(const struct net_rules *rules, const struct net_match *match, const char *secret,
			   const char *method, const char *path)
{
	for (size_t i = 0; i < match->n; i++) {
		struct net_match one = *match;

		one.rules[0] = match->rules[i];
		one.n = 1;
		if (one.rules[0]->secret && strcmp(one.rules[0]->secret, secret) == 0 &&
		    net_rules_request(rules, &one, method, path))
			return true;
	}
	return false;
}

/* As egress takes it. */
static inline bool every_has_ech(const struct net_match *match)
{
	for (size_t i = 0; i < match->n; i++)
		if (!match->rules[i]->ech)
			return false;
	return match->n > 0;
}

static inline const char *connection_wider(const struct net_rules *was, const struct net_rules *is, const char *name,
					   const struct net_address *address, uint16_t port)
{
	struct net_match a = { 0 }, b = { 0 };
	char reason[200];

	if (net_rules_connect(is, name, address, port, &b, reason, sizeof(reason)) < 0)
		return NULL;
	if (net_rules_connect(was, name, address, port, &a, reason, sizeof(reason)) < 0)
		return "a connection";
	if (a.protocol != NET_TCP && a.protocol != b.protocol)
		return "another protocol";
	if (a.inspect && !b.inspect)
		return "requests that are no longer looked at";
	for (size_t i = 0; i < ARRAY_LEN(world_addresses); i++) {
		struct net_address to;

		if (address_parse(world_addresses[i], strlen(world_addresses[i]), &to) == 0 &&
		    !net_rules_dial(is, &b, &to) && net_rules_dial(was, &a, &to) &&
		    (name || memcmp(&to, address, sizeof(to)) == 0))
			return "an address that is dialled";
	}
	for (size_t i = 0; a.inspect && i < ARRAY_LEN(world_requests); i++) {
		const char *method = world_requests[i][0], *path = world_requests[i][1];
		const struct net_rule *x = net_rules_request(was, &a, method, path),
				      *y = net_rules_request(is, &b, method, path);

		if (y && !x)
			return "a request";
		if (y && y->secret && !may_use(was, &a, y->secret, method, path))
			return "a secret";
	}
	for (size_t i = 0; !a.inspect && i < b.n; i++)
		if (b.rules[i]->secret)
			return "a secret where there was none";
	if (a.protocol == NET_TLS && b.protocol == NET_TLS && !a.inspect && every_has_ech(&b) && !every_has_ech(&a))
		return "an encrypted hello";
	return NULL;
}

/* In what the rules allow more, or NULL. */
static inline const char *rules_wider(const struct net_rules *was, const struct net_rules *is)
{
	const char *why = NULL;

	for (size_t p = 0; p < ARRAY_LEN(world_ports); p++) {
		for (size_t i = 0; i < ARRAY_LEN(world_names) && !why; i++)
			why = connection_wider(was, is, world_names[i], NULL, world_ports[p]);
		for (size_t i = 0; i < ARRAY_LEN(world_addresses) && !why; i++) {
			struct net_address address;

			if (address_parse(world_addresses[i], strlen(world_addresses[i]), &address) == 0)
				why = connection_wider(was, is, NULL, &address, world_ports[p]);
		}
	}
	for (size_t i = 0; i < ARRAY_LEN(world_names) && !why; i++)
		if (net_rules_name(is, world_names[i]) && !net_rules_name(was, world_names[i]))
			why = "a name";
	return why;
}

static inline const char *secrets_wider(const struct net_config *was, const struct net_config *is)
{
	for (size_t i = 0; i < is->secret_count; i++) {
		bool same = false;

		for (size_t k = 0; k < was->secret_count; k++)
			same = same || (strcmp(is->secrets[i].name, was->secrets[k].name) == 0 &&
					strcmp(is->secrets[i].from, was->secrets[k].from) == 0);
		if (!same)
			return "a secret";
	}
	return NULL;
}

static inline bool limit_wider(uint64_t was, uint64_t is)
{
	return was && (!is || is > was);
}

static inline const char *network_wider(const struct cordon_policy *was, const struct cordon_policy *is)
{
	struct net_config a = { 0 }, b = { 0 };
	struct cordon_error err = { 0 };
	const char *why = NULL;
	bool good = policy_network(was, &a, &err) == 0;

	if (!good || policy_network(is, &b, &err) < 0) /* then nothing runs at all */
		why = NULL;
	else if (b.rules.mode > a.rules.mode)
		why = "the mode";
	else if (limit_wider(a.connections, b.connections) || limit_wider(a.download_bps, b.download_bps) ||
		 limit_wider(a.upload_total, b.upload_total) || limit_wider(a.idle_timeout_ms, b.idle_timeout_ms))
		why = b.rules.mode ? "a limit of the network" : NULL;
	else if (b.rules.mode &&
		 (!a.proxy_host != !b.proxy_host || (a.proxy_host && strcmp(a.proxy_host, b.proxy_host) != 0)))
		why = "the proxy";
	else if (!(why = rules_wider(&a.rules, &b.rules)) && b.rules.mode)
		why = secrets_wider(&a, &b);
	net_config_done(&a);
	net_config_done(&b);
	return why;
}

/* Up to `count` rules of the world, a mode and secrets, into a policy. False: it could not be. */
static inline bool network_generate(struct cordon_policy *p, unsigned count, bool secrets,
				    unsigned (*random)(unsigned n))
{
	static const enum option_id ids[] = { OPT_NETWORK, OPT_ALLOW, OPT_SECRETS };
	static const char *const modes[] = { "", "", "mode: open, ", "mode: none, " };
	struct cordon_policy *q = NULL;
	struct str s = { 0 };
	bool good;

	str_addf(&s, "version: 1\nnetwork: {%sallow: [", modes[random(4)]);
	for (unsigned i = 0; i < count; i++)
		str_addf(&s, "%s%s", i ? ", " : "", world_rules[random(ARRAY_LEN(world_rules))]);
	str_addf(&s, "]}\nsecrets: {K: {from: \"env:K\"}, L: {from: \"env:%s\"}}\n", random(9) ? "L" : "OTHER");
	good = s.data && cordon_policy_parse(&q, "p.yaml", NULL, s.data, s.len, NULL) == 0;
	for (size_t i = 0; good && i < ARRAY_LEN(ids); i++) {
		struct policy_value swap = p->values[ids[i]];

		if (ids[i] == OPT_SECRETS && !secrets)
			continue;
		p->values[ids[i]] = q->values[ids[i]];
		q->values[ids[i]] = swap;
	}
	cordon_policy_free(q);
	str_done(&s);
	return good;
}

#endif
