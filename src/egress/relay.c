/*
 * Bytes from one socket to the other: see relay.h.
 *
 * Each way is a flow: source → pipe → destination. A flow reads only while its pipe is empty, so a slow destination stops the source by
 * TCP's own window. Both sockets are watched edge-triggered and once; what an event told is remembered until a splice says EAGAIN. End of
 * file is passed on as a half-close once the pipe is empty; the connection ends when both ways have ended. An error on either side resets both.
 */
#include "egress/conn.h"

#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* A flow's share of one turn is RELAY_ROUNDS pipes; without a pipe to be had it tries again a little later. */
enum { RELAY_ROUNDS = 4, RELAY_RETRY_MS = 20 };

bool relay_pipe_get(struct relay_pipes *pipes, struct relay_pipe *ret)
{
	int fds[2];

	if (pipes->n) {
		*ret = pipes->free[--pipes->n];
		return true;
	}
	if (pipe2(fds, O_CLOEXEC | O_NONBLOCK) < 0)
		return false;
	*ret = (struct relay_pipe){ .read = fds[0], .write = fds[1] };
	return true;
}

void relay_pipe_filled(struct relay_pipes *pipes, struct relay_pipe *pipe, size_t bytes)
{
	if (bytes < RELAY_SMALL_BYTES || pipe->large || pipes->large == RELAY_LARGE ||
	    fcntl(pipe->write, F_SETPIPE_SZ, RELAY_LARGE_BYTES) < 0)
		return;
	pipe->large = true;
	pipes->large++;
}

static void pipe_close(struct relay_pipes *pipes, struct relay_pipe *pipe)
{
	fd_close(&pipe->read);
	fd_close(&pipe->write);
	pipes->large -= pipe->large;
}

/* Only an empty one is kept for others: what one connection left must never reach another. */
void relay_pipe_put(struct relay_pipes *pipes, struct relay_pipe *pipe, bool empty)
{
	if (pipe->read < 0)
		return;
	if (empty && pipes->n < RELAY_PIPES)
		pipes->free[pipes->n++] = *pipe;
	else
		pipe_close(pipes, pipe);
	*pipe = (struct relay_pipe){ .read = -1, .write = -1 };
}

void relay_pipes_done(struct relay_pipes *pipes)
{
	while (pipes->n)
		pipe_close(pipes, &pipes->free[--pipes->n]);
}

void relay_init(struct relay *relay)
{
	for (int way = 0; way < 2; way++)
		relay->flow[way].pipe.read = relay->flow[way].pipe.write = -1;
}

void relay_done(struct conn *c)
{
	for (int way = 0; way < 2; way++)
		relay_pipe_put(&c->egress->pipes, &c->relay.flow[way].pipe, c->relay.flow[way].held == 0);
	loop_timer_stop(c->egress->loop, &c->relay.again);
}

/* One side broke: the other one shall see it, too. False: c is gone. */
static bool broken(struct conn *c, bool by_box, int error)
{
	char reason[sizeof(c->reason)];

	if (error == ECONNRESET || error == EPIPE)
		snprintf(reason, sizeof(reason), "reset by the %s", by_box ? "box" : "other side");
	else
		snprintf(reason, sizeof(reason), "%s: %s", by_box ? "the box" : "the other side", strerror(error));
	conn_reset(c, by_box ? NET_ALLOWED : NET_FAILED, reason);
	return false;
}

/* From the pipe to the destination, as much as it takes. False: c is gone. */
static bool flow_out(struct conn *c, enum conn_way way)
{
	struct relay_flow *flow = &c->relay.flow[way];
	int to = way == CONN_UP ? c->upstream : c->client;
	ssize_t n = splice(flow->pipe.read, NULL, to, NULL, flow->held, SPLICE_F_MOVE | SPLICE_F_NONBLOCK);

	if (n < 0 && errno == EAGAIN) {
		flow->writable = false;
		return true;
	}
	if (n <= 0)
		return broken(c, way == CONN_DOWN, n < 0 ? errno : EPIPE);
	flow->held -= (size_t)n;
	return conn_moved(c, way, (size_t)n);
}

/* From the source into the empty pipe. False: c is gone. */
static bool flow_in(struct conn *c, enum conn_way way, size_t quota)
{
	struct relay_flow *flow = &c->relay.flow[way];
	int from = way == CONN_UP ? c->client : c->upstream;
	ssize_t n = splice(from, NULL, flow->pipe.write, NULL, quota, SPLICE_F_MOVE | SPLICE_F_NONBLOCK);

	if (n > 0) {
		flow->held = (size_t)n;
		if (way == CONN_UP && c->handshake.stage == HANDSHAKE_FIRST)
			c->handshake.left -= (size_t)n;
		relay_pipe_filled(&c->egress->pipes, &flow->pipe, flow->held);
	} else if (n == 0)
		flow->eof = true;
	else if (errno == EAGAIN)
		flow->readable = false;
	else
		return broken(c, way == CONN_UP, errno);
	return true;
}

