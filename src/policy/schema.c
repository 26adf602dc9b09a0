/*
 * The JSON Schema (2020-12) of a policy file, from the option table: it takes what the parser takes. What a schema cannot say: whether
 * a preset or an image exists, where a relative path leads, whether two mounts have one DEST, what a label of a host's name may be, and
 * whether rules fit each other and the secrets. Lengths are in characters here and in bytes there, and a number is a number however it
 * is written (1.0, 1e3). Pure.
 */
#include "policy/schema.h"

#include "policy/option.h"
#include "policy/text.h"
#include "policy/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Paths, from what no path holds on. "." and ".." are components between slashes. */
#define CHARACTER "[^\\u0000-\\u001f\\u007f]"
#define NO_COLON "[^:\\u0000-\\u001f\\u007f]"
#define NO_DOTDOT(END) "(?!.*/\\.\\.(/|" END "$))" /* END ":|": a mount's path ends there as well */
/* In the box; as a place to mount at, neither the root nor what belongs to the box. */
#define BOX_PATH NO_DOTDOT("") "/" CHARACTER "*"
#define MOUNTABLE NO_DOTDOT(":|") "(?=.*/(?!\\.?(/|:|$)))(?!/+(\\./+)*(proc|sys|dev)(/|:|$))"
/* On the host: ".." only in front. */
#define HOST_BEGIN(END) "(" NO_DOTDOT(END) "/|" RELATIVE(END) ")"
#define RELATIVE(END) "(?![~/]|$)(\\.\\.?/+)*" NO_DOTDOT(END)
#define HOST_PATH HOST_BEGIN("") CHARACTER "*"

void schema_unit(struct json *j, enum option_type type, uint64_t min, uint64_t max)
{
	auto_free char *pattern = unit_pattern(type, min, max);

	schema_text(j, pattern);
}

/* Types with a bare-number form have two: a JSON number, or text with a unit. */
static void schema_number(struct json *j, const struct option *o)
{
	bool bare = o->type == TYPE_SIZE || o->type == TYPE_COUNT || o->type == TYPE_CPUS;

	if (!bare) {
		schema_unit(j, o->type, o->min, o->max);
		return;
	}
	json_array(j, "anyOf");
	json_object(j, NULL);
	if (o->type == TYPE_CPUS) {
		json_string(j, "type", "number");
		json_double(j, "minimum", (double)o->min / 1000);
		json_double(j, "maximum", (double)o->max / 1000);
	} else {
		json_string(j, "type", "integer");
		json_uint(j, "minimum", o->min);
		json_uint(j, "maximum", o->max);
	}
	json_end_object(j);
	json_object(j, NULL);
	schema_unit(j, o->type, o->min, o->max);
	json_end_object(j);
	json_end_array(j);
}

/* Only what is built in: a schema offers what works. */
static void schema_words(struct json *j, const struct option *o)
{
	char word[24];

	json_array(j, "enum");
	for (uint64_t i = 0; *option_word_at(o->metavar, i, word, sizeof(word)); i++)
		if (!(o == &options[OPT_LEVEL] && i >= LEVEL_VM))
			json_string(j, NULL, word);
	json_end_array(j);
}

void schema_text(struct json *j, const char *pattern)
{
	json_string(j, "type", "string");
	json_string(j, "pattern", pattern);
}

static void schema_map(struct json *j)
{
	json_string(j, "type", "object");
	json_object(j, "propertyNames");
	json_string(j, "pattern", "^[A-Za-z_][A-Za-z0-9_]*$");
	json_end_object(j);
	json_object(j, "additionalProperties");
	json_array(j, "type");
	json_string(j, NULL, "string");
	json_string(j, NULL, "number");
	json_string(j, NULL, "boolean");
	json_end_array(j);
	json_end_object(j);
}

#define WORD "[^/ ,;|&<>()$`'\"*?\\[\\]{}\\\\\\u0000-\\u001f\\u007f]+"
static const char *entry_pattern(enum option_id id)
{
	if (id == OPT_DEGRADE || id == OPT_REQUIRE)
		return "^(userns|mountns|pidns|netns|ipcns|utsns|cgroupns|cgroup|rlimits|no_new_privs|landlock|seccomp)"
		       "$";
	if (id == OPT_PASS_ENV)
		return "^[A-Za-z_][A-Za-z0-9_]*$";
	if (id == OPT_COMMANDS)
		return "^(?!.*/\\.\\.?(/|$))(/" WORD ")+$|^\\[$|^" WORD "$";
	if (options[id].type == TYPE_MOUNTS)
		return "^(?!:)(" HOST_BEGIN(":|") NO_COLON "*:(?=/)" MOUNTABLE "|(?=/)" MOUNTABLE
							   "|" RELATIVE(":|") ")" NO_COLON "+$";
	if (options[id].type == TYPE_PATHS)
		return "^(?!.*(^|/)\\.\\.(/|$))(?=(.*/)?(?!\\.?(/|$)))" CHARACTER "+$";
	if (options[id].type == TYPE_HOSTPATHS)
		return "^" HOST_PATH "$";
	return "^" CHARACTER "+$";
}
#undef WORD

/* DEST:SIZE */
static void schema_tmpfs(struct json *j)
{
	auto_free char *size = unit_pattern(TYPE_SIZE, TEXT_TMPFS_MIN, TEXT_TMPFS_MAX),
		       *pattern = size ? str_printf("^(?=/)" MOUNTABLE NO_COLON "+:%s", size + 1) : NULL;

	schema_text(j, pattern);
}

