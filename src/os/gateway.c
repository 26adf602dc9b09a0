/*
 * The gateway: see gateway.h. Building it is a table of steps, in the order they run.
 *
 * What it costs is the second namespace; everything else is a few batches of netlink. Addresses of links are fixed and neighbours
 * known for good, so that no connection begins with an ARP request and nothing is added to the host's neighbour table, which all namespaces
 * share.
 *
 * Lazy ports: the kernel answers a SYN that has no socket with a reset, which has no mark; every socket here has one, and its
 * answers carry it. A rule drops TCP without a mark on its way out of the gateway: silence, where there is no listener. A listener
 * that is made later must be of this namespace, where no process lives: it is made of a spare socket that was opened here, and
 * the next spare one is the far end of a connection between two sockets here, which forgets where it came from.
 */
#include "os/gateway.h"

#include "base/fd.h"
#include "os/gateway_packet.h"
#include "os/netlink.h"
#include "os/netns.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fib_rules.h>
#include <linux/ip.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sched.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

enum {
	MARK = 1,
	/* One less than IPv6 needs: the kernel has no IPv6 then on the link, not even settings to change. Large packets cross it whole
	 * anyway. */
	MTU = 1279,
	BACKLOG = 4096,
	BREED_MS = 1000, /* a handshake over lo is over before connect() returns, unless the machine is very busy */
	RUNNING_TRIES = 5000, /* a second */
	/* Above what a host's modules put into every new namespace (tunl0, sit0, …), within the first node of the kernel's tree. */
	LINK = GATEWAY_LINK,
};

/* On both ends of the link. What the host has chosen may pace what is sent (BBR does), for a line that is not there: that costs a third of
 * the speed. This one does not, and every kernel has it; where it cannot be set, things are only slower. */
#define CONGESTION "reno"

static const uint8_t gateway_mac[NETLINK_MAC] = { 2, 0, 0, 0, 0, 1 };

struct build {
	const struct gateway_options *o;
	struct gateway g;
	struct in_addr gateway, box;
	struct netlink in_box, in_gateway;
	int box_ns;
	int settings; /* /proc/sys/net */
};

static int write_settings(const struct build *b, const char *const (*v)[2], size_t n)
{
	int r = 0;

	for (size_t i = 0; r >= 0 && i < n; i++)
		r = fd_write_file_at(b->settings, v[i][0], v[i][1]);
	return r;
}
#define WRITE_SETTINGS(b, v) write_settings((b), (v), sizeof(v) / sizeof((v)[0]))

/* This directory is the same in every namespace; what is below it is that of the process which looks. */
static int open_settings(struct build *b)
{
	b->settings = b->o->settings >= 0 ? fcntl(b->o->settings, F_DUPFD_CLOEXEC, 3)
					  : open("/proc/sys/net", O_PATH | O_DIRECTORY | O_CLOEXEC);
	return b->settings < 0 ? -errno : 0;
}

static int box_settings(struct build *b)
{
	static const char *const settings[][2] = { { "ipv4/ip_unprivileged_port_start", "0" } };

	(void)fd_write_file_at(b->settings, "ipv4/tcp_congestion_control", CONGESTION);
	return WRITE_SETTINGS(b, settings);
}

static int box_handle(struct build *b)
{
	int r = netlink_open(&b->in_box);

	if (r < 0)
		return r;
	b->box_ns = netlink_namespace(&b->in_box);
	return b->box_ns < 0 ? b->box_ns : 0;
}

static int gateway_namespace(struct build *b)
{
	int r = b->o->elsewhere >= 0 ? netns_enter(b->o->elsewhere) : netns_enter_new();

	return r < 0 ? r : netlink_open(&b->in_gateway);
}

/* Unreachable ports are told every time: by default the kernel stops after six a second, and a client would wait. */
static int gateway_settings(struct build *b)
{
	static const char *const settings[][2] = {
		{ "ipv4/icmp_echo_ignore_all", "1" },
		{ "ipv4/icmp_ratelimit", "0" },
	};
	/* A host's rp_filter is inherited. It would not find the way back of a packet that lo replays, nor, under the rule, of any. */
	static const char *const lazy[][2] = {
		{ "ipv4/ip_unprivileged_port_start", "0" },
		{ "ipv4/conf/all/route_localnet", "0" }, /* the same: 127.0.0.1 is the nursery's */
		{ "ipv4/conf/default/route_localnet", "0" },
		{ "ipv4/conf/all/rp_filter", "0" },
		{ "ipv4/conf/default/rp_filter", "0" },
		{ "ipv4/conf/lo/rp_filter", "0" },
	};
	int r = WRITE_SETTINGS(b, settings);

	return r < 0 || !b->o->lazy ? r : WRITE_SETTINGS(b, lazy);
}

