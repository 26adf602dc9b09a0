/*
 * The inside of carried connections: see carry.h. Every socket of the gateway is an inlet: what an event told of it is remembered until a call
 * says EAGAIN, so that it can wait while there is no room, be it in the stream's buffer, among the lines or for descriptors. Egress decides:
 * where the gateway is lazy each SYN is asked about and waits, in a ring that a flood of them overwrites (TCP sends them again).
 *
 * Shares its container with the payload, so that egress believes nothing it says; what egress says is checked all the same. No privilege.
 */
#include "inner/carry.h"

#include "base/fd.h"
#include "stream/line.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

enum {
	QUERIES = 256, /* questions without an answer yet */
	SYNS = 256,    /* SYNs without a verdict yet */
	LAZY_LISTENERS = 4096,
	INLETS_MAX = 4 + GATEWAY_PORTS_MAX + LAZY_LISTENERS,
	ROUNDS = 64,       /* of one inlet in one turn */
	INLET_PACKETS = 2, /* as watch_gateway() has it */
	REST_MS = 100,     /* where there is no descriptor left */
};

struct inside;
struct inlet {
	bool (*take)(struct inside *in, struct inlet *inlet); /* true: there may be more, now */
	int fd;     /* the gateway's; a listener that was made later is our own */
	bool ready; /* something is there, as far as is known */
};

struct inside {
	struct lines *lines;
	struct gateway *gateway;
	bool lazy, resting;
	uint32_t next_line;
	struct {
		uint32_t id;
		struct gateway_query query;
	} queries[QUERIES];
	uint32_t next_query;
	struct {
		uint32_t id; /* 0: none */
		uint16_t port;
		size_t len;
		uint8_t packet[GATEWAY_PACKET_SIZE];
	} syns[SYNS];
	uint32_t next_syn;
	uint8_t listening[65536 / 8], fresh[65536 / 8]; /* ports; fresh: SYNs may wait that came before the listener */
	bool any_fresh;
	size_t inlet_count;
	struct inlet inlets[INLETS_MAX];
};

static bool has_port(const uint8_t *ports, uint16_t port)
{
	return ports[port / 8] & 1u << port % 8;
}

static void set_port(uint8_t *ports, uint16_t port)
{
	ports[port / 8] |= (uint8_t)(1u << port % 8);
}

static int add_inlet(struct inside *in, int fd, bool (*take)(struct inside *in, struct inlet *inlet))
{
	if (in->inlet_count == INLETS_MAX)
		return -ENOSPC;
	in->inlets[in->inlet_count] = (struct inlet){ .take = take, .fd = fd, .ready = true };
	return lines_watch(in->lines, fd, (uint32_t)++in->inlet_count);
}

/* ---- connections ---- */

static uint32_t free_line(struct inside *in)
{
	while (!lines_is_free(in->lines, in->next_line))
		in->next_line = (in->next_line + 1) % CARRY_LINES;
	return in->next_line;
}

/* Where it was to go is where it arrived: every address is the gateway's. */
static void carry_line(struct inside *in, int accepted)
{
	auto_close int fd = accepted;
	struct carry_frame open = { .type = CARRY_OPEN, .id = free_line(in) };
	struct sockaddr_in to = { 0 };
	socklen_t len = sizeof(to);
	const int on = 1;

	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	if (getsockname(fd, (struct sockaddr *)&to, &len) < 0 || to.sin_family != AF_INET ||
	    lines_open(in->lines, open.id, STEAL_FD(fd)) < 0)
		return;
	open.address = ntohl(to.sin_addr.s_addr);
	open.port = ntohs(to.sin_port);
	lines_say(in->lines, &open);
}

static bool take_connections(struct inside *in, struct inlet *inlet)
{
	for (unsigned i = 0; i < ROUNDS && in->lines->count < CARRY_LINES && lines_have_room(in->lines); i++) {
		int fd = accept4(inlet->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

		if (fd >= 0) {
			carry_line(in, fd);
		} else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
			in->resting = true;
			return false;
		} else if (errno != ECONNABORTED && errno != EINTR) {
			inlet->ready = false;
			return false;
		}
	}
	return lines_have_room(in->lines) && in->lines->count < CARRY_LINES;
}

/* ---- names ---- */

static bool take_questions(struct inside *in, struct inlet *inlet)
{
	for (unsigned i = 0; i < ROUNDS && lines_have_room(in->lines); i++) {
		uint32_t id = in->next_query, place = id % QUERIES;
		uint8_t packet[CARRY_PACKET];
		struct carry_frame f = { .type = CARRY_QUERY, .id = id, .data = packet };
		struct gateway_query query = { 0 };
		int n = gateway_asked(inlet->fd, packet, sizeof(packet), &query);

		if (n < 0 && n != -EBADMSG) {
			inlet->ready = false;
			return false;
		}
		if (n <= 0)
			continue;
		in->next_query++;
		in->queries[place].id = id;
		in->queries[place].query = query;
		f.len = (size_t)n;
		lines_say(in->lines, &f);
	}
	return lines_have_room(in->lines);
}

static void answered(struct inside *in, const struct carry_frame *f)
{
	uint32_t place = f->id % QUERIES;

	if (in->queries[place].id != f->id || !in->queries[place].query.from.sin_family)
		return;
	gateway_answer(in->gateway->dns_udp, &in->queries[place].query, f->data, f->len);
	in->queries[place].query.from.sin_family = 0;
}

