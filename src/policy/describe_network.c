/*
 * Rules and secrets told: in YAML's flow style, and in JSON, with the keys that a file has. A rule that is only a host is told as that
 * text. See describe.h. Runs in the front, with the caller's rights.
 */
#include "policy/describe.h"
#include "policy/network_line.h"
#include "policy/unit.h"

#include <stdio.h>
#include <string.h>

static bool is_host_only(const struct net_rule *rule)
{
	return rule->host && !rule->port_count && !rule->has_protocol && !rule->methods.n && !rule->paths.n &&
	       !rule->secret && !rule->ech;
}

/* "443" or "8000-8010". */
static const char *port_text(const struct net_ports *ports, char *buf, size_t size)
{
	if (ports->first == ports->last)
		snprintf(buf, size, "%u", (unsigned)ports->first);
	else
		snprintf(buf, size, "%u-%u", (unsigned)ports->first, (unsigned)ports->last);
	return buf;
}

static const char *address_of(const struct net_rule *rule, char *buf, size_t size)
{
	return prefix_text(&rule->prefix, buf, size);
}

/* ---- text --------------------------------------------------------------------------------------------- */

static void add_pair(struct str *s, const char *key, const char *value)
{
	str_addf(s, ", %s: ", key);
	describe_scalar(s, value);
}

static void add_texts(struct str *s, const char *key, const struct strv *list)
{
	if (!list->n)
		return;
	str_addf(s, ", %s: [", key);
	for (size_t i = 0; i < list->n; i++) {
		str_add(s, i ? ", " : "");
		describe_scalar(s, list->v[i]);
	}
	str_add_char(s, ']');
}

static void add_ports(struct str *s, const struct net_rule *rule)
{
	char buf[16];

	for (size_t i = 0; i < rule->port_count; i++)
		str_addf(s, "%s%s", i ? ", " : ", ports: [", port_text(&rule->ports[i], buf, sizeof(buf)));
	if (rule->port_count)
		str_add_char(s, ']');
}

static void add_rule(struct str *s, const struct net_rule *rule)
{
	char buf[ADDRESS_TEXT + 8];

	if (is_host_only(rule)) {
		describe_scalar(s, rule->host);
		return;
	}
	str_add(s, rule->host ? "{host: " : "{address: ");
	describe_scalar(s, rule->host ? rule->host : address_of(rule, buf, sizeof(buf)));
	add_ports(s, rule);
	if (rule->has_protocol)
		add_pair(s, "protocol", net_protocol_name(rule->protocol));
	add_texts(s, "methods", &rule->methods);
	add_texts(s, "paths", &rule->paths);
	if (rule->secret)
		add_pair(s, "secret", rule->secret);
	if (rule->ech)
		add_pair(s, "ech", "allow");
	str_add_char(s, '}');
}

void describe_rules(struct str *s, const struct strv *list)
{
	str_add_char(s, '[');
	for (size_t i = 0; i < list->n; i++) {
		struct net_rule rule;

		if (rule_from_line(list->v[i], &rule) < 0)
			s->failed = true;
		str_add(s, i ? ", " : "");
		if (!s->failed)
			add_rule(s, &rule);
		net_rule_done(&rule);
	}
	str_add_char(s, ']');
}

void describe_secrets(struct str *s, const struct strv *list)
{
	str_add_char(s, '{');
	for (size_t i = 0; i + 2 <= list->n; i += 2) {
		struct net_secret secret;
		char buf[32];

		if (secret_from_line(list->v[i], list->v[i + 1], &secret) < 0)
			s->failed = true;
		str_addf(s, "%s%s: {from: ", i ? ", " : "", list->v[i]);
		describe_scalar(s, secret.from ? secret.from : "");
		if (secret.header)
			add_pair(s, "header", secret.header);
		if (secret.ttl_ms)
			add_pair(s, "ttl", unit_text(TYPE_DURATION, secret.ttl_ms, buf, sizeof(buf)));
		str_add_char(s, '}');
		secret_done(&secret);
	}
	str_add_char(s, '}');
}

/* ---- JSON --------------------------------------------------------------------------------------------- */

static void json_texts(struct json *j, const char *key, const struct strv *list)
{
	if (list->n)
		json_strings(j, key, (const char *const *)list->v);
}

static void json_ports(struct json *j, const struct net_rule *rule)
{
	char buf[16];

	if (!rule->port_count)
		return;
	json_array(j, "ports");
	for (size_t i = 0; i < rule->port_count; i++)
		if (rule->ports[i].first == rule->ports[i].last)
			json_uint(j, NULL, rule->ports[i].first);
		else
			json_string(j, NULL, port_text(&rule->ports[i], buf, sizeof(buf)));
	json_end_array(j);
}

static void json_rule(struct json *j, const struct net_rule *rule)
{
	char buf[ADDRESS_TEXT + 8];

	if (is_host_only(rule)) {
		json_string(j, NULL, rule->host);
		return;
	}
	json_object(j, NULL);
	json_string(j, rule->host ? "host" : "address", rule->host ? rule->host : address_of(rule, buf, sizeof(buf)));
	json_ports(j, rule);
	if (rule->has_protocol)
		json_string(j, "protocol", net_protocol_name(rule->protocol));
	json_texts(j, "methods", &rule->methods);
	json_texts(j, "paths", &rule->paths);
	if (rule->secret)
		json_string(j, "secret", rule->secret);
	if (rule->ech)
		json_string(j, "ech", "allow");
	json_end_object(j);
}

void describe_rules_json(struct json *j, const char *name, const struct strv *list)
{
	json_array(j, name);
	for (size_t i = 0; i < list->n; i++) {
		struct net_rule rule;

		if (rule_from_line(list->v[i], &rule) < 0)
			j->out.failed = true;
		else
			json_rule(j, &rule);
		net_rule_done(&rule);
	}
	json_end_array(j);
}

void describe_secrets_json(struct json *j, const char *name, const struct strv *list)
{
	json_object(j, name);
	for (size_t i = 0; i + 2 <= list->n; i += 2) {
		struct net_secret secret;
		char buf[32];

		if (secret_from_line(list->v[i], list->v[i + 1], &secret) < 0)
			j->out.failed = true;
		json_object(j, list->v[i]);
		json_string(j, "from", secret.from);
		if (secret.header)
			json_string(j, "header", secret.header);
		if (secret.ttl_ms)
			json_string(j, "ttl", unit_text(TYPE_DURATION, secret.ttl_ms, buf, sizeof(buf)));
		json_end_object(j);
		secret_done(&secret);
	}
	json_end_object(j);
}
