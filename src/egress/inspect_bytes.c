/*
 * Bytes between streams and buffers: see inspect_state.h. The egress process; no privilege.
 */
#include "egress/inspect_state.h"

#include <errno.h>
#include <string.h>

void inspect_move(struct buffer *from, struct buffer *to, size_t n)
{
	struct buffer empty;

	if (n == from->len && !to->len) {
		empty = *to;
		*to = *from;
		*from = empty;
		return;
	}
	buffer_add(to, buffer_data(from), n);
	buffer_take(from, n);
}

bool inspect_head_is_there(const struct buffer *b, size_t *scanned)
{
	const char *data = buffer_data(b);
	size_t at = *scanned, len = b->len;
	bool first = at == 0;

	while (at < len) {
		const char *line = memchr(data + at, '\n', len - at);
		size_t next = line ? (size_t)(line - data) + 1 : len;

		if (line && next < len && data[next] == '\n')
			return true;
		if (line && next + 1 < len && data[next] == '\r' && data[next + 1] == '\n')
			return true;
		/* Where the empty line may still follow, this line end is looked at again. */
		if (line && (next == len || (data[next] == '\r' && next + 1 == len))) {
			at = next - 1;
			break;
		}
		at = next;
	}
	*scanned = at ? at : 1;
	/* The first bytes are looked at as soon as they come: they may not be HTTP at all. */
	return len && (first || len >= HTTP_HEAD_MAX);
}

enum inspect_step inspect_flush(struct inspect *x, struct stream *s, struct buffer *b, enum conn_way way,
				int *ret_error)
{
	size_t n;
	ssize_t done;

	if (!b->len || !s->writable || !s->handshaken)
		return STEP_IDLE;
	n = conn_quota(x->conn, way, b->len);
	if (!n)
		return STEP_IDLE;
	done = stream_write(s, buffer_data(b), n);
	if (done == -EAGAIN)
		return STEP_IDLE;
	if (done < 0) {
		*ret_error = (int)done;
		return STEP_IDLE;
	}
	buffer_take(b, (size_t)done);
	return conn_moved(x->conn, way, (size_t)done) ? STEP_MORE : STEP_GONE;
}

size_t inspect_ahead(const struct http_flow *flow)
{
	return flow->kind == HTTP_BODY_LENGTH && flow->left < INSPECT_BUFFER ? (size_t)flow->left : INSPECT_BUFFER;
}

ssize_t inspect_fill(struct inspect *x, struct stream *s, struct buffer *b, size_t max, size_t more)
{
	size_t before = b->len, room;
	int reads = s->ssl ? INSPECT_READS : 1;
	ssize_t n = -EAGAIN;
	char *to;

	while (s->readable && b->len < max && reads--) {
		room = max - b->len;
		if (s->ssl && room > INSPECT_READ)
			room = INSPECT_READ;
		to = buffer_room(b, room);
		n = to ? stream_read(s, to, room) : -ENOMEM;
		if (n <= 0)
			break;
		b->len += (size_t)n;
		if (b->len >= more)
			break;
	}
	if (b->len > before) {
		conn_touch(x->conn);
		return 1;
	}
	return n == -EAGAIN ? 0 : n == 0 ? -ENODATA : n;
}
