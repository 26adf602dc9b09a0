/* What the parts of the inspecting engine share: see inspect.c. Runs in the egress process. */
#ifndef EGRESS_INSPECT_STATE_H
#define EGRESS_INSPECT_STATE_H

#include "egress/buffer.h"
#include "egress/conn.h"
#include "egress/http.h"
#include "egress/inspect.h"
#include "egress/secret.h"
#include "egress/stream.h"

enum {
	INSPECT_READ = 16384,       /* at once: a TLS record */
	INSPECT_BUFFER = 65536,     /* of a body, read before it is passed on */
	INSPECT_READS = 8,          /* before what came is passed on, and others get their turn */
	INSPECT_HEAD_MOST = 131072, /* of a head as it is sent */
	INSPECT_PATH = 4096,        /* of a path that rules look at */
	INSPECT_DRAIN = 1 << 20,    /* of what nobody reads after a refusal */
	INSPECT_LINGER_MS = 1500,   /* and for how long */
	INSPECT_TURNS = 24,         /* steps before others get their turn */
};

enum inspect_stage {
	INSPECT_ACCEPT,   /* TLS with the box */
	INSPECT_HEAD,     /* a request is awaited */
	INSPECT_SECRET,   /* a value that the request needs */
	INSPECT_DIAL,     /* the other side */
	INSPECT_CONNECT,  /* TLS with it */
	INSPECT_EXCHANGE, /* request out, response in */
	INSPECT_RAW,      /* after an upgrade: whatever comes */
	INSPECT_END,      /* what is left goes to the box, then it ends */
};

/* What a step of the machine came to. Gone: the connection and its state are no more. */
enum inspect_step { STEP_IDLE, STEP_MORE, STEP_GONE };

/* egress->engine_state */
struct inspect_shared {
	struct authority *authority; /* NULL: no rule needs it */
	struct secrets *secrets;
};

struct inspect_request {
	bool open; /* its event has not been sent */
	uint64_t time_us, started_us;
	uint64_t moved[2]; /* of the connection when it began */
	char method[20], path[512];
	const struct net_rule *rule;
	struct http_flow flow;
	bool done;   /* all of it was read */
	bool broken; /* the other side does not take the rest */
	bool keep_alive, is_head, is_websocket;
};

struct inspect_response {
	bool begun, done; /* the final head was sent on; all of it was read */
	bool keep_alive, truncated;
	struct http_flow flow;
	struct mask *mask; /* NULL: the body passes as it is */
	struct mask_flow mask_flow;
	bool chunked; /* masked, and to be cut into chunks again */
	unsigned chunk_state;
	uint64_t chunk_left;
};

struct inspect {
	struct conn *conn;
	struct inspect_shared *shared;
	char name[HOSTNAME_SIZE]; /* of the host, or its address as text */
	bool tls;
	bool has_secret; /* some rule of this host has one */
	enum inspect_stage stage;
	struct stream client, upstream;
	struct buffer client_in, client_out, upstream_in, upstream_out;
	struct buffer plain; /* of a masked body: what is held back, and what comes after it */
	size_t scanned;      /* of the head that is awaited */
	uint64_t requests;
	struct inspect_request request;
	struct inspect_response response;
	/* Of a long plain body, by enum conn_way: on its way through a pipe. */
	struct relay_pipe pipe[2]; /* read -1: none */
	size_t piped[2];
	bool client_ended, upstream_ended;
	ssize_t upstream_status; /* how it ended: 0, or -errno */
	struct secret_wait wait;
	struct loop_timer again, linger;
	/* INSPECT_END */
	bool drain;
	size_t drained;
	enum net_event_decision decision;
	char reason[160];
};

/* May more be put into `out`? What TLS has sealed and the socket has not taken comes first. */
static inline bool inspect_has_room(const struct stream *to, const struct buffer *out)
{
	return !to->sealed && out->len < INSPECT_BUFFER;
}

/* ---- inspect_bytes.c ---- */

/* The first n of `from` go to `to`: no copy where that is all, and `to` is empty. */
void inspect_move(struct buffer *from, struct buffer *to, size_t n);
/* Is there a whole head (or something that never will be one)? Looks at each byte once. */
bool inspect_head_is_there(const struct buffer *b, size_t *scanned);
/* Sends what it can. *ret_error: the stream is broken. */
enum inspect_step inspect_flush(struct inspect *x, struct stream *s, struct buffer *b, enum conn_way way,
				int *ret_error);
/* How many bytes of a body may be read before they are looked at. Not more than it has left: who closes behind it without a word breaks TLS, and
 * with it the way back for the answer. */
size_t inspect_ahead(const struct http_flow *flow);
/* Reads what has room below max; over TLS again and again while there are less than `more`, so that records leave together, too.
 * 1: something came; 0: nothing now; -errno, or -ENODATA at the end. */
ssize_t inspect_fill(struct inspect *x, struct stream *s, struct buffer *b, size_t max, size_t more);

/* ---- inspect.c ---- */

/* Everything in client_out goes to the box; then the end. */
enum inspect_step inspect_end(struct inspect *x, bool drain, enum net_event_decision decision, const char *reason);
enum inspect_step inspect_dial(struct inspect *x);
enum inspect_step inspect_reset(struct inspect *x, enum net_event_decision decision, const char *reason);

/* ---- inspect_splice.c ---- */

/* The body is long, plain and to be left as it is: *ret_step tells what came of moving it within the kernel (*ret_error: that the destination
 * broke). False: it is to be carried the ordinary way. */
bool inspect_splice(struct inspect *x, enum conn_way way, enum inspect_step *ret_step, int *ret_error);
void inspect_splice_done(struct inspect *x);

/* ---- inspect_answer.c ---- */

/* Answers instead of the other side, sends the request's event, and ends. `allow`: what would allow it, or NULL. */
enum inspect_step inspect_answer(struct inspect *x, int status, enum net_event_decision decision, const char *allow,
				 const char *fmt, ...) __attribute__((format(printf, 5, 6)));
/* The other side failed: an answer where there is still time for one, else a reset. */
enum inspect_step inspect_fail(struct inspect *x, int status, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* The request's event, once. */
void inspect_tell(struct inspect *x, enum net_event_decision decision, const char *reason, const char *allow);

/* ---- inspect_request.c ---- */

/* Reads the head in client_in, if it is all there: checks it, writes it to upstream_out and moves on. */
enum inspect_step inspect_request_head(struct inspect *x);
/* What of client_in belongs to the request goes to upstream_out. */
enum inspect_step inspect_request_body(struct inspect *x);

/* ---- inspect_response.c ---- */

enum inspect_step inspect_response_pass(struct inspect *x);
/* The other side closed, or broke (-errno). */
enum inspect_step inspect_response_eof(struct inspect *x, ssize_t status);
/* After an upgrade: upstream_in to client_out. */
void inspect_response_raw(struct inspect *x);
void inspect_response_done(struct inspect *x); /* gives back what one exchange held */

#endif
