/* The way to the other side: resolve, check, dial, and ask a proxy where there is one. conn_dial() is its public face. */
#ifndef EGRESS_DIAL_H
#define EGRESS_DIAL_H

#include "egress/conn.h"
#include "egress/resolve.h"

enum { DIAL_TRIES = 8, DIAL_STEP_MS = 2000 };

struct dial_try {
	struct dial *dial;
	bool used;
	struct loop_io *
		io; /* of the first the connection's own, so that the one that mostly wins need not be watched anew; else: */
	struct loop_io other;
	struct net_address address;
};

struct dial {
	struct conn *conn;
	struct resolve_request *request;
	struct net_address addresses[RESOLVE_MAX]; /* checked */
	size_t count, next;
	uint16_t port;
	struct dial_try tries[DIAL_TRIES];
	int error;               /* of the last try that failed */
	struct loop_timer timer; /* the next step */
	struct loop_io proxy_io; /* while a proxy is asked: watches conn->upstream */
	size_t proxy_sent;
};

/* The end of a dial: conn->dialled_fn is called in the next turn (failure) or now (success, from the loop only). */
__attribute__((format(printf, 4, 5))) void dial_fail(struct dial *dial, int status, enum net_event_decision decision,
						     const char *fmt, ...);
void dial_succeed(struct dial *dial);
/* Asks the proxy that conn->upstream is connected to. */
void proxy_start(struct dial *dial);
/* With the connection. NULL is fine. */
void dial_free(struct dial *dial);

#endif
