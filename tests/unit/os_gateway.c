/*
 * The gateway, seen from the box: every address answers on the ports that have a listener and on no other, and nothing leads out. Each
 * run is a child in new user and network namespaces, as root is and as an ordinary user is; the same acts outside are the control.
 */
#include "base/clock.h"
#include "base/fd.h"
#include "os/gateway.h"
#include "os/process.h"
#include "os/userns.h"
#include "tap.h"

#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <netinet/ip_icmp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NOBODY = 65534, SOON_MS = 2000, WHILE_MS = 150 };
static const uint16_t ports[] = { 443, 80 };
static uint16_t host_port;        /* a listener of the host, on all of its addresses */
static struct sockaddr_in6 host6; /* the same on ::1 */

static struct sockaddr_in at(const char *address, uint16_t port)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons(port) };

	inet_pton(AF_INET, address, &a.sin_addr);
	return a;
}

static bool readable(int fd, int ms)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return poll(&p, 1, ms) == 1;
}

/* 0, or the errno that the attempt ended with; EINPROGRESS: no answer for that long. */
static int connect_to(const char *address, uint16_t port, int ms, int *ret_fd)
{
	struct sockaddr_in to = at(address, port);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), error = 0;
	struct pollfd p = { .fd = fd, .events = POLLOUT };
	socklen_t len = sizeof(error);

	if (connect(fd, (struct sockaddr *)&to, sizeof(to)) < 0)
		error = errno;
	if (error == EINPROGRESS && poll(&p, 1, ms) == 1)
		getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len);
	if (ret_fd)
		*ret_fd = fd;
	else
		close(fd);
	return error;
}

static bool accepts(int listener, const char *address, uint16_t port)
{
	struct sockaddr_in local = { 0 }, want = at(address, port);
	socklen_t len = sizeof(local);
	char byte = 0;
	int client = -1, fd = -1;
	bool good;

	good = connect_to(address, port, SOON_MS, &client) == 0 && readable(listener, SOON_MS);
	fd = good ? accept(listener, NULL, NULL) : -1;
	good = fd >= 0 && getsockname(fd, (struct sockaddr *)&local, &len) == 0;
	good = good && local.sin_addr.s_addr == want.sin_addr.s_addr && local.sin_port == want.sin_port;
	good = good && write(fd, "x", 1) == 1 && readable(client, SOON_MS) && read(client, &byte, 1) == 1 &&
	       byte == 'x';
	close(client);
	close(fd);
	return good;
}

static bool saw(int packets, uint8_t protocol, const char *address, uint16_t port)
{
	uint8_t data[GATEWAY_PACKET_SIZE];
	struct gateway_attempt a = { 0 };
	struct sockaddr_in want = at(address, port);

	return readable(packets, SOON_MS) && gateway_read(packets, data, &a) > 0 && a.protocol == protocol &&
	       a.to.s_addr == want.sin_addr.s_addr && a.to_port == port &&
	       a.from.s_addr == at("198.19.255.2", 0).sin_addr.s_addr;
}

/* Asks; answers as egress would; the answer must come from where the question went. */
static bool name_answered(int dns, const char *address)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct sockaddr_in to = at(address, 53), from;
	char data[16], control[CMSG_SPACE(sizeof(struct in_pktinfo))] __attribute__((aligned(8)));
	struct iovec iov = { data, sizeof(data) };
	struct msghdr m = { &from, sizeof(from), &iov, 1, control, sizeof(control), 0 };
	struct in_pktinfo info;
	struct cmsghdr *c;
	bool good;

	/* Connected: an answer from elsewhere would not be delivered. */
	good = connect(fd, (struct sockaddr *)&to, sizeof(to)) == 0 && write(fd, "who", 3) == 3 &&
	       readable(dns, SOON_MS) && recvmsg(dns, &m, 0) == 3;
	c = good ? CMSG_FIRSTHDR(&m) : NULL;
	if (c && c->cmsg_type == IP_PKTINFO) {
		memcpy(&info, CMSG_DATA(c), sizeof(info));
		good = info.ipi_addr.s_addr == to.sin_addr.s_addr && info.ipi_spec_dst.s_addr == to.sin_addr.s_addr;
		info.ipi_ifindex = 0;
		memcpy(CMSG_DATA(c), &info, sizeof(info));
		iov.iov_len = 3;
		good = good && sendmsg(dns, &m, 0) == 3 && readable(fd, SOON_MS) && read(fd, data, sizeof(data)) == 3;
	} else {
		good = false;
	}
	close(fd);
	return good;
}

