/*
 * The lines that a daemon answers to a build or a pull: see build.h. A daemon's, partly a payload's (what a build prints), and not trusted: any
 * bytes are taken, and what comes out is printable. Pure.
 */
#include "driver/build.h"

#include <stdio.h>
#include <string.h>

static const char *text_of(const json_t *json, const char *key)
{
	return json_string_value(json_object_get(json, key));
}

static uint64_t number_of(const json_t *json, const char *key)
{
	json_int_t n = json_integer_value(json_object_get(json, key));

	return n < 0 ? 0 : (uint64_t)n;
}

/* Escape sequences, and what a terminal would take for one, are not for terminals. */
static void set_text(struct build_line *to, const char *head, const char *text)
{
	bool is_free = to->kind == BUILD_TEXT;
	int n = snprintf(to->text, sizeof(to->text), "%s%s%s", head, *head ? ": " : "", text);

	/* Of a character that was cut in two, nothing is left. */
	if (n >= (int)sizeof(to->text)) {
		size_t len = sizeof(to->text) - 1;

		while (len && ((unsigned char)to->text[len - 1] & 0xc0) == 0x80)
			len--;
		if (len && (unsigned char)to->text[len - 1] >= 0xc0)
			len--;
		to->text[len] = '\0';
	}
	for (char *p = to->text; *p; p++) {
		unsigned char c = (unsigned char)*p;

		if (is_free && (c == '\n' || c == '\t'))
			continue;
		if (c < ' ' || c == 0x7f || (c == 0xc2 && (unsigned char)p[1] >= 0x80 && (unsigned char)p[1] < 0xa0))
			*p = is_free && c == '\r' ? '\n' : ' ';
		if (c == 0xc2 && *p == ' ')
			*++p = ' '; /* the second half of a C1 control */
	}
}

static void set_status(struct build_line *to, const json_t *json, const char *status)
{
	const json_t *detail = json_object_get(json, "progressDetail");
	const char *id = text_of(json, "id");

	to->kind = BUILD_STATUS;
	to->done_bytes = number_of(detail, "current");
	to->total_bytes = number_of(detail, "total");
	set_text(to, id ? id : "", status);
}

void build_read_line(const char *line, size_t len, struct build_line *ret)
{
	json_t *json = json_loadb(line, len, 0, NULL);
	const char *error = text_of(json, "error"), *stream = text_of(json, "stream"),
		   *status = text_of(json, "status");
	const char *id = text_of(json_object_get(json, "aux"), "ID");

	*ret = (struct build_line){ 0 };
	if (!error)
		error = text_of(json_object_get(json, "errorDetail"), "message");
	if (error) {
		ret->kind = BUILD_ERROR;
		set_text(ret, "", error);
	} else if (stream) {
		ret->kind = BUILD_TEXT;
		set_text(ret, "", stream);
	} else if (id) {
		ret->kind = BUILD_ID;
		set_text(ret, "", id);
	} else if (status) {
		set_status(ret, json, status);
	}
	json_decref(json);
}
