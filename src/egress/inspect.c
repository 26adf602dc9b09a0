/*
 * The engine that reads requests: see inspect.h.
 *
 * Theory of operation: one state per connection, one function that makes it go on (pump), called for whatever happens on either socket. Both
 * are watched edge-triggered from the start, so that nothing has to be told to the kernel while bytes move; streams remember whether a try
 * is worth it. A step that ended the connection says so (STEP_GONE), and nobody touches it again.
 *
 * The other side is dialled when the first request has passed the rules, and never twice: when it closes, so does the connection of the box.
 * One request is on its way at a time; what is sent ahead waits in the socket. Of bodies at most INSPECT_BUFFER are read each way before they are
 * passed on, and twice as much waits for who is slow.
 *
 * The egress process; no privilege.
 */
#include "egress/inspect_state.h"

#include "base/clock.h"
#include "base/str.h"
#include "egress/certificates.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void pump(struct inspect *x);

/* ---- the end ---- */

enum inspect_step inspect_reset(struct inspect *x, enum net_event_decision decision, const char *reason)
{
	if (x->request.open)
		inspect_tell(x, decision, reason, NULL);
	conn_reset(x->conn, decision, reason);
	return STEP_GONE;
}

static enum inspect_step finish(struct inspect *x, enum net_event_decision decision, const char *reason)
{
	conn_finish(x->conn, decision, reason && reason[0] ? reason : NULL);
	return STEP_GONE;
}

enum inspect_step inspect_end(struct inspect *x, bool drain, enum net_event_decision decision, const char *reason)
{
	x->stage = INSPECT_END;
	x->drain = drain;
	x->decision = decision;
	if (reason)
		egress_event_text(x->reason, sizeof(x->reason), reason);
	return STEP_MORE;
}

static void linger_due(struct loop_timer *timer)
{
	struct inspect *x = LOOP_OWNER(timer, struct inspect, linger);

	finish(x, x->decision, x->reason);
}

/* What the box still sends is read and dropped for a moment: closing with unread bytes would be a reset, which takes the answer away
 * before it is read. */
static enum inspect_step step_end(struct inspect *x)
{
	int error = 0;
	enum inspect_step r = inspect_flush(x, &x->client, &x->client_out, CONN_DOWN, &error);
	ssize_t n;

	if (r != STEP_IDLE)
		return r;
	if (error)
		return finish(x, x->decision, x->reason);
	if (x->client_out.len || x->client.sealed)
		return STEP_IDLE;
	if (!x->response.truncated && stream_shut(&x->client) == -EAGAIN)
		return STEP_IDLE;
	if (!x->drain || x->drained > INSPECT_DRAIN)
		return finish(x, x->decision, x->reason);
	if (!x->linger.slot)
		loop_timer_in(x->conn->egress->loop, &x->linger, INSPECT_LINGER_MS);
	buffer_take(&x->client_in, x->client_in.len);
	n = inspect_fill(x, &x->client, &x->client_in, INSPECT_READ, 0);
	if (n < 0)
		return finish(x, x->decision, x->reason);
	x->drained += x->client_in.len;
	return n ? STEP_MORE : STEP_IDLE;
}

/* ---- the way to a request ---- */

static enum inspect_step step_accept(struct inspect *x)
{
	int r = x->client.readable || x->client.writable ? stream_handshake(&x->client) : -EAGAIN;
	char why[160];
	bool ours;

	if (r == -EAGAIN)
		return STEP_IDLE;
	if (r < 0) {
		ours = authority_explain(x->client.ssl, why, sizeof(why));
		return finish(x, ours ? NET_REFUSED : NET_FAILED, why);
	}
	x->stage = INSPECT_HEAD;
	return STEP_MORE;
}

/* Between two requests the other side has nothing to say but that it leaves. */
static enum inspect_step watch_idle_upstream(struct inspect *x)
{
	ssize_t n;

	if (x->upstream.fd < 0)
		return STEP_IDLE;
	n = inspect_fill(x, &x->upstream, &x->upstream_in, INSPECT_READ, 0);
	if (n > 0)
		return inspect_reset(x, NET_FAILED, "the other side sent a response that nobody asked for");
	return n < 0 ? inspect_end(x, false, NET_ALLOWED, NULL) : STEP_IDLE;
}

static enum inspect_step step_head(struct inspect *x)
{
	enum inspect_step r = watch_idle_upstream(x);
	ssize_t n;

