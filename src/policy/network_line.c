/* Rules and secrets as text: see network_line.h. Values hold no control character, so a newline ends each. Pure. */
#include "policy/network_line.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- rules --------------------------------------------------------------------------------------------- */

static const char *where(const struct net_rule *rule, char *buf, size_t size)
{
	return rule->host ? rule->host : prefix_text(&rule->prefix, buf, size);
}

static void add_all(struct str *s, const char *key, const struct strv *list)
{
	for (size_t i = 0; i < list->n; i++)
		str_addf(s, "\n%s=%s", key, list->v[i]);
}

char *rule_line(const struct net_rule *rule)
{
	char buf[ADDRESS_TEXT + 8];
	auto_str struct str s = { 0 };

	str_addf(&s, "%s=%s", rule->host ? "host" : "address", where(rule, buf, sizeof(buf)));
	if (rule->port_count) {
		str_add(&s, "\nports=");
		net_ports_text(rule, &s);
	}
	if (rule->has_protocol)
		str_addf(&s, "\nprotocol=%s", net_protocol_name(rule->protocol));
	add_all(&s, "method", &rule->methods);
	add_all(&s, "path", &rule->paths);
	if (rule->secret)
		str_addf(&s, "\nsecret=%s", rule->secret);
	if (rule->ech)
		str_add(&s, "\nech=allow");
	return str_take(&s);
}

static int take_text(char **to, const char *value)
{
	*to = *to ? *to : strdup(value);
	return *to ? 0 : -ENOMEM;
}

static int rule_take(struct net_rule *rule, const char *key, const char *value)
{
	if (strcmp(key, "host") == 0)
		return take_text(&rule->host, value);
	if (strcmp(key, "address") == 0)
		return prefix_parse(value, strlen(value), &rule->prefix);
	if (strcmp(key, "ports") == 0)
		return net_ports_parse(value, strlen(value), rule);
	if (strcmp(key, "protocol") == 0) {
		rule->has_protocol = true;
		return net_protocol_parse(value, &rule->protocol);
	}
	if (strcmp(key, "method") == 0)
		return strv_add(&rule->methods, value);
	if (strcmp(key, "path") == 0)
		return strv_add(&rule->paths, value);
	if (strcmp(key, "secret") == 0)
		return take_text(&rule->secret, value);
	rule->ech = strcmp(key, "ech") == 0;
	return rule->ech ? 0 : -EINVAL;
}

/* Each "key=value" of a text to `take`. */
static int each_pair(const char *line, int (*take)(void *to, const char *key, const char *value), void *to)
{
	int status = 0;

	while (*line && status == 0) {
		size_t len = strcspn(line, "\n");
		auto_free char *key = strndup(line, len);
		char *equals = key ? strchr(key, '=') : NULL;

		if (!key)
			return -ENOMEM;
		if (!equals)
			return -EINVAL;
		*equals = '\0';
		status = take(to, key, equals + 1);
		line += len + (line[len] == '\n');
	}
	return status;
}

static int rule_pair(void *to, const char *key, const char *value)
{
	return rule_take(to, key, value);
}

int rule_from_line(const char *line, struct net_rule *ret)
{
	struct net_rule rule = { 0 };
	int status = each_pair(line, rule_pair, &rule);

	if (status == 0 && !rule.host && !rule.prefix.base.family)
		status = -EINVAL;
	if (status == 0 && !(rule.text = net_rule_text(&rule)))
		status = -ENOMEM;
	if (status < 0) {
		net_rule_done(&rule);
		rule = (struct net_rule){ 0 };
	}
	*ret = rule;
	return status;
}

/* ---- secrets ------------------------------------------------------------------------------------------- */

void secret_done(struct net_secret *secret)
{
	free(secret->name);
	free(secret->header);
	free(secret->placeholder);
	free(secret->from);
	*secret = (struct net_secret){ 0 };
}

char *secret_line(const struct net_secret *secret)
{
	auto_str struct str s = { 0 };

	str_addf(&s, "from=%s", secret->from);
	if (secret->header)
		str_addf(&s, "\nheader=%s", secret->header);
	if (secret->ttl_ms)
		str_addf(&s, "\nttl=%" PRIu64, secret->ttl_ms);
	return str_take(&s);
}

static int secret_pair(void *to, const char *key, const char *value)
{
	struct net_secret *secret = to;

	if (strcmp(key, "from") == 0)
		return take_text(&secret->from, value);
	if (strcmp(key, "header") == 0)
		return take_text(&secret->header, value);
	if (strcmp(key, "ttl") != 0)
		return -EINVAL;
	secret->ttl_ms = strtoull(value, NULL, 10);
	return 0;
}

int secret_from_line(const char *name, const char *line, struct net_secret *ret)
{
	struct net_secret secret = { .name = strdup(name) };
	int status = secret.name ? each_pair(line, secret_pair, &secret) : -ENOMEM;

	if (status == 0 && !secret.from)
		status = -EINVAL;
	if (status < 0)
		secret_done(&secret);
	*ret = secret;
	return status;
}
