/*
 * Bytes on their way: added at the end, taken from the front. What is freed or outgrown is wiped first, because heads hold secrets. A buffer
 * remembers that memory ran out instead of failing at each addition. Runs in the egress process.
 */
#ifndef EGRESS_BUFFER_H
#define EGRESS_BUFFER_H

#include <stdbool.h>
#include <stddef.h>

struct buffer {
	char *base;
	size_t start, len, cap; /* the bytes are base + start, len of them */
	bool failed;
};

static inline char *buffer_data(const struct buffer *b)
{
	return b->base + b->start;
}
/* Room for n more bytes at the returned place; NULL where memory ran out. */
char *buffer_room(struct buffer *b, size_t n);
void buffer_add(struct buffer *b, const void *data, size_t len);
void buffer_add_text(struct buffer *b, const char *text);
__attribute__((format(printf, 2, 3))) void buffer_addf(struct buffer *b, const char *fmt, ...); /* at most 1 KiB */
void buffer_take(struct buffer *b, size_t n);
void buffer_done(struct buffer *b); /* empties it and gives the memory back */

#endif
