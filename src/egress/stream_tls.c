/*
 * The TLS of streams: see stream_tls.h. It sits on a BIO of our own, because the library's raises SIGPIPE. Runs in the egress process.
 */
#include "egress/stream_tls.h"

#include <errno.h>
#include <openssl/err.h>
#include <openssl/ssl.h>

static int bio_read(BIO *bio, char *data, size_t len, size_t *ret_len)
{
	struct stream *s = BIO_get_data(bio);
	ssize_t n = stream_socket_read(s, data, len);

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
	ssize_t n = stream_socket_write(s, data, len);

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

int stream_tls_init(struct stream *s)
{
	BIO *bio = bio_new(s);

	if (!bio)
		return -ENOMEM;
	SSL_set_bio(s->ssl, bio, bio);
	return 0;
}

void stream_tls_done(struct stream *s)
{
	SSL_free(s->ssl);
	s->ssl = NULL;
}

static void begin(void)
{
	ERR_clear_error();
	errno = 0;
}

int stream_tls_handshake(struct stream *s, bool *by_read, bool *by_write)
{
	int r;

	begin();
	r = SSL_do_handshake(s->ssl);
	return r == 1 ? 1 : ssl_failure(s->ssl, r, by_read, by_write);
}

ssize_t stream_tls_read(struct stream *s, void *data, size_t len, bool *by_read, bool *by_write)
{
	size_t done = 0;
	int r;

	begin();
	r = SSL_read_ex(s->ssl, data, len, &done);
	return r == 1 ? (ssize_t)done : ssl_failure(s->ssl, r, by_read, by_write);
}

ssize_t stream_tls_write(struct stream *s, const void *data, size_t len, bool *by_read, bool *by_write)
{
	size_t done = 0;
	ssize_t n;
	int r;

	begin();
	r = SSL_write_ex(s->ssl, data, len, &done);
	n = r == 1 ? (ssize_t)done : ssl_failure(s->ssl, r, by_read, by_write);
	s->least = n != -EAGAIN ? 0 : len < SSL3_RT_MAX_PLAIN_LENGTH ? len : SSL3_RT_MAX_PLAIN_LENGTH;
	return n == 0 && r != 1 ? -EPIPE : n;
}

/* Most of it OpenSSL gives back itself (SSL_MODE_RELEASE_BUFFERS); what it took in order to answer the server's tickets, and had nothing to answer, it
 * keeps until something is written. Between two records only: OpenSSL before 3.0.14 looks at nothing but whole ones. */
void stream_tls_rest(struct stream *s)
{
	if (!SSL_has_pending(s->ssl) && SSL_rstate_string(s->ssl)[1] == 'H')
		(void)SSL_free_buffers(s->ssl);
}

int stream_tls_shut(struct stream *s, bool *by_read, bool *by_write)
{
	int r;

	begin();
	r = SSL_shutdown(s->ssl);
	return r < 0 ? ssl_failure(s->ssl, r, by_read, by_write) : 0;
}
