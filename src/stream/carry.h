/*
 * Carried connections: what a process inside a box, which has the gateway's sockets (os/gateway.h), and egress outside say to each
 * other over one byte stream, where the sockets themselves cannot be handed over. Frames of the shape of stream/frame.h: type, length, body;
 * every body begins with a number, the id.
 *
 *	inside: OPEN   then both: DATA within CREDIT, END (no more bytes this way), and last CLOSE or RESET
 *	inside: QUERY  egress: ANSWER, or nothing
 *	inside: ATTEMPT   egress: VERDICT, where the id is not 0
 *
 * A connection is a line; its id is a place among CARRY_LINES that the inside chooses. Each side ends a line with exactly one CLOSE (in
 * order: everything was sent, and nothing more is wanted) or RESET, and answers the other's with its own; when both have been said the id is
 * free again. Each way of a line begins with CARRY_WINDOW bytes of credit, and CREDIT gives back what was delivered, so that a slow line
 * holds up nobody else and neither side holds more than a window of it.
 *
 * Egress takes every byte for the payload's: what has not this shape ends the stream. Pure: no I/O.
 */
#ifndef STREAM_CARRY_H
#define STREAM_CARRY_H

#include "stream/frame.h"

enum {
	CARRY_LINES = 4096,   /* at once */
	CARRY_WINDOW = 65536, /* bytes on their way, in each direction of a line */
	CARRY_PIECE = 32768,  /* the longest DATA */
	CARRY_PACKET = 1232,  /* the longest QUERY and ANSWER */
};

enum carry_type {
	/* inside to egress */
	CARRY_OPEN = 1, /* address, port: where the box wanted to go */
	CARRY_QUERY,    /* data: a DNS packet */
	CARRY_ATTEMPT,  /* protocol, address, port: of a packet where nobody listens. id 0: it is only told */
	/* both ways */
	CARRY_DATA,
	CARRY_END,
	CARRY_CLOSE,
	CARRY_RESET,
	CARRY_CREDIT, /* number: bytes */
	/* egress to inside */
	CARRY_ANSWER,  /* data: a DNS packet */
	CARRY_VERDICT, /* number: 1: listen on that port, and let the packet come again; 0: refuse it */
	CARRY_TYPES,
};

struct carry_frame {
	enum carry_type type;
	uint32_t id;
	uint32_t number;
	uint32_t address; /* IPv4, host order */
	uint16_t port;
	uint8_t protocol;
	const void *data; /* read: in the reader, until the next call of frame_room() */
	size_t len;
};

void carry_put(struct str *out, const struct carry_frame *f);
/* 1: a frame; 0: more bytes are needed; -EPROTO: no frame, and never one again. */
int carry_next(struct frame_reader *r, struct carry_frame *ret);

#endif
