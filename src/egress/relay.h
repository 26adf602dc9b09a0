/*
 * Bytes from one socket to the other, both ways, by splice: they do not enter the process. A pipe is borrowed only while it holds
 * something, so that an idle connection costs two sockets. Half-close, backpressure and resets are carried. Runs in the egress process.
 */
#ifndef EGRESS_RELAY_H
#define EGRESS_RELAY_H

#include "egress/loop.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct conn;

enum conn_way { CONN_UP, CONN_DOWN }; /* from the box, to the box */

/* Pipes that nobody uses at the moment. Only so many are large at a time: a user's share of pipe memory is for all his programs. */
enum { RELAY_PIPES = 16, RELAY_LARGE = 8 };
/* A pipe begins as the kernel makes it; one that is filled to the brim becomes as large as an ordinary user may have it, which takes half the
 * processor time of one a quarter the size. */
enum { RELAY_SMALL_BYTES = 65536, RELAY_LARGE_BYTES = 1048576 };
struct relay_pipe {
	int read, write;
	bool large;
};
struct relay_pipes {
	struct relay_pipe free[RELAY_PIPES];
	size_t n;
	size_t large; /* in use and free */
};
void relay_pipes_done(struct relay_pipes *pipes);
/* For whoever splices. False: there is none to be had now. Put: also for one that is none (read -1); what is not empty is closed. */
bool relay_pipe_get(struct relay_pipes *pipes, struct relay_pipe *ret);
void relay_pipe_put(struct relay_pipes *pipes, struct relay_pipe *pipe, bool empty);
/* After so many bytes went into it. Where the user's share of pipe memory is used up it stays small, and works all the same. */
void relay_pipe_filled(struct relay_pipes *pipes, struct relay_pipe *pipe, size_t bytes);

struct relay_flow {
	struct relay_pipe pipe;  /* read -1: none */
	size_t held;             /* bytes in it */
	bool readable, writable; /* as far as the last event told: the watch is edge-triggered */
	bool eof;                /* of the source */
	bool shut;               /* and passed on */
};

struct relay {
	struct relay_flow flow[2]; /* by enum conn_way */
	struct loop_timer again;   /* it had its share of this turn, or found no pipe */
};

/* Called by conn_relay(). */
void relay_start(struct conn *c);
/* Gives back what it has. Also for one that never started (all zero but for the pipes, see relay_init()). */
void relay_done(struct conn *c);
void relay_init(struct relay *relay);

#endif
