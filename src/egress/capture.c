/*
 * What was opened in the gateway and handed over: see capture.h. Fds arrive before anything is wanted of them, or, where egress starts
 * beside the box, while that is being built; in open mode a listener is made when its port is first wanted. Runs in the egress process.
 */
#include "egress/capture.h"

#include "base/fd.h"
#include "egress/conn.h"
#include "net/start.h"
#include "os/gateway.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

/* How long a listener rests when there is no fd left. In open mode at most LISTENERS_MAX are held: who was used last the longest ago goes. */
enum { ACCEPT_REST_MS = 100, LISTENERS_MAX = 1024 };

struct listener {
	struct listener *next;
	struct egress *egress;
	struct loop_io io;
	struct loop_timer rest;
	int fd;
	uint16_t port;
	bool is_spare;    /* made when its port was wanted: it can be made again */
	uint64_t used_ms; /* when it last had a connection */
};

struct capture {
	struct egress *egress;
	int fd;
	struct loop_io io;
	struct loop_timer leave;
	struct gateway gateway; /* only the two sockets that further listeners are made of */
	struct listener *listeners;
	size_t listener_count;
	struct dns_service *dns[2]; /* UDP, TCP */
	struct carried *carried;    /* NULL: there is no stream */
	uint8_t ports[65536 / 8];   /* somebody listens there */
	bool complete;
};

/* One in a turn: that there is no further one would cost a call to find out, and the next turn tells it for nothing. */
static void listener_ready(struct loop_io *io, uint32_t events)
{
	struct listener *listener = LOOP_OWNER(io, struct listener, io);
	int fd = accept4(listener->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

	(void)events;
	if (fd >= 0) {
		listener->used_ms = loop_now(listener->egress->loop);
		conn_accept(listener->egress, fd, listener->port);
	} else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
		loop_unwatch(listener->egress->loop, io);
		(void)loop_timer_in(listener->egress->loop, &listener->rest, ACCEPT_REST_MS);
	}
}

static void listener_rested(struct loop_timer *timer)
{
	struct listener *listener = LOOP_OWNER(timer, struct listener, rest);

	(void)loop_watch(listener->egress->loop, &listener->io, listener->fd, EPOLLIN);
}

static int listener_add(struct capture *capture, int *fd, uint16_t port, bool is_spare)
{
	struct listener *listener = calloc(1, sizeof(*listener));
	const int on = 1;
	int r;

	if (!listener)
		return -ENOMEM;
	listener->egress = capture->egress;
	listener->port = port;
	listener->is_spare = is_spare;
	listener->used_ms = loop_now(capture->egress->loop);
	listener->io.ready = listener_ready;
	listener->rest.due = listener_rested;
	(void)setsockopt(*fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)); /* what is accepted has it, too */
	r = loop_watch(capture->egress->loop, &listener->io, *fd, EPOLLIN);
	if (r < 0) {
		free(listener);
		return r;
	}
	listener->fd = STEAL_FD(*fd);
	listener->next = capture->listeners;
	capture->listeners = listener;
	capture->listener_count++;
	capture->ports[port / 8] |= (uint8_t)(1u << port % 8);
	return 0;
}

static void listener_free(struct capture *capture, struct listener **at)
{
	struct listener *listener = *at;

	*at = listener->next;
	capture->listener_count--;
	capture->ports[listener->port / 8] &= (uint8_t) ~(1u << listener->port % 8);
	loop_unwatch(capture->egress->loop, &listener->io);
	loop_timer_stop(capture->egress->loop, &listener->rest);
	fd_close(&listener->fd);
	free(listener);
}

/* Makes room for another. False: none can be spared. */
static bool listener_retire(struct capture *capture)
{
	struct listener **oldest = NULL;

	for (struct listener **at = &capture->listeners; *at; at = &(*at)->next)
		if ((*at)->is_spare && (!oldest || (*at)->used_ms <= (*oldest)->used_ms))
			oldest = at;
	if (oldest)
		listener_free(capture, oldest);
	return oldest != NULL;
}