static int udp_errno(const char *address, uint16_t port)
{
	struct sockaddr_in to = at(address, port);
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), r = 0;
	char byte;

	if (connect(fd, (struct sockaddr *)&to, sizeof(to)) < 0 || write(fd, "x", 1) < 0)
		r = errno;
	else if (readable(fd, SOON_MS))
		r = recv(fd, &byte, 1, MSG_DONTWAIT) < 0 ? errno : 0;
	close(fd);
	return r;
}

/* By a raw socket, which the test may have and the payload may not: whether an echo comes back. */
static bool ping_answered(const char *address)
{
	struct icmphdr echo = { .type = ICMP_ECHO, .checksum = htons(0xf7fe), .un.echo = { htons(1), 0 } };
	int fd = socket(AF_INET, SOCK_RAW | SOCK_CLOEXEC, IPPROTO_ICMP);
	struct sockaddr_in to = at(address, 0);
	uint64_t end = clock_us() + WHILE_MS * 1000;
	bool answered = false;

	if (fd < 0 || sendto(fd, &echo, sizeof(echo), 0, (struct sockaddr *)&to, sizeof(to)) < 0)
		note("ping %s: %s", address, strerror(errno));
	while (!answered && clock_us() < end) {
		uint8_t data[128];

		if (readable(fd, 10) && recv(fd, data, sizeof(data), 0) >= 28)
			answered = data[20] == ICMP_ECHOREPLY;
	}
	close(fd);
	return answered;
}

static int connect6(const struct sockaddr_in6 *to)
{
	int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0), r = 0;

	if (fd < 0 || connect(fd, (const struct sockaddr *)to, sizeof(*to)) < 0)
		r = errno;
	close(fd);
	return r;
}

/* Looks where the test is: /proc/net is that of the process. lo, which has ::1, shows that it can be seen. */
static bool link_has_ipv6(void)
{
	char text[4096] = "";

	fd_read_file_at(-1, "/proc/net/if_inet6", text, sizeof(text));
	return !strstr(text, " lo") || strstr(text, "eth0");
}

/* A server of the payload's own, without any capability. */
static bool can_bind(uint16_t port)
{
	struct sockaddr_in any = at("0.0.0.0", port);
	int status = 1;
	pid_t pid = fork();

	if (pid == 0) {
		int fd;

		prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
		if (unshare(CLONE_NEWUSER) < 0) /* no rights any more over the network namespace */
			_exit(2);
		fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		_exit(bind(fd, (struct sockaddr *)&any, sizeof(any)) < 0 || listen(fd, 1) < 0);
	}
	waitpid(pid, &status, 0);
	return status == 0;
}

static void test_tcp(const struct gateway *g, const char *who)
{
	ok(accepts(g->listeners[0], "203.0.113.9", 443), "%s: 203.0.113.9:443 is accepted, and known by its address",
	   who);
	ok(accepts(g->listeners[1], "203.0.113.9", 80), "%s: so is port 80", who);
	ok(accepts(g->listeners[0], "198.18.0.1", 443), "%s: so is an address of the pool", who);
	ok(accepts(g->listeners[0], "198.19.255.1", 443), "%s: so is the gateway's own", who);
	ok(accepts(g->listeners[0], "10.0.0.1", 443), "%s: so is a private one", who);
	ok(accepts(g->dns_tcp, "9.9.9.9", 53), "%s: so are names over TCP", who);
	ok(!readable(g->packets, 0), "%s: none of these is reported as an attempt", who);
	is_num(connect_to("203.0.113.9", 444, SOON_MS, NULL), ECONNREFUSED, "%s: port 444 refuses", who);
	ok(saw(g->packets, IPPROTO_TCP, "203.0.113.9", 444), "%s: and is reported", who);
	is_num(connect_to("127.0.0.1", 443, SOON_MS, NULL), ECONNREFUSED, "%s: the box's own 127.0.0.1:443 is free",
	       who);
}

