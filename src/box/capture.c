/*
 * The box's side of egress: see capture.h. The payload's child makes the gateway and hands its sockets to the egress process, which waits for
 * them; nothing of the gateway stays in the box. Runs before the child gives up its rights.
 */
#include "box/capture.h"

#include "base/fd.h"
#include "net/start.h"
#include "os/gateway.h"
#include "os/netns.h"

#include <errno.h>
#include <sys/epoll.h>
#include <unistd.h>

_Static_assert((int)NET_LISTEN_MAX <= (int)GATEWAY_PORTS_MAX, "the gateway has room");

/* Sends what is there so far. */
static int flush(int to, struct net_capture *m, int *fds, bool complete)
{
	int r;

	m->complete = complete;
	r = fd_send(to, m, sizeof(*m), fds, m->count);
	m->count = 0;
	return r;
}

/* An epoll instance holds no file: whoever has the socket may still close it. */
static int watch(int wanted, int fd)
{
	struct epoll_event event = { .events = EPOLLIN };

	return wanted >= 0 && epoll_ctl(wanted, EPOLL_CTL_ADD, fd, &event) < 0 ? -errno : 0;
}

/* Those that the box's packets come to. */
static int watch_all(int wanted, const struct gateway *g)
{
	const int first[] = { g->dns_udp, g->dns_tcp, g->packets, g->datagrams };
	int r = 0;

	for (size_t i = 0; r == 0 && i < ARRAY_LEN(first); i++)
		r = watch(wanted, first[i]);
	for (size_t i = 0; r == 0 && i < g->count; i++)
		r = watch(wanted, g->listeners[i]);
	return r;
}

static int hand_over(int to, const struct gateway *g, const uint16_t *ports)
{
	struct net_capture m = { 0 };
	int fds[NET_CAPTURE_MAX];
	const struct {
		enum net_capture_kind kind;
		int fd;
	} first[] = {
		{ NET_CAPTURE_DNS_UDP, g->dns_udp }, { NET_CAPTURE_DNS_TCP, g->dns_tcp },
		{ NET_CAPTURE_PACKET, g->packets },  { NET_CAPTURE_DATAGRAM, g->datagrams },
		{ NET_CAPTURE_SPARE, g->spare },     { NET_CAPTURE_NURSERY, g->nursery },
	};

	for (size_t i = 0; i < ARRAY_LEN(first); i++) {
		if (first[i].fd < 0)
			continue;
		m.fds[m.count].kind = (uint16_t)first[i].kind;
		fds[m.count++] = first[i].fd;
	}
	for (size_t i = 0; i < g->count; i++) {
		int r = m.count == NET_CAPTURE_MAX ? flush(to, &m, fds, false) : 0;

		if (r < 0)
			return r;
		m.fds[m.count].kind = NET_CAPTURE_LISTENER;
		m.fds[m.count].port = ports[i];
		fds[m.count++] = g->listeners[i];
	}
	return flush(to, &m, fds, true);
}

int capture_make(const struct capture_options *with, struct cordon_error *err)
{
	uint16_t ports[NET_LISTEN_MAX];
	struct gateway_options o = {
		.gateway_address = NET_GATEWAY_ADDRESS,
		.box_address = NET_BOX_ADDRESS,
		.link_bits = NET_LINK_BITS,
		.settings = with->settings,
		.elsewhere = with->elsewhere,
		.link = with->link,
		.arg = with->arg,
		.ports = ports,
	};
	const char *step = "hand the sockets to egress";
	struct gateway gateway;
	int r;

	o.port_count = net_rules_ports(with->rules, ports, NET_LISTEN_MAX, &o.lazy);
	gateway_init(&gateway);
	r = gateway_open(&o, &gateway, &step);
	r = r < 0 ? r : watch_all(with->wanted, &gateway);
	r = r < 0 ? r : hand_over(with->to, &gateway, ports);
	gateway_close(&gateway);
	return r < 0 ? cordon_fail(err, CORDON_SYSTEM, -r, "%s", step) : 0;
}

int capture_make_namespace(struct inside *in)
{
	auto_close int sock = -1;
	int r = netns_enter_new();

	if (r < 0)
		return cordon_fail(in->err, CORDON_SYSTEM, -r, "make the gateway's network namespace");
	sock = netns_socket();
	r = sock < 0 ? sock : fd_send(in->gate, "", 1, &sock, 1);
	if (r == -EPIPE)
		_exit(1); /* the child failed, and has said why */
	return r < 0 ? cordon_fail(in->err, CORDON_SYSTEM, -r, "hand the gateway's network namespace over") : 0;
}

/* End of file: init failed, and has said why. */
static int receive_namespace(const struct inside *in)
{
	int sock = -1;
	size_t n = 0;
	char byte;

	if (fd_recv(in->gate, &byte, 1, &sock, 1, &n) != 1 || n != 1)
		_exit(127);
	return sock;
}

int capture_open(struct inside *in)
{
	auto_close int elsewhere = receive_namespace(in);
	const struct capture_options with = { .rules = &in->plan->network.config.rules,
					      .settings = in->proc_net,
					      .elsewhere = elsewhere,
					      .to = in->capture,
					      .wanted = in->wanted };
	int r = capture_make(&with, in->err);

	fd_close(&in->capture);
	fd_close(&in->wanted);
	fd_close(&in->proc_net);
	return r;
}
