/*
 * What egress tells: records over a socket that is never waited for. For a reader that lags EVENT_QUEUE of them are
 * queued; then alike ones are told together, and what found no room at all is counted, and the count told when there is room again. Secrets' values come back over the same socket.
 */
#include "egress/egress.h"

#include "base/fd.h"
#include "egress/capture.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

void egress_event_text(char *to, size_t size, const char *text)
{
	size_t n = 0;

	for (; text[n] && n + 1 < size; n++)
		to[n] = text[n] >= ' ' && text[n] < 0x7f ? text[n] : '?';
	memset(to + n, 0, size - n);
}

void egress_event_init(struct net_event *event, enum net_event_kind kind)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	memset(event, 0, sizeof(*event));
	event->kind = kind;
	event->time_us = (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

/* Only because of it. */
static bool refused_by_read_only(const struct net_rules *rules, const char *name, const struct net_address *address,
				 uint16_t port)
{
	struct net_rules writable = *rules;
	struct net_match match;
	char reason[160];

	writable.read_only = false;
	return rules->read_only &&
	       net_rules_connect(&writable, name, address, port, &match, reason, sizeof(reason)) == 0;
}

void egress_event_allow(const struct egress *egress, struct net_event *event, const char *name,
			const struct net_address *address, uint16_t port)
{
	const char *protocol = port == 443 || port == 80 ? "" : "/tcp";
	char text[ADDRESS_TEXT];

	if (egress->config.rules.mode == NET_NONE || (!name && pool_contains(address)))
		return;
	if (refused_by_read_only(&egress->config.rules, name, address, port))
		snprintf(event->allow, sizeof(event->allow), "the same without --net-read-only");
	else if (name)
		snprintf(event->allow, sizeof(event->allow), "--allow %s:%u%s", name, port, protocol);
	else
		snprintf(event->allow, sizeof(event->allow),
			 address->family == AF_INET6 ? "--allow-cidr '[%s]:%u%s'" : "--allow-cidr %s:%u%s",
			 address_text(address, text), port, protocol);
}

/* 0; -EAGAIN: later; anything else: there is nobody any more. */
static int send_event(struct egress *egress, const struct net_event *event)
{
	ssize_t n = send(egress->event_fd, event, sizeof(*event), MSG_DONTWAIT | MSG_NOSIGNAL);

	if (n == (ssize_t)sizeof(*event))
		return 0;
	return n < 0 && (errno == EAGAIN || errno == ENOBUFS || errno == EINTR) ? -EAGAIN : -EPIPE;
}

static void events_close(struct egress *egress)
{
	loop_unwatch(egress->loop, &egress->event_io);
	fd_close(&egress->event_fd);
	free(STEAL(egress->queue));
	egress->queue_count = 0;
}

static void send_queue(struct egress *egress)
{
	int r = 0;

	while (r == 0 && egress->queue_count) {
		r = send_event(egress, &egress->queue[egress->queue_first]);
		if (r < 0)
			break;
		egress->queue_first = (egress->queue_first + 1) % EVENT_QUEUE;
		egress->queue_count--;
	}
	if (r == 0 && egress->events_lost) {
		struct net_event lost;

		egress_event_init(&lost, NET_EVENT_CONNECTION);
		lost.kind = NET_EVENT_LOST;
		lost.up_bytes = egress->events_lost;
		r = send_event(egress, &lost);
		if (r == 0)
			egress->events_lost = 0;
	}
	if (r == -EPIPE)
		events_close(egress);
	else
		(void)loop_watch(egress->loop, &egress->event_io, egress->event_fd,
				 r == 0 ? EPOLLIN : EPOLLIN | EPOLLOUT);
}

/* The latest that is alike takes it along. */
static bool join_queued(struct egress *egress, const struct net_event *event)
{
	for (size_t i = egress->queue_count; i-- > 0;) {
		struct net_event *queued = &egress->queue[(egress->queue_first + i) % EVENT_QUEUE];

		if (net_event_is_alike(queued, event)) {
			net_event_join(queued, event);
			return true;
		}
	}
	return false;
}

void egress_event(struct egress *egress, const struct net_event *event)
{
	int r = -EAGAIN;

	if (egress->event_fd < 0)
		return;
	if (!egress->queue_count && !egress->events_lost)
		r = send_event(egress, event);
	if (r == -EPIPE)
		events_close(egress);
	if (r != -EAGAIN)
		return;
	if (!egress->queue)
		egress->queue = calloc(EVENT_QUEUE, sizeof(*egress->queue));
	if (egress->queue && egress->queue_count < EVENT_QUEUE)
		egress->queue[(egress->queue_first + egress->queue_count++) % EVENT_QUEUE] = *event;
	else if (!join_queued(egress, event))
		egress->events_lost++;
	(void)loop_watch(egress->loop, &egress->event_io, egress->event_fd, EPOLLIN | EPOLLOUT);
}

void egress_want_secret(struct egress *egress, const char *name)
{
	struct net_event event;

	egress_event_init(&event, NET_EVENT_SECRET);
	egress_event_text(event.host, sizeof(event.host), name);
	egress_event(egress, &event);
}

static void receive_secret(struct egress *egress)
{
	struct net_secret_value value;
	ssize_t n = recv(egress->event_fd, &value, sizeof(value), MSG_DONTWAIT);

	if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) {
		events_close(egress);
		return;
	}
	if (n == (ssize_t)sizeof(value) && !value.name[0]) {
		pool_next_job(&egress->pool);
		attempts_forget(egress);
	} else if (n == (ssize_t)sizeof(value) && value.len <= NET_SECRET_MAX && egress->engine.secret) {
		value.name[sizeof(value.name) - 1] = '\0';
		egress->engine.secret(egress, &value);
	}
	explicit_bzero(&value, sizeof(value));
}

static void events_ready(struct loop_io *io, uint32_t events)
{
	struct egress *egress = LOOP_OWNER(io, struct egress, event_io);

	if (events & (EPOLLIN | EPOLLHUP | EPOLLERR))
		receive_secret(egress);
	if ((events & EPOLLOUT) && egress->event_fd >= 0)
		send_queue(egress);
}

int egress_events_start(struct egress *egress, int fd)
{
	egress->event_fd = fd;
	egress->event_io.ready = events_ready;
	return loop_watch(egress->loop, &egress->event_io, fd, EPOLLIN);
}

void egress_events_flush(struct egress *egress, unsigned timeout_ms)
{
	struct pollfd wait = { .fd = egress->event_fd, .events = POLLOUT };

	while (egress->event_fd >= 0 && (egress->queue_count || egress->events_lost)) {
		if (poll(&wait, 1, (int)timeout_ms) <= 0)
			return;
		send_queue(egress);
	}
}