/* The end of this way, passed on. False: it was the end of the connection. */
static bool flow_end(struct conn *c, enum conn_way way)
{
	struct relay_flow *flow = &c->relay.flow[way];

	flow->shut = true;
	if (c->relay.flow[!way].shut) {
		conn_finish(c, NET_ALLOWED, NULL);
		return false;
	}
	(void)shutdown(way == CONN_UP ? c->upstream : c->client, SHUT_WR);
	return true;
}

/* While the beginning of TLS is looked at. */
static enum handshake_pass flow_check(struct conn *c, enum conn_way way, size_t *quota)
{
	enum handshake_pass pass = way == CONN_UP ? handshake_up(c, quota) : handshake_down(c);

	if (pass == HANDSHAKE_WAIT)
		c->relay.flow[way].readable = false;
	/* The box's side may have waited for this, and has no event of its own. */
	if (pass == HANDSHAKE_GO && way == CONN_DOWN)
		(void)loop_timer_set(c->egress->loop, &c->relay.again, 0);
	return pass;
}

/* Moves what can be moved. False: c is gone. */
static bool flow_pump(struct conn *c, enum conn_way way)
{
	struct relay_flow *flow = &c->relay.flow[way];
	unsigned round = 0;

	for (; round < RELAY_ROUNDS; round++) {
		size_t quota;

		while (flow->held && flow->writable)
			if (!flow_out(c, way))
				return false;
		if (flow->held)
			return true;
		if (flow->eof || !flow->readable)
			break;
		quota = conn_quota(c, way, RELAY_LARGE_BYTES);
		if (quota == 0)
			break;
		if (c->handshake.stage != HANDSHAKE_NONE) {
			enum handshake_pass pass = flow_check(c, way, &quota);

			if (pass == HANDSHAKE_GONE)
				return false;
			if (pass != HANDSHAKE_GO)
				break;
		}
		if (flow->pipe.read < 0 && !relay_pipe_get(&c->egress->pipes, &flow->pipe)) {
			(void)loop_timer_in(c->egress->loop, &c->relay.again, RELAY_RETRY_MS);
			return true;
		}
		if (!flow_in(c, way, quota))
			return false;
	}
	if (flow->held == 0)
		relay_pipe_put(&c->egress->pipes, &flow->pipe, true);
	if (round == RELAY_ROUNDS)
		(void)loop_timer_set(c->egress->loop, &c->relay.again, 0);
	else if (flow->eof && !flow->shut)
		return flow_end(c, way);
	return true;
}

static void relay_resume(struct conn *c, enum conn_way way)
{
	(void)flow_pump(c, way);
}

static void relay_again(struct loop_timer *timer)
{
	struct conn *c = LOOP_OWNER(timer, struct conn, relay.again);

	if (flow_pump(c, CONN_UP))
		(void)flow_pump(c, CONN_DOWN);
}

/* Of the socket that `in` reads from and the other way writes to. */
static void relay_event(struct conn *c, enum conn_way in, uint32_t events)
{
	struct relay_flow *from = &c->relay.flow[in], *to = &c->relay.flow[!in];

	if (events & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR))
		from->readable = true;
	if (events & (EPOLLOUT | EPOLLHUP | EPOLLERR))
		to->writable = true;
	if (in == CONN_DOWN && events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR))
		c->handshake.ended = true;
	if (from->readable && !flow_pump(c, in))
		return;
	if (to->writable && !flow_pump(c, in == CONN_UP ? CONN_DOWN : CONN_UP))
		return;
	/* Nobody reads from it any more, so nobody else would find out. */
	if (events & EPOLLERR && (from->shut || (in == CONN_UP && c->handshake.stage == HANDSHAKE_FIRST)))
		(void)broken(c, in == CONN_UP, ECONNRESET);
}

static void client_ready(struct loop_io *io, uint32_t events)
{
	relay_event(LOOP_OWNER(io, struct conn, client_io), CONN_UP, events);
}

static void upstream_ready(struct loop_io *io, uint32_t events)
{
	relay_event(LOOP_OWNER(io, struct conn, upstream_io), CONN_DOWN, events);
}

void relay_start(struct conn *c)
{
	c->resume = relay_resume;
	c->relay.again.due = relay_again;
	c->client_io.ready = client_ready;
	c->upstream_io.ready = upstream_ready;
	/* What came before the watch has no edge any more: try; where it was watched since it was opened, what came is known. */
	for (int way = 0; way < 2; way++) {
		const struct loop_io *io = way == CONN_UP ? &c->client_io : &c->upstream_io;

		c->relay.flow[way].writable = true;
		c->relay.flow[way].readable = io->events != CONN_EVENTS || c->seen[way] & ~(uint32_t)EPOLLOUT;
	}
	if (loop_watch(c->egress->loop, &c->client_io, c->client, CONN_EVENTS) < 0 ||
	    loop_watch(c->egress->loop, &c->upstream_io, c->upstream, CONN_EVENTS) < 0) {
		conn_reset(c, NET_FAILED, "no memory");
		return;
	}
	if (flow_pump(c, CONN_UP))
		(void)flow_pump(c, CONN_DOWN);
}
