/*
 * One connection of the box, from accept to its event. Which place it goes to is decided before a byte is read (the address it was made to
 * stands for a name, or is a literal that the policy names); then it is relayed as it is, or handed to the engine that reads requests.
 * Everything here is one thread's: the loop's. Runs in the egress process.
 */
#ifndef EGRESS_CONN_H
#define EGRESS_CONN_H

#include "egress/egress.h"
#include "egress/handshake.h"
#include "egress/relay.h"

struct conn;
struct dial;

/* What relays and the engine want to hear of a socket; watched from the start, so that nothing needs to be changed later. */
#define CONN_EVENTS (EPOLLIN | EPOLLOUT | EPOLLRDHUP | (uint32_t)EPOLLET)

enum conn_stage { CONN_HELLO, CONN_DIAL, CONN_RELAY, CONN_ENGINE };

/* Whoever has the other end of a client that is a socket pair: it has no resets, so they are told. */
struct conn_peer {
	struct conn *conn; /* NULL: it is gone, or was left by setting both pointers to NULL */
	void (*gone)(struct conn_peer *peer, bool reset); /* its end of the pair is closed */
};

typedef void conn_dialled_fn(struct conn *c, int status);

struct conn {
	struct egress *egress;
	struct conn *next, *prev; /* in egress->conns */
	enum conn_stage stage;

	struct conn_peer *peer;     /* NULL: the client is a socket of the gateway */
	int client, upstream;       /* non-blocking; -1: not there (yet) */
	struct loop_io client_io;   /* the engine's from its start on: not watched then, no `ready` */
	struct loop_io upstream_io; /* the dial's, and after it the same: whoever has it then sets `ready` */

	const char *name;           /* normalised; lives as long as the process. NULL: a literal address */
	struct net_address address; /* that the box connected to */
	uint16_t port;
	struct net_match match;
	struct net_address dialled; /* family 0: nothing was dialled */
	uint16_t dialled_port;      /* the proxy's where there is one */

	uint64_t time_us;                /* CLOCK_REALTIME of its start */
	uint64_t started_us, touched_us; /* clock_us() */
	uint64_t moved[2];               /* bytes by enum conn_way: delivered */
	struct loop_timer
		timer; /* connect_timeout until it is relayed or the engine says conn_connected(), then idle_timeout */

	struct dial *dial; /* while resolving and dialling */
	conn_dialled_fn *dialled_fn;

	/* Tokens have come after conn_quota() gave none. Set by whoever moves bytes. */
	void (*resume)(struct conn *c, enum conn_way way);
	struct bucket_wait wait[2];

	uint32_t seen[2];           /* events by enum conn_way of the source, since each was watched for CONN_EVENTS */
	struct handshake handshake; /* of TLS that is not looked into */
	struct relay relay;         /* stage CONN_RELAY */
	void *engine;               /* the engine's own; it is asked to free it while the stage is CONN_ENGINE */
	char reason[160];           /* why a dial failed; also for the event */
	enum net_event_decision failed; /* what kind of failure that was: NET_REFUSED (by address) or NET_FAILED */
	const char *allow; /* for the event: what would have allowed it, where that is no rule for the place */
	bool connected;    /* the idle timeout counts */
	bool waited;       /* a turn, for others to end */
};

/* A connection that a listener accepted, with TCP_NODELAY; takes the fd. `port` is the listener's. */
void conn_accept(struct egress *egress, int fd, uint16_t port);
/* One that was accepted elsewhere, for this place; takes the fd, one end of a socket pair. The peer may be told before this returns. */
void conn_carry(struct egress *egress, int fd, const struct net_address *address, uint16_t port,
		struct conn_peer *peer);
/* The box has reset it, as its peer knows. */
void conn_broken(struct conn *c);

/* Resolves, checks every answer and dials; `fn` is called once, never from within conn_dial(): status 0 with c->upstream connected
 * (non-blocking, TCP_NODELAY, perhaps watched already for CONN_EVENTS: loop_watch() with these is for whoever takes it), or -errno with c->reason and c->failed. Ends with the connection without a call.
 * Another dial may follow when the first upstream is done with (close c->upstream, set it to -1). */
void conn_dial(struct conn *c, conn_dialled_fn *fn);

/* The end, one way or another: event, sockets and memory; c is gone afterwards. `reason` may be NULL and may be c->reason.
 * conn_finish() closes in order (what was written is still delivered); conn_refuse() and conn_reset() send a reset to both sides.
 * conn_refuse() adds to the event what would allow it, where that is a rule of the policy. */
void conn_finish(struct conn *c, enum net_event_decision decision, const char *reason);
__attribute__((format(printf, 2, 3))) void conn_refuse(struct conn *c, const char *fmt, ...);
void conn_reset(struct conn *c, enum net_event_decision decision, const char *reason);

/* A byte came by: the idle timeout starts anew. Cheap. */
void conn_touch(struct conn *c);
/* From now on the idle timeout counts. Relays do it themselves. */
void conn_connected(struct conn *c);

/* How many of `want` bytes may be moved now. 0: none yet, c->resume() will be called. Then, for those that were, conn_moved();
 * false: a total of the policy is used up and the connection has been ended: c is gone. Also touches. */
size_t conn_quota(struct conn *c, enum conn_way way, size_t want);
__attribute__((warn_unused_result)) bool conn_moved(struct conn *c, enum conn_way way, size_t n);

/* An event about this connection: kind, time, host, address, port, rule (the first that speaks for it) filled in; egress_event() sends it. */
void conn_event(const struct conn *c, enum net_event_kind kind, struct net_event *ret);

/* From here on it is only relayed: both sockets are there, neither is watched. Used for tcp and tls, and by the engine after an upgrade
 * of a plain connection (the engine's free() is called first; all it had buffered must have been written). */
void conn_relay(struct conn *c);

#endif
