/*
 * A world for the egress process, on the loopback of a network namespace of the test's own: 198.18.0.0/18 is local there, so that what the box
 * would connect to can be connected to. Egress runs either forked (its code in this program, for sanitizers) or as the real program.
 */
#ifndef TESTS_EGRESS_WORLD_H
#define TESTS_EGRESS_WORLD_H

#include "base/fd.h"
#include "egress/capture.h"
#include "egress/conn.h"
#include "net/start.h"

#include "tap.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct world {
	pid_t pid;
	int events, capture;
	uint16_t dns_udp, dns_tcp; /* real ports */
};

static inline int world_if(const char *name, unsigned long what, const char *address, short flags)
{
	struct ifreq request = { 0 };
	struct sockaddr_in sin = { .sin_family = AF_INET };
	auto_close int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	snprintf(request.ifr_name, sizeof(request.ifr_name), "%s", name);
	if (address) {
		inet_pton(AF_INET, address, &sin.sin_addr);
		memcpy(&request.ifr_addr, &sin, sizeof(sin));
	} else {
		request.ifr_flags = flags;
	}
	return ioctl(fd, what, &request) < 0 ? -errno : 0;
}

/* False: this host does not let us. */
static inline bool world_enter(void)
{
	if (unshare(CLONE_NEWNET | CLONE_NEWNS | (geteuid() == 0 ? 0 : CLONE_NEWUSER)) < 0 ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return false;
	signal(SIGPIPE, SIG_IGN);
	return world_if("lo", SIOCSIFFLAGS, NULL, IFF_UP | IFF_RUNNING | IFF_LOOPBACK) == 0 &&
	       world_if("lo:1", SIOCSIFADDR, "198.18.0.1", 0) == 0 &&
	       world_if("lo:1", SIOCSIFNETMASK, "255.255.192.0", 0) == 0;
}

/* What a file of /etc holds, for this test alone. */
static inline bool world_file(const char *path, const char *text)
{
	char real[] = "/tmp/egress-world-XXXXXX";
	int fd = mkstemp(real);
	bool done = fd >= 0 && fd_write_all(fd, text, strlen(text)) == 0 && fchmod(fd, 0644) == 0 &&
		    mount(real, path, NULL, MS_BIND, NULL) == 0;

	fd_close(&fd);
	unlink(real);
	return done;
}

static inline int world_bind(const char *address, int type, uint16_t port, uint16_t *ret_port)
{
	struct sockaddr_in sin = { .sin_family = AF_INET, .sin_port = htons(port) };
	socklen_t len = sizeof(sin);
	const int on = 1;
	int fd = socket(AF_INET, type | SOCK_CLOEXEC, 0);

	inet_pton(AF_INET, address, &sin.sin_addr);
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(fd, (struct sockaddr *)&sin, sizeof(sin)) < 0 || getsockname(fd, (struct sockaddr *)&sin, &len) < 0 ||
	    (type == SOCK_STREAM && listen(fd, 1024) < 0)) {
		note("bind %s:%u: %s", address, port, strerror(errno));
		close(fd);
		return -1;
	}
	if (ret_port)
		*ret_port = ntohs(sin.sin_port);
	return fd;
}

