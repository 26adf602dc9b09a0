/*
 * Rules and secrets of a policy file: mappings in a list, mappings in a mapping, each of their keys with its place. See file.h. Runs
 * in the front, with the caller's rights.
 */
#include "base/str.h"
#include "policy/build.h"
#include "policy/file.h"
#include "policy/network.h"
#include "policy/network_line.h"
#include "policy/text.h"
#include "policy/unit.h"

#include <string.h>

/* One key of a rule or of a secret, read into it. */
struct field {
	const char *name, *key; /* in messages the whole of it */
	int (*read)(void *to, const struct yaml_node *node, const struct source *at, struct cordon_error *err);
};

static int scalar_wanted(const struct yaml_node *node, const struct source *at, struct cordon_error *err)
{
	if (node->kind == YAML_SCALAR && !yaml_is_null(node))
		return 0;
	return file_wrong_kind(node, YAML_SCALAR, at, "write the value behind the colon, or remove the key", err);
}

static int text_wanted(const struct yaml_node *node, const struct source *at, struct cordon_error *err)
{
	return scalar_wanted(node, at, err) < 0 ? -1 : file_text_wanted(node, at, err);
}

static int unknown_field(const struct field *fields, const struct yaml_node *node, const char *what,
			 const struct source *base, struct cordon_error *err)
{
	struct source at = file_at_key(base, node);
	struct suggestion s = { .word = node->key };
	auto_str struct str all = { 0 };

	for (const struct field *f = fields; f->name; f++) {
		suggest_offer(&s, f->name);
		str_addf(&all, "%s%s", f == fields ? "" : ", ", f->name);
	}
	if (all.failed)
		return fail_memory(err);
	source_fail(&at, err, "no such key in a %s: '%.100s'", what, node->key);
	return s.best ? fail_hint(err, "did you mean %s?", s.best) : fail_hint(err, "a %s has %s", what, all.data);
}

static int read_fields(const struct field *fields, void *to, const struct yaml_node *map, const char *what,
		       const struct source *base, struct cordon_error *err)
{
	for (const struct yaml_node *n = map->child; n; n = n->next) {
		const struct field *f = fields;
		struct source at;

		while (f->name && strcmp(f->name, n->key) != 0)
			f++;
		if (!f->name)
			return unknown_field(fields, n, what, base, err);
		at = file_at_value(base, n, f->key);
		if (f->read(to, n, &at, err) < 0)
			return -1;
	}
	return 0;
}

/* Each text of a list to `read`. */
static int read_texts(void *to, const struct yaml_node *node, const struct source *at, const char *hint,
		      int (*read)(void *to, const char *text, const struct source *at, struct cordon_error *err),
		      struct cordon_error *err)
{
	if (node->kind != YAML_LIST)
		return file_wrong_kind(node, YAML_LIST, at, hint, err);
	if (!node->child) {
		source_fail(at, err, "an empty list takes nothing at all");
		return fail_hint(err, "%s, or leave the key out", hint);
	}
	for (const struct yaml_node *n = node->child; n; n = n->next) {
		struct source entry = file_at_value(at, n, at->key);

		if (scalar_wanted(n, &entry, err) < 0 || read(to, n->text, &entry, err) < 0)
			return -1;
	}
	return 0;
}

/* Which of the words the text is; *ret is its index. */
static int read_word(const char *words, const struct yaml_node *node, int *ret, const struct source *at,
		     struct cordon_error *err)
{
	struct suggestion s = { .word = node->text };
	char word[4][16];

	if (scalar_wanted(node, at, err) < 0)
		return -1;
	*ret = option_word(words, node->text);
	if (*ret >= 0)
		return 0;
	for (size_t i = 0; i < ARRAY_LEN(word) && *option_word_at(words, i, word[i], sizeof(word[i])); i++)
		suggest_offer(&s, word[i]);
	source_fail(at, err, "'%.60s' is not one of %s", node->text, words);
	return s.best ? fail_hint(err, "did you mean %s?", s.best) : fail_hint(err, "write one of %s", words);
}

/* ---- rules --------------------------------------------------------------------------------------------- */

static int read_host(void *to, const struct yaml_node *node, const struct source *at, struct cordon_error *err)
{
	struct net_rule *rule = to;

	return text_wanted(node, at, err) < 0 ? -1 : network_host(&rule->host, node->text, at, err);
}

