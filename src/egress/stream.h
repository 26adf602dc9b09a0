/*
 * One non-blocking stream of bytes over a socket, plain or TLS, so that what inspects them need not know which. Runs in the egress process.
 *
 * Made for edge-triggered watching: `readable` and `writable` say whether trying is worth it; stream_ready() sets them from an event, a try
 * that returns -EAGAIN clears them (TLS may have to write in order to read, and the other way round: that is known here only).
 * The end is 0 from stream_read(); over TLS only where the other side said so (close_notify), else it is -ECONNABORTED: the bytes before
 * may have been cut short.
 */
#ifndef EGRESS_STREAM_H
#define EGRESS_STREAM_H

#include <openssl/types.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct stream {
	int fd;   /* not owned; -1: there is none */
	SSL *ssl; /* owned; NULL: plain */
	bool readable, writable;
	bool read_by_write, write_by_read; /* what the last -EAGAIN waits for */
	bool handshaken, shut;
	bool sealing;
	ssize_t broken;        /* what reading TLS failed with, which it says once */
	struct sealed *sealed; /* what was written, as TLS, and the socket has not taken yet: see stream_flush() */
};

/* Takes ssl (or NULL), also on failure. The struct must stay where it is. 0 or -ENOMEM. */
int stream_init(struct stream *s, int fd, SSL *ssl);
/* Ends TLS without a word and forgets the socket, which stays open. Also for a zeroed one. */
void stream_done(struct stream *s);
void stream_ready(struct stream *s, uint32_t epoll_events);
int stream_handshake(struct stream *s); /* 0, -EAGAIN, -EPROTO (see authority_explain()) or another -errno */
ssize_t stream_read(struct stream *s, void *data, size_t len);
/* Over TLS, what it took may still be here (sealed): then nothing more is taken before it has gone. */
ssize_t stream_write(struct stream *s, const void *data, size_t len);
/* Sends what is still here, as far as the socket takes it. 1: it took some; 0: nothing to do; -errno: it is broken, and what was here is gone. */
int stream_flush(struct stream *s);
/* Nothing is under way: gives back the buffers that TLS holds for more. */
void stream_rest(struct stream *s);
/* No more bytes from here: close_notify where it is TLS, and the socket's write side. 0 (also where it could not be said), or -EAGAIN. */
int stream_shut(struct stream *s);

#endif