static inline int world_connect(const char *address, uint16_t port)
{
	struct sockaddr_in sin = { .sin_family = AF_INET, .sin_port = htons(port) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	inet_pton(AF_INET, address, &sin.sin_addr);
	if (connect(fd, (struct sockaddr *)&sin, sizeof(sin)) < 0) {
		close(fd);
		return -errno;
	}
	return fd;
}

static inline void world_config(struct net_config *config)
{
	*config = (struct net_config){ .connections = 2000, .connect_timeout_ms = 5000, .idle_timeout_ms = 5000 };
	config->rules.mode = NET_ALLOW;
}

static inline void world_rule(struct net_config *config, const char *text, bool is_address)
{
	struct net_rule rule = { 0 };
	struct cordon_error err = { 0 };

	if (net_rule_parse(text, is_address, &rule, &err) < 0 || net_rules_add(&config->rules, &rule) < 0)
		note("rule %s: %s", text, err.message);
}

static bool world_any_rate; /* forked: as many questions a second as one likes */

/* In the child, forked: what main() does, without the jail. */
static inline int world_serve(const struct net_config *config, int events, int capture)
{
	struct egress egress = { .event_fd = -1 };
	struct cordon_error err = { 0 };
	int r;

	if (net_config_copy(&egress.config, config) < 0 || egress_init(&egress, &err) < 0)
		return 1;
	if (world_any_rate)
		bucket_init(&egress.questions, egress.loop, 0, 0);
	r = egress_events_start(&egress, events);
	if (r == 0)
		r = capture_start(&egress, capture);
	if (r == 0)
		r = loop_run(egress.loop);
	egress_done(&egress);
	return r < 0;
}

static inline void world_exec(const struct net_config *config, const char *program, int events, int capture)
{
	static char name[] = "cordon-egress", ids[] = "65534:65534";
	char *argv[] = { name, geteuid() == 0 ? ids : NULL, NULL }, *empty[] = { NULL };
	struct str text = { 0 };
	int file = memfd_create("config", MFD_CLOEXEC);

	if (net_config_encode(config, &text) < 0 || fd_write_all(file, text.data, text.len) < 0)
		_exit(99);
	file = fcntl(file, F_DUPFD, 20);
	events = fcntl(events, F_DUPFD, 20);
	capture = fcntl(capture, F_DUPFD, 20);
	if (dup2(file, NET_START_CONFIG) < 0 || dup2(events, NET_START_EVENTS) < 0 ||
	    dup2(capture, NET_START_CAPTURE) < 0)
		_exit(98);
	close(NET_START_AUTHORITY);
	execve(program, argv, empty);
	_exit(97);
}

static inline void world_hand(struct world *world, int fd, uint16_t kind, uint16_t port, bool complete)
{
	struct net_capture message = { .count = 1, .complete = complete };

	message.fds[0].kind = kind;
	message.fds[0].port = port;
	if (fd_send(world->capture, &message, sizeof(message), &fd, 1) < 0)
		note("capture: %s", strerror(errno));
	close(fd);
}

/* The next event of this kind, within two seconds; false: none came. */
static inline bool world_event(struct world *world, uint32_t kind, struct net_event *ret)
{
	struct pollfd wait = { .fd = world->events, .events = POLLIN };

	while (poll(&wait, 1, 2000) > 0) {
		if (recv(world->events, ret, sizeof(*ret), 0) != (ssize_t)sizeof(*ret))
			break;
		if (ret->kind == kind)
			return true;
	}
	memset(ret, 0, sizeof(*ret));
	return false;
}

/* program NULL: forked. Takes the configuration. DNS sockets are there from the start; listeners come by world_listen(). */
static inline bool world_start(struct world *world, struct net_config *config, const char *program)
{
	int events[2], capture[2], udp, tcp;
	struct net_event event;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, events) < 0 ||
	    socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, capture) < 0)
		return false;
	fflush(stdout);
	world->pid = fork();
	if (world->pid == 0) {
		close(events[0]);
		close(capture[0]);
		if (program)
			world_exec(config, program, events[1], capture[1]);
		else {
			int r = world_serve(config, events[1], capture[1]);

			net_config_done(config);
			exit(r);
		}
	}
	net_config_done(config);
	close(events[1]);
	close(capture[1]);
	world->events = events[0];
	world->capture = capture[0];
	udp = world_bind("0.0.0.0", SOCK_DGRAM, 0, &world->dns_udp);
	tcp = world_bind("0.0.0.0", SOCK_STREAM, 0, &world->dns_tcp);
	world_hand(world, udp, NET_CAPTURE_DNS_UDP, 0, false);
	world_hand(world, tcp, NET_CAPTURE_DNS_TCP, 0, true);
	return world_event(world, NET_EVENT_READY, &event);
}