	if (r != STEP_IDLE)
		return r;
	if (x->client_in.len) {
		r = inspect_request_head(x);
		if (r != STEP_IDLE || x->stage != INSPECT_HEAD) /* what follows waits until it is asked for */
			return r;
	}
	n = inspect_fill(x, &x->client, &x->client_in, HTTP_HEAD_MAX, 0);
	if (n >= 0)
		return n ? STEP_MORE : STEP_IDLE;
	if (n == -ENODATA && x->client_in.len)
		return inspect_answer(x, 400, NET_REFUSED, NULL, "the request ends in the middle of its head");
	return inspect_end(x, false, NET_ALLOWED, NULL);
}

static enum inspect_step step_connect(struct inspect *x)
{
	int r = x->upstream.readable || x->upstream.writable ? stream_handshake(&x->upstream) : -EAGAIN;
	char why[160];

	if (r == -EAGAIN)
		return STEP_IDLE;
	if (r < 0) {
		authority_explain(x->upstream.ssl, why, sizeof(why));
		return inspect_fail(x, 502, "%s", why);
	}
	conn_connected(x->conn);
	x->stage = INSPECT_EXCHANGE;
	return STEP_MORE;
}

static void upstream_ready(struct loop_io *io, uint32_t events)
{
	struct inspect *x = LOOP_OWNER(io, struct conn, upstream_io)->engine;

	stream_ready(&x->upstream, events);
	pump(x);
}

static enum inspect_step begin_upstream(struct inspect *x)
{
	struct conn *c = x->conn;
	SSL *ssl = x->tls ? authority_connect(x->shared->authority, x->name) : NULL;
	int r = -ENOMEM;

	c->upstream_io.ready = upstream_ready;
	if (ssl || !x->tls)
		r = stream_init(&x->upstream, c->upstream, ssl);
	if (r == 0)
		r = loop_watch(c->egress->loop, &c->upstream_io, c->upstream, CONN_EVENTS);
	if (r < 0)
		return inspect_fail(x, 502, "out of memory");
	x->stage = x->tls ? INSPECT_CONNECT : INSPECT_EXCHANGE;
	if (!x->tls)
		conn_connected(c);
	return STEP_MORE;
}

static void dialled(struct conn *c, int status)
{
	struct inspect *x = c->engine;
	enum inspect_step r;

	if (status == 0)
		r = begin_upstream(x);
	else if (c->failed == NET_REFUSED)
		r = inspect_answer(x, 403, NET_REFUSED, NULL, "%s", c->reason);
	else
		r = inspect_fail(x, status == -ETIMEDOUT ? 504 : 502, "%s", c->reason);
	if (r != STEP_GONE)
		pump(x);
}

enum inspect_step inspect_dial(struct inspect *x)
{
	x->stage = INSPECT_DIAL;
	conn_dial(x->conn, dialled);
	return STEP_IDLE;
}

/* ---- an exchange ---- */

/* The other side takes no more of it; it may have answered before it went away. */
static void give_up_request(struct inspect *x)
{
	x->request.broken = true;
	buffer_done(&x->upstream_out);
}

/* The request's way. */
static enum inspect_step exchange_up(struct inspect *x)
{
	enum inspect_step r = STEP_IDLE;
	int error = 0;
	ssize_t n = 0;

	if (inspect_splice(x, CONN_UP, &r, &error)) {
		if (!error)
			return r;
		x->piped[CONN_UP] = 0;
		relay_pipe_put(&x->conn->egress->pipes, &x->pipe[CONN_UP], false);
	}
	/* What is here passes first: nobody reads behind the end of a request. */
	if (!error && !x->request.broken && !x->request.done) {
		r = inspect_request_body(x);
		if (r == STEP_GONE)
			return r;
	}
	if (!error && !x->request.broken && !x->request.done && x->stage == INSPECT_EXCHANGE) {
		const struct http_flow *flow = &x->request.flow;

		n = inspect_fill(x, &x->client, &x->client_in, INSPECT_BUFFER,
				 flow->kind == HTTP_BODY_LENGTH ? inspect_ahead(flow) : 0);
		if (n < 0 && !x->client_in.len)
			return inspect_reset(x, NET_ALLOWED, "the request was cut short by the box");
	}
	if (r != STEP_MORE)
		r = n > 0 ? STEP_MORE : STEP_IDLE;
	switch (error ? STEP_IDLE : inspect_flush(x, &x->upstream, &x->upstream_out, CONN_UP, &error)) {
	case STEP_GONE:
		return STEP_GONE;
	case STEP_MORE:
		return STEP_MORE;
	case STEP_IDLE:
		break;
	}
	if (error) {
		give_up_request(x);
		return STEP_MORE;
	}
	return r;
}

