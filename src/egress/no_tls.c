/*
 * Where nothing looks into TLS: linked into cordon-egress instead of authority.c, certificates.c and stream_tls.c, so that a box without such a
 * rule has a process without OpenSSL. The plan picks the program; none of this is called then. Runs in the egress process.
 */
#include "base/error.h"
#include "egress/authority.h"
#include "egress/certificates.h"
#include "egress/stream_tls.h"

#include <errno.h>
#include <stdio.h>

int authority_new(const char *ca_file, struct authority **ret, struct cordon_error *err)
{
	(void)ca_file;
	(void)ret;
	return cordon_fail(err, CORDON_INTERNAL, 0, "egress: this is the program that looks into no TLS");
}

void authority_free(struct authority *a)
{
	(void)a;
}

SSL *authority_accept(struct authority *a, const char *name)
{
	(void)a;
	(void)name;
	return NULL;
}

SSL *authority_connect(struct authority *a, const char *name)
{
	return authority_accept(a, name);
}

bool authority_explain(const SSL *ssl, char *buf, size_t size)
{
	(void)ssl;
	snprintf(buf, size, "there is no TLS here");
	return false;
}

int certificates_send(const struct authority *a, int fd)
{
	(void)a;
	(void)fd;
	return -ENOTSUP;
}

int stream_tls_init(struct stream *s)
{
	(void)s;
	return -ENOMEM;
}

void stream_tls_done(struct stream *s)
{
	s->ssl = NULL;
}

void stream_tls_rest(struct stream *s)
{
	(void)s;
}

int stream_tls_push(struct stream *s)
{
	(void)s;
	return -EPROTO;
}

int stream_tls_handshake(struct stream *s, bool *by_read, bool *by_write)
{
	return stream_tls_shut(s, by_read, by_write);
}

ssize_t stream_tls_read(struct stream *s, void *data, size_t len, bool *by_read, bool *by_write)
{
	(void)data;
	(void)len;
	return stream_tls_shut(s, by_read, by_write);
}

ssize_t stream_tls_write(struct stream *s, const void *data, size_t len, bool *by_read, bool *by_write)
{
	(void)data;
	(void)len;
	return stream_tls_shut(s, by_read, by_write);
}

int stream_tls_shut(struct stream *s, bool *by_read, bool *by_write)
{
	(void)s;
	(void)by_read;
	(void)by_write;
	return -EPROTO;
}
