/*
 * Carried connections from end to end: a box with a real gateway whose sockets stay inside, the process that carries, without any right, and
 * the real egress program, jailed. Seen from the box it is as if egress had the sockets; seen from the events, too. Ports that have listeners, and lazy.
 */
#include "base/clock.h"
#include "egress_world.h"
#include "inner/carry.h"
#include "os/caps.h"
#include "os/process.h"
#include "os/userns.h"

#include <libgen.h>
#include <sys/prctl.h>

enum {
	PORT_TCP = 8001,
	PORT_HTTP = 8002,
	PORT_TLS = 8003,
	PORT_NONE = 8004,
	MANY = 300,
	BIG = 32 << 20,
	CHUNK = 65536
};
static const uint16_t ports[] = { PORT_TCP, PORT_HTTP, PORT_TLS };

/* ---- outside: one process for each connection; its first byte says what it wants ---- */

static void serve_one(int fd)
{
	static char data[CHUNK];
	const struct linger linger = { 1, 0 };
	ssize_t n = recv(fd, data, sizeof(data), 0);

	if (n > 0 && data[0] == 'r')
		setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger));
	for (size_t sent = 0; n > 0 && data[0] == 'd' && sent < BIG; sent += CHUNK) {
		memset(data + 1, (int)(sent / CHUNK), sizeof(data) - 1);
		if (fd_write_all(fd, data, CHUNK) < 0)
			break;
	}
	for (; n > 0 && data[0] == 'e'; n = recv(fd, data, sizeof(data), 0)) {
		if (fd_write_all(fd, data, (size_t)n) < 0)
			break;
		data[0] = 'e';
	}
	if (n > 0 && data[0] == 'G')
		(void)!write(fd, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi", 40);
	if (n > 0 && data[0] == 22)
		(void)!write(fd, "T", 1);
	while (n > 0 && (data[0] == 'G' || data[0] == 22) && recv(fd, data + 1, 1, 0) > 0)
		;
}

static pid_t serve(void)
{
	struct pollfd fds[3];
	pid_t pid;

	for (int i = 0; i < 3; i++)
		fds[i] =
			(struct pollfd){ .fd = world_bind("127.0.0.1", SOCK_STREAM, ports[i], NULL), .events = POLLIN };
	fflush(stdout);
	pid = fork();
	if (pid != 0) {
		for (int i = 0; i < 3; i++)
			close(fds[i].fd);
		return pid;
	}
	signal(SIGCHLD, SIG_IGN);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (poll(fds, 3, -1) > 0 || errno == EINTR) {
		for (int i = 0; i < 3; i++) {
			int fd = fds[i].revents & POLLIN ? accept4(fds[i].fd, NULL, NULL, SOCK_CLOEXEC) : -1;

			if (fd >= 0 && fork() == 0) {
				serve_one(fd);
				_exit(0);
			}
			close(fd);
		}
	}
	_exit(1);
}

/* ---- inside ---- */

static const struct timeval patience = { .tv_sec = 5 };

static int box_connect(uint32_t address, uint16_t port)
{
	char text[INET_ADDRSTRLEN];
	int fd = world_connect(world_text(address, text), port);

	if (fd >= 0)
		setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	return fd;
}

static void test_names(const char *who, uint32_t *ret_address)
{
	static const uint8_t question[] = { 0, 22, 0, 1,   1,   0,   0,   1, 0, 0, 0, 0,
					    0, 0,  4, 'e', 'v', 'i', 'l', 0, 0, 1, 0, 1 };
	struct world names = { .dns_udp = 53 };
	uint8_t answer[64] = { 0 };
	int rcode = -1, fd;

	/* A link that has just come up may lose its first packets; a resolver asks again, too. */
	for (int i = 0; i < 3 && !*ret_address; i++)
		*ret_address = world_ask(&names, "here.example", 1, false, &rcode);
	ok(rcode == 0 && *ret_address >> 16 == 0xc612, "%s: an allowed name has an address", who);
	ok(world_ask(&names, "evil.example", 1, false, &rcode) == 0 && rcode == 3, "%s: another has none", who);
	fd = box_connect(0x09090909, 53);
	ok(write(fd, question, sizeof(question)) == sizeof(question) && recv(fd, answer, sizeof(answer), 0) > 14 &&
		   (answer[5] & 15) == 3,
	   "%s: names over TCP", who);
	close(fd);
}

