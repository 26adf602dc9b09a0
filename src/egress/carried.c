/*
 * Connections that come over a stream, for boxes whose engine cannot hand the gateway's sockets over: a process inside has them and carries what
 * they see (stream/carry.h). Each connection is one end of a socket pair for conn.c, which does with it what it does with any other: the
 * decision, limits, relay, inspection and events are the same. The other end of the pair is a line (stream/line.h). What a pair cannot tell,
 * a reset, is told past it. Questions go to the same DNS, attempts are told the same way.
 *
 * Every byte of the stream is the payload's to choose: nothing is allowed here that the rules do not allow, and what cannot be ends the stream
 * and with it the box's network. Runs in the egress process.
 */
#include "egress/capture.h"

#include "base/fd.h"
#include "egress/conn.h"
#include "egress/dns.h"
#include "os/gateway.h"
#include "stream/line.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

struct place {
	struct conn_peer peer; /* first: a peer is its place */
	struct carried *carried;
};

struct carried {
	struct egress *egress;
	struct lines *lines;
	struct dns_service *dns;
	struct loop_io io;
	struct loop_timer again;
	struct place places[CARRY_LINES];
};

static struct carried *carried_of(struct lines *l)
{
	return l->owner;
}

/* Neither hears of the other any more. */
static struct conn *leave(struct place *place)
{
	struct conn *c = place->peer.conn;

	if (c)
		c->peer = NULL;
	place->peer.conn = NULL;
	return c;
}

static void conn_gone(struct conn_peer *peer, bool reset)
{
	struct place *place = LOOP_OWNER(peer, struct place, peer);
	struct carried *carried = place->carried;

	/* In order: its line ends with the bytes that are still in the pair. */
	if (!reset)
		return;
	lines_break(carried->lines, (uint32_t)(place - carried->places));
	(void)loop_timer_set(carried->egress->loop, &carried->again, 0);
}

static void line_over(struct lines *l, uint32_t id, bool reset_by_other)
{
	struct conn *c = leave(&carried_of(l)->places[id]);

	if (c && reset_by_other)
		conn_broken(c);
}

/* ---- what the box says ---- */

static int opened(struct carried *carried, const struct carry_frame *f)
{
	struct net_address address = { .family = AF_INET };
	struct place *place;
	uint32_t bytes = htonl(f->address);
	int pair[2];

	if (!lines_is_free(carried->lines, f->id))
		return -EPROTO;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair) < 0) {
		lines_refuse(carried->lines, f->id);
		return 0;
	}
	if (lines_open(carried->lines, f->id, pair[0]) < 0) {
		fd_close(&pair[1]);
		lines_refuse(carried->lines, f->id);
		return 0;
	}
	if (f->port == GATEWAY_DNS_PORT) {
		dns_service_client(carried->dns, pair[1]);
		return 0;
	}
	place = &carried->places[f->id];
	*place = (struct place){ .peer.gone = conn_gone, .carried = carried };
	memcpy(address.bytes, &bytes, sizeof(bytes));
	conn_carry(carried->egress, pair[1], &address, f->port, &place->peer);
	return 0;
}

static void asked(struct carried *carried, const struct carry_frame *f)
{
	uint8_t reply[DNS_UDP_MAX];
	size_t len = dns_service_answer(carried->dns, f->data, f->len, reply, sizeof(reply));

	_Static_assert((int)DNS_UDP_MAX <= (int)CARRY_PACKET, "an answer fits into a frame");
	if (len)
		lines_say(carried->lines,
			  &(struct carry_frame){ .type = CARRY_ANSWER, .id = f->id, .data = reply, .len = len });
}

static int attempted(struct carried *carried, const struct carry_frame *f)
{
	bool listen;

	if (f->protocol != IPPROTO_TCP && f->protocol != IPPROTO_UDP)
		return -EPROTO;
	listen = attempts_carried(carried->egress, f->protocol, f->address, f->port, f->id != 0);
	if (f->id)
		lines_say(carried->lines,
			  &(struct carry_frame){ .type = CARRY_VERDICT, .id = f->id, .number = listen });
	return 0;
}

static int box_said(struct lines *l, const struct carry_frame *f)
{
	struct carried *carried = carried_of(l);

	if (f->type == CARRY_OPEN)
		return opened(carried, f);
	if (f->type == CARRY_ATTEMPT)
		return attempted(carried, f);
	if (f->type != CARRY_QUERY)
		return -EPROTO; /* the others are ours to say */
	asked(carried, f);
	return 0;
}

/* ---- the stream ---- */

/* Its connections end with it. The process goes on: the box may live, without a network. */
static void carried_end(struct carried *carried, const char *why)
{
	struct loop *loop = carried->egress->loop;

	loop_timer_stop(loop, &carried->again);
	loop_unwatch(loop, &carried->io);
	for (size_t i = 0; i < CARRY_LINES; i++) {
		struct conn *c = leave(&carried->places[i]);

		if (c)
			conn_reset(c, NET_FAILED, why);
	}
	lines_free(carried->lines);
	carried->lines = NULL;
	dns_service_free(carried->egress, carried->dns);
	carried->dns = NULL;
}

static void carried_turn(struct carried *carried)
{
	int r = lines_turn(carried->lines, 0);

	if (r > 0)
		(void)loop_timer_set(carried->egress->loop, &carried->again, 0);
	else if (r < 0)
		carried_end(carried, r == -EPROTO ? "what the box's stream said cannot be" : "the box's stream ended");
}

static void carried_ready(struct loop_io *io, uint32_t events)
{
	(void)events;
	carried_turn(LOOP_OWNER(io, struct carried, io));
}

static void carried_again(struct loop_timer *timer)
{
	carried_turn(LOOP_OWNER(timer, struct carried, again));
}

int carried_start(struct egress *egress, int fd, struct carried **ret)
{
	struct carried *carried = calloc(1, sizeof(*carried));
	int r;

	if (!carried) {
		fd_close(&fd);
		return -ENOMEM;
	}
	carried->egress = egress;
	carried->io.ready = carried_ready;
	carried->again.due = carried_again;
	carried->lines = lines_new(fd);
	if (!carried->lines) {
		free(carried);
		return -ENOMEM;
	}
	carried->lines->owner = carried;
	carried->lines->frame = box_said;
	carried->lines->over = line_over;
	r = dns_service_start(egress, -1, false, &carried->dns);
	if (r == 0)
		r = loop_watch(egress->loop, &carried->io, carried->lines->epoll, EPOLLIN);
	if (r < 0)
		carried_free(carried);
	else
		*ret = carried;
	return r;
}

void carried_free(struct carried *carried)
{
	if (!carried)
		return;
	carried_end(carried, "the box ended");
	free(carried);
}
