/*
 * The way to the other side. Every answer of the resolver is checked, and the very address that was checked is dialled: there is no
 * second lookup. Addresses are tried in order, the next one when the one before fails or has not answered within a step; the first that
 * connects wins. With an upstream proxy the name goes to the proxy, which is the only place that is dialled then. Runs in the egress process.
 */
#include "egress/dial.h"

#include "base/fd.h"
#include "base/str.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

static void close_tries(struct dial *dial)
{
	for (size_t i = 0; i < DIAL_TRIES; i++) {
		struct dial_try *try = &dial->tries[i];
		int fd = try->io->fd;

		if (!try->used)
			continue;
		try->used = false;
		loop_unwatch(dial->conn->egress->loop, try->io);
		fd_close(&fd);
	}
}

void dial_free(struct dial *dial)
{
	if (!dial)
		return;
	resolve_cancel(dial->request);
	close_tries(dial);
	loop_unwatch(dial->conn->egress->loop, &dial->proxy_io);
	loop_timer_stop(dial->conn->egress->loop, &dial->timer);
	dial->conn->dial = NULL;
	free(dial);
}

static void tell_failure(struct loop_timer *timer)
{
	struct dial *dial = LOOP_OWNER(timer, struct dial, timer);
	struct conn *c = dial->conn;
	int status = dial->error;

	dial_free(dial);
	c->dialled_fn(c, status);
}

void dial_fail(struct dial *dial, int status, enum net_event_decision decision, const char *fmt, ...)
{
	struct conn *c = dial->conn;
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(c->reason, sizeof(c->reason), fmt, ap);
	va_end(ap);
	c->failed = decision;
	dial->error = status;
	close_tries(dial);
	loop_unwatch(c->egress->loop, &dial->proxy_io);
	fd_close(&c->upstream);
	dial->timer.due = tell_failure;
	(void)loop_timer_set(c->egress->loop, &dial->timer, 0);
}

void dial_succeed(struct dial *dial)
{
	struct conn *c = dial->conn;

	dial_free(dial);
	c->dialled_fn(c, 0);
}