static void test_one(uint32_t address, const char *who)
{
	char data[64] = "";
	int fd = box_connect(address, PORT_TCP);

	ok(fd >= 0 && write(fd, "e1", 2) == 2 && world_read(fd) == 'e' && world_read(fd) == '1',
	   "%s: a byte there and back", who);
	shutdown(fd, SHUT_WR);
	is_num((uint64_t)world_read(fd), 'E', "%s: half-close, and the answer to it", who);
	close(fd);
	fd = box_connect(address, PORT_TCP);
	ok(fd >= 0 && write(fd, "r", 1) == 1, "%s: a server that resets", who);
	is_num((uint64_t)world_read(fd), 'R', "%s: is a reset", who);
	close(fd);
	fd = box_connect(0xcb007109, PORT_TCP);
	is_num((uint64_t)(fd < 0 ? 'R' : world_read(fd)), 'R', "%s: an address without a rule is refused", who);
	close(fd);
	is_num((uint64_t)-box_connect(address, PORT_NONE), ECONNREFUSED, "%s: so is a port, at once", who);
	fd = box_connect(address, PORT_HTTP);
	ok(fd >= 0 && write(fd, "GET / HTTP/1.1\r\nHost: here.example\r\n\r\n", 38) == 38 &&
		   recv(fd, data, sizeof(data) - 1, 0) > 0 && strstr(data, "200 OK"),
	   "%s: a request", who);
	close(fd);
	fd = box_connect(address, PORT_HTTP);
	ok(fd >= 0 && write(fd, "GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n", 38) == 38 &&
		   recv(fd, data, sizeof(data) - 1, 0) > 0 && strstr(data, " 403 "),
	   "%s: one for another host is refused by an answer", who);
	close(fd);
}

/* A ClientHello in two pieces, which are looked at before they are taken. */
static void test_tls(uint32_t address, const char *who)
{
	uint8_t hello[] = { 22,   3,   1,   0,   70,  1,   0,   0,   66,  3,   3,   [43] = 0, 0,  2,
			    0x13, 1,   1,   0,   0,   21,  0,   0,   0,   17,  0,   15,       0,  0,
			    12,   'h', 'e', 'r', 'e', '.', 'e', 'x', 'a', 'm', 'p', 'l',      'e' };
	int fd = box_connect(address, PORT_TLS);

	hello[4] = (uint8_t)(sizeof(hello) - 5);
	hello[8] = (uint8_t)(sizeof(hello) - 9);
	ok(write(fd, hello, 20) == 20 && usleep(30000) == 0 && write(fd, hello + 20, sizeof(hello) - 20) > 0,
	   "%s: a ClientHello in pieces", who);
	is_num((uint64_t)world_read(fd), 'T', "%s: reaches its server", who);
	close(fd);
	hello[sizeof(hello) - 1] = 'x';
	fd = box_connect(address, PORT_TLS);
	ok(write(fd, hello, sizeof(hello)) == sizeof(hello), "%s: one with another name", who);
	is_num((uint64_t)world_read(fd), 'R', "%s: does not", who);
	close(fd);
}