static void test_rest(const struct gateway *g, const char *who)
{
	struct sockaddr_in6 six = { .sin6_family = AF_INET6, .sin6_port = htons(443) };
	int refused = 0;

	ok(name_answered(g->dns_udp, "198.19.255.1"), "%s: a name is asked of the gateway and answered", who);
	ok(name_answered(g->dns_udp, "9.9.9.9"), "%s: and of any other address, from that address", who);
	is_num(udp_errno("203.0.113.9", 443), ECONNREFUSED, "%s: UDP elsewhere refuses", who);
	ok(saw(g->datagrams, IPPROTO_UDP, "203.0.113.9", 443), "%s: and is reported", who);
	for (int i = 0; i < 20; i++)
		refused += udp_errno("203.0.113.9", 444) == ECONNREFUSED;
	is_num(refused, 20, "%s: every time, however often", who);
	ok(ping_answered("127.0.0.1"), "%s: the box answers its own ping", who);
	ok(!ping_answered("203.0.113.9"), "%s: nobody else answers", who);
	ok(!ping_answered("198.19.255.1"), "%s: nor does the gateway", who);
	inet_pton(AF_INET6, "2001:db8::1", &six.sin6_addr);
	is_num(connect6(&six), ENETUNREACH, "%s: no way by IPv6", who);
	ok(access("/proc/sys/net/ipv6/conf/lo", F_OK) < 0 || !link_has_ipv6(), "%s: there is none on the link", who);
	inet_pton(AF_INET6, "::ffff:127.0.0.1", &six.sin6_addr);
	six.sin6_port = htons(host_port);
	is_num(connect6(&six), ECONNREFUSED, "%s: nor to the host by a mapped address", who);
	is_num(connect_to("127.0.0.1", host_port, SOON_MS, NULL), ECONNREFUSED, "%s: the host's loopback is not here",
	       who);
	is_num(connect6(&host6), ECONNREFUSED, "%s: nor by IPv6, although ::1 is there", who);
	ok(can_bind(443) && can_bind(53) && can_bind(1), "%s: a payload without rights may bind any port", who);
}

/* Egress's part where ports are made as they are asked for. */
static int answer(struct gateway *g, bool allow, uint16_t *ret_port, int *ret_error)
{
	uint8_t data[GATEWAY_PACKET_SIZE];
	struct gateway_attempt a;
	int fd = -1, len = readable(g->packets, SOON_MS) ? gateway_read(g->packets, data, &a) : -ETIMEDOUT;

	if (len < 0) {
		*ret_error = -len;
		return -1;
	}
	*ret_port = a.to_port;
	if (!allow) {
		*ret_error = -gateway_refuse(g->packets, data, (size_t)len);
		return -1;
	}
	fd = gateway_listen(g, a.to_port);
	*ret_error = fd < 0 ? -fd : -gateway_replay(g->packets, data, (size_t)len);
	return fd;
}

static int begin_connect(const char *address, uint16_t port)
{
	struct sockaddr_in to = at(address, port);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	(void)connect(fd, (struct sockaddr *)&to, sizeof(to));
	return fd;
}

static int end_connect(int fd, int ms)
{
	struct pollfd p = { .fd = fd, .events = POLLOUT };
	int error = EINPROGRESS;
	socklen_t len = sizeof(error);

	if (poll(&p, 1, ms) == 1)
		getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len);
	close(fd);
	return error;
}