static int read_address(void *to, const struct yaml_node *node, const struct source *at, struct cordon_error *err)
{
	struct net_rule *rule = to;
	struct net_address address;
	char shown[ADDRESS_TEXT];

	if (scalar_wanted(node, at, err) < 0)
		return -1;
	if (prefix_parse(node->text, strlen(node->text), &rule->prefix) == 0)
		return 0;
	source_fail(at, err, "'%.100s' is neither an address nor a prefix", node->text);
	if (address_parse(node->text, strlen(node->text), &address) == 0)
		return fail_hint(err, "write %s", address_text(&address, shown));
	return fail_hint(err, "as in 10.1.2.0/24, 203.0.113.7 or 2001:db8::/32, with no bit set behind the prefix");
}

static int read_port(void *to, const char *text, const struct source *at, struct cordon_error *err)
{
	struct net_rule *rule = to, one = { 0 };

	if (rule->port_count >= NET_PORTS_MAX)
		return source_fail(at, err, "more than %d ports and ranges", NET_PORTS_MAX);
	if (net_ports_parse(text, strlen(text), &one) < 0 || one.port_count != 1) {
		source_fail(at, err, "'%.60s' is not a port", text);
		return fail_hint(err, "from 1 to 65535, or a range as in 8000-8010");
	}
	rule->ports[rule->port_count++] = one.ports[0];
	return 0;
}

static int read_ports(void *to, const struct yaml_node *node, const struct source *at, struct cordon_error *err)
{
	return read_texts(to, node, at, "write [443] or [22, 8000-8010]", read_port, err);
}

static int read_protocol(void *to, const struct yaml_node *node, const struct source *at, struct cordon_error *err)
{
	struct net_rule *rule = to;
	int word;

	if (read_word("tls|http|tcp", node, &word, at, err) < 0)
		return -1;
	rule->has_protocol = true;
	rule->protocol = (enum net_protocol)word;
	return 0;
}

static int read_method(void *to, const char *text, const struct source *at, struct cordon_error *err)
{
	struct net_rule *rule = to;
	size_t len = strlen(text);

	if (!len || len > 16 || strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZ-") != len) {
		source_fail(at, err, "'%.60s' is not a method", text);
		return fail_hint(err, "capital letters, as in GET or POST");
	}
	if (strcmp(text, "CONNECT") == 0)
		return source_fail(at, err, "CONNECT makes a tunnel and is never allowed");
	return strv_has(&rule->methods, text) || strv_add(&rule->methods, text) == 0 ? 0 : fail_memory(err);
}

static int read_methods(void *to, const struct yaml_node *node, const struct source *at, struct cordon_error *err)
{
	return read_texts(to, node, at, "write [GET, HEAD]", read_method, err);
}

static int read_path(void *to, const char *text, const struct source *at, struct cordon_error *err)
{
	struct net_rule *rule = to;

	if (text[0] != '/' || text[strcspn(text, "?#%;\\ ")]) {
		source_fail(at, err, "'%.100s' is not a path", text);
		return fail_hint(err, "it begins with a slash and has no query, as in /v1/*; a star stands for "
				      "anything, and escapes are compared decoded");
	}
	if (text_check_word(OPT_ALLOW, text, at, err) < 0)
		return -1;
	return strv_has(&rule->paths, text) || strv_add(&rule->paths, text) == 0 ? 0 : fail_memory(err);
}

static int read_paths(void *to, const struct yaml_node *node, const struct source *at, struct cordon_error *err)
{
	return read_texts(to, node, at, "write [\"/v1/*\"]", read_path, err);
}

static int read_secret_name(void *to, const struct yaml_node *node, const struct source *at, struct cordon_error *err)
{
	struct net_rule *rule = to;

	if (text_wanted(node, at, err) < 0 || network_check_secret_name(node->text, at, err) < 0)
		return -1;
	rule->secret = strdup(node->text);
	return rule->secret ? 0 : fail_memory(err);
}

static int read_ech(void *to, const struct yaml_node *node, const struct source *at, struct cordon_error *err)
{
	struct net_rule *rule = to;
	int word;

	if (read_word("refuse|allow", node, &word, at, err) < 0)
		return -1;
	rule->ech = word;
	return 0;
}

static const struct field rule_fields[] = {
	{ "host", "network.allow.host", read_host },
	{ "address", "network.allow.address", read_address },
	{ "ports", "network.allow.ports", read_ports },
	{ "protocol", "network.allow.protocol", read_protocol },
	{ "methods", "network.allow.methods", read_methods },
	{ "paths", "network.allow.paths", read_paths },
	{ "secret", "network.allow.secret", read_secret_name },
	{ "ech", "network.allow.ech", read_ech },
	{ NULL, NULL, NULL },
};

static int read_rule(struct cordon_policy *layer, const struct yaml_node *node, const struct source *at,
		     struct cordon_error *err)
{
	struct net_rule rule = { 0 };
	bool address;

