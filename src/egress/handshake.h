/*
 * The beginning of a TLS connection that is not looked into: whose ClientHello may pass. A server may ask for a second one
 * (HelloRetryRequest, RFC 8446), in clear text like the first, and servers take the name from that: it is checked as well. Until the server's
 * first words are there, nothing passes but the first. Runs in the egress process; reads hostile bytes of both sides, and leaves
 * them where they are.
 */
#ifndef EGRESS_HANDSHAKE_H
#define EGRESS_HANDSHAKE_H

#include <stdbool.h>
#include <stddef.h>

struct conn;

enum handshake_stage {
	HANDSHAKE_NONE,  /* nothing to wait for, or not any more */
	HANDSHAKE_FIRST, /* the first hello passes; the answer is awaited */
	HANDSHAKE_RETRY, /* a second one is awaited */
};

struct handshake {
	enum handshake_stage stage;
	size_t left; /* of the first hello */
	bool ended;  /* the server will say no more */
};

/* What the box has said so far, before anything is dialled. True: it may be dialled. False: not yet, or it was refused and c is gone. */
bool handshake_begin(struct conn *c);

enum handshake_pass {
	HANDSHAKE_GO,   /* *quota bytes may pass */
	HANDSHAKE_WAIT, /* until more comes on this side */
	HANDSHAKE_HOLD, /* until the other side says something */
	HANDSHAKE_GONE, /* refused: c is gone */
};
/* Before bytes of the box, or of the server, are taken. */
enum handshake_pass handshake_up(struct conn *c, size_t *quota);
enum handshake_pass handshake_down(struct conn *c);

#endif