static void test_lazy(struct gateway *g, const char *who)
{
	uint64_t before;
	uint16_t port = 0;
	int client, listener, error = 0;

	client = begin_connect("203.0.113.9", 22);
	is_num(end_connect(client, WHILE_MS), EINPROGRESS, "%s: a port without a listener is silent", who);
	ok(saw(g->packets, IPPROTO_TCP, "203.0.113.9", 22), "%s: and is reported", who);

	client = begin_connect("203.0.113.9", 23);
	before = clock_us();
	listener = answer(g, true, &port, &error);
	is_num(error, 0, "%s: a listener is made for it", who);
	is_num(port, 23, "%s: on the port that was asked", who);
	is_num(end_connect(client, SOON_MS), 0, "%s: and the connection comes about", who);
	ok(clock_us() - before < 500000, "%s: at once, not with the client's second try", who);
	client = readable(listener, SOON_MS) ? accept(listener, NULL, NULL) : -1;
	ok(client >= 0, "%s: and is accepted", who);
	close(client);
	ok(accepts(listener, "198.51.100.1", 23), "%s: the next one needs nobody", who);
	while (gateway_read(g->packets, (uint8_t[GATEWAY_PACKET_SIZE]){ 0 }, &(struct gateway_attempt){ 0 }) > 0)
		;
	close(listener);

	client = begin_connect("203.0.113.9", 25);
	answer(g, false, &port, &error);
	is_num(error, 0, "%s: a refusal is sent", who);
	is_num(end_connect(client, 500), ECONNREFUSED, "%s: and arrives", who);
}

/* Without a descriptor left no port can be made; with one again it can, however far the try had got. */
static void test_no_room(struct gateway *g, const char *who)
{
	struct rlimit before, none;
	int fd = 0, failed = 0;

	(void)getrlimit(RLIMIT_NOFILE, &before);
	none = (struct rlimit){ 3, before.rlim_max };
	(void)setrlimit(RLIMIT_NOFILE, &none);
	for (int i = 0; i < 3; i++) {
		fd = gateway_listen(g, 2000);
		failed += fd == -EMFILE;
	}
	(void)setrlimit(RLIMIT_NOFILE, &before);
	is_num((unsigned)failed, 3, "%s: no descriptor, no port", who);
	for (int i = 0; i < 3; i++) {
		fd = gateway_listen(g, (uint16_t)(2001 + i));
		ok(fd >= 0, "%s: then there is one again (%d)", who, -fd);
		close(fd);
	}
}

static void test_lazy_many(struct gateway *g, const char *who)
{
	uint64_t before = clock_us();
	unsigned good = 0;

	for (uint16_t p = 1000; p < 1300; p++) {
		uint16_t port = 0;
		int error = 0, client = begin_connect("203.0.113.9", p), listener = answer(g, true, &port, &error);

		good += listener >= 0 && !error && port == p && end_connect(client, SOON_MS) == 0;
		close(listener);
	}
	is_num(good, 300, "%s: three hundred ports in turn, of one spare socket", who);
	note("%" PRIu64 " us each", (clock_us() - before) / 300);
	ok(accepts(g->listeners[0], "203.0.113.9", 443), "%s: ports that were there from the start are as ever", who);
	is_num(udp_errno("203.0.113.9", 443), ECONNREFUSED, "%s: UDP refuses", who);
	is_num((unsigned)gateway_listen(g, 443), (unsigned)-EADDRINUSE, "%s: a port that has a listener is in use",
	       who);
	is_num((unsigned)gateway_listen(g, 53), (unsigned)-EADDRINUSE, "%s: so is that of names", who);
	test_no_room(g, who);
}

/* Without the gateway the link is gone, and the default route with it. */
static void test_gone(struct gateway *g, const char *who)
{
	int r = 0;

	ok(if_nametoindex("eth0") > 0, "%s: the box has its link", who);
	gateway_close(g);
	for (int i = 0; i < 200 && if_nametoindex("eth0"); i++)
		usleep(10000); /* the kernel takes namespaces apart at its leisure */
	is_num(if_nametoindex("eth0"), 0, "%s: with the last socket the gateway goes, and the link", who);
	r = connect_to("203.0.113.9", 443, SOON_MS, NULL);
	is_num(r, ENETUNREACH, "%s: then nothing is reachable", who);
}