static void schema_list(struct json *j, enum option_id id)
{
	enum option_type type = options[id].type;

	json_string(j, "type", "array");
	json_object(j, "items");
	if (type == TYPE_TMPFS)
		schema_tmpfs(j);
	else
		schema_text(j, entry_pattern(id));
	json_uint(j, "maxLength", type == TYPE_STRINGS ? TEXT_WORD_MAX : TEXT_PATH_MAX);
	json_end_object(j);
	if (id == OPT_COMMANDS)
		json_uint(j, "minItems", 1);
}

static const char *text_pattern(enum option_id id)
{
	if (options[id].type == TYPE_PATH)
		return "^" BOX_PATH "$";
	if (options[id].type == TYPE_ROOT)
		return "^(host|image:(?!.*/([./@]|$))[A-Za-z0-9][A-Za-z0-9._:/+-]{0,199}(@sha256:[0-9a-f]{64})?|"
		       "(?!image:)(?=.*/)" HOST_PATH ")$";
	if (id == OPT_USER)
		return "^(?!root$)[a-z_][a-z0-9_-]{0,31}$";
	if (id == OPT_UPSTREAM_PROXY)
		return "^(none|http://(\\[[0-9a-fA-F:.]+\\]|[^/@:*\\s\\[\\]]+):" SCHEMA_PORT ")$";
	return id == OPT_CA_FILE ? "^/" CHARACTER "*$" : "^" CHARACTER "+$";
}

static void schema_string(struct json *j, enum option_id id)
{
	schema_text(j, text_pattern(id));
	json_uint(j, "maxLength", options[id].type == TYPE_STRING ? TEXT_WORD_MAX : TEXT_PATH_MAX);
}

static void schema_default(struct json *j, const struct option *o)
{
	if (!o->default_text)
		return;
	if (type_is_map(o->type)) {
		json_object(j, "default");
		json_end_object(j);
	} else if (type_is_list(o->type)) {
		json_array(j, "default");
		json_end_array(j);
	} else if (o->type == TYPE_SWITCH) {
		json_bool(j, "default", strcmp(o->default_text, "true") == 0);
	} else {
		json_string(j, "default", o->default_text);
	}
}

static void schema_option(struct json *j, enum option_id id)
{
	const struct option *o = &options[id];
	const char *dot = strchr(o->key, '.');

	json_object(j, dot ? dot + 1 : o->key);
	json_string(j, "description", o->help);
	if (o->type == TYPE_RULES)
		schema_rules(j, id);
	else if (o->type == TYPE_SECRETS)
		schema_secrets(j);
	else if (o->type == TYPE_MAP)
		schema_map(j);
	else if (type_is_list(o->type))
		schema_list(j, id);
	else if (o->type == TYPE_ENUM)
		schema_words(j, o);
	else if (o->type == TYPE_SWITCH)
		json_string(j, "type", "boolean");
	else if (type_is_text(o->type))
		schema_string(j, id);
	else
		schema_number(j, o);
	schema_default(j, o);
	json_end_object(j);
}

/* A section whose mode has a key may be that one word. */
static void section_begin(struct json *j, const char *name)
{
	int word = option_find(name);

	json_object(j, name);
	if (word >= 0) {
		json_array(j, "anyOf");
		json_object(j, NULL);
		schema_words(j, &options[word]);
		json_end_object(j);
		json_object(j, NULL);
	}
	json_string(j, "type", "object");
	json_bool(j, "additionalProperties", false);
	json_object(j, "properties");
}

static void section_end(struct json *j, const char *name)
{
	json_end_object(j);
	json_end_object(j);
	if (option_find(name) >= 0) {
		json_end_array(j);
		json_end_object(j);
	}
}

static void schema_head(struct json *j)
{
	json_object(j, "version");
	json_string(j, "description", "the version of this format");
	json_uint(j, "const", 1);
	json_end_object(j);
	json_object(j, "extends");
	json_string(j, "description", "a preset's name or the path of a policy file; what stands here goes over it");
	json_string(j, "type", "string");
	json_uint(j, "minLength", 1);
	json_end_object(j);
}

char *cordon_policy_schema(void)
{
	static const char *const required[] = { "version", NULL };
	struct json j = { .pretty = true };
	char section[16] = "";

	json_object(&j, NULL);
	json_string(&j, "$schema", "https://json-schema.org/draft/2020-12/schema");
	json_string(&j, "title", "cordon policy");
	json_string(&j, "type", "object");
	json_strings(&j, "required", required);
	json_bool(&j, "additionalProperties", false);
	json_object(&j, "properties");
	schema_head(&j);
	for (int i = 0; i < OPTION_COUNT; i++) {
		const char *key = options[i].key, *dot = strchr(key, '.');
		size_t len = dot ? (size_t)(dot - key) : 0;

		if (!(strlen(section) == len && memcmp(section, key, len) == 0)) {
			if (section[0])
				section_end(&j, section);
			snprintf(section, sizeof(section), "%.*s", (int)len, key);
			if (section[0])
				section_begin(&j, section);
		}
		schema_option(&j, (enum option_id)i);
	}
	if (section[0])
		section_end(&j, section);
	json_end_object(&j);
	json_end_object(&j);
	return json_take(&j);
}