/* One try; 0 or -errno where it failed at once. */
static int try_start(struct dial *dial, struct dial_try *try, const struct net_address *address)
{
	struct sockaddr_storage sa = { 0 };
	socklen_t len = address_to_sockaddr(address, dial->port, &sa);
	const int on = 1;
	auto_close int fd = socket(sa.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	int r;

	if (fd < 0)
		return -errno;
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	if (connect(fd, (struct sockaddr *)&sa, len) < 0 && errno != EINPROGRESS)
		return -errno;
	try->address = *address;
	r = loop_watch(dial->conn->egress->loop, try->io, fd, CONN_EVENTS);
	if (r == 0) {
		(void)STEAL_FD(fd);
		try->used = true;
	}
	return r;
}

static struct dial_try *free_try(struct dial *dial)
{
	for (size_t i = 0; i < DIAL_TRIES; i++)
		if (!dial->tries[i].used)
			return &dial->tries[i];
	return NULL;
}

static bool any_try(const struct dial *dial)
{
	for (size_t i = 0; i < DIAL_TRIES; i++)
		if (dial->tries[i].used)
			return true;
	return false;
}

/* The next address that does not fail at once; where there is none and nothing is under way, that was it. */
static void dial_next(struct dial *dial)
{
	struct loop *loop = dial->conn->egress->loop;
	char text[ADDRESS_TEXT];

	while (dial->next < dial->count) {
		struct dial_try *try = free_try(dial);

		if (!try)
			return;
		dial->error = try_start(dial, try, &dial->addresses[dial->next++]);
		if (dial->error == 0) {
			if (dial->next < dial->count)
				(void)loop_timer_in(loop, &dial->timer, DIAL_STEP_MS);
			return;
		}
	}
	if (!any_try(dial))
		dial_fail(dial, dial->error, NET_FAILED, "connect to %s port %u: %s",
			  address_text(&dial->addresses[dial->count - 1], text), dial->port, strerror(-dial->error));
}

static void dial_step(struct loop_timer *timer)
{
	dial_next(LOOP_OWNER(timer, struct dial, timer));
}

static void try_failed(struct dial_try *try, int error)
{
	struct dial *dial = try->dial;
	int fd = try->io->fd;

	try->used = false;
	loop_unwatch(dial->conn->egress->loop, try->io);
	fd_close(&fd);
	dial->error = -error;
	loop_timer_stop(dial->conn->egress->loop, &dial->timer);
	dial_next(dial);
}

static void try_won(struct dial_try *try, uint32_t events)
{
	struct dial *dial = try->dial;
	struct conn *c = dial->conn;

	try->used = false;
	c->seen[CONN_DOWN] = events;
	c->upstream = try->io->fd;
	c->dialled = try->address;
	c->dialled_port = dial->port;
	if (try->io != &c->upstream_io || c->egress->config.proxy_host)
		loop_unwatch(c->egress->loop, try->io);
	close_tries(dial);
	loop_timer_stop(c->egress->loop, &dial->timer);
	if (c->egress->config.proxy_host)
		proxy_start(dial);
	else
		dial_succeed(dial);
}

static void try_event(struct dial_try *try, uint32_t events)
{
	int error = 0;
	socklen_t len = sizeof(error);

	/* A socket that failed says so; one that says nothing else than that it can be written to is connected. */
	if (events & (EPOLLERR | EPOLLHUP) && getsockopt(try->io->fd, SOL_SOCKET, SO_ERROR, &error, &len) < 0)
		error = errno;
	if (error)
		try_failed(try, error);
	else if (events & (EPOLLOUT | EPOLLERR | EPOLLHUP))
		try_won(try, events);
}

static void first_ready(struct loop_io *io, uint32_t events)
{
	try_event(&LOOP_OWNER(io, struct conn, upstream_io)->dial->tries[0], events);
}

static void other_ready(struct loop_io *io, uint32_t events)
{
	try_event(LOOP_OWNER(io, struct dial_try, other), events);
}

/* ---- what is dialled ---- */

/* Keeps what may be dialled. NULL, or why the last one that may not cannot. */
static const char *keep_allowed(struct dial *dial, const struct net_address *addresses, size_t count,
				struct net_address *ret_refused)
{
	const struct conn *c = dial->conn;
	const char *refused = NULL;

	for (size_t i = 0; i < count && dial->count < RESOLVE_MAX; i++) {
		const char *why = net_rules_dial(&c->egress->config.rules, &c->match, &addresses[i]);

		if (!why) {
			dial->addresses[dial->count++] = addresses[i];
			continue;
		}
		refused = why;
		*ret_refused = addresses[i];
	}
	return refused;
}

static void dial_checked(struct dial *dial, const struct net_address *addresses, size_t count)
{
	struct net_address refused = { 0 };
	struct conn *c = dial->conn;
	char text[ADDRESS_TEXT];
	const char *why = keep_allowed(dial, addresses, count, &refused);

	if (dial->count == 0) {
		c->allow = "network.private: allow";
		dial_fail(dial, -EACCES, NET_REFUSED, "%s%s%s: %s", c->name ? c->name : "", c->name ? " is at " : "",
			  address_text(&refused, text), why ? why : "no address");
		return;
	}
	dial->port = c->port;
	dial_next(dial);
}

static void name_resolved(void *data, const struct resolve_answer *answer)
{
	struct dial *dial = data;

	dial->request = NULL;
	if (answer->status < 0)
		dial_fail(dial, answer->status, NET_FAILED, "resolving %s: %s", dial->conn->name, answer->why);
	else
		dial_checked(dial, answer->addresses, answer->count);
}

/* The operator named the proxy: its address is not the box's choice, and is often a private one. */
static void proxy_resolved(void *data, const struct resolve_answer *answer)
{
	struct dial *dial = data;

	dial->request = NULL;
	if (answer->status < 0) {
		dial_fail(dial, answer->status, NET_FAILED, "resolving the proxy: %s", answer->why);
		return;
	}
	memcpy(dial->addresses, answer->addresses, sizeof(dial->addresses));
	dial->count = answer->count;
	dial_next(dial);
}

static void dial_resolve(struct dial *dial, const char *name, resolve_fn *fn)
{
	const struct resolve_answer *known = resolve_known(dial->conn->egress->resolver, name);

	if (known) {
		fn(dial, known);
		return;
	}
	dial->request = resolve_start(dial->conn->egress->resolver, name, fn, dial);
	if (!dial->request)
		dial_fail(dial, -ENOMEM, NET_FAILED, "resolving %s: no memory", name);
}

static void dial_proxy(struct dial *dial)
{
	const struct net_config *config = &dial->conn->egress->config;
	const struct conn *c = dial->conn;
	struct net_address refused;
	char text[ADDRESS_TEXT];
	/* A name's addresses are the proxy's business; a literal is still ours. */
	const char *why = c->name ? NULL : keep_allowed(dial, &c->address, 1, &refused);

	dial->count = 0;
	dial->port = config->proxy_port;
	if (why)
		dial_fail(dial, -EACCES, NET_REFUSED, "%s: %s", address_text(&refused, text), why);
	else if (address_parse(config->proxy_host, strlen(config->proxy_host), &dial->addresses[0]) == 0) {
		dial->count = 1;
		dial_next(dial);
	} else {
		dial_resolve(dial, config->proxy_host, proxy_resolved);
	}
}

static void no_memory(struct loop_timer *timer)
{
	conn_reset(LOOP_OWNER(timer, struct conn, timer), NET_FAILED, "no memory");
}

void conn_dial(struct conn *c, conn_dialled_fn *fn)
{
	struct dial *dial = calloc(1, sizeof(*dial));

	c->dialled_fn = fn;
	c->connected = false;
	if (!dial) {
		c->timer.due = no_memory;
		(void)loop_timer_set(c->egress->loop, &c->timer, 0);
		return;
	}
	(void)loop_timer_in(c->egress->loop, &c->timer, c->egress->config.connect_timeout_ms);
	c->dial = dial;
	dial->conn = c;
	dial->timer.due = dial_step;
	for (size_t i = 0; i < DIAL_TRIES; i++)
		dial->tries[i] =
			(struct dial_try){ .dial = dial, .io = &dial->tries[i].other, .other.ready = other_ready };
	dial->tries[0].io = &c->upstream_io;
	c->upstream_io.ready = first_ready;
	if (c->egress->config.proxy_host)
		dial_proxy(dial);
	else if (c->name)
		dial_resolve(dial, c->name, name_resolved);
	else
		dial_checked(dial, &c->address, 1);
}
