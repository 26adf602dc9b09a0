/* A JSON writer: see json.h. */
#include "base/json.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static void json_newline(struct json *j)
{
	if (!j->pretty)
		return;
	str_add_char(&j->out, '\n');
	for (unsigned i = 0; i < j->depth; i++)
		str_add(&j->out, "  ");
}

bool json_is_utf8(const char *data, size_t len)
{
	uint32_t c;

	for (size_t i = 0, n; i < len; i += n) {
		n = str_decode(data + i, len - i, &c);
		if (!n)
			return false;
	}
	return true;
}

static void json_quote(struct json *j, const char *value, size_t len)
{
	str_add_char(&j->out, '"');
	for (size_t i = 0; i < len;) {
		unsigned char c = (unsigned char)value[i];
		uint32_t whole;
		size_t n = str_decode(value + i, len - i, &whole);

		if (c == '"' || c == '\\')
			str_addf(&j->out, "\\%c", c);
		else if (c == '\n')
			str_add(&j->out, "\\n");
		else if (c == '\t')
			str_add(&j->out, "\\t");
		else if (c == '\r')
			str_add(&j->out, "\\r");
		else if (c < 0x20 || c == 0x7f)
			str_addf(&j->out, "\\u%04x", c);
		else if (!n)
			str_add(&j->out, "\\ufffd");
		else
			str_add_bytes(&j->out, value + i, n);
		i += n ? n : 1;
	}
	str_add_char(&j->out, '"');
}

static void json_before(struct json *j, const char *key)
{
	if (j->comma[j->depth])
		str_add_char(&j->out, ',');
	if (j->depth)
		json_newline(j);
	j->comma[j->depth] = true;
	if (!key)
		return;
	json_quote(j, key, strlen(key));
	str_add(&j->out, j->pretty ? ": " : ":");
}

static void json_open(struct json *j, const char *key, char c)
{
	json_before(j, key);
	str_add_char(&j->out, c);
	if (j->depth + 1 < ARRAY_LEN(j->comma))
		j->depth++;
	else
		j->out.failed = true;
	j->comma[j->depth] = false;
}

static void json_close(struct json *j, char c)
{
	bool any = j->comma[j->depth];

	if (j->depth)
		j->depth--;
	if (any)
		json_newline(j);
	str_add_char(&j->out, c);
}

void json_object(struct json *j, const char *key)
{
	json_open(j, key, '{');
}

void json_array(struct json *j, const char *key)
{
	json_open(j, key, '[');
}

void json_end_object(struct json *j)
{
	json_close(j, '}');
}

void json_end_array(struct json *j)
{
	json_close(j, ']');
}

void json_string_len(struct json *j, const char *key, const char *value, size_t len)
{
	json_before(j, key);
	json_quote(j, value, len);
}

void json_string(struct json *j, const char *key, const char *value)
{
	if (value)
		json_string_len(j, key, value, strlen(value));
	else
		json_null(j, key);
}

void json_uint(struct json *j, const char *key, uint64_t value)
{
	json_before(j, key);
	str_addf(&j->out, "%" PRIu64, value);
}

void json_int(struct json *j, const char *key, int64_t value)
{
	json_before(j, key);
	str_addf(&j->out, "%" PRId64, value);
}

void json_double(struct json *j, const char *key, double value)
{
	uint64_t thousandths = (uint64_t)((value < 0 ? -value : value) * 1000 + 0.5);

	json_before(j, key);
	/* Not with printf: the host program's locale may have another decimal point. */
	str_addf(&j->out, "%s%" PRIu64 ".%03u", value < 0 ? "-" : "", thousandths / 1000,
		 (unsigned)(thousandths % 1000));
}

void json_bool(struct json *j, const char *key, bool value)
{
	json_before(j, key);
	str_add(&j->out, value ? "true" : "false");
}

void json_null(struct json *j, const char *key)
{
	json_before(j, key);
	str_add(&j->out, "null");
}

void json_strings(struct json *j, const char *key, const char *const *values)
{
	json_array(j, key);
	for (; values && *values; values++)
		json_string(j, NULL, *values);
	json_end_array(j);
}

void json_base64(struct json *j, const char *key, const void *data, size_t len)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const unsigned char *p = data;

	json_before(j, key);
	str_add_char(&j->out, '"');
	for (size_t i = 0; i < len; i += 3) {
		uint32_t v = (uint32_t)p[i] << 16;
		char q[4];

		if (i + 1 < len)
			v |= (uint32_t)p[i + 1] << 8;
		if (i + 2 < len)
			v |= p[i + 2];
		q[0] = digits[v >> 18];
		q[1] = digits[v >> 12 & 63];
		q[2] = i + 1 < len ? digits[v >> 6 & 63] : '=';
		q[3] = i + 2 < len ? digits[v & 63] : '=';
		str_add_bytes(&j->out, q, 4);
	}
	str_add_char(&j->out, '"');
}

char *json_take(struct json *j)
{
	return str_take(&j->out);
}
