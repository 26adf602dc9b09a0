/*
 * From a YAML tree to a layer of a policy: see file.h. The shape of the tree comes from the option table: a key "limits.memory"
 * is `memory` in the section `limits`. Runs in the front, with the caller's rights.
 */
#include "policy/file.h"

#include "policy/build.h"
#include "policy/network.h"
#include "policy/value.h"

#include <stdlib.h>
#include <string.h>

static const char *const kind_names[] = {
	[YAML_SCALAR] = "a single value",
	[YAML_LIST] = "a list",
	[YAML_MAP] = "a mapping",
};

struct source file_at_value(const struct source *base, const struct yaml_node *node, const char *key)
{
	struct source at = *base;

	at.line = node->line;
	at.column = node->column;
	at.key = key;
	return at;
}

struct source file_at_key(const struct source *base, const struct yaml_node *node)
{
	struct source at = *base;

	at.line = node->key_line;
	at.column = node->key_column;
	at.key = NULL;
	return at;
}

int file_wrong_kind(const struct yaml_node *node, enum yaml_kind want, const struct source *at, const char *hint,
		    struct cordon_error *err)
{
	source_fail(at, err, "%s is wanted here, not %s", kind_names[want],
		    yaml_is_null(node) ? "nothing" : kind_names[node->kind]);
	return fail_hint(err, "%s", hint);
}

/* A word without quotes that is a number or a truth value in YAML and JSON. */
static bool is_no_text(const struct yaml_node *node)
{
	const char *t = node->text;
	char *end = NULL;

	if (!node->plain)
		return false;
	if (strcmp(t, "true") == 0 || strcmp(t, "false") == 0)
		return true;
	(void)strtod(t, &end);
	return end != t && !*end && strspn(t, "+-.0123456789eE") == strlen(t);
}

int file_text_wanted(const struct yaml_node *node, const struct source *at, struct cordon_error *err)
{
	if (!is_no_text(node))
		return 0;
	source_fail(at, err, "a text is wanted here, not %s", strpbrk(node->text, "tf") ? "a truth value" : "a number");
	return fail_hint(err, "if it is meant as a text, write \"%s\"", node->text);
}

static int check_type(enum option_type type, const struct yaml_node *node, const struct source *at,
		      struct cordon_error *err)
{
	const bool texts = type_is_text(type) || type == TYPE_STRINGS || type == TYPE_PATHS || type == TYPE_HOSTPATHS ||
			   type == TYPE_MOUNTS || type == TYPE_TMPFS;

	if (type == TYPE_SWITCH && !node->plain) {
		source_fail(at, err, "true or false is wanted here, not a text");
		return fail_hint(err, "write %s without quotes",
				 strcmp(node->text, "true") == 0 ? "true" : "true or false");
	}
	return texts ? file_text_wanted(node, at, err) : 0;
}

static int read_scalar(struct cordon_policy *layer, enum option_id id, const struct yaml_node *node,
		       const struct source *at, struct cordon_error *err)
{
	if (node->kind != YAML_SCALAR || yaml_is_null(node))
		return file_wrong_kind(node, YAML_SCALAR, at, "write the value behind the colon, or remove the key",
				       err);
	return check_type(options[id].type, node, at, err) < 0 ? -1 : policy_put(layer, id, node->text, at, err);
}

static int read_map(struct cordon_policy *layer, enum option_id id, const struct yaml_node *node,
		    const struct source *at, struct cordon_error *err)
{
	if (node->kind != YAML_MAP)
		return file_wrong_kind(node, YAML_MAP, at, "write {NAME: value, …}", err);
	for (const struct yaml_node *n = node->child; n; n = n->next) {
		struct source entry = file_at_value(at, n, at->key);

		if (n->kind != YAML_SCALAR || yaml_is_null(n))
			return file_wrong_kind(n, YAML_SCALAR, &entry,
					       "an empty text is \"\", and the word null is \"null\"", err);
		if (value_add_pair(&layer->values[id], id, n->key, n->text, &entry, err) < 0)
			return -1;
	}
	return 0;
}

static int read_list(struct cordon_policy *layer, enum option_id id, const struct yaml_node *node,
		     const struct source *at, struct cordon_error *err)
{
	if (node->kind != YAML_LIST)
		return file_wrong_kind(node, YAML_LIST, at, "write [one, two], or one line '- entry' each", err);
	for (const struct yaml_node *n = node->child; n; n = n->next) {
		struct source entry = file_at_value(at, n, at->key);

		if (n->kind != YAML_SCALAR || yaml_is_null(n))
			return file_wrong_kind(n, YAML_SCALAR, &entry,
					       "each entry is one text; quote it where YAML sees more in it", err);
		if (check_type(options[id].type, n, &entry, err) < 0 || policy_put(layer, id, n->text, &entry, err) < 0)
			return -1;
	}
	return 0;
}

