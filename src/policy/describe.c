/*
 * A policy told: as text, a YAML file that loads to the same policy, with the origin of each value as a comment; as
 * JSON, the same policy beside a map of origins. Runs in the front, with the caller's rights.
 */
#include "policy/describe.h"

#include "policy/option.h"
#include "policy/unit.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ORIGIN_COLUMN = 44 };

/* An entry of a list as it stands in a file. MOUNTS "SRC:DEST", TMPFS "DEST:SIZE"; malloc'd or NULL. */
static char *entry_text(const struct option *o, const struct strv *list, size_t i)
{
	char size[32];

	if (o->type == TYPE_MOUNTS)
		return str_printf("%s:%s", list->v[i], list->v[i + 1]);
	if (o->type == TYPE_TMPFS)
		return str_printf("%s:%s", list->v[i],
				  unit_text(TYPE_SIZE, strtoull(list->v[i + 1], NULL, 10), size, sizeof(size)));
	return strdup(list->v[i]);
}

/* ---- text --------------------------------------------------------------------------------------------- */

/* Whether YAML takes the text for itself without quotes, in a list as well. */
static bool is_plain(const char *text)
{
	if (!isalnum((unsigned char)text[0]) && text[0] != '/' && text[0] != '.' && text[0] != '_')
		return false;
	for (const char *p = text; *p; p++)
		if (!isalnum((unsigned char)*p) && !strchr("_./+-", *p) && !(*p == ':' && p[1] == '/'))
			return false;
	return strcasecmp(text, "null") != 0;
}

void describe_scalar(struct str *s, const char *text)
{
	struct json j = { 0 };
	auto_free char *quoted = NULL;

	if (is_plain(text)) {
		str_add(s, text);
		return;
	}
	json_string(&j, NULL, text);
	quoted = json_take(&j);
	if (quoted)
		str_add(s, quoted);
	else
		s->failed = true;
}

static void add_list(struct str *s, const struct option *o, const struct strv *list)
{
	bool map = o->type == TYPE_MAP;

	str_add_char(s, map ? '{' : '[');
	for (size_t i = 0; i < list->n; i += type_stride(o->type)) {
		auto_free char *text = entry_text(o, list, i);

		if (i)
			str_add(s, ", ");
		if (!text)
			s->failed = true;
		else
			describe_scalar(s, text);
		if (map) {
			str_add(s, ": ");
			describe_scalar(s, list->v[i + 1]);
		}
	}
	str_add_char(s, map ? '}' : ']');
}

static void add_value(struct str *s, const struct option *o, const struct policy_value *v)
{
	char buf[32];

	if (o->type == TYPE_RULES)
		describe_rules(s, &v->list);
	else if (o->type == TYPE_SECRETS)
		describe_secrets(s, &v->list);
	else if (type_is_list(o->type))
		add_list(s, o, &v->list);
	else if (type_is_text(o->type))
		describe_scalar(s, v->text);
	else
		str_add(s, option_number_text(o, v->num, buf, sizeof(buf)));
}

/* An origin may name a file, and a file's name may hold anything: one line, no control characters. */
static void add_comment(struct str *s, const char *text)
{
	str_add(s, "# ");
	for (; *text; text++)
		str_add_char(s, (unsigned char)*text < 0x20 || *text == 0x7f ? '?' : *text);
	str_add_char(s, '\n');
}

static char *describe_text(const struct cordon_policy *p)
{
	auto_str struct str s = { 0 };
	char section[16] = "";

	str_add(&s, "version: 1\n");
	for (int i = 0; i < OPTION_COUNT; i++) {
		const struct option *o = &options[i];
		const char *dot = strchr(o->key, '.');
		size_t len = dot ? (size_t)(dot - o->key) : 0, begin;

		if (!p->values[i].set)
			continue;
		if (dot && !(strlen(section) == len && memcmp(section, o->key, len) == 0)) {
			snprintf(section, sizeof(section), "%.*s", (int)len, o->key);
			str_addf(&s, "%s:\n", section);
		}
		begin = s.len;
		str_addf(&s, "%s%s: ", dot ? "  " : "", dot ? dot + 1 : o->key);
		add_value(&s, o, &p->values[i]);
		do
			str_add_char(&s, ' ');
		while (!s.failed && s.len - begin < ORIGIN_COLUMN);
		add_comment(&s, p->values[i].origin ? p->values[i].origin : "default");
	}
	return str_take(&s);
}

/* ---- JSON --------------------------------------------------------------------------------------------- */

static void json_list(struct json *j, const char *name, const struct option *o, const struct strv *list)
{
	if (o->type == TYPE_MAP) {
		json_object(j, name);
		for (size_t i = 0; i + 2 <= list->n; i += 2)
			json_string(j, list->v[i], list->v[i + 1]);
		json_end_object(j);
		return;
	}
	json_array(j, name);
	for (size_t i = 0; i < list->n; i += type_stride(o->type)) {
		auto_free char *text = entry_text(o, list, i);

		json_string(j, NULL, text);
	}
	json_end_array(j);
}

static void json_value(struct json *j, const char *name, const struct option *o, const struct policy_value *v)
{
	char buf[32];

	if (o->type == TYPE_RULES)
		describe_rules_json(j, name, &v->list);
	else if (o->type == TYPE_SECRETS)
		describe_secrets_json(j, name, &v->list);
	else if (type_is_list(o->type))
		json_list(j, name, o, &v->list);
	else if (type_is_text(o->type))
		json_string(j, name, v->text);
	else if (o->type == TYPE_SWITCH)
		json_bool(j, name, v->num);
	else
		json_string(j, name, option_number_text(o, v->num, buf, sizeof(buf)));
}

static void json_policy(struct json *j, const struct cordon_policy *p)
{
	char section[16] = "";

	json_object(j, "policy");
	json_uint(j, "version", 1);
	for (int i = 0; i < OPTION_COUNT; i++) {
		const struct option *o = &options[i];
		const char *dot = strchr(o->key, '.');
		size_t len = dot ? (size_t)(dot - o->key) : 0;

		if (!p->values[i].set)
			continue;
		if (!(strlen(section) == len && memcmp(section, o->key, len) == 0)) {
			if (section[0])
				json_end_object(j);
			snprintf(section, sizeof(section), "%.*s", (int)len, o->key);
			if (section[0])
				json_object(j, section);
		}
		json_value(j, dot ? dot + 1 : o->key, o, &p->values[i]);
	}
	if (section[0])
		json_end_object(j);
	json_end_object(j);
}

static char *describe_json(const struct cordon_policy *p)
{
	struct json j = { .pretty = true };

	json_object(&j, NULL);
	json_policy(&j, p);
	json_object(&j, "origins");
	for (int i = 0; i < OPTION_COUNT; i++)
		if (p->values[i].set)
			json_string(&j, options[i].key, p->values[i].origin ? p->values[i].origin : "default");
	json_end_object(&j);
	json_end_object(&j);
	return json_take(&j);
}

char *cordon_policy_describe(const struct cordon_policy *policy, enum cordon_format format)
{
	return format == CORDON_JSON ? describe_json(policy) : describe_text(policy);
}