/* The response's way. */
static enum inspect_step exchange_down(struct inspect *x)
{
	enum inspect_step r;
	size_t max = x->response.begun ? INSPECT_BUFFER : HTTP_HEAD_MAX;
	int error = 0;
	ssize_t n;

	if (inspect_splice(x, CONN_DOWN, &r, &error))
		return error ? inspect_reset(x, NET_ALLOWED, "the box closed the connection") : r;
	n = x->response.done || x->upstream_ended
		    ? 0
		    : inspect_fill(x, &x->upstream, &x->upstream_in, max,
				   x->response.begun ? inspect_ahead(&x->response.flow) : 0);
	if (n < 0) {
		x->upstream_ended = true;
		x->upstream_status = n == -ENODATA ? 0 : n;
	}
	r = inspect_response_pass(x);
	if (r == STEP_GONE || x->stage != INSPECT_EXCHANGE)
		return r;
	/* The end counts once all before it has passed; where there is no room, it has not. */
	if (r == STEP_IDLE && x->upstream_ended && !x->response.done && inspect_has_room(&x->client, &x->client_out)) {
		r = inspect_response_eof(x, x->upstream_status);
		if (r == STEP_GONE || x->stage != INSPECT_EXCHANGE)
			return r;
	}
	if (n > 0)
		r = STEP_MORE;
	switch (inspect_flush(x, &x->client, &x->client_out, CONN_DOWN, &error)) {
	case STEP_GONE:
		return STEP_GONE;
	case STEP_MORE:
		return STEP_MORE;
	case STEP_IDLE:
		break;
	}
	return error ? inspect_reset(x, NET_ALLOWED, "the box closed the connection") : r;
}

static enum inspect_step next_request(struct inspect *x)
{
	bool clean = x->request.done && !x->request.broken && !x->upstream_out.len && !x->upstream.sealed &&
		     !x->piped[CONN_UP];

	inspect_tell(x, NET_ALLOWED, NULL, NULL);
	if (!clean || !x->request.keep_alive || !x->response.keep_alive)
		return inspect_end(x, !clean || x->client_in.len, NET_ALLOWED, NULL);
	if (x->upstream_in.len)
		return inspect_reset(x, NET_FAILED, "the other side sent more than its response");
	inspect_response_done(x);
	inspect_splice_done(x);
	x->request = (struct inspect_request){ 0 };
	x->scanned = 0;
	x->stage = INSPECT_HEAD;
	return STEP_MORE;
}

static enum inspect_step step_exchange(struct inspect *x)
{
	enum inspect_step up = exchange_up(x), down;

	if (up == STEP_GONE || x->stage != INSPECT_EXCHANGE)
		return up;
	down = exchange_down(x);
	if (down == STEP_GONE || x->stage != INSPECT_EXCHANGE)
		return down;
	/* Also where the request is not through: who has answered does not want the rest of it. */
	if (x->response.done && !x->client_out.len)
		return next_request(x);
	return up == STEP_MORE ? up : down;
}

/* ---- after an upgrade ---- */

static enum inspect_step raw_way(struct inspect *x, struct stream *from, struct stream *to, bool up)
{
	struct buffer *in = up ? &x->client_in : &x->upstream_in, *out = up ? &x->upstream_out : &x->client_out;
	bool *ended = up ? &x->client_ended : &x->upstream_ended;
	ssize_t n = *ended ? 0 : inspect_fill(x, from, in, INSPECT_BUFFER, INSPECT_BUFFER);
	enum inspect_step r;
	int error = 0;

	if (n < 0 && n != -ENODATA)
		return inspect_reset(x, NET_ALLOWED, "the connection broke");
	if (n < 0)
		*ended = true;
	if (inspect_has_room(to, out)) {
		if (up)
			inspect_move(in, out, in->len);
		else
			inspect_response_raw(x);
	}
	r = inspect_flush(x, to, out, up ? CONN_UP : CONN_DOWN, &error);
	if (error)
		return inspect_reset(x, NET_ALLOWED, "the connection broke");
	if (r == STEP_IDLE && *ended && !in->len && !out->len)
		stream_shut(to);
	return r == STEP_IDLE && n ? STEP_MORE : r;
}

