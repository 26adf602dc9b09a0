/*
 * One connection of the box: see conn.h. Where it goes is known from the address that it was made to; whether it may is decided before
 * anything else. A refused one is reset at once, so that its client does not wait. Runs in the egress process.
 */
#include "egress/conn.h"

#include "base/clock.h"
#include "base/fd.h"
#include "egress/dial.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

/* ---- the end ---- */

static void close_socket(int *fd, bool reset)
{
	const struct linger at_once = { .l_onoff = 1 };

	if (*fd >= 0 && reset)
		(void)setsockopt(*fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
	fd_close(fd);
}

static void engine_free(struct conn *c)
{
	if (c->stage == CONN_ENGINE && c->egress->engine.free)
		c->egress->engine.free(c);
	c->engine = NULL;
}

static void conn_free(struct conn *c, bool reset)
{
	struct egress *egress = c->egress;
	struct conn_peer *peer = c->peer;

	dial_free(c->dial);
	engine_free(c);
	relay_done(c);
	loop_timer_stop(egress->loop, &c->timer);
	loop_forget(egress->loop, &c->client_io);
	loop_forget(egress->loop, &c->upstream_io);
	for (int way = 0; way < 2; way++)
		bucket_forget(&egress->bucket[way], &c->wait[way]);
	close_socket(&c->client, reset);
	close_socket(&c->upstream, reset);
	if (c->prev)
		c->prev->next = c->next;
	else
		egress->conns = c->next;
	if (c->next)
		c->next->prev = c->prev;
	egress->conn_count--;
	free(c);
	if (peer) {
		peer->conn = NULL;
		peer->gone(peer, reset);
	}
}

void conn_event(const struct conn *c, enum net_event_kind kind, struct net_event *ret)
{
	char text[ADDRESS_TEXT];

	egress_event_init(ret, kind);
	ret->port = c->port;
	egress_event_text(ret->host, sizeof(ret->host), c->name ? c->name : address_text(&c->address, text));
	if (c->dialled.family)
		egress_event_text(ret->address, sizeof(ret->address), address_text(&c->dialled, text));
	if (c->match.n && c->match.rules[0]->text)
		egress_event_text(ret->rule, sizeof(ret->rule), c->match.rules[0]->text);
}

/* The rule that is missing, as a flag; for what a rule would not help there is c->allow or nothing. */
static void describe_allow(const struct conn *c, struct net_event *event)
{
	if (c->allow)
		egress_event_text(event->allow, sizeof(event->allow), c->allow);
	else if (!c->match.n)
		egress_event_allow(c->egress, event, c->name, &c->address, c->port);
}

static void conn_end(struct conn *c, enum net_event_decision decision, const char *reason, bool reset)
{
	struct net_event event;

	conn_event(c, NET_EVENT_CONNECTION, &event);
	event.time_us = c->time_us;
	event.duration_us = clock_us() - c->started_us;
	event.decision = decision;
	event.up_bytes = c->moved[CONN_UP];
	event.down_bytes = c->moved[CONN_DOWN];
	if (reason)
		egress_event_text(event.reason, sizeof(event.reason), reason);
	if (decision == NET_REFUSED)
		describe_allow(c, &event);
	egress_event(c->egress, &event);
	conn_free(c, reset);
}

void conn_finish(struct conn *c, enum net_event_decision decision, const char *reason)
{
	conn_end(c, decision, reason, false);
}

void conn_reset(struct conn *c, enum net_event_decision decision, const char *reason)
{
	conn_end(c, decision, reason, true);
}

void conn_refuse(struct conn *c, const char *fmt, ...)
{
	char reason[sizeof(c->reason)];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(reason, sizeof(reason), fmt, ap);
	va_end(ap);
	conn_end(c, NET_REFUSED, reason, true);
}

/* ---- time and amounts ---- */

void conn_touch(struct conn *c)
{
	c->touched_us = loop_now(c->egress->loop);
}

/* Activity only notes the time; the timer looks at it when it is due, and waits for the rest. */
/* What did not come in time. */
static const char *missing(const struct conn *c)
{
	if (c->stage == CONN_HELLO)
		return "no TLS ClientHello";
	return c->stage == CONN_ENGINE && !c->dialled_fn ? "no request" : "no connection";
}

static void conn_due(struct loop_timer *timer)
{
	struct conn *c = LOOP_OWNER(timer, struct conn, timer);
	const struct net_config *config = &c->egress->config;
	uint64_t idle_until = c->touched_us + config->idle_timeout_ms * 1000;
	char reason[sizeof(c->reason)];

	if (c->connected && idle_until > loop_now(c->egress->loop)) {
		(void)loop_timer_set(c->egress->loop, timer, idle_until);
		return;
	}
	if (c->connected)
		snprintf(reason, sizeof(reason), "no byte for %llu s (idle_timeout)",
			 (unsigned long long)config->idle_timeout_ms / 1000);
	else
		snprintf(reason, sizeof(reason), "%s within %llu s (connect_timeout)", missing(c),
			 (unsigned long long)config->connect_timeout_ms / 1000);
	conn_reset(c, NET_FAILED, reason);
}

void conn_connected(struct conn *c)
{
	c->connected = true;
	conn_touch(c);
	(void)loop_timer_in(c->egress->loop, &c->timer, c->egress->config.idle_timeout_ms);
}

static void resume_up(struct bucket_wait *wait)
{
	struct conn *c = LOOP_OWNER(wait, struct conn, wait[CONN_UP]);

	if (c->resume)
		c->resume(c, CONN_UP);
}

static void resume_down(struct bucket_wait *wait)
{
	struct conn *c = LOOP_OWNER(wait, struct conn, wait[CONN_DOWN]);

	if (c->resume)
		c->resume(c, CONN_DOWN);
}

static uint64_t total_limit(const struct conn *c, enum conn_way way)
{
	return way == CONN_UP ? c->egress->config.upload_total : c->egress->config.download_total;
}

size_t conn_quota(struct conn *c, enum conn_way way, size_t want)
{
	uint64_t total = total_limit(c, way), used = c->egress->total[way];

	/* Where another connection has used it up meanwhile, one byte is enough to notice. */
	if (total && used >= total)
		want = want ? 1 : 0;
	else if (total && want > total - used)
		want = (size_t)(total - used);
	return (size_t)bucket_ask(&c->egress->bucket[way], want, &c->wait[way]);
}

bool conn_moved(struct conn *c, enum conn_way way, size_t n)
{
	uint64_t total = total_limit(c, way);

	conn_touch(c);
	c->moved[way] += n;
	c->egress->total[way] += n;
	bucket_take(&c->egress->bucket[way], n);
	if (!total || c->egress->total[way] < total)
		return true;
	c->allow = way == CONN_UP ? "a larger network.upload_total" : "a larger network.download_total";
	conn_refuse(c, "%s is used up", way == CONN_UP ? "upload_total" : "download_total");
	return false;
}

static bool total_used_up(const struct egress *egress)
{
	return (egress->config.upload_total && egress->total[CONN_UP] >= egress->config.upload_total) ||
	       (egress->config.download_total && egress->total[CONN_DOWN] >= egress->config.download_total);
}

/* ---- the way through ---- */

void conn_relay(struct conn *c)
{
	engine_free(c);
	c->stage = CONN_RELAY;
	conn_connected(c);
	relay_start(c);
}

static void dialled(struct conn *c, int status)
{
	if (status < 0)
		conn_reset(c, c->failed, c->reason);
	else
		conn_relay(c);
}

static void dial_stage(struct conn *c)
{
	c->stage = CONN_DIAL;
	conn_dial(c, dialled);
}

/* Before it is relayed or the engine's. */
static void client_ready(struct loop_io *io, uint32_t events)
{
	struct conn *c = LOOP_OWNER(io, struct conn, client_io);

	c->seen[CONN_UP] |= events;
	if (c->stage == CONN_HELLO) {
		if (handshake_begin(c))
			dial_stage(c);
	} else if (events & (EPOLLERR | EPOLLHUP)) {
		conn_reset(c, NET_FAILED, "closed by the box before it was connected");
	}
}

static void engine_stage(struct conn *c)
{
	int r = -ENOSYS;

	c->stage = CONN_ENGINE;
	c->client_io.ready = NULL;
	if (c->egress->engine.start)
		r = c->egress->engine.start(c, c->match.protocol == NET_TLS);
	if (r < 0)
		conn_reset(c, NET_FAILED, r == -ENOSYS ? "requests cannot be inspected" : strerror(-r));
}

static void decide(struct conn *c);

static void decide_again(struct loop_timer *timer)
{
	struct conn *c = LOOP_OWNER(timer, struct conn, timer);

	timer->due = conn_due;
	(void)loop_timer_in(c->egress->loop, timer, c->egress->config.connect_timeout_ms);
	decide(c);
}

static void one_too_many(struct conn *c)
{
	struct egress *egress = c->egress;

	/* The box may have closed another before, of which this process hears in the same turn. */
	if (!c->waited) {
		c->waited = true;
		c->timer.due = decide_again;
		(void)loop_timer_set(egress->loop, &c->timer, 0);
		return;
	}
	c->allow = "a larger network.connections";
	conn_refuse(c, "more than %llu connections at once", (unsigned long long)egress->config.connections);
}

static void decide(struct conn *c)
{
	struct egress *egress = c->egress;
	int r;

	if (!c->name && pool_contains(&c->address)) {
		conn_refuse(c, "no name has this address");
		return;
	}
	r = net_rules_connect(&egress->config.rules, c->name, c->name ? NULL : &c->address, c->port, &c->match,
			      c->reason, sizeof(c->reason));
	if (r < 0) {
		c->match.n = 0;
		conn_refuse(c, "%s", c->reason);
	} else if (egress->config.connections && egress->conn_count > egress->config.connections) {
		one_too_many(c);
	} else if (total_used_up(egress)) {
		c->allow = "a larger network.download_total or network.upload_total";
		conn_refuse(c, "a total of the policy is used up");
	} else if (c->match.inspect || c->match.protocol == NET_HTTP) {
		engine_stage(c);
	} else if (loop_watch(egress->loop, &c->client_io, c->client, CONN_EVENTS) < 0) {
		conn_reset(c, NET_FAILED, "no memory");
	} else if (c->match.protocol == NET_TCP) {
		dial_stage(c);
	}
}

void conn_broken(struct conn *c)
{
	switch (c->stage) {
	case CONN_HELLO:
		conn_reset(c, NET_FAILED, "closed by the box before it said anything");
		break;
	case CONN_DIAL:
		conn_reset(c, NET_FAILED, "closed by the box before it was connected");
		break;
	case CONN_RELAY:
		conn_reset(c, NET_ALLOWED, "reset by the box");
		break;
	case CONN_ENGINE:
		conn_reset(c, NET_ALLOWED, "the box closed the connection");
		break;
	}
}

/* Not decided on yet. NULL: no memory; it is reset. */
static struct conn *conn_new(struct egress *egress, int fd, uint16_t port)
{
	struct conn *c = calloc(1, sizeof(*c));
	struct net_event now;

	if (!c) {
		close_socket(&fd, true);
		return NULL;
	}
	egress_event_init(&now, NET_EVENT_CONNECTION);
	*c = (struct conn){ .egress = egress, .client = fd, .upstream = -1, .port = port, .stage = CONN_HELLO };
	c->time_us = now.time_us;
	c->started_us = clock_us();
	c->timer.due = conn_due;
	c->client_io.ready = client_ready;
	c->wait[CONN_UP].resume = resume_up;
	c->wait[CONN_DOWN].resume = resume_down;
	relay_init(&c->relay);
	c->next = egress->conns;
	if (c->next)
		c->next->prev = c;
	egress->conns = c;
	egress->conn_count++;
	(void)loop_timer_in(egress->loop, &c->timer, egress->config.connect_timeout_ms);
	return c;
}

void conn_accept(struct egress *egress, int fd, uint16_t port)
{
	struct conn *c = conn_new(egress, fd, port);
	struct sockaddr_storage sa = { 0 };
	socklen_t len = sizeof(sa);
	uint16_t bound;

	if (!c)
		return;
	if (getsockname(fd, (struct sockaddr *)&sa, &len) < 0 ||
	    address_from_sockaddr((struct sockaddr *)&sa, &c->address, &bound) < 0) {
		conn_reset(c, NET_FAILED, "its destination is unknown");
		return;
	}
	c->name = pool_name(&egress->pool, &c->address);
	decide(c);
}

void conn_carry(struct egress *egress, int fd, const struct net_address *address, uint16_t port, struct conn_peer *peer)
{
	struct conn *c = conn_new(egress, fd, port);

	if (!c) {
		peer->gone(peer, true);
		return;
	}
	c->peer = peer;
	peer->conn = c;
	c->address = *address;
	c->name = pool_name(&egress->pool, &c->address);
	decide(c);
}