static void test_much(uint32_t address, const char *who)
{
	static unsigned char data[CHUNK];
	static int fds[MANY];
	int slow = box_connect(address, PORT_TCP), fd = box_connect(address, PORT_TCP), good = 0;
	uint64_t begin = clock_us();
	size_t got = 0;

	ok(write(slow, "d", 1) == 1 && write(fd, "d", 1) == 1, "%s: two downloads, of which one is not read", who);
	while (got < BIG && fd_read_full(fd, data, CHUNK) == CHUNK && data[1] == (unsigned char)(got / CHUNK) &&
	       data[CHUNK - 1] == data[1])
		got += CHUNK;
	is_num(got, BIG, "%s: the other comes whole", who);
	note("%.0f MB/s", (double)BIG / (double)(clock_us() - begin));
	is_num((uint64_t)world_read(fd), 'E', "%s: and ends", who);
	close(fd);
	for (int i = 0; i < MANY; i++)
		fds[i] = box_connect(address, PORT_TCP);
	for (int i = 0; i < MANY; i++)
		good += write(fds[i], "e", 1) == 1;
	for (int i = 0; i < MANY; i++)
		good += world_read(fds[i]) == 'e';
	for (int i = 0; i < MANY; i++)
		close(fds[i]);
	is_num((uint64_t)good, 2 * MANY, "%s: %d connections at once", who, MANY);
	for (got = 0; got < BIG && fd_read_full(slow, data, CHUNK) == CHUNK; got += CHUNK)
		;
	is_num(got, BIG, "%s: the slow one comes when it is read", who);
	close(slow);
}

/* pid 1 of nothing, but the same place: the gateway was opened with rights, and carried without. */
static pid_t carry(struct gateway *g, int stream)
{
	pid_t pid = fork();

	if (pid == 0) {
		if (caps_lock(0) < 0 || caps_set(0) < 0 || process_no_new_privs() < 0)
			_exit(2);
		_exit(carry_serve(g, stream) < 0);
	}
	gateway_close(g);
	close(stream);
	return pid;
}

static void run_box(bool lazy, int stream, const char *who)
{
	const struct gateway_options o = {
		.gateway_address = NET_GATEWAY_ADDRESS,
		.box_address = NET_BOX_ADDRESS,
		.link_bits = NET_LINK_BITS,
		.settings = -1,
		.elsewhere = -1,
		.ports = ports,
		.port_count = lazy ? 0 : 3,
		.lazy = lazy,
	};
	const char *step = "";
	struct gateway g;
	uint32_t address = 0;
	int status = -1, r = gateway_open(&o, &g, &step);
	pid_t pid;

	if (!ok(r == 0, "%s: the gateway opens (%s: %s)", who, step, strerror(-r)))
		return;
	pid = carry(&g, stream);
	test_names(who, &address);
	test_one(address, who);
	test_tls(address, who);
	test_much(address, who);
	ok(kill(pid, 0) == 0 && waitpid(pid, &status, WNOHANG) == 0, "%s: the one who carries lives", who);
}

/* ---- around both ---- */

struct side {
	const char *who;
	pid_t pid;
	int pidfd, stream[2], go[2], back[2];
};

static bool side_make(struct side *side, const struct side *before, bool lazy, const char *who)
{
	struct id_range map = { 0, geteuid(), 1 }, group = { 0, getegid(), 1 };
	unsigned counts[2];

	side->who = who;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, side->stream) < 0 || pipe2(side->go, O_CLOEXEC) < 0 ||
	    pipe2(side->back, O_CLOEXEC) < 0)
		abort();
	side->pid = process_clone(CLONE_NEWUSER | CLONE_NEWNET, &side->pidfd);
	if (side->pid == 0) {
		close(side->go[1]);
		close(side->stream[0]);
		if (before) {
			close(before->go[1]);
			close(before->stream[0]);
		}
		signal(SIGPIPE, SIG_IGN);
		alarm(50);
		if (read(side->go[0], counts, sizeof(counts)) != sizeof(counts))
			_exit(0);
		tap_count = counts[0];
		tap_failed = counts[1];
		run_box(lazy, side->stream[1], who);
		counts[0] = tap_count;
		counts[1] = tap_failed;
		_exit(write(side->back[1], counts, sizeof(counts)) != sizeof(counts));
	}
	close(side->go[0]);
	close(side->back[1]);
	close(side->stream[1]);
	return side->pid > 0 && userns_write_maps(side->pid, &map, 1, &group, 1, geteuid() != 0) >= 0;
}