/* ---- what is tried elsewhere ---- */

static void attempt_seen(struct inside *in, const struct gateway_attempt *seen, const uint8_t *packet, size_t len)
{
	struct carry_frame f = { .type = CARRY_ATTEMPT,
				 .protocol = seen->protocol,
				 .address = ntohl(seen->to.s_addr),
				 .port = seen->to_port };

	if (seen->protocol == IPPROTO_TCP && in->lazy) {
		uint32_t place;

		/* The kernel has taken it, unless its listener came only after it. */
		if (has_port(in->listening, seen->to_port) && !has_port(in->fresh, seen->to_port))
			return;
		f.id = ++in->next_syn ? in->next_syn : ++in->next_syn;
		place = f.id % SYNS;
		in->syns[place].id = f.id;
		in->syns[place].port = seen->to_port;
		in->syns[place].len = len;
		memcpy(in->syns[place].packet, packet, len);
	}
	lines_say(in->lines, &f);
}

static bool take_attempts(struct inside *in, struct inlet *inlet)
{
	for (unsigned i = 0; i < ROUNDS && lines_have_room(in->lines); i++) {
		uint8_t packet[GATEWAY_PACKET_SIZE];
		struct gateway_attempt seen = { 0 };
		int n = gateway_read(inlet->fd, packet, &seen);

		if (n == -EBADMSG)
			continue;
		if (n < 0) {
			inlet->ready = false;
			if (in->any_fresh && inlet->fd == in->gateway->packets) {
				memset(in->fresh, 0, sizeof(in->fresh));
				in->any_fresh = false;
			}
			return false;
		}
		attempt_seen(in, &seen, packet, (size_t)n);
	}
	return lines_have_room(in->lines);
}

static int listen_on(struct inside *in, uint16_t port)
{
	auto_close int fd = gateway_listen(in->gateway, port);
	int r = fd < 0 ? fd : add_inlet(in, fd, take_connections);

	if (r < 0)
		return r;
	(void)STEAL_FD(fd);
	set_port(in->listening, port);
	set_port(in->fresh, port);
	in->inlets[INLET_PACKETS].ready = true; /* those end when it has been emptied once */
	in->any_fresh = true;
	return 0;
}

static void judged(struct inside *in, const struct carry_frame *f)
{
	uint32_t place = f->id % SYNS;
	const uint8_t *packet = in->syns[place].packet;
	size_t len = in->syns[place].len;
	uint16_t port = in->syns[place].port;

	if (!f->id || in->syns[place].id != f->id)
		return;
	in->syns[place].id = 0;
	if (f->number && (has_port(in->listening, port) || listen_on(in, port) == 0))
		(void)gateway_replay(in->gateway->packets, packet, len);
	else
		(void)gateway_refuse(in->gateway->packets, packet, len);
}

/* ---- all of it ---- */

static int egress_said(struct lines *l, const struct carry_frame *f)
{
	if (f->type == CARRY_ANSWER)
		answered(l->owner, f);
	else if (f->type == CARRY_VERDICT)
		judged(l->owner, f);
	else
		return -EPROTO;
	return 0;
}

static void inlet_ready(struct lines *l, uint32_t tag, uint32_t events)
{
	struct inside *in = l->owner;

	(void)events;
	in->inlets[tag - 1].ready = true;
}

static bool take_all(struct inside *in)
{
	bool more = false;

	in->resting = false;
	for (size_t i = 0; i < in->inlet_count; i++)
		if (in->inlets[i].ready)
			more |= in->inlets[i].take(in, &in->inlets[i]);
	return more;
}

static int watch_gateway(struct inside *in)
{
	const struct gateway *g = in->gateway;
	int r = add_inlet(in, g->dns_udp, take_questions);

	if (r == 0)
		r = add_inlet(in, g->dns_tcp, take_connections);
	if (r == 0)
		r = add_inlet(in, g->packets, take_attempts);
	if (r == 0)
		r = add_inlet(in, g->datagrams, take_attempts);
	for (size_t i = 0; r == 0 && i < g->count; i++)
		r = add_inlet(in, g->listeners[i], take_connections);
	return r;
}

static int serve(struct inside *in)
{
	int r = watch_gateway(in);

	while (r >= 0) {
		bool more = take_all(in);

		r = lines_turn(in->lines, in->resting ? REST_MS : more || r > 0 ? 0 : -1);
	}
	return r == -EPIPE ? 0 : r;
}

static struct inside *inside_new(struct gateway *g, int stream)
{
	struct inside *in = calloc(1, sizeof(*in));

	if (!in) {
		fd_close(&stream);
		return NULL;
	}
	in->gateway = g;
	in->lazy = g->spare >= 0;
	in->lines = lines_new(stream);
	if (!in->lines) {
		free(in);
		return NULL;
	}
	in->lines->owner = in;
	in->lines->frame = egress_said;
	in->lines->ready = inlet_ready;
	return in;
}

int carry_serve(struct gateway *g, int stream)
{
	int r = fd_set_nonblock(stream, true);
	struct inside *in = inside_new(g, stream);

	if (!in) {
		gateway_close(g);
		return -ENOMEM;
	}
	r = r < 0 ? r : serve(in);
	for (size_t i = 4 + g->count; i < in->inlet_count; i++)
		fd_close(&in->inlets[i].fd);
	lines_free(in->lines);
	free(in);
	gateway_close(g);
	return r;
}
