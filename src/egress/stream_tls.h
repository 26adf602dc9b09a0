/* The TLS of streams, for stream.c: there is an ssl. by_read and by_write tell what -EAGAIN waits for. Runs in the egress process. */
#ifndef EGRESS_STREAM_TLS_H
#define EGRESS_STREAM_TLS_H

#include "egress/stream.h"

int stream_tls_init(struct stream *s); /* 0 or -ENOMEM */
void stream_tls_done(struct stream *s);
int stream_tls_handshake(struct stream *s, bool *by_read, bool *by_write); /* 1: done */
ssize_t stream_tls_read(struct stream *s, void *data, size_t len, bool *by_read, bool *by_write);
ssize_t stream_tls_write(struct stream *s, const void *data, size_t len, bool *by_read, bool *by_write);
int stream_tls_push(
	struct stream *
		s); /* what is sealed, to the socket. 0: all of it; -EAGAIN; another -errno: it is broken, and nothing is sealed any more */
void stream_tls_rest(struct stream *s);
int stream_tls_shut(struct stream *s, bool *by_read, bool *by_write);

/* The socket below it, in stream.c. */
ssize_t stream_socket_read(struct stream *s, void *data, size_t len);
ssize_t stream_socket_write(struct stream *s, const void *data, size_t len);

#endif