/* The rule must be asked before the table of local addresses, which has an answer for everything. */
static void add_silence(struct netlink *nl)
{
	const struct netlink_rule silence = {
		.action = FR_ACT_BLACKHOLE, .protocol = IPPROTO_TCP, .from_link = "lo", .unmarked = true
	};
	struct netlink_rule local = { .priority = 1, .action = FR_ACT_TO_TBL, .table = RT_TABLE_LOCAL };

	netlink_rule_change(nl, &local, true);
	netlink_rule_change(nl, &silence, true);
	local.priority = 0;
	netlink_rule_change(nl, &local, false);
}

static void add_link(struct netlink *nl, int box_ns)
{
	const struct netlink_veth veth = {
		.end = { "gw", LINK, gateway_mac },
		.peer = { "eth0", LINK, gateway_box_mac },
		.peer_netns = box_ns,
		.flags = IFF_UP | IFF_NOARP,
		.mtu = MTU,
	};

	netlink_veth_new(nl, &veth);
}

static int link_by_other(struct build *b)
{
	auto_close int gateway_ns = netlink_namespace(&b->in_gateway);

	return gateway_ns < 0 ? gateway_ns : b->o->link(b->o->arg, gateway_ns);
}

/* Forwarding is inherited from the host, and off here: no packet could go anywhere, and none shall try. */
static int gateway_links(struct build *b)
{
	struct netlink *nl = &b->in_gateway;
	const struct netlink_route any = {
		.table = RT_TABLE_LOCAL,
		.type = RTN_LOCAL,
		.scope = RT_SCOPE_HOST,
		.index = LINK,
	};
	const struct netlink_route box = {
		.table = RT_TABLE_LOCAL,
		.type = RTN_UNICAST,
		.scope = RT_SCOPE_LINK,
		.to = b->box,
		.bits = 32,
		.index = LINK,
	};

	if (b->o->lazy)
		netlink_link_set(nl, NETLINK_LOOPBACK, IFF_UP);
	if (b->o->link) {
		int r = link_by_other(b);

		if (r < 0)
			return r;
		netlink_link_set(nl, LINK, IFF_UP | IFF_NOARP);
	} else {
		add_link(nl, b->box_ns);
	}
	netlink_link_conf(nl, LINK, IPV4_DEVCONF_FORWARDING, 0);
	netlink_address_new(nl, LINK, b->gateway, 32);
	netlink_neighbour_new(nl, LINK, b->box, gateway_box_mac);
	netlink_route_new(nl, &box);
	netlink_route_new(nl, &any);
	if (b->o->lazy)
		add_silence(nl);
	return netlink_commit(nl);
}

static int set_option(int fd, int level, int name, int value)
{
	return setsockopt(fd, level, name, &value, sizeof(value)) < 0 ? -errno : 0;
}

static int bind_at(int fd, in_addr_t address, uint16_t port)
{
	const struct sockaddr_in at = {
		.sin_family = AF_INET,
		.sin_port = htons(port),
		.sin_addr.s_addr = htonl(address),
	};

	return bind(fd, (const struct sockaddr *)&at, sizeof(at)) < 0 ? -errno : 0;
}

static int bind_port(int fd, uint16_t port)
{
	return bind_at(fd, INADDR_ANY, port);
}

/* A TCP socket of the namespace that the process is in; what it accepts inherits all of this. */
static int tcp_socket(const struct gateway_options *o)
{
	auto_close int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int r;

	if (fd < 0)
		return -errno;
	(void)setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, CONGESTION, sizeof(CONGESTION) - 1);
	r = o->lazy ? set_option(fd, SOL_SOCKET, SO_MARK, MARK) : 0;
	/* A listener may be closed and wanted again while connections of its port live on. */
	if (r == 0 && o->lazy)
		r = set_option(fd, SOL_SOCKET, SO_REUSEADDR, 1);
	return r < 0 ? r : STEAL_FD(fd);
}

/* The port of names is shared with the nursery, by address: so that the nursery takes no port that somebody may ask for. */
static int tcp_listener(const struct gateway_options *o, in_addr_t address, uint16_t port)
{
	auto_close int fd = tcp_socket(o);
	int r;

	if (fd < 0)
		return fd;
	r = o->lazy && port == GATEWAY_DNS_PORT ? set_option(fd, SOL_SOCKET, SO_REUSEPORT, 1) : 0;
	r = r < 0 ? r : bind_at(fd, address, port);
	if (r < 0)
		return r;
	return listen(fd, BACKLOG) < 0 ? -errno : STEAL_FD(fd);
}

