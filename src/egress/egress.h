/*
 * The whole of one egress process: what it was told, what it holds, and the parts that share it. Runs in the egress process.
 */
#ifndef EGRESS_EGRESS_H
#define EGRESS_EGRESS_H

#include "egress/bucket.h"
#include "egress/loop.h"
#include "egress/pool.h"
#include "egress/relay.h"
#include "net/config.h"
#include "net/event.h"

struct conn;
struct egress;
struct resolver;
struct capture;
struct attempts;

/* The engine that reads requests (inspect.h), as connections see it; all NULL: there is none, and what needs it is refused. */
struct engine {
	/* c->client is accepted, decided on and not watched; nothing was read from it. tls: it is to be terminated first. The connection is
	 * the engine's from here on until conn_finish(), conn_refuse(), conn_reset() or conn_relay(). 0, or -errno: it is then refused. */
	int (*start)(struct conn *c, bool tls);
	void (*free)(struct conn *c); /* c->engine, also where it is NULL */
	void (*secret)(struct egress *egress,
		       const struct net_secret_value *value); /* one has arrived; wiped afterwards */
	void (*done)(struct egress *egress);                  /* egress->engine_state */
};

enum { EVENT_QUEUE = 256 };

struct egress {
	struct loop *loop;
	struct net_config config;
	struct pool pool;
	struct resolver *resolver;
	struct capture *capture;   /* listeners, DNS sockets */
	struct attempts *attempts; /* what the packet socket told */

	struct engine engine;
	void *engine_state; /* the engine's own: made when it is first needed */

	struct conn *conns;
	uint64_t conn_count;
	struct bucket bucket[2]; /* by enum conn_way, over the whole box */
	uint64_t total[2];
	struct bucket questions; /* of the box's DNS, over UDP and TCP together */
	struct relay_pipes pipes;

	int event_fd; /* -1: nobody listens */
	struct loop_io event_io;
	struct net_event
		*queue; /* that the socket did not take yet: a ring of EVENT_QUEUE, made when it is first needed */
	size_t queue_first, queue_count;
	uint64_t events_lost;
};

/* Sends it or queues it; never blocks. What finds no room is counted and told later (NET_EVENT_LOST). */
void egress_event(struct egress *egress, const struct net_event *event);
/* Kind and time, the rest zero. */
void egress_event_init(struct net_event *event, enum net_event_kind kind);
/* Copies into one of the fields of an event: printable ASCII, cut to fit. */
void egress_event_text(char *to, size_t size, const char *text);
/* The rule that would allow it, as a flag; nothing where no rule could. */
void egress_event_allow(const struct egress *egress, struct net_event *event, const char *name,
			const struct net_address *address, uint16_t port);
/* Asks the front for a secret's value: engine.secret() gets the answer. */
void egress_want_secret(struct egress *egress, const char *name);
/* Begins to serve the event socket. 0 or -errno. */
int egress_events_start(struct egress *egress, int fd);
/* At the end: what is queued, waiting for its reader at most so long. */
void egress_events_flush(struct egress *egress, unsigned timeout_ms);

/* Loop, pool, resolver, buckets, from egress->config; everything else is zero before. Reads /etc/resolv.conf. */
int egress_init(struct egress *egress, struct cordon_error *err);
/* Ends every connection, tells what is left to tell, and frees everything; also after a failed egress_init(). */
void egress_done(struct egress *egress);

#endif