static int capture_add(struct capture *capture, int *fd, unsigned kind, uint16_t port)
{
	int r = fd_set_nonblock(*fd, true);

	if (r < 0)
		return r;
	switch (kind) {
	case NET_CAPTURE_DNS_UDP:
	case NET_CAPTURE_DNS_TCP:
		if (capture->dns[kind == NET_CAPTURE_DNS_TCP])
			return -EEXIST;
		return dns_service_start(capture->egress, STEAL_FD(*fd), kind == NET_CAPTURE_DNS_TCP,
					 &capture->dns[kind == NET_CAPTURE_DNS_TCP]);
	case NET_CAPTURE_PACKET:
	case NET_CAPTURE_DATAGRAM:
		return attempts_start(capture->egress, STEAL_FD(*fd), kind == NET_CAPTURE_DATAGRAM);
	case NET_CAPTURE_SPARE:
		capture->gateway.spare = STEAL_FD(*fd);
		return 0;
	case NET_CAPTURE_NURSERY:
		capture->gateway.nursery = STEAL_FD(*fd);
		return 0;
	case NET_CAPTURE_LISTENER:
		return listener_add(capture, fd, port, false);
	case NET_CAPTURE_STREAM:
		return capture->carried ? -EEXIST : carried_start(capture->egress, STEAL_FD(*fd), &capture->carried);
	default:
		return -EINVAL;
	}
}

static void say_ready(struct egress *egress)
{
	struct net_event event;

	egress_event_init(&event, NET_EVENT_READY);
	egress_event(egress, &event);
}

/* One message: 1, 0 at the end of file, -EAGAIN, -EBADMSG where it cannot be used. */
static int capture_receive(struct capture *capture, int sock)
{
	struct net_capture message = { 0 };
	int fds[NET_CAPTURE_MAX];
	size_t n = 0;
	ssize_t len = fd_recv(sock, &message, sizeof(message), fds, NET_CAPTURE_MAX, &n);
	bool good;

	if (len == -EAGAIN || len == -EINTR)
		return -EAGAIN;
	if (len <= 0)
		return 0;
	good = len == (ssize_t)sizeof(message) && message.count == n;
	for (size_t i = 0; i < n; i++) {
		if (good && capture_add(capture, &fds[i], message.fds[i].kind, message.fds[i].port) < 0)
			good = false;
		fd_close(&fds[i]);
	}
	/* A capture that is there only in part would be a network that works only in part: there is none, then. */
	if (!good)
		return -EBADMSG;
	if (message.complete && !capture->complete) {
		capture->complete = true;
		say_ready(capture->egress);
	}
	return 1;
}

static void capture_leave(struct loop_timer *timer)
{
	loop_stop(LOOP_OWNER(timer, struct capture, leave)->egress->loop);
}

/* When the box is gone, what it did last may still lie in the sockets: one more turn, so that it is told. */
static void capture_ready(struct loop_io *io, uint32_t events)
{
	struct capture *capture = LOOP_OWNER(io, struct capture, io);
	struct loop *loop = capture->egress->loop;
	int r = capture_receive(capture, capture->fd);

	(void)events;
	if (r == 1 || r == -EAGAIN)
		return;
	loop_unwatch(loop, io);
	if (r < 0 || loop_timer_in(loop, &capture->leave, 0) < 0)
		loop_stop(loop);
}

int capture_start(struct egress *egress, int fd)
{
	struct capture *capture = calloc(1, sizeof(*capture));
	int r;

	if (!capture)
		return -ENOMEM;
	*capture = (struct capture){ .egress = egress, .fd = fd };
	gateway_init(&capture->gateway);
	egress->capture = capture;
	capture->io.ready = capture_ready;
	capture->leave.due = capture_leave;
	r = fd_set_nonblock(fd, true);
	return r < 0 ? r : loop_watch(egress->loop, &capture->io, fd, EPOLLIN);
}

bool capture_has_port(const struct egress *egress, uint16_t port)
{
	return egress->capture && egress->capture->ports[port / 8] & 1u << port % 8;
}

bool capture_is_lazy(const struct egress *egress)
{
	return egress->capture && egress->capture->gateway.spare >= 0;
}

int capture_listen(struct egress *egress, uint16_t port)
{
	struct capture *capture = egress->capture;
	auto_close int fd = -1;

	if (capture->listener_count >= LISTENERS_MAX)
		(void)listener_retire(capture);
	fd = gateway_listen(&capture->gateway, port);
	if (fd == -EMFILE && listener_retire(capture))
		fd = gateway_listen(&capture->gateway, port);
	return fd < 0 ? fd : listener_add(capture, &fd, port, true);
}

void capture_free(struct egress *egress)
{
	struct capture *capture = egress->capture;

	if (!capture)
		return;
	while (capture->listeners)
		listener_free(capture, &capture->listeners);
	for (int i = 0; i < 2; i++)
		dns_service_free(egress, capture->dns[i]);
	carried_free(capture->carried);
	loop_unwatch(egress->loop, &capture->io);
	loop_timer_stop(egress->loop, &capture->leave);
	fd_close(&capture->fd);
	gateway_close(&capture->gateway);
	egress->capture = NULL;
	free(capture);
}