static int open_spare(struct gateway *g, const struct gateway_options *o)
{
	g->nursery = tcp_listener(o, INADDR_LOOPBACK, GATEWAY_DNS_PORT);
	if (g->nursery < 0)
		return g->nursery;
	g->spare = tcp_socket(o);
	return g->spare < 0 ? g->spare : 0;
}

static int open_names(struct gateway *g, const struct gateway_options *o)
{
	int r;

	g->dns_tcp = tcp_listener(o, INADDR_ANY, GATEWAY_DNS_PORT);
	if (g->dns_tcp < 0)
		return g->dns_tcp;
	g->dns_udp = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (g->dns_udp < 0)
		return -errno;
	r = set_option(g->dns_udp, IPPROTO_IP, IP_PKTINFO, 1);
	return r < 0 ? r : bind_port(g->dns_udp, GATEWAY_DNS_PORT);
}

/* The raw sockets come last: what they are told of begins when everything else is there. */
static int gateway_sockets(struct build *b)
{
	struct gateway *g = &b->g;
	int r = open_names(g, b->o);

	if (r < 0)
		return r;
	for (size_t i = 0; i < b->o->port_count; i++) {
		g->listeners[i] = tcp_listener(b->o, INADDR_ANY, b->o->ports[i]);
		if (g->listeners[i] < 0)
			return g->listeners[i];
		g->count = i + 1;
	}
	r = b->o->lazy ? open_spare(g, b->o) : 0;
	if (r < 0)
		return r;
	g->packets = gateway_packet_socket(IPPROTO_TCP, b->o->ports, b->o->port_count);
	if (g->packets < 0)
		return g->packets;
	g->datagrams = gateway_packet_socket(IPPROTO_UDP, NULL, 0);
	if (g->datagrams < 0)
		return g->datagrams;
	return b->o->lazy ? set_option(g->packets, SOL_SOCKET, SO_MARK, MARK) : 0;
}

static int box_return(struct build *b)
{
	return setns(b->box_ns, CLONE_NEWNET) < 0 ? -errno : 0;
}

static int box_links(struct build *b)
{
	struct netlink *nl = &b->in_box;
	const struct netlink_route out = {
		.table = RT_TABLE_MAIN,
		.type = RTN_UNICAST,
		.scope = RT_SCOPE_UNIVERSE,
		.via = b->gateway,
		.index = LINK,
	};

	netlink_link_set(nl, NETLINK_LOOPBACK, IFF_UP);
	netlink_link_set(nl, LINK, IFF_UP | IFF_NOARP);
	netlink_address_new(nl, LINK, b->box, b->o->link_bits);
	netlink_neighbour_new(nl, LINK, b->gateway, gateway_mac);
	netlink_route_new(nl, &out);
	return netlink_commit(nl);
}

/* Of two ends, the one that came up first may send only when a worker of the kernel's has noticed: what is sent before is lost, and a resolver
 * would wait seconds for its answer. Since 6.8 asking is enough. */
static int wait_running(struct netlink *nl)
{
	const struct timespec pause = { .tv_nsec = 200000 };
	unsigned flags = 0;
	int r = 0;

	for (int i = 0; i < RUNNING_TRIES && r == 0; i++) {
		r = netlink_link_flags(nl, LINK, &flags);
		if (r < 0 || (flags & IFF_RUNNING))
			return r;
		nanosleep(&pause, NULL);
	}
	return -ETIMEDOUT;
}

static int gateway_running(struct build *b)
{
	return wait_running(&b->in_gateway);
}

static const struct step {
	const char *name;
	int (*run)(struct build *b);
	bool is_box; /* needs rights over the box's namespace */
} steps[] = {
	{ "open the settings of networks", open_settings, false },
	{ "set up the box's network", box_settings, true },
	{ "hold the box's network namespace", box_handle, true },
	{ "make the gateway's network namespace", gateway_namespace, false },
	{ "set up the gateway", gateway_settings, false },
	{ "link box and gateway", gateway_links, false },
	{ "open the gateway's sockets", gateway_sockets, false },
	{ "return to the box's network namespace", box_return, true },
	{ "bring the box's link up", box_links, true },
	{ "wait for the link", gateway_running, false },
};
enum { STEPS = sizeof(steps) / sizeof(steps[0]) };