static enum inspect_step step_raw(struct inspect *x)
{
	enum inspect_step up, down;
	struct conn *c = x->conn;

	/* Nothing to decrypt and nothing to mask: the kernel can do it alone. */
	if (!x->tls && !x->response.mask && !x->client_in.len && !x->client_out.len && !x->upstream_in.len &&
	    !x->upstream_out.len && !x->client_ended && !x->upstream_ended) {
		inspect_tell(x, NET_ALLOWED, NULL, NULL);
		loop_unwatch(c->egress->loop, &c->client_io);
		loop_unwatch(c->egress->loop, &c->upstream_io);
		c->resume = NULL;
		conn_relay(c);
		return STEP_GONE;
	}
	up = raw_way(x, &x->client, &x->upstream, true);
	if (up == STEP_GONE)
		return up;
	down = raw_way(x, &x->upstream, &x->client, false);
	if (down == STEP_GONE)
		return down;
	if (x->client.shut && x->upstream.shut) {
		inspect_tell(x, NET_ALLOWED, NULL, NULL);
		return finish(x, NET_ALLOWED, NULL);
	}
	return up == STEP_MORE ? up : down;
}

/* ---- the machine ---- */

static enum inspect_step step(struct inspect *x)
{
	switch (x->stage) {
	case INSPECT_ACCEPT:
		return step_accept(x);
	case INSPECT_HEAD:
		return step_head(x);
	case INSPECT_SECRET:
	case INSPECT_DIAL:
		return STEP_IDLE; /* somebody will call */
	case INSPECT_CONNECT:
		return step_connect(x);
	case INSPECT_EXCHANGE:
		return step_exchange(x);
	case INSPECT_RAW:
		return step_raw(x);
	case INSPECT_END:
		return step_end(x);
	}
	return STEP_IDLE;
}

/* Who waits there waits for a moment only. */
static bool in_body(const struct inspect *x)
{
	return x->stage == INSPECT_EXCHANGE && x->response.begun && !x->response.done;
}

/* Who waits, waits without buffers: there may be a thousand of them. */
static void rest(struct inspect *x)
{
	struct buffer *const buffers[] = { &x->client_in, &x->client_out, &x->upstream_in, &x->upstream_out };

	for (size_t i = 0; i < ARRAY_LEN(buffers); i++)
		if (!buffers[i]->len)
			buffer_done(buffers[i]);
	stream_rest(&x->client);
	stream_rest(&x->upstream);
}

/* What is sealed goes first. False: the connection is gone. */
static bool flush_sealed(struct inspect *x)
{
	int client = stream_flush(&x->client), upstream = stream_flush(&x->upstream);

	if (client > 0 || upstream > 0)
		conn_touch(x->conn);
	if (client < 0 || (upstream < 0 && x->stage == INSPECT_RAW)) {
		if (x->stage == INSPECT_END)
			finish(x, x->decision, x->reason);
		else
			inspect_reset(x, NET_ALLOWED,
				      client < 0 ? "the box closed the connection" : "the connection broke");
		return false;
	}
	if (upstream < 0)
		give_up_request(x);
	return true;
}

static void pump(struct inspect *x)
{
	enum inspect_step r = STEP_MORE;

	if (!flush_sealed(x))
		return;
	for (int turn = 0; r == STEP_MORE && turn < INSPECT_TURNS; turn++) {
		r = step(x);
		if (r != STEP_GONE && (x->client_in.failed || x->client_out.failed || x->upstream_in.failed ||
				       x->upstream_out.failed || x->plain.failed))
			r = inspect_reset(x, NET_FAILED, "out of memory");
	}
	if (r == STEP_MORE)
		loop_timer_set(x->conn->egress->loop, &x->again, loop_now(x->conn->egress->loop));
	else if (r == STEP_IDLE && !in_body(x))
		rest(x);
}

static void again_due(struct loop_timer *timer)
{
	pump(LOOP_OWNER(timer, struct inspect, again));
}

