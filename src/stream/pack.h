/*
 * Numbers and strings in a body: little-endian, each string with its length before it. A reader remembers that the bytes ended
 * too early instead of failing at each step: ask once at the end. Pure.
 */
#ifndef STREAM_PACK_H
#define STREAM_PACK_H

#include "base/str.h"

void pack_u32(struct str *out, uint32_t value);
void pack_u64(struct str *out, uint64_t value);
void pack_text(struct str *out, const char *text); /* NULL is an empty one */
void pack_texts(struct str *out, const struct strv *texts);

struct unpack {
	const unsigned char *at;
	size_t left;
	bool failed; /* too short, a NUL in a text, or too many of them; or memory ran out */
};
uint32_t unpack_u32(struct unpack *u);
uint64_t unpack_u64(struct unpack *u);
void unpack_text(struct unpack *u, char *buf, size_t size); /* one that does not fit fails */
char *unpack_new_text(struct unpack *u);                    /* malloc'd, or NULL */
void unpack_texts(struct unpack *u, struct strv *ret);
int unpack_end(const struct unpack *u); /* 0, or -EPROTO where something failed or is left over */

#endif
