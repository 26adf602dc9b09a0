/* What egress tells the front: see traffic.h. */
#include "box/traffic.h"

#include "base/fd.h"
#include "box/fetch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

enum { EVENTS_AT_ONCE = 256 };

void traffic_init(struct traffic *t)
{
	t->fd = -1;
	for (size_t i = 0; i < TRAFFIC_FETCHES; i++)
		t->fetches[i].fd = -1;
}

int traffic_open(struct traffic *t, const struct cordon_plan *plan, int *ret_theirs)
{
	int pair[2];

	t->plan = plan;
	*ret_theirs = -1;
	if (!plan->network.is_on)
		return 0;
	t->rows = calloc(TRAFFIC_ROWS, sizeof(*t->rows));
	if (!t->rows)
		return -ENOMEM;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) < 0)
		return -errno;
	t->fd = fd_above_stdio(pair[0]);
	*ret_theirs = fd_above_stdio(pair[1]);
	return t->fd < 0 ? t->fd : *ret_theirs < 0 ? *ret_theirs : 0;
}

/* ---- records ---- */

/* Egress reads hostile bytes: whatever became of it, what comes from there is text that ends. */
static void clean_text(char *text, size_t size)
{
	text[size - 1] = '\0';
	for (; *text; text++)
		if (*text < 0x20 || *text > 0x7e)
			*text = '?';
}

static void clean(struct net_event *e)
{
	clean_text(e->host, sizeof(e->host));
	clean_text(e->address, sizeof(e->address));
	clean_text(e->method, sizeof(e->method));
	clean_text(e->path, sizeof(e->path));
	clean_text(e->rule, sizeof(e->rule));
	clean_text(e->reason, sizeof(e->reason));
	clean_text(e->allow, sizeof(e->allow));
}

static void gather(struct traffic *t, const struct net_event *e)
{
	struct traffic_row *row = t->rows;

	while (row < t->rows + t->count && !net_event_is_alike(&row->event, e))
		row++;
	if (row == t->rows + TRAFFIC_ROWS) {
		t->lost += 1 + (uint64_t)e->more;
		return;
	}
	if (row == t->rows + t->count) {
		t->count++;
		row->event = *e;
	} else {
		net_event_join(&row->event, e);
	}
	row->count += 1 + (uint64_t)e->more;
}

static void take(struct traffic *t, struct net_event *e)
{
	struct cordon_connection c;

	clean(e);
	if (e->kind == NET_EVENT_LOST) {
		t->lost += e->up_bytes;
		return;
	}
	switch ((enum net_event_kind)e->kind) {
	case NET_EVENT_DNS:
	case NET_EVENT_CONNECTION:
	case NET_EVENT_REQUEST:
	case NET_EVENT_ATTEMPT:
		gather(t, e);
		if (t->told) {
			traffic_describe(e, 1 + (uint64_t)e->more, &c);
			t->told(t->arg, &c);
		}
		break;
	case NET_EVENT_SECRET:
		fetch_start(t, e->host);
		break;
	case NET_EVENT_READY:
		break;
	}
}

/* At most so many: the front has others to listen to, however much egress has to tell. */
static void receive(struct traffic *t, uint64_t most)
{
	struct net_event e;
	ssize_t n = sizeof(e);

	while (most-- && (n = recv(t->fd, &e, sizeof(e), MSG_DONTWAIT)) == (ssize_t)sizeof(e))
		take(t, &e);
	if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
		fd_close(&t->fd);
}

/* ---- the front's loop ---- */

void traffic_poll(const struct traffic *t, struct pollfd *fds)
{
	fds[0] = (struct pollfd){ .fd = t->fd, .events = POLLIN };
	for (size_t i = 0; i < TRAFFIC_FETCHES; i++)
		fds[1 + i] = (struct pollfd){ .fd = t->fetches[i].fd, .events = POLLIN };
}

int traffic_timeout_ms(const struct traffic *t)
{
	for (size_t i = 0; i < TRAFFIC_FETCHES; i++)
		if (t->fetches[i].fd >= 0)
			return 100;
	return -1;
}

void traffic_serve(struct traffic *t, const struct pollfd *fds)
{
	for (size_t i = 0; i < TRAFFIC_FETCHES; i++)
		if (t->fetches[i].fd >= 0)
			fetch_serve(t, &t->fetches[i], fds[1 + i].revents);
	if (fds[0].revents)
		receive(t, EVENTS_AT_ONCE);
}

void traffic_drain(struct traffic *t)
{
	if (t->fd >= 0)
		receive(t, UINT64_MAX);
}

void traffic_done(struct traffic *t)
{
	for (size_t i = 0; i < TRAFFIC_FETCHES; i++)
		fetch_cancel(&t->fetches[i]);
	fd_close(&t->fd);
	free(t->rows);
	t->rows = NULL;
}

/* Where egress does not listen, the job misses what it was told of before. */
static void tell_next_job(struct traffic *t)
{
	struct net_secret_value *next = calloc(1, sizeof(*next));

	if (next)
		(void)send(t->fd, next, sizeof(*next), MSG_DONTWAIT | MSG_NOSIGNAL);
	free(next);
}

int traffic_renew(struct traffic *t)
{
	if (t->fd >= 0)
		tell_next_job(t);
	t->count = 0;
	t->lost = 0;
	if (t->fd >= 0 && !t->rows)
		t->rows = calloc(TRAFFIC_ROWS, sizeof(*t->rows));
	else if (t->rows)
		memset(t->rows, 0, TRAFFIC_ROWS * sizeof(*t->rows));
	return t->fd >= 0 && !t->rows ? -ENOMEM : 0;
}

void traffic_describe(const struct net_event *e, uint64_t count, struct cordon_connection *ret)
{
	static const char *const kinds[] = { [NET_EVENT_DNS] = "dns",
					     [NET_EVENT_CONNECTION] = "connection",
					     [NET_EVENT_REQUEST] = "request",
					     [NET_EVENT_ATTEMPT] = "attempt" };
	static const char *const decisions[] = {
		[NET_ALLOWED] = "allowed", [NET_REFUSED] = "refused", [NET_FAILED] = "failed"
	};

	*ret = (struct cordon_connection){
		.kind = e->kind < ARRAY_LEN(kinds) ? kinds[e->kind] : "unknown",
		.decision = e->decision < ARRAY_LEN(decisions) ? decisions[e->decision] : "refused",
		.host = e->host,
		.address = e->address[0] ? e->address : NULL,
		.port = e->port,
		.method = e->method[0] ? e->method : NULL,
		.path = e->path[0] ? e->path : NULL,
		.rule = e->rule[0] ? e->rule : NULL,
		.reason = e->reason[0] ? e->reason : NULL,
		.allow = e->allow[0] ? e->allow : NULL,
		.count = count,
		.time_us = e->time_us,
		.duration_us = e->duration_us,
		.up_bytes = e->up_bytes,
		.down_bytes = e->down_bytes,
	};
}
