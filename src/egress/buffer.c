/* Buffers: see buffer.h. */
#include "egress/buffer.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char *buffer_room(struct buffer *b, size_t n)
{
	size_t cap = b->cap ? b->cap : 4096;
	char *base;

	if (n <= b->cap - b->start - b->len)
		return b->base + b->start + b->len;
	if (n <= b->cap - b->len) { /* what was taken leaves room in front */
		memmove(b->base, b->base + b->start, b->len);
		b->start = 0;
		return b->base + b->len;
	}
	while (cap - b->len < n)
		cap *= 2;
	base = malloc(cap);
	if (!base) {
		b->failed = true;
		return NULL;
	}
	if (b->len)
		memcpy(base, b->base + b->start, b->len);
	if (b->base)
		explicit_bzero(b->base, b->cap);
	free(b->base);
	*b = (struct buffer){ .base = base, .len = b->len, .cap = cap, .failed = b->failed };
	return base + b->len;
}

void buffer_add(struct buffer *b, const void *data, size_t len)
{
	char *room = len ? buffer_room(b, len) : NULL;

	if (!room)
		return;
	memcpy(room, data, len);
	b->len += len;
}

void buffer_add_text(struct buffer *b, const char *text)
{
	buffer_add(b, text, strlen(text));
}

void buffer_addf(struct buffer *b, const char *fmt, ...)
{
	char text[1024];
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (n > 0)
		buffer_add(b, text, (size_t)n < sizeof(text) ? (size_t)n : sizeof(text) - 1);
}

void buffer_take(struct buffer *b, size_t n)
{
	b->start += n;
	b->len -= n;
	if (!b->len)
		b->start = 0;
}

void buffer_done(struct buffer *b)
{
	if (b->base)
		explicit_bzero(b->base, b->cap);
	free(b->base);
	*b = (struct buffer){ 0 };
}
