/* Numbers and strings in a body: see pack.h. */
#include "stream/pack.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void pack_bytes(struct str *out, uint64_t value, size_t n)
{
	for (size_t i = 0; i < n; i++)
		str_add_char(out, (char)(value >> (8 * i) & 0xff));
}

void pack_u32(struct str *out, uint32_t value)
{
	pack_bytes(out, value, 4);
}

void pack_u64(struct str *out, uint64_t value)
{
	pack_bytes(out, value, 8);
}

void pack_text(struct str *out, const char *text)
{
	size_t len = text ? strlen(text) : 0;

	pack_u32(out, (uint32_t)len);
	if (len)
		str_add_bytes(out, text, len);
}

void pack_texts(struct str *out, const struct strv *texts)
{
	pack_u32(out, (uint32_t)texts->n);
	for (size_t i = 0; i < texts->n; i++)
		pack_text(out, texts->v[i]);
}

static uint64_t unpack_bytes(struct unpack *u, size_t n)
{
	uint64_t value = 0;

	if (u->failed || u->left < n) {
		u->failed = true;
		return 0;
	}
	for (size_t i = 0; i < n; i++)
		value |= (uint64_t)u->at[i] << (8 * i);
	u->at += n;
	u->left -= n;
	return value;
}

uint32_t unpack_u32(struct unpack *u)
{
	return (uint32_t)unpack_bytes(u, 4);
}

uint64_t unpack_u64(struct unpack *u)
{
	return unpack_bytes(u, 8);
}

/* The bytes of the next text, *ret_len of them; NULL on failure. */
static const char *take_text(struct unpack *u, size_t *ret_len)
{
	size_t len = unpack_u32(u);
	const char *text = (const char *)u->at;

	if (u->failed || len > u->left || (len && memchr(text, '\0', len))) {
		u->failed = true;
		return NULL;
	}
	u->at += len;
	u->left -= len;
	*ret_len = len;
	return text;
}

void unpack_text(struct unpack *u, char *buf, size_t size)
{
	size_t len = 0;
	const char *text = take_text(u, &len);

	buf[0] = '\0';
	if (!text || len >= size) {
		u->failed = true;
		return;
	}
	if (len)
		memcpy(buf, text, len);
	buf[len] = '\0';
}

char *unpack_new_text(struct unpack *u)
{
	size_t len = 0;
	const char *text = take_text(u, &len);
	char *copy = text ? malloc(len + 1) : NULL;

	if (!copy) {
		u->failed = true;
		return NULL;
	}
	if (len)
		memcpy(copy, text, len);
	copy[len] = '\0';
	return copy;
}

void unpack_texts(struct unpack *u, struct strv *ret)
{
	uint32_t n = unpack_u32(u);

	if (n > u->left / 4) /* each has its length: no more than fit, before memory is taken for them */
		u->failed = true;
	for (uint32_t i = 0; !u->failed && i < n; i++)
		if (strv_add_take(ret, unpack_new_text(u)) < 0)
			u->failed = true;
}

int unpack_end(const struct unpack *u)
{
	return u->failed || u->left ? -EPROTO : 0;
}