static int build_init(struct build *b, const struct gateway_options *o)
{
	*b = (struct build){ .o = o, .in_box.fd = -1, .in_gateway.fd = -1, .box_ns = -1, .settings = -1 };
	gateway_init(&b->g);
	if (o->port_count > GATEWAY_PORTS_MAX || inet_pton(AF_INET, o->gateway_address, &b->gateway) != 1 ||
	    inet_pton(AF_INET, o->box_address, &b->box) != 1)
		return -EINVAL;
	return 0;
}

static void build_done(struct build *b)
{
	gateway_close(&b->g);
	netlink_done(&b->in_box);
	netlink_done(&b->in_gateway);
	fd_close(&b->box_ns);
	fd_close(&b->settings);
}

int gateway_open(const struct gateway_options *o, struct gateway *ret, const char **ret_step)
{
	const char *name = "read the gateway's options";
	struct build b;
	int r = build_init(&b, o);

	for (size_t i = 0; r >= 0 && i < STEPS; i++) {
		if (o->link && steps[i].is_box)
			continue;
		name = steps[i].name;
		r = steps[i].run(&b);
	}
	if (r >= 0) {
		*ret = b.g;
		gateway_init(&b.g);
	} else if (ret_step) {
		*ret_step = name;
	}
	build_done(&b);
	return r < 0 ? r : 0;
}

int gateway_link(const struct gateway_options *o, int gateway_netns)
{
	const struct netlink_veth veth = {
		.end = { "eth0", LINK, gateway_box_mac },
		.peer = { "gw", LINK, gateway_mac },
		.peer_netns = gateway_netns,
		.mtu = MTU,
	};
	struct build b;
	int r = build_init(&b, o);

	r = r < 0 ? r : netlink_open(&b.in_box);
	if (r == 0) {
		netlink_veth_new(&b.in_box, &veth);
		r = box_links(&b);
	}
	build_done(&b);
	return r;
}

int gateway_link_wait(void)
{
	struct netlink nl;
	int r = netlink_open(&nl);

	if (r < 0)
		return r;
	r = wait_running(&nl);
	netlink_done(&nl);
	return r;
}

void gateway_init(struct gateway *g)
{
	*g = (struct gateway){
		.dns_udp = -1, .dns_tcp = -1, .packets = -1, .datagrams = -1, .spare = -1, .nursery = -1
	};
}

void gateway_close(struct gateway *g)
{
	fd_close(&g->dns_udp);
	fd_close(&g->dns_tcp);
	fd_close(&g->packets);
	fd_close(&g->datagrams);
	fd_close(&g->spare);
	fd_close(&g->nursery);
	while (g->count)
		fd_close(&g->listeners[--g->count]);
}

/* Forgets its connection, and with it the port that the kernel chose: as good as new. */
static int disconnect(int fd)
{
	const struct sockaddr nowhere = { .sa_family = AF_UNSPEC };

	return connect(fd, &nowhere, sizeof(nowhere)) < 0 ? -errno : 0;
}

/* A connection from the spare socket to the nursery, both ends within the gateway: its other end is one more socket. Nobody else
 * can be in the queue, since the box's packets never arrive at 127.0.0.1. */
static int breed(const struct gateway *g)
{
	const struct sockaddr_in to = {
		.sin_family = AF_INET,
		.sin_port = htons(GATEWAY_DNS_PORT),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	struct pollfd arrived = { .fd = g->nursery, .events = POLLIN };
	auto_close int fd = -1;
	int r = disconnect(g->spare); /* where it failed half-way the last time */

	if (r < 0)
		return r;
	if (connect(g->spare, (const struct sockaddr *)&to, sizeof(to)) < 0 && errno != EINPROGRESS)
		return -errno;
	if (poll(&arrived, 1, BREED_MS) != 1)
		return -ETIMEDOUT;
	fd = accept4(g->nursery, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (fd < 0)
		return -errno;
	r = disconnect(g->spare);
	if (r < 0)
		return r;
	r = disconnect(fd);
	r = r < 0 ? r : set_option(fd, SOL_SOCKET, SO_REUSEPORT, 0); /* inherited, and only for the nursery */
	return r < 0 ? r : STEAL_FD(fd);
}

int gateway_listen(struct gateway *g, uint16_t port)
{
	auto_close int fd = -1;
	int next, r;

	if (g->spare < 0)
		return -EBADF;
	next = breed(g);
	if (next < 0)
		return next;
	/* Also where it cannot be used: a socket that is bound already could never be bound again. */
	fd = g->spare;
	g->spare = next;
	r = bind_port(fd, port);
	if (r < 0)
		return r;
	return listen(fd, BACKLOG) < 0 ? -errno : STEAL_FD(fd);
}
