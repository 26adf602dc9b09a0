/*
 * Streams: see stream.h. TLS sits on a BIO of our own, because the library's raises SIGPIPE. The egress process; no privilege.
 */
#include "egress/stream.h"

#include <errno.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

/* ---- the socket ---- */

static ssize_t socket_read(struct stream *s, void *data, size_t len)
{
	ssize_t n;

	do {
		n = recv(s->fd, data, len, MSG_DONTWAIT);
	} while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : n;
}

static ssize_t socket_write(struct stream *s, const void *data, size_t len)
{
	ssize_t n;

	do {
		n = send(s->fd, data, len, MSG_DONTWAIT | MSG_NOSIGNAL);
	} while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : n;
}

/* ---- TLS on top of it ---- */

static int bio_read(BIO *bio, char *data, size_t len, size_t *ret_len)
{
	struct stream *s = BIO_get_data(bio);
	ssize_t n = socket_read(s, data, len);

	BIO_clear_retry_flags(bio);
	*ret_len = n > 0 ? (size_t)n : 0;
	if (n == -EAGAIN)
		BIO_set_retry_read(bio);
	else if (n == 0)
		BIO_set_flags(bio, BIO_FLAGS_IN_EOF);
	if (n < 0)
		errno = (int)-n;
	return n > 0;
}

static int bio_write(BIO *bio, const char *data, size_t len, size_t *ret_len)
{
	struct stream *s = BIO_get_data(bio);
	ssize_t n = socket_write(s, data, len);

	BIO_clear_retry_flags(bio);
	*ret_len = n > 0 ? (size_t)n : 0;
	if (n == -EAGAIN)
		BIO_set_retry_write(bio);
	if (n < 0)
		errno = (int)-n;
	return n > 0;
}

static long bio_ctrl(BIO *bio, int command, long number, void *data)
{
	(void)number;
	(void)data;
	switch (command) {
	case BIO_CTRL_FLUSH:
		return 1;
	case BIO_CTRL_EOF:
		return BIO_test_flags(bio, BIO_FLAGS_IN_EOF) != 0;
	default:
		return 0;
	}
}

static BIO *bio_new(struct stream *s)
{
	static BIO_METHOD *method;
	BIO *bio;

	if (!method) {
		method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "stream");
		if (!method)
			return NULL;
		BIO_meth_set_read_ex(method, bio_read);
		BIO_meth_set_write_ex(method, bio_write);
		BIO_meth_set_ctrl(method, bio_ctrl);
	}
	bio = BIO_new(method);
	if (bio) {
		BIO_set_data(bio, s);
		BIO_set_init(bio, 1);
	}
	return bio;
}

/* What an SSL function's failure means. Reading and writing note what they wait for themselves. */
static int ssl_failure(SSL *ssl, int r, bool *by_read, bool *by_write)
{
	int saved = errno;

	switch (SSL_get_error(ssl, r)) {
	case SSL_ERROR_WANT_READ:
		*by_read = true;
		return -EAGAIN;
	case SSL_ERROR_WANT_WRITE:
		*by_write = true;
		return -EAGAIN;
	case SSL_ERROR_ZERO_RETURN:
		return 0;
	case SSL_ERROR_SYSCALL:
		return saved ? -saved : -ECONNABORTED;
	case SSL_ERROR_SSL:
		return ERR_GET_REASON(ERR_peek_error()) == SSL_R_UNEXPECTED_EOF_WHILE_READING ? -ECONNABORTED : -EPROTO;
	default:
		return -EPROTO;
	}
}

/* ---- both ---- */

int stream_init(struct stream *s, int fd, SSL *ssl)
{
	BIO *bio;

	*s = (struct stream){ .fd = fd, .ssl = ssl, .handshaken = !ssl, .readable = true, .writable = true };
	if (!ssl)
		return 0;
	bio = bio_new(s);
	if (!bio) {
		stream_done(s);
		return -ENOMEM;
	}
	SSL_set_bio(ssl, bio, bio);
	return 0;
}

void stream_done(struct stream *s)
{
	SSL_free(s->ssl);
	s->ssl = NULL;
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
	ERR_clear_error();
	errno = 0;
	r = SSL_do_handshake(s->ssl);
	if (r == 1) {
		s->handshaken = true;
		s->readable = s->writable = true;
		s->read_by_write = s->write_by_read = false;
		return 0;
	}
	r = ssl_failure(s->ssl, r, &by_read, &by_write);
	/* It waits for one thing, whichever way the caller is going. */
	note_read(s, r, by_write);
	note_write(s, r, by_read);
	return r == 0 ? -ECONNABORTED : r;
}

ssize_t stream_read(struct stream *s, void *data, size_t len)
{
	bool by_read = false, by_write = false;
	size_t done = 0;
	ssize_t n;

	if (!s->ssl) {
		n = socket_read(s, data, len);
	} else {
		ERR_clear_error();
		errno = 0;
		n = SSL_read_ex(s->ssl, data, len, &done);
		n = n == 1 ? (ssize_t)done : ssl_failure(s->ssl, (int)n, &by_read, &by_write);
	}
	note_read(s, n, by_write);
	return n;
}

ssize_t stream_write(struct stream *s, const void *data, size_t len)
{
	bool by_read = false, by_write = false;
	size_t done = 0;
	ssize_t n;

	if (!s->ssl) {
		n = socket_write(s, data, len);
	} else {
		ERR_clear_error();
		errno = 0;
		n = SSL_write_ex(s->ssl, data, len, &done);
		n = n == 1 ? (ssize_t)done : ssl_failure(s->ssl, (int)n, &by_read, &by_write);
		if (n == 0)
			n = -EPIPE;
		s->least = n != -EAGAIN ? 0 : len < SSL3_RT_MAX_PLAIN_LENGTH ? len : SSL3_RT_MAX_PLAIN_LENGTH;
	}
	note_write(s, n, by_read);
	return n;
}

int stream_shut(struct stream *s)
{
	bool by_read = false, by_write = false;
	int r;

	if (s->shut)
		return 0;
	if (s->ssl && s->handshaken) {
		ERR_clear_error();
		errno = 0;
		r = SSL_shutdown(s->ssl);
		r = r < 0 ? ssl_failure(s->ssl, r, &by_read, &by_write) : 0;
		note_write(s, r, by_read);
		if (r == -EAGAIN)
			return r;
	}
	s->shut = true;
	shutdown(s->fd, SHUT_WR);
	return 0;
}