static void client_ready(struct loop_io *io, uint32_t events)
{
	struct inspect *x = LOOP_OWNER(io, struct conn, client_io)->engine;

	stream_ready(&x->client, events);
	/* Both directions are over: there is nobody to answer to. */
	if (events & (EPOLLERR | EPOLLHUP) && x->stage != INSPECT_END && x->stage != INSPECT_RAW) {
		inspect_reset(x, NET_ALLOWED, "the box closed the connection");
		return;
	}
	pump(x);
}

static void resume(struct conn *c, enum conn_way way)
{
	(void)way;
	pump(c->engine);
}

static void secret_is_ready(struct secret_wait *wait)
{
	struct inspect *x = LOOP_OWNER(wait, struct inspect, wait);

	x->stage = INSPECT_HEAD;
	x->scanned = 0; /* the head is read again from its start */
	pump(x);
}

/* ---- from outside ---- */

int inspect_start(struct conn *c, bool tls)
{
	struct inspect_shared *shared = c->egress->engine_state;
	struct inspect *x;
	SSL *ssl = NULL;
	int r = -ENOMEM;

	if (!shared || (tls && !shared->authority))
		return -ENOSYS;
	x = calloc(1, sizeof(*x));
	if (!x)
		return -ENOMEM;
	x->conn = c;
	x->shared = shared;
	x->tls = tls;
	x->stage = tls ? INSPECT_ACCEPT : INSPECT_HEAD;
	x->client.fd = x->upstream.fd = -1;
	x->pipe[CONN_UP].read = x->pipe[CONN_DOWN].read = -1;
	x->again.due = again_due;
	x->linger.due = linger_due;
	x->wait.ready = secret_is_ready;
	if (c->name)
		memcpy(x->name, c->name, strnlen(c->name, sizeof(x->name) - 1));
	else
		address_text(&c->address, x->name);
	for (size_t i = 0; i < c->match.n; i++)
		x->has_secret |= c->match.rules[i]->secret != NULL;
	if (tls)
		ssl = authority_accept(shared->authority, x->name);
	if (ssl || !tls)
		r = stream_init(&x->client, c->client, ssl);
	c->engine = x;
	c->resume = resume;
	c->client_io.ready = client_ready;
	if (r == 0) /* the first event comes at once: it is writable */
		r = loop_watch(c->egress->loop, &c->client_io, c->client, CONN_EVENTS);
	if (r < 0)
		inspect_free(c);
	return r;
}

void inspect_free(struct conn *c)
{
	struct inspect *x = c->engine;

	if (!x)
		return;
	c->engine = NULL;
	inspect_tell(x, NET_FAILED, "the connection ended", NULL);
	secrets_forget(&x->wait);
	loop_timer_stop(c->egress->loop, &x->again);
	loop_timer_stop(c->egress->loop, &x->linger);
	inspect_response_done(x);
	inspect_splice_done(x);
	stream_done(&x->client);
	stream_done(&x->upstream);
	buffer_done(&x->client_in);
	buffer_done(&x->client_out);
	buffer_done(&x->upstream_in);
	buffer_done(&x->upstream_out);
	free(x);
}

static void want_secret(void *arg, const char *name)
{
	egress_want_secret(arg, name);
}

int inspect_prepare(struct egress *egress, struct cordon_error *err)
{
	struct inspect_shared *shared = calloc(1, sizeof(*shared));

	if (!shared)
		return fail_memory(err);
	egress->engine_state = shared;
	shared->secrets = secrets_new(&egress->config, want_secret, egress);
	if (!shared->secrets)
		return fail_memory(err);
	egress->engine = inspect_engine;
	if (!net_rules_intercept(&egress->config.rules))
		return 0;
	return authority_new(egress->config.ca_file, &shared->authority, err);
}

int inspect_hand_over(const struct egress *egress, int fd)
{
	const struct inspect_shared *shared = egress->engine_state;

	return shared && shared->authority ? certificates_send(shared->authority, fd) : -ENOENT;
}

static void inspect_secret(struct egress *egress, const struct net_secret_value *value)
{
	struct inspect_shared *shared = egress->engine_state;

	if (shared)
		secrets_answer(shared->secrets, value);
}

static void inspect_done(struct egress *egress)
{
	struct inspect_shared *shared = egress->engine_state;

	if (!shared)
		return;
	authority_free(shared->authority);
	secrets_free(shared->secrets);
	free(shared);
	egress->engine_state = NULL;
}

const struct engine inspect_engine = {
	.start = inspect_start,
	.free = inspect_free,
	.secret = inspect_secret,
	.done = inspect_done,
};