static void count_event(const struct net_event *event, uint64_t got[4], uint64_t *ret_down)
{
	got[0] += event->kind == NET_EVENT_CONNECTION && event->decision == NET_ALLOWED && event->port == PORT_TCP;
	got[1] += event->kind == NET_EVENT_CONNECTION && event->decision == NET_REFUSED;
	got[2] += event->kind == NET_EVENT_ATTEMPT && event->port == PORT_NONE &&
		  strcmp(event->allow, "--allow here.example:8004/tcp") == 0;
	got[3] += event->kind == NET_EVENT_REQUEST;
	if (event->down_bytes > *ret_down)
		*ret_down = event->down_bytes;
}

static void side_run(struct side *side, const char *program)
{
	static const char *const rules[] = { "here.example:8001/tcp", "here.example:8002/http",
					     "here.example:8003/tls" };
	unsigned counts[2] = { 0 };
	uint64_t got[4] = { 0 }, down = 0;
	struct world world;
	struct net_config config;
	struct net_event event;
	int status = -1;
	bool ended;

	world_config(&config);
	config.rules.allow_private = true;
	for (size_t i = 0; i < 3; i++)
		world_rule(&config, rules[i], false);
	ok(world_start(&world, &config, program), "%s: egress is ready", side->who);
	world_hand(&world, side->stream[0], NET_CAPTURE_STREAM, 0, false);
	fcntl(world.events, F_SETFL, O_NONBLOCK);
	counts[0] = tap_count;
	counts[1] = tap_failed;
	if (write(side->go[1], counts, sizeof(counts)) != sizeof(counts))
		abort();
	for (struct pollfd wait = { .fd = side->back[0], .events = POLLIN }; poll(&wait, 1, 10) == 0;)
		while (recv(world.events, &event, sizeof(event), 0) == (ssize_t)sizeof(event))
			count_event(&event, got, &down);
	ended = fd_read_full(side->back[0], counts, sizeof(counts)) == sizeof(counts);
	tap_count = ended ? counts[0] : tap_count;
	tap_failed = ended ? counts[1] : tap_failed;
	ok(ended, "%s: went to its end", side->who);
	for (struct pollfd wait = { .fd = world.events, .events = POLLIN }; poll(&wait, 1, 300) == 1;)
		if (recv(world.events, &event, sizeof(event), 0) == (ssize_t)sizeof(event))
			count_event(&event, got, &down);
		else
			break;
	is_num(got[0], MANY + 3, "%s: allowed connections are told", side->who);
	ok(got[1] >= 1, "%s: and refused ones", side->who);
	is_num(got[2], 1, "%s: and an attempt, with what would allow it", side->who);
	ok(got[3] >= 2, "%s: and requests", side->who);
	is_num(down, BIG, "%s: with every byte", side->who);
	is_num((uint64_t)world_end(&world), 0, "%s: egress ends with its box", side->who);
	close(side->go[1]);
	process_wait(side->pidfd, &status);
}

int main(int argc, char **argv)
{
	struct side sides[2];
	char program[4096];
	pid_t server;

	(void)argc;
	snprintf(program, sizeof(program), "%s/../cordon-egress", dirname(argv[0]));
	if (access(program, X_OK) < 0) {
		skip("%s is not built", program);
		return done_testing();
	}
	fflush(stdout);
	/* The boxes first: an ordinary user's world has no room for another user namespace. */
	if (!side_make(&sides[0], NULL, false, "listeners") || !side_make(&sides[1], &sides[0], true, "lazy") ||
	    !world_enter() || !world_file("/etc/hosts", "127.0.0.1 here.example\n")) {
		skip("no namespaces of one's own: %s", strerror(errno));
		return done_testing();
	}
	alarm(60);
	server = serve();
	side_run(&sides[0], program);
	side_run(&sides[1], program);
	kill(server, SIGKILL);
	waitpid(server, NULL, 0);
	return done_testing();
}
