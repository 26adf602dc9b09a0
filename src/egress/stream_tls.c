/*
 * The TLS of streams: see stream_tls.h. It sits on a BIO of our own, because the library's raises SIGPIPE and asks the socket once for every
 * record. What is written is sealed into one block first, several records of it, and the block is sent with one call: a call for each costs the
 * kernel more than their encryption. What the socket does not take stays with the stream, and goes before everything else.
 *
 * Runs in the egress process.
 */
#include "egress/stream_tls.h"

#include "base/str.h"

#include <errno.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <stdlib.h>
#include <string.h>

enum {
	RECORD_MAX = SSL3_RT_MAX_PLAIN_LENGTH + 2048, /* sealed, and a change of keys before it */
	SEALED_MAX = 4 * RECORD_MAX,
};

struct sealed {
	size_t at, len; /* sent so far, and of how many */
	char data[SEALED_MAX];
};

static struct sealed *spare; /* of whoever needed one last */

static struct sealed *sealed_new(void)
{
	struct sealed *sealed = spare ? STEAL(spare) : malloc(sizeof(*sealed));

	if (sealed)
		sealed->at = sealed->len = 0;
	return sealed;
}

static void sealed_free(struct sealed *sealed)
{
	if (!spare)
		spare = sealed;
	else
		free(sealed);
}

static ssize_t sealed_add(struct sealed *sealed, const char *data, size_t len)
{
	if (len > SEALED_MAX - sealed->len)
		return -ENOBUFS; /* RECORD_MAX is wrong */
	memcpy(sealed->data + sealed->len, data, len);
	sealed->len += len;
	return (ssize_t)len;
}

int stream_tls_push(struct stream *s)
{
	struct sealed *sealed = s->sealed;

	while (sealed && sealed->at < sealed->len) {
		ssize_t n = stream_socket_write(s, sealed->data + sealed->at, sealed->len - sealed->at);

		if (n == -EAGAIN)
			return -EAGAIN;
		if (n < 0) {
			sealed_free(STEAL(s->sealed));
			return (int)n;
		}
		sealed->at += (size_t)n;
	}
	if (sealed)
		sealed_free(STEAL(s->sealed));
	return 0;
}

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
	ssize_t n;

	if (s->sealing) {
		n = sealed_add(s->sealed, data, len);
	} else {
		n = stream_tls_push(s);
		n = n < 0 ? n : stream_socket_write(s, data, len);
	}
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
	if (s->sealed)
		sealed_free(STEAL(s->sealed));
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

/* As many records as fit, of which none waits for the socket. One at a time: of more, OpenSSL may make any number with one call. */
static ssize_t seal(struct stream *s, const char *data, size_t len, bool *by_read, bool *by_write)
{
	size_t all = 0, done = 0;
	ssize_t why;
	int r;

	begin();
	s->sealing = true;
	do {
		size_t n = len - all < SSL3_RT_MAX_PLAIN_LENGTH ? len - all : SSL3_RT_MAX_PLAIN_LENGTH;

		r = SSL_write_ex(s->ssl, data + all, n, &done);
		all += r == 1 ? done : 0;
	} while (r == 1 && all < len && s->sealed->len + RECORD_MAX <= SEALED_MAX);
	s->sealing = false;
	if (all)
		return (ssize_t)all;
	why = ssl_failure(s->ssl, r, by_read, by_write);
	return why ? why : -EPIPE;
}

ssize_t stream_tls_write(struct stream *s, const void *data, size_t len, bool *by_read, bool *by_write)
{
	ssize_t n, r = stream_tls_push(s);

	if (r == 0) {
		s->sealed = sealed_new();
		if (!s->sealed)
			return -ENOMEM;
		n = seal(s, data, len, by_read, by_write);
		r = stream_tls_push(s);
		if (r == 0 || r == -EAGAIN)
			return n;
	}
	*by_write = r == -EAGAIN;
	return r;
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