static int read_option(struct cordon_policy *layer, enum option_id id, const struct yaml_node *node,
		       const struct source *base, struct cordon_error *err)
{
	const struct option *o = &options[id];
	enum option_id holds = id == OPT_ALLOW_CIDR ? OPT_ALLOW : id;
	struct source at = file_at_value(base, node, o->key);
	auto_free char *origin = NULL;

	if (!type_is_list(o->type))
		return read_scalar(layer, id, node, &at, err);
	/* The entries' origin is the list's place; their own places are for messages. */
	origin = source_origin(&at);
	if (!origin)
		return fail_memory(err);
	at.origin = origin;
	if (!node->child && node->kind != YAML_SCALAR && !layer->values[holds].list.n &&
	    value_set_empty(&layer->values[holds], holds, &at, err) < 0)
		return -1;
	if (o->type == TYPE_RULES)
		return file_read_rules(layer, id, node, &at, err);
	if (o->type == TYPE_SECRETS)
		return file_read_secrets(layer, node, &at, err);
	return o->type == TYPE_MAP ? read_map(layer, id, node, &at, err) : read_list(layer, id, node, &at, err);
}

static int unknown_key(const char *section, const struct yaml_node *node, const struct source *base,
		       struct cordon_error *err)
{
	struct source at = file_at_key(base, node);
	const char *best = option_suggest(section, node->key), *dot = strchr(node->key, '.');

	source_fail(&at, err, "no such key%s%s: '%.100s'", section ? " in " : "", section ? section : "", node->key);
	if (!section && dot && option_find(node->key) >= 0)
		return fail_hint(err, "write %.*s: {%s: …}", (int)(dot - node->key), node->key, dot + 1);
	if (best)
		return fail_hint(err, "did you mean %s?", best);
	return fail_hint(err, "'cordon policy schema' lists every key");
}

/* Rules without a mode: they are what is allowed. */
static int imply_mode(struct cordon_policy *layer, struct cordon_error *err)
{
	const struct policy_value *rules = &layer->values[OPT_ALLOW];
	struct source at = { .origin = rules->origin };

	return rules->set && !layer->values[OPT_NETWORK].set ? network_imply_allow(layer, &at, err) : 0;
}

static int read_section(struct cordon_policy *layer, const struct yaml_node *section, const struct source *base,
			struct cordon_error *err)
{
	struct source at = file_at_value(base, section, section->key);
	int word = option_find(section->key);

	if (section->kind == YAML_SCALAR && word >= 0)
		return read_option(layer, (enum option_id)word, section, base, err);
	if (section->kind != YAML_MAP)
		return file_wrong_kind(section, YAML_MAP, &at, "write its keys below it, indented, or remove it", err);
	for (const struct yaml_node *n = section->child; n; n = n->next) {
		auto_free char *key = str_printf("%s.%s", section->key, n->key);
		int id = key ? option_find(key) : -1;

		if (!key)
			return fail_memory(err);
		if (id < 0)
			return unknown_key(section->key, n, base, err);
		if (read_option(layer, (enum option_id)id, n, base, err) < 0)
			return -1;
	}
	return word == OPT_NETWORK ? imply_mode(layer, err) : 0;
}

static int check_version(const struct yaml_node *node, const struct source *base, struct cordon_error *err)
{
	struct source at = *base;

	at.line = at.column = 1;
	if (!node) {
		source_fail(&at, err, "'version' is missing");
		return fail_hint(err, "begin the file with 'version: 1'");
	}
	at = file_at_value(base, node, "version");
	if (node->kind == YAML_SCALAR && node->plain && strcmp(node->text, "1") == 0)
		return 0;
	source_fail(&at, err, "only version 1 is known here");
	return fail_hint(err, "write 'version: 1'");
}

static int read_extends(struct file_head *head, const struct yaml_node *node, const struct source *base,
			struct cordon_error *err)
{
	struct source at = file_at_value(base, node, "extends");

	if (node->kind != YAML_SCALAR || yaml_is_null(node) || !*node->text)
		return file_wrong_kind(node, YAML_SCALAR, &at, "name one preset or one file", err);
	if (file_text_wanted(node, &at, err) < 0)
		return -1;
	head->extends = node;
	return 0;
}

int file_read(struct cordon_policy *layer, struct file_head *ret_head, const struct yaml_node *root,
	      const struct source *base, struct cordon_error *err)
{
	struct source at = file_at_value(base, root, NULL);
	const struct yaml_node *version = NULL;

	*ret_head = (struct file_head){ 0 };
	if (root->kind != YAML_MAP)
		return file_wrong_kind(root, YAML_MAP, &at, "begin the file with 'version: 1'", err);
	for (const struct yaml_node *n = root->child; n; n = n->next)
		if (strcmp(n->key, "version") == 0)
			version = n;
	if (check_version(version, base, err) < 0)
		return -1;
	for (const struct yaml_node *n = root->child; n; n = n->next) {
		bool section = *n->key && !strchr(n->key, '.') && option_is_section(n->key);
		int id = section || strchr(n->key, '.') ? -1 : option_find(n->key), status = 0;

		if (n == version)
			continue;
		if (strcmp(n->key, "extends") == 0)
			status = read_extends(ret_head, n, base, err);
		else if (id >= 0)
			status = read_option(layer, (enum option_id)id, n, base, err);
		else if (section)
			status = read_section(layer, n, base, err);
		else
			status = unknown_key(NULL, n, base, err);
		if (status < 0)
			return -1;
	}
	return 0;
}