/* A listener of the gateway for `port`; the port where the box finds it here. */
static inline uint16_t world_listen(struct world *world, uint16_t port)
{
	uint16_t real = 0;
	int fd = world_bind("0.0.0.0", SOCK_STREAM, 0, &real);

	world_hand(world, fd, NET_CAPTURE_LISTENER, port, false);
	return real;
}

/* The box is gone: its exit status as from waitpid(). */
static inline int world_end(struct world *world)
{
	int status = -1;

	fd_close(&world->capture);
	fd_close(&world->events);
	if (waitpid(world->pid, &status, 0) != world->pid)
		return -1;
	return status;
}

/* Asks for a name as a client in the box would; *ret_rcode, and the address of the answer or 0. */
static inline uint32_t world_ask(struct world *world, const char *name, uint8_t type, bool tcp, int *ret_rcode)
{
	uint8_t q[300] = { 0, 0, 0x12, 0x34, 1, 0, 0, 1 }, a[600];
	size_t n = 14;
	ssize_t got;
	auto_close int fd = -1;
	struct timeval patience = { .tv_sec = 2 };

	for (const char *p = name; *p;) {
		size_t len = strcspn(p, ".");

		q[n++] = (uint8_t)len;
		memcpy(q + n, p, len);
		n += len;
		p += len + (p[len] == '.');
	}
	n++;
	q[n + 1] = type;
	q[n + 3] = 1;
	n += 4;
	q[0] = (uint8_t)((n - 2) >> 8);
	q[1] = (uint8_t)(n - 2);
	*ret_rcode = -1;
	if (tcp) {
		fd = world_connect("127.0.0.1", world->dns_tcp);
		setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
		if (send(fd, q, n, MSG_NOSIGNAL) != (ssize_t)n)
			return 0;
		got = recv(fd, a, sizeof(a), 0) - 2;
		memmove(a, a + 2, sizeof(a) - 2);
	} else {
		/* Asked at one address, answered from another, it would not arrive: the socket is connected. */
		struct sockaddr_in sin = { .sin_family = AF_INET, .sin_port = htons(world->dns_udp) };

		inet_pton(AF_INET, "198.18.33.44", &sin.sin_addr);
		fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
		setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
		if (connect(fd, (struct sockaddr *)&sin, sizeof(sin)) < 0 || send(fd, q + 2, n - 2, 0) < 0)
			return 0;
		got = recv(fd, a, sizeof(a), 0);
	}
	if (got < 12)
		return 0;
	*ret_rcode = a[3] & 0xf;
	if (a[7] == 0)
		return 0;
	/* The one answer is last. An OPT record would follow: these questions have none. */
	return (uint32_t)a[got - 4] << 24 | (uint32_t)a[got - 3] << 16 | (uint32_t)a[got - 2] << 8 | a[got - 1];
}

static inline const char *world_text(uint32_t address, char buf[INET_ADDRSTRLEN])
{
	struct in_addr in = { .s_addr = htonl(address) };

	return inet_ntop(AF_INET, &in, buf, INET_ADDRSTRLEN);
}

static inline double world_time(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

/* kB, from /proc; 0 where it may not be read. */
static inline long world_rss(pid_t pid)
{
	char path[64], text[4096], *line;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	if (fd_read_file_at(AT_FDCWD, path, text, sizeof(text)) < 0)
		return 0;
	line = strstr(text, "VmRSS:");
	return line ? strtol(line + 6, NULL, 10) : 0;
}

/* One byte, 'E' at the end of file, 'R' at a reset, '?' for anything else. */
static inline char world_read(int fd)
{
	char byte;
	ssize_t n = recv(fd, &byte, 1, 0);

	return n == 1 ? byte : n == 0 ? 'E' : errno == ECONNRESET ? 'R' : '?';
}

#endif
