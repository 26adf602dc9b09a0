/*
 * Records: a line for each value, "KEY VALUE", lists as several lines of one key, in order. A backslash and a newline in a value are
 * "\\" and "\n". Line by line and without a library, since every box from an image reads one.
 */
#include "store/store.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static const char first_line[] = "cordon-image 1\n";

enum field_kind { FIELD_TEXT, FIELD_LIST, FIELD_NUMBER };
static const struct field {
	const char *key;
	enum field_kind kind;
	size_t offset;
} fields[] = {
#define FIELD(key, kind)                                      \
	{                                                     \
#key, kind, offsetof(struct store_image, key) \
	}
	FIELD(name, FIELD_TEXT),     FIELD(id, FIELD_TEXT),           FIELD(root, FIELD_TEXT),
	FIELD(platform, FIELD_TEXT), FIELD(workdir, FIELD_TEXT),      FIELD(user, FIELD_TEXT),
	FIELD(layers, FIELD_LIST),   FIELD(env, FIELD_LIST),          FIELD(entrypoint, FIELD_LIST),
	FIELD(cmd, FIELD_LIST),      FIELD(size_bytes, FIELD_NUMBER), FIELD(imported_s, FIELD_NUMBER),
#undef FIELD
};

static void *member(const struct store_image *image, const struct field *f)
{
	return (char *)(uintptr_t)image + f->offset;
}

void store_image_done(struct store_image *image)
{
	for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
		if (fields[i].kind == FIELD_TEXT)
			free(*(char **)member(image, &fields[i]));
		else if (fields[i].kind == FIELD_LIST)
			strv_done(member(image, &fields[i]));
	}
	*image = (struct store_image){ 0 };
}

static void add_line(struct str *s, const char *key, const char *value)
{
	str_addf(s, "%s ", key);
	for (const char *p = value; *p; p++) {
		if (*p == '\\')
			str_add(s, "\\\\");
		else if (*p == '\n')
			str_add(s, "\\n");
		else
			str_add_char(s, *p);
	}
	str_add_char(s, '\n');
}

char *store_record_text(const struct store_image *image)
{
	struct str s = { 0 };

	str_add(&s, first_line);
	for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
		const struct field *f = &fields[i];
		const struct strv *list = member(image, f);
		const char *text = f->kind == FIELD_TEXT ? *(char **)member(image, f) : NULL;

		if (text)
			add_line(&s, f->key, text);
		for (size_t k = 0; f->kind == FIELD_LIST && k < list->n; k++)
			add_line(&s, f->key, list->v[k]);
		if (f->kind == FIELD_NUMBER)
			str_addf(&s, "%s %" PRIu64 "\n", f->key, *(uint64_t *)member(image, f));
	}
	return str_take(&s);
}

static char *unescape(const char *text, size_t len)
{
	char *out = malloc(len + 1), *to = out;

	for (size_t i = 0; out && i < len; i++) {
		if (text[i] == '\\' && i + 1 < len)
			*to++ = text[++i] == 'n' ? '\n' : text[i];
		else
			*to++ = text[i];
	}
	if (out)
		*to = '\0';
	return out;
}

/* Takes value. An unknown key is of a later version, and left out. */
static int put(struct store_image *image, const char *key, size_t key_len, char *value)
{
	auto_free char *v = value;

	for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
		const struct field *f = &fields[i];

		if (strlen(f->key) != key_len || memcmp(f->key, key, key_len) != 0)
			continue;
		if (f->kind == FIELD_LIST)
			return strv_add_take(member(image, f), STEAL(v));
		if (f->kind == FIELD_NUMBER) {
			*(uint64_t *)member(image, f) = strtoull(v, NULL, 10);
			return 0;
		}
		free(*(char **)member(image, f));
		*(char **)member(image, f) = STEAL(v);
		return 0;
	}
	return 0;
}

bool store_hex_is_valid(const char *text)
{
	return strspn(text, "0123456789abcdef") == STORE_HEX && !text[STORE_HEX];
}

static bool is_whole(const struct store_image *image)
{
	for (size_t i = 0; i < image->layers.n; i++)
		if (!store_hex_is_valid(image->layers.v[i]))
			return false;
	return image->name && store_name_is_valid(image->name, false) && image->id && image->root &&
	       store_hex_is_valid(image->root);
}

int store_record_parse(const char *text, size_t len, struct store_image *ret, struct cordon_error *err)
{
	auto_image struct store_image image = { 0 };
	const char *end = text + len, *p = text + sizeof(first_line) - 1;

	if (len < sizeof(first_line) - 1 || memcmp(text, first_line, sizeof(first_line) - 1) != 0 ||
	    memchr(text, 0, len))
		return cordon_fail(err, CORDON_INVALID, 0, "this is not the record of an image");
	while (p < end) {
		const char *stop = memchr(p, '\n', (size_t)(end - p));
		const char *space = stop ? memchr(p, ' ', (size_t)(stop - p)) : NULL;
		char *value = space ? unescape(space + 1, (size_t)(stop - space - 1)) : NULL;

		if (!space)
			return cordon_fail(err, CORDON_INVALID, 0, "the record of an image ends in the middle");
		if (!value || put(&image, p, (size_t)(space - p), value) < 0)
			return fail_memory(err);
		p = stop + 1;
	}
	if (!is_whole(&image))
		return cordon_fail(err, CORDON_INVALID, 0, "the record of an image is not whole");
	*ret = image;
	image = (struct store_image){ 0 };
	return 0;
}
