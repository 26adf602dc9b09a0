/*
 * Long bodies on plain connections: once the head has been read and nobody wants to look into the body, the bytes need not enter the process:
 * see inspect_state.h. Never more than the body has left, so that what follows it is read as a head again.
 *
 * The egress process; no privilege.
 */
#include "egress/inspect_state.h"

#include <errno.h>
#include <fcntl.h>

enum { SPLICE_LEAST = 128 << 10 };

struct route {
	struct stream *from, *to;
	const struct buffer *in, *out;
	struct http_flow *flow;
	bool *done;
};

static struct route route_of(struct inspect *x, enum conn_way way)
{
	if (way == CONN_UP)
		return (struct route){ &x->client,       &x->upstream,     &x->client_in,
				       &x->upstream_out, &x->request.flow, &x->request.done };
	return (struct route){ &x->upstream,   &x->client,        &x->upstream_in,
			       &x->client_out, &x->response.flow, &x->response.done };
}

static bool is_fit(const struct inspect *x, const struct route *route, enum conn_way way)
{
	if (x->tls || *route->done || route->in->len || route->out->len)
		return false;
	if (way == CONN_UP ? x->request.broken : !x->response.begun || x->response.mask)
		return false;
	return route->flow->kind == HTTP_BODY_LENGTH && route->flow->left >= SPLICE_LEAST;
}

/* Into the pipe. False: nothing came, and not because of waiting: the ordinary way finds out why. */
static bool pull(struct inspect *x, const struct route *route, enum conn_way way, bool *ret_progress)
{
	uint64_t left = route->flow->left;
	size_t quota;
	ssize_t n;

	if (!route->from->readable)
		return true;
	quota = conn_quota(x->conn, way, left < RELAY_LARGE_BYTES ? (size_t)left : RELAY_LARGE_BYTES);
	if (!quota)
		return true;
	n = splice(route->from->fd, NULL, x->pipe[way].write, NULL, quota, SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
	if (n < 0 && errno == EAGAIN)
		route->from->readable = false;
	if (n <= 0)
		return n < 0 && errno == EAGAIN;
	route->flow->left -= (uint64_t)n;
	x->piped[way] += (size_t)n;
	relay_pipe_filled(&x->conn->egress->pipes, &x->pipe[way], (size_t)n);
	*ret_progress = true;
	return true;
}

/* Out of it. */
static enum inspect_step push(struct inspect *x, const struct route *route, enum conn_way way, int *ret_error)
{
	ssize_t n;

	if (!x->piped[way] || !route->to->writable)
		return STEP_IDLE;
	n = splice(x->pipe[way].read, NULL, route->to->fd, NULL, x->piped[way], SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
	if (n < 0 && errno == EAGAIN)
		route->to->writable = false;
	else if (n <= 0)
		*ret_error = n < 0 ? -errno : -EPIPE;
	if (n <= 0)
		return STEP_IDLE;
	x->piped[way] -= (size_t)n;
	if (!route->flow->left && !x->piped[way])
		*route->done = route->flow->done = true;
	return conn_moved(x->conn, way, (size_t)n) ? STEP_MORE : STEP_GONE;
}

bool inspect_splice(struct inspect *x, enum conn_way way, enum inspect_step *ret_step, int *ret_error)
{
	struct route route = route_of(x, way);
	bool progress = false;

	*ret_step = STEP_IDLE;
	if (!x->piped[way]) {
		if (!is_fit(x, &route, way) ||
		    (x->pipe[way].read < 0 && !relay_pipe_get(&x->conn->egress->pipes, &x->pipe[way])) ||
		    !pull(x, &route, way, &progress)) {
			relay_pipe_put(&x->conn->egress->pipes, &x->pipe[way], true);
			return false;
		}
	}
	*ret_step = push(x, &route, way, ret_error);
	if (*ret_step == STEP_IDLE && progress)
		*ret_step = STEP_MORE;
	return true;
}

void inspect_splice_done(struct inspect *x)
{
	for (int way = 0; way < 2; way++) {
		relay_pipe_put(&x->conn->egress->pipes, &x->pipe[way], !x->piped[way]);
		x->piped[way] = 0;
	}
}
