/*
 * The one decision over rules: see rule.h. A name or an address and a port give the rules that speak for a connection; what was resolved
 * is checked once more before it is dialled; on inspected connections each request must be taken by one of these rules. Everything
 * that is not found to be allowed is refused. Pure; runs in egress, before hostile bytes go anywhere.
 */
#include "net/rule.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

const struct net_rule *net_rules_last(const struct net_rules *rules)
{
	static char any[] = "*", text[] = "--net open";
	static const struct net_rule every_port = { .host = any,
						    .ports = { { 1, UINT16_MAX } },
						    .port_count = 1,
						    .has_protocol = true,
						    .protocol = NET_TCP,
						    .text = text };
	/* Only what can be looked at: 443 as tls and 80 as http. */
	static const struct net_rule readable = { .host = any, .text = text };

	if (rules->mode != NET_OPEN)
		return NULL;
	return rules->read_only ? &readable : &every_port;
}

/* How closely a pattern speaks of the name; 0: not at all. Of two wildcards that match, the longer one is below the other. */
static size_t closeness(const char *pattern, const char *name)
{
	if (!hostname_match(pattern, name))
		return 0;
	return pattern[0] == '*' ? strlen(pattern) : SIZE_MAX;
}

static void match_add(struct net_match *match, const struct net_rule *rule)
{
	if (match->n < NET_MATCH_MAX) /* net_rules_check() allows no more */
		match->rules[match->n++] = rule;
}

static void match_name(const struct net_rules *rules, const char *name, uint16_t port, struct net_match *match)
{
	enum net_protocol protocol;
	size_t best = 1;

	for (size_t i = 0; i < rules->n; i++) {
		const struct net_rule *rule = &rules->v[i];
		size_t close = rule->host ? closeness(rule->host, name) : 0;

		if (close < best || !net_rule_port(rule, port, &protocol))
			continue;
		if (close > best) {
			match->n = 0;
			best = close;
		}
		match_add(match, rule);
	}
}

/* Does the rule mean this address? A network that merely contains a special range does not name it. */
static bool speaks_for(const struct net_rules *rules, const struct net_rule *rule, const struct net_address *address)
{
	return !rule->host && prefix_contains(&rule->prefix, address) &&
	       (rules->allow_private || !address_special(address) || prefix_special(&rule->prefix));
}

static void match_address(const struct net_rules *rules, const struct net_address *address, uint16_t port,
			  struct net_match *match)
{
	enum net_protocol protocol;

	for (size_t i = 0; i < rules->n; i++)
		if (speaks_for(rules, &rules->v[i], address) && net_rule_port(&rules->v[i], port, &protocol))
			match_add(match, &rules->v[i]);
	if (match->n || (address_special(address) && !rules->allow_private))
		return;
	for (size_t i = 0; i < rules->n; i++)
		if (rules->v[i].host && strcmp(rules->v[i].host, "*") == 0 &&
		    net_rule_port(&rules->v[i], port, &protocol))
			match_add(match, &rules->v[i]);
}

/* Nothing speaks for it: why. */
static int refuse_connection(const struct net_rules *rules, const char *name, const struct net_address *address,
			     uint16_t port, char *reason, size_t size)
{
	char text[ADDRESS_TEXT];
	const char *special = name ? NULL : address_special(address);

	if (rules->mode == NET_NONE)
		snprintf(reason, size, "the box has no network");
	else if (special && !rules->allow_private)
		snprintf(reason, size, "no rule names the address %s (%s) with port %u", address_text(address, text),
			 special, port);
	else if (!name)
		snprintf(reason, size, "no rule names the address %s with port %u", address_text(address, text), port);
	else if (net_rules_name(rules, name))
		snprintf(reason, size, "no rule for this name has port %u", port);
	else
		snprintf(reason, size, "no rule for this name");
	return -EACCES;
}