static void run_box(bool lazy, const char *who)
{
	const struct gateway_options o = {
		.gateway_address = "198.19.255.1",
		.box_address = "198.19.255.2",
		.link_bits = 30,
		.settings = -1,
		.elsewhere = -1,
		.ports = ports,
		.port_count = sizeof(ports) / sizeof(ports[0]),
		.lazy = lazy,
	};
	struct stat before, after;
	const char *step = "";
	struct gateway g;
	int r;

	stat("/proc/self/ns/net", &before);
	r = gateway_open(&o, &g, &step);
	if (!ok(r == 0, "%s: the gateway opens (%s: %s)", who, step, strerror(-r)))
		return;
	stat("/proc/self/ns/net", &after);
	ok(before.st_ino == after.st_ino, "%s: the caller is where it was", who);
	if (lazy) {
		test_lazy(&g, who);
		test_lazy_many(&g, who);
	} else {
		test_tcp(&g, who);
		test_rest(&g, who);
	}
	test_gone(&g, who);
}

/* The test's numbers go on in the child, so its count comes back over a pipe. */
static void in_namespaces(bool lazy, const char *who)
{
	struct id_range map = { 0, geteuid(), 1 }, group = { 0, getegid(), 1 };
	unsigned counts[2] = { tap_count, tap_failed };
	bool ended;
	int back[2], go[2], status = 0, pidfd = -1, r;
	char byte;
	pid_t pid;

	if (pipe(back) < 0 || pipe(go) < 0)
		abort();
	pid = process_clone(CLONE_NEWUSER | CLONE_NEWNET, &pidfd);
	if (pid == 0) {
		close(go[1]);
		if (read(go[0], &byte, 1) == 1)
			run_box(lazy, who);
		counts[0] = tap_count;
		counts[1] = tap_failed;
		_exit(write(back[1], counts, sizeof(counts)) != sizeof(counts));
	}
	close(go[0]);
	close(back[1]);
	r = pid < 0 ? (int)pid : userns_write_maps(pid, &map, 1, &group, 1, geteuid() != 0);
	if (r < 0)
		skip("%s: no user namespace for uid %d here: %s", who, (int)geteuid(), strerror(-r));
	else if (write(go[1], "", 1) != 1)
		abort();
	close(go[1]);
	if (r >= 0) {
		ended = fd_read_full(back[0], counts, sizeof(counts)) == sizeof(counts);
		tap_count = counts[0];
		tap_failed = counts[1];
		ok(ended, "%s: went to its end", who);
	}
	if (pid > 0)
		process_wait(pidfd, &status);
	close(back[0]);
}

/* The same acts where there is no gateway: they work, or fail otherwise. */
static void test_host(void)
{
	struct sockaddr_in any = at("0.0.0.0", 0);
	socklen_t len = sizeof(any);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), six = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (bind(fd, (struct sockaddr *)&any, sizeof(any)) < 0 || listen(fd, 16) < 0 ||
	    getsockname(fd, (struct sockaddr *)&any, &len) < 0)
		abort();
	host_port = ntohs(any.sin_port);
	host6 = (struct sockaddr_in6){ .sin6_family = AF_INET6,
				       .sin6_port = any.sin_port,
				       .sin6_addr = IN6ADDR_LOOPBACK_INIT };
	is_num(connect_to("127.0.0.1", host_port, SOON_MS, NULL), 0, "control: the host's listener is there");
	setsockopt(six, IPPROTO_IPV6, IPV6_V6ONLY, &(int){ 1 }, sizeof(int));
	if (six < 0 || bind(six, (struct sockaddr *)&host6, sizeof(host6)) < 0 || listen(six, 16) < 0)
		note("this host has no IPv6 loopback");
	else
		is_num(connect6(&host6), 0, "control: and by IPv6");
}

static void as_ordinary_user(void)
{
	if (setresgid(NOBODY, NOBODY, NOBODY) < 0 || setresuid(NOBODY, NOBODY, NOBODY) < 0)
		abort();
	prctl(PR_SET_DUMPABLE, 1, 0, 0, 0); /* or the maps could not be written */
}

int main(void)
{
	signal(SIGPIPE, SIG_IGN);
	test_host();
	if (geteuid() == 0) {
		in_namespaces(false, "root");
		in_namespaces(true, "root, lazy");
		as_ordinary_user();
	}
	in_namespaces(false, "user");
	in_namespaces(true, "user, lazy");
	return done_testing();
}
