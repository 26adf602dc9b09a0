/* Frames: see frame.h. */
#include "stream/frame.h"

#include "stream/pack.h"

#include <errno.h>
#include <string.h>

/* ---- writing ---- */

static void put_one(struct str *out, enum frame_type type, const void *body, size_t len)
{
	str_add_char(out, (char)type);
	pack_u32(out, (uint32_t)len);
	if (len)
		str_add_bytes(out, body, len);
}

void frame_put(struct str *out, enum frame_type type, const void *body, size_t len)
{
	const char *at = body;

	do {
		size_t n = len < FRAME_MAX ? len : FRAME_MAX;

		put_one(out, type, at, n);
		if (n)
			at += n;
		len -= n;
	} while (len);
}

/* The body that `packed` gathered; releases it. Where memory ran out, the stream's buffer says so. */
static void put_packed(struct str *out, enum frame_type type, struct str *packed)
{
	out->failed = out->failed || packed->failed;
	if (!packed->failed)
		put_one(out, type, packed->data, packed->len);
	str_done(packed);
}

void frame_put_u32(struct str *out, enum frame_type type, uint32_t value)
{
	struct str body = { 0 };

	pack_u32(&body, value);
	put_packed(out, type, &body);
}

void frame_put_entry(struct str *out, const struct frame_entry *entry)
{
	struct str body = { 0 };

	pack_u32(&body, entry->index);
	pack_u32(&body, entry->depth);
	pack_u32(&body, entry->mode);
	pack_u64(&body, entry->size);
	pack_text(&body, entry->name);
	put_packed(out, FRAME_ENTRY, &body);
}

void frame_put_denial(struct str *out, const struct frame_denial *denial)
{
	struct str body = { 0 };

	pack_u32(&body, (uint32_t)denial->nr);
	pack_u64(&body, denial->count);
	put_packed(out, FRAME_DENIAL, &body);
}

void frame_put_exit(struct str *out, const struct frame_exit *exit)
{
	struct str body = { 0 };

	pack_u32(&body, (uint32_t)exit->status);
	pack_u64(&body, exit->cpu_us);
	pack_u64(&body, exit->maxrss_bytes);
	pack_u32(&body, (exit->disk_full ? 1u : 0) | (exit->inodes_full ? 2u : 0));
	put_packed(out, FRAME_EXITED, &body);
}

void frame_put_error(struct str *out, const struct cordon_error *error)
{
	struct str body = { 0 };

	pack_u32(&body, (uint32_t)error->code);
	pack_u32(&body, (uint32_t)error->errnum);
	pack_text(&body, error->step);
	pack_text(&body, error->message);
	pack_text(&body, error->hint);
	put_packed(out, FRAME_ERROR, &body);
}

/* ---- reading ---- */

void *frame_room(struct frame_reader *r, size_t *ret_len)
{
	if (r->at) {
		memmove(r->bytes, r->bytes + r->at, r->end - r->at);
		r->end -= r->at;
		r->at = 0;
	}
	*ret_len = sizeof(r->bytes) - r->end;
	return r->bytes + r->end;
}

void frame_added(struct frame_reader *r, size_t len)
{
	r->end += len;
}

int frame_next_below(struct frame_reader *r, unsigned types, struct frame *ret)
{
	struct unpack head = { .at = r->bytes + r->at + 1, .left = 4 };
	size_t have = r->end - r->at, len;

	if (have < FRAME_HEAD)
		return 0;
	len = unpack_u32(&head);
	if (len > FRAME_MAX || !r->bytes[r->at] || r->bytes[r->at] >= types)
		return -EPROTO;
	if (have - FRAME_HEAD < len)
		return 0;
	*ret = (struct frame){ .type = (enum frame_type)r->bytes[r->at],
			       .body = r->bytes + r->at + FRAME_HEAD,
			       .len = len };
	r->at += FRAME_HEAD + len;
	return 1;
}

int frame_next(struct frame_reader *r, struct frame *ret)
{
	return frame_next_below(r, FRAME_TYPES, ret);
}

static struct unpack open_body(const struct frame *f)
{
	return (struct unpack){ .at = f->body, .left = f->len };
}

int frame_get_u32(const struct frame *f, uint32_t *ret)
{
	struct unpack u = open_body(f);

	*ret = unpack_u32(&u);
	return unpack_end(&u);
}

static bool is_plain(const char *name)
{
	return *name && !strchr(name, '/') && strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
}

int frame_get_entry(const struct frame *f, struct frame_entry *ret)
{
	struct unpack u = open_body(f);

	*ret = (struct frame_entry){ .index = unpack_u32(&u) };
	ret->depth = unpack_u32(&u);
	ret->mode = unpack_u32(&u);
	ret->size = unpack_u64(&u);
	unpack_text(&u, ret->name, sizeof(ret->name));
	if (ret->depth ? !is_plain(ret->name) : ret->name[0] != '\0')
		return -EPROTO;
	return unpack_end(&u);
}

int frame_get_denial(const struct frame *f, struct frame_denial *ret)
{
	struct unpack u = open_body(f);

	*ret = (struct frame_denial){ .nr = (int32_t)unpack_u32(&u) };
	ret->count = unpack_u64(&u);
	return unpack_end(&u);
}

int frame_get_exit(const struct frame *f, struct frame_exit *ret)
{
	struct unpack u = open_body(f);
	uint32_t full;

	*ret = (struct frame_exit){ .status = (int32_t)unpack_u32(&u) };
	ret->cpu_us = unpack_u64(&u);
	ret->maxrss_bytes = unpack_u64(&u);
	full = unpack_u32(&u);
	ret->disk_full = full & 1;
	ret->inodes_full = full & 2;
	return full > 3 ? -EPROTO : unpack_end(&u);
}

int frame_get_error(const struct frame *f, struct cordon_error *ret)
{
	struct unpack u = open_body(f);

	*ret = (struct cordon_error){ .code = (int)unpack_u32(&u) };
	ret->errnum = (int)unpack_u32(&u);
	unpack_text(&u, ret->step, sizeof(ret->step));
	unpack_text(&u, ret->message, sizeof(ret->message));
	unpack_text(&u, ret->hint, sizeof(ret->hint));
	fail_clean(ret);
	if (ret->code <= CORDON_OK || ret->code > CORDON_INTERNAL || ret->errnum < 0 || ret->errnum > 4095)
		return -EPROTO;
	return unpack_end(&u);
}