/* What the rules say together. */
static int match_settle(const struct net_rules *rules, uint16_t port, struct net_match *match, char *reason,
			size_t size)
{
	for (size_t i = 0; i < match->n; i++) {
		enum net_protocol protocol = NET_TCP;

		net_rule_port(match->rules[i], port, &protocol);
		if (i && protocol != match->protocol) {
			snprintf(reason, size, "two rules have port %u with two protocols", port);
			return -EACCES;
		}
		match->protocol = protocol;
		match->inspect = match->inspect || net_rule_restricts(match->rules[i]);
	}
	if (rules->read_only && match->protocol == NET_TCP) {
		snprintf(reason, size, "the network is read-only, and plain tcp cannot be checked for that");
		return -EACCES;
	}
	match->inspect = match->protocol != NET_TCP && (match->inspect || rules->read_only);
	return 0;
}

bool net_rules_name(const struct net_rules *rules, const char *name)
{
	if (rules->mode == NET_NONE || !name[0])
		return false;
	for (size_t i = 0; i < rules->n; i++)
		if (rules->v[i].host && hostname_match(rules->v[i].host, name))
			return true;
	return rules->mode == NET_OPEN;
}

int net_rules_connect(const struct net_rules *rules, const char *name, const struct net_address *address, uint16_t port,
		      struct net_match *ret, char *reason, size_t size)
{
	const struct net_rule *last = net_rules_last(rules);
	struct net_match match = { .needs_address = !name };
	enum net_protocol protocol;

	if (rules->mode != NET_NONE && name)
		match_name(rules, name, port, &match);
	else if (rules->mode != NET_NONE)
		match_address(rules, address, port, &match);
	if (!match.n && last && net_rule_port(last, port, &protocol) &&
	    (name ? name[0] != '\0' : rules->allow_private || !address_special(address)))
		match_add(&match, last);
	if (!match.n)
		return refuse_connection(rules, name, address, port, reason, size);
	if (match_settle(rules, port, &match, reason, size) < 0)
		return -EACCES;
	*ret = match;
	return 0;
}

const char *net_rules_dial(const struct net_rules *rules, const struct net_match *match,
			   const struct net_address *address)
{
	const char *special = address_special(address);

	if (match->needs_address)
		for (size_t i = 0; i < match->n; i++)
			if (speaks_for(rules, match->rules[i], address))
				return NULL;
	if (match->needs_address && match->n && !match->rules[0]->host)
		return "not the address that the rule names";
	return rules->allow_private ? NULL : special;
}

static bool takes(const struct net_rule *rule, const char *method, const char *path)
{
	if (rule->methods.n && !strv_has(&rule->methods, method))
		return false;
	for (size_t i = 0; i < rule->paths.n; i++)
		if (net_path_match(rule->paths.v[i], path))
			return true;
	return !rule->paths.n;
}

const struct net_rule *net_rules_request(const struct net_rules *rules, const struct net_match *match,
					 const char *method, const char *path)
{
	const struct net_rule *found = NULL;

	if (rules->read_only && strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0 &&
	    strcmp(method, "OPTIONS") != 0)
		return NULL;
	for (size_t i = 0; i < match->n; i++) {
		if (!takes(match->rules[i], method, path))
			continue;
		/* Of several the first, but rather one that brings a secret: that is what it was written for. */
		if (!found || (!found->secret && match->rules[i]->secret))
			found = match->rules[i];
	}
	return found;
}

static bool intercepts(const struct net_rules *rules, const struct net_rule *rule)
{
	enum net_protocol protocol = NET_TCP;

	if (!rules->read_only && !net_rule_restricts(rule))
		return false;
	if (rule->has_protocol)
		return rule->protocol == NET_TLS;
	return net_rule_port(rule, 443, &protocol) && protocol == NET_TLS;
}

bool net_rules_intercept(const struct net_rules *rules)
{
	const struct net_rule *last = net_rules_last(rules);

	for (size_t i = 0; rules->mode != NET_NONE && i < rules->n; i++)
		if (intercepts(rules, &rules->v[i]))
			return true;
	return last && intercepts(rules, last);
}