	if (read_fields(rule_fields, &rule, node, "rule", at, err) < 0) {
		net_rule_done(&rule);
		return -1;
	}
	address = rule.prefix.base.family;
	if (address == !!rule.host) {
		net_rule_done(&rule);
		source_fail(at, err,
			    address ? "a rule is for a host or for an address, not for both" : "a rule without a host");
		return fail_hint(err, "write {host: api.example.com} or {address: 10.1.2.0/24, ports: [5432], "
				      "protocol: tcp}");
	}
	return network_add_rule(layer, &rule, at, err);
}

int file_read_rules(struct cordon_policy *layer, enum option_id id, const struct yaml_node *node,
		    const struct source *at, struct cordon_error *err)
{
	if (node->kind != YAML_LIST)
		return file_wrong_kind(node, YAML_LIST, at, "write [api.example.com], or one line '- host: …' each",
				       err);
	for (const struct yaml_node *n = node->child; n; n = n->next) {
		struct source entry = file_at_value(at, n, at->key);
		int status;

		if (n->kind == YAML_MAP && id == OPT_ALLOW)
			status = read_rule(layer, n, &entry, err);
		else if (text_wanted(n, &entry, err) < 0)
			status = -1;
		else
			status = policy_put(layer, id, n->text, &entry, err);
		if (status < 0)
			return -1;
	}
	return 0;
}

/* ---- secrets ------------------------------------------------------------------------------------------- */

static int read_from(void *to, const struct yaml_node *node, const struct source *at, struct cordon_error *err)
{
	struct net_secret *secret = to;

	return scalar_wanted(node, at, err) < 0 ? -1 : network_from(&secret->from, node->text, at, err);
}

static int read_header(void *to, const struct yaml_node *node, const struct source *at, struct cordon_error *err)
{
	struct net_secret *secret = to;

	if (scalar_wanted(node, at, err) < 0 || network_check_header(node->text, at, err) < 0)
		return -1;
	secret->header = strdup(node->text);
	return secret->header ? 0 : fail_memory(err);
}

static int read_ttl(void *to, const struct yaml_node *node, const struct source *at, struct cordon_error *err)
{
	struct net_secret *secret = to;
	struct unit_fault fault = { 0 };

	if (scalar_wanted(node, at, err) < 0)
		return -1;
	if (unit_parse(TYPE_DURATION, node->text, &secret->ttl_ms, &fault) < 0) {
		source_fail(at, err, "%s", fault.message);
		return fail_hint(err, "%s", fault.hint);
	}
	if (secret->ttl_ms >= NETWORK_TTL_MIN_MS && secret->ttl_ms <= NETWORK_TTL_MAX_MS)
		return 0;
	source_fail(at, err, "'%.60s' is too %s", node->text, secret->ttl_ms < NETWORK_TTL_MIN_MS ? "small" : "large");
	return fail_hint(err, "from 1s to 8760h");
}

static const struct field secret_fields[] = {
	{ "from", "secrets.from", read_from },
	{ "header", "secrets.header", read_header },
	{ "ttl", "secrets.ttl", read_ttl },
	{ NULL, NULL, NULL },
};

static int read_secret(struct cordon_policy *layer, const struct yaml_node *node, const struct source *at,
		       struct cordon_error *err)
{
	struct net_secret secret = { 0 };
	int status = -1;

	if (node->kind != YAML_MAP)
		return file_wrong_kind(node, YAML_MAP, at, "write {from: \"env:VARIABLE\"}", err);
	if (read_fields(secret_fields, &secret, node, "secret", at, err) < 0) {
		secret_done(&secret);
		return -1;
	}
	if (!secret.from) {
		source_fail(at, err, "the secret '%.100s' has no 'from'", node->key);
		fail_hint(err, "write from: \"env:VARIABLE\", \"file:PATH\" or \"command:LINE\"");
	} else {
		secret.ttl_ms = secret.ttl_ms ? secret.ttl_ms : network_usual_ttl(secret.from);
		secret.name = strdup(node->key);
		status = secret.name ? 0 : fail_memory(err);
	}
	if (status == 0)
		return network_add_secret(layer, &secret, at, err);
	secret_done(&secret);
	return -1;
}

int file_read_secrets(struct cordon_policy *layer, const struct yaml_node *node, const struct source *at,
		      struct cordon_error *err)
{
	if (node->kind != YAML_MAP)
		return file_wrong_kind(node, YAML_MAP, at, "write {NAME: {from: \"env:VARIABLE\"}}", err);
	for (const struct yaml_node *n = node->child; n; n = n->next) {
		struct source entry = file_at_value(at, n, at->key);

		if (read_secret(layer, n, &entry, err) < 0)
			return -1;
	}
	return 0;
}
