/*
 * Streams: see stream.h. What is TLS lies in stream_tls.c, so that a process that looks into no TLS carries none of it. The egress process; no
 * privilege.
 */
#include "egress/stream.h"

#include "egress/stream_tls.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

/* ---- the socket ---- */

ssize_t stream_socket_read(struct stream *s, void *data, size_t len)
{
	ssize_t n;

	do {
		n = recv(s->fd, data, len, MSG_DONTWAIT);
	} while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : n;
}

ssize_t stream_socket_write(struct stream *s, const void *data, size_t len)
{
	ssize_t n;

	do {
		n = send(s->fd, data, len, MSG_DONTWAIT | MSG_NOSIGNAL);
	} while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : n;
}

/* ---- both ---- */

int stream_init(struct stream *s, int fd, SSL *ssl)
{
	*s = (struct stream){ .fd = fd, .ssl = ssl, .handshaken = !ssl, .readable = true, .writable = true };
	if (!ssl)
		return 0;
	if (stream_tls_init(s) < 0) {
		stream_done(s);
		return -ENOMEM;
	}
	return 0;
}

void stream_done(struct stream *s)
{
	if (s->ssl)
		stream_tls_done(s);
	s->fd = -1;
}

void stream_ready(struct stream *s, uint32_t epoll_events)
{
	bool in = epoll_events & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR);
	bool out = epoll_events & (EPOLLOUT | EPOLLHUP | EPOLLERR);

	s->readable |= s->read_by_write ? out : in;
	s->writable |= s->write_by_read ? in : out;
}

static void note_read(struct stream *s, ssize_t n, bool by_write)
{
	if (n == -EAGAIN)
		s->readable = false;
	s->read_by_write = n == -EAGAIN && by_write;
}

static void note_write(struct stream *s, ssize_t n, bool by_read)
{
	if (n == -EAGAIN)
		s->writable = false;
	s->write_by_read = n == -EAGAIN && by_read;
}

int stream_handshake(struct stream *s)
{
	bool by_read = false, by_write = false;
	int r;

	if (s->handshaken)
		return 0;
	r = stream_tls_handshake(s, &by_read, &by_write);
	if (r == 1) {
		s->handshaken = true;
		s->readable = s->writable = true;
		s->read_by_write = s->write_by_read = false;
		return 0;
	}
	/* It waits for one thing, whichever way the caller is going. */
	note_read(s, r, by_write);
	note_write(s, r, by_read);
	return r == 0 ? -ECONNABORTED : r;
}

ssize_t stream_read(struct stream *s, void *data, size_t len)
{
	bool by_read = false, by_write = false;
	ssize_t n;

	if (s->broken)
		return s->broken;
	n = s->ssl ? stream_tls_read(s, data, len, &by_read, &by_write) : stream_socket_read(s, data, len);
	note_read(s, n, by_write);
	if (s->ssl && n < 0 && n != -EAGAIN)
		s->broken = n;
	return n;
}

ssize_t stream_write(struct stream *s, const void *data, size_t len)
{
	bool by_read = false, by_write = false;
	ssize_t n = s->ssl ? stream_tls_write(s, data, len, &by_read, &by_write) : stream_socket_write(s, data, len);

	note_write(s, n, by_read);
	if (s->sealed)
		s->writable = false;
	return n;
}

int stream_flush(struct stream *s)
{
	int r;

	if (!s->sealed || !s->writable)
		return 0;
	r = stream_tls_push(s);
	note_write(s, r, false);
	return r < 0 && r != -EAGAIN ? r : 1;
}

void stream_rest(struct stream *s)
{
	if (s->ssl && s->handshaken)
		stream_tls_rest(s);
}

int stream_shut(struct stream *s)
{
	bool by_read = false, by_write = false;
	int r;

	if (s->shut)
		return 0;
	if (s->ssl && s->handshaken) {
		if (s->sealed && !s->writable)
			return -EAGAIN;
		r = stream_tls_shut(s, &by_read, &by_write);
		note_write(s, r, by_read);
		if (r == -EAGAIN)
			return r;
	}
	s->shut = true;
	shutdown(s->fd, SHUT_WR);
	return 0;
}
