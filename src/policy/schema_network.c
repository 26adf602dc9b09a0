/* What a rule of the network and a secret may be, for the JSON Schema: see schema.h. Pure. */
#include "policy/schema.h"

#include "net/config.h"
#include "policy/network.h"

/* Only the shape of a name: what a label may be, the parser says. */
#define NAME "(\\*|(\\*\\.)?[^*/:@\\s\\[\\]]+)"
#define PORTS SCHEMA_PORT "(-" SCHEMA_PORT ")?"
#define LIST PORTS "(," PORTS ")*(/(tls|http|tcp))?"
#define SECRET "^(?!LD_|(PATH|GLIBC_TUNABLES|GCONV_PATH)$)[A-Za-z_][A-Za-z0-9_]{0,199}$"

static void described(struct json *j, const char *name, const char *help)
{
	json_object(j, name);
	json_string(j, "description", help);
}

static void text_field(struct json *j, const char *name, const char *help, const char *pattern)
{
	described(j, name, help);
	schema_text(j, pattern);
	json_end_object(j);
}

static void word_field(struct json *j, const char *name, const char *help, const char *const *words)
{
	described(j, name, help);
	json_strings(j, "enum", words);
	json_end_object(j);
}

static void texts_field(struct json *j, const char *name, const char *help, const char *pattern)
{
	described(j, name, help);
	json_string(j, "type", "array");
	json_uint(j, "minItems", 1);
	json_object(j, "items");
	schema_text(j, pattern);
	json_end_object(j);
	json_end_object(j);
}

static void ports_field(struct json *j)
{
	described(j, "ports", "443 and 80 where they are not said");
	json_string(j, "type", "array");
	json_uint(j, "minItems", 1);
	json_uint(j, "maxItems", NET_PORTS_MAX);
	json_object(j, "items");
	json_array(j, "anyOf");
	json_object(j, NULL);
	json_string(j, "type", "integer");
	json_uint(j, "minimum", 1);
	json_uint(j, "maximum", UINT16_MAX);
	json_end_object(j);
	json_object(j, NULL);
	schema_text(j, "^" PORTS "$");
	json_end_object(j);
	json_end_array(j);
	json_end_object(j);
	json_end_object(j);
}

static void required_one(struct json *j, const char *name)
{
	const char *const names[] = { name, NULL };

	json_object(j, NULL);
	json_strings(j, "required", names);
	json_end_object(j);
}

static void rule_object(struct json *j)
{
	static const char *const protocols[] = { "tls", "http", "tcp", NULL }, *const ech[] = { "refuse", "allow",
												NULL };

	json_string(j, "type", "object");
	json_bool(j, "additionalProperties", false);
	json_object(j, "properties");
	text_field(j, "host", "a name, *.NAME for every name below it, or * for any", "^" NAME "$");
	text_field(j, "address", "an address or a prefix", "^[0-9a-fA-F:.]+(/[0-9]{1,3})?$");
	ports_field(j);
	word_field(j, "protocol", "tls on 443, http on 80; other ports must say it", protocols);
	texts_field(j, "methods", "the only methods of requests", "^[A-Z-]{1,16}$");
	texts_field(j, "paths", "the only paths of requests; a star stands for anything", "^/[^?#%;\\\\ ]*$");
	text_field(j, "secret", "the secret that requests are given", SECRET);
	word_field(j, "ech", "whether an encrypted ClientHello may pass", ech);
	json_end_object(j);
	json_array(j, "oneOf");
	required_one(j, "host");
	required_one(j, "address");
	json_end_array(j);
}

void schema_rules(struct json *j, enum option_id id)
{
	json_string(j, "type", "array");
	json_object(j, "items");
	if (id == OPT_ALLOW_CIDR) {
		schema_text(j, "^\\[?[0-9a-fA-F:.]+(/[0-9]{1,3})?\\]?(/[0-9]{1,3})?:" LIST "$");
	} else {
		json_array(j, "anyOf");
		json_object(j, NULL);
		schema_text(j, "^" NAME "(:" LIST ")?$");
		json_end_object(j);
		json_object(j, NULL);
		rule_object(j);
		json_end_object(j);
		json_end_array(j);
	}
	json_end_object(j);
}

void schema_secrets(struct json *j)
{
	static const char *const required[] = { "from", NULL };

	json_string(j, "type", "object");
	json_object(j, "propertyNames");
	json_string(j, "pattern", SECRET);
	json_end_object(j);
	json_object(j, "additionalProperties");
	json_string(j, "type", "object");
	json_bool(j, "additionalProperties", false);
	json_strings(j, "required", required);
	json_object(j, "properties");
	text_field(j, "from", "env:VARIABLE, file:PATH or command:LINE",
		   "^(env:[A-Za-z_][A-Za-z0-9_]*|file:(?!~).+|command: *[^ ].*)$");
	text_field(j, "header", "the header that carries it, {} for the value",
		   "^(?!.*\\{\\}.*\\{\\})[A-Za-z0-9._-]+: [ -~]*\\{\\}[ -~]*$");
	described(j, "ttl", "how long a fetched value may be used");
	schema_unit(j, TYPE_DURATION, NETWORK_TTL_MIN_MS, NETWORK_TTL_MAX_MS);
	json_end_object(j);
	json_end_object(j);
	json_end_object(j);
}
