/*
 * The egress program itself, jailed, in a world with a name server that can lie: names, answers, TLS, an upstream proxy, attempts.
 * 1.2.3.4 is the one public address there is.
 */
#include "egress_world.h"

#include <libgen.h>

static char program[4096];
static int server;
static uint16_t server_port;

/* ---- the name server outside ---- */

static const struct {
	const char *name;
	const char *alias; /* a CNAME first */
	const char *addresses[3];
	uint8_t ttl;
	bool big; /* says so over UDP: to be asked over TCP */
} zone[] = {
	{ "kept.example", NULL, { "1.2.3.4" }, 30, false },
	{ "big.example", NULL, { "1.2.3.4" }, 0, true },
	{ "public.example", NULL, { "1.2.3.4" }, 0, false },
	{ "private.example", NULL, { "10.0.0.1" }, 0, false },
	{ "metadata.example", NULL, { "169.254.169.254" }, 0, false },
	{ "mixed.example", NULL, { "169.254.169.254", "1.2.3.4", "127.0.0.1" }, 0, false },
	{ "two.example", NULL, { "5.6.7.8", "1.2.3.4" }, 0, false },
	{ "alias.example", "inner.example", { "10.0.0.1" }, 0, false },
	{ "goodalias.example", "inner.example", { "1.2.3.4" }, 0, false },
	{ "proxy.example", NULL, { "127.0.0.1" }, 0, false },
};

static size_t put_name(uint8_t *to, const char *name)
{
	size_t n = 0;

	for (const char *p = name; *p;) {
		size_t len = strcspn(p, ".");

		to[n++] = (uint8_t)len;
		memcpy(to + n, p, len);
		n += len;
		p += len + (p[len] == '.');
	}
	to[n++] = 0;
	return n;
}

static size_t put_record(uint8_t *to, const char *owner, uint8_t type, uint8_t ttl, const uint8_t *data, size_t len)
{
	size_t n = put_name(to, owner);
	const uint8_t fixed[] = { 0, type, 0, 1, 0, 0, 0, ttl, (uint8_t)(len >> 8), (uint8_t)len };

	memcpy(to + n, fixed, sizeof(fixed));
	memcpy(to + n + sizeof(fixed), data, len);
	return n + sizeof(fixed) + len;
}

static size_t zone_answer(uint8_t *packet, size_t len, bool tcp)
{
	char name[256] = "";
	size_t at = 12, used = 0, end;

	while (at < len && packet[at]) {
		used += (size_t)snprintf(name + used, sizeof(name) - used, "%s%.*s", used ? "." : "", packet[at],
					 (const char *)packet + at + 1);
		at += packet[at] + 1u;
	}
	end = at + 5;
	packet[2] = 0x84;
	packet[3] = 0;
	packet[10] = packet[11] = 0; /* no OPT in the answer */
	if (strcmp(name, "slow.example") == 0)
		return 0;
	for (size_t i = 0; i < sizeof(zone) / sizeof(*zone); i++) {
		uint8_t data[256];
		const char *owner = name;

		if (strcmp(zone[i].name, name) != 0)
			continue;
		if (zone[i].big && !tcp) {
			packet[2] |= 2; /* TC */
			return end;
		}
		if (zone[i].alias) {
			end += put_record(packet + end, name, 5, zone[i].ttl, data, put_name(data, zone[i].alias));
			packet[7]++;
			owner = zone[i].alias;
		}
		for (size_t j = 0; j < 3 && zone[i].addresses[j] && packet[at + 2] == 1; j++) {
			inet_pton(AF_INET, zone[i].addresses[j], data);
			end += put_record(packet + end, owner, 1, zone[i].ttl, data, 4);
			packet[7]++;
		}
		return end;
	}
	packet[3] = 3;
	return end;
}

static void zone_tcp(int fd)
{
	uint8_t packet[1500];
	auto_close int client = accept4(fd, NULL, NULL, SOCK_CLOEXEC);
	size_t reply;
	ssize_t n;

	/* A and AAAA come over one connection. */
	while ((n = fd_read_full(client, packet, 2)) == 2) {
		n = fd_read_full(client, packet + 2, (size_t)packet[0] << 8 | packet[1]);
		reply = n > 17 ? zone_answer(packet + 2, (size_t)n, true) : 0;
		packet[0] = (uint8_t)(reply >> 8);
		packet[1] = (uint8_t)reply;
		if (!reply || fd_write_all(client, packet, reply + 2) < 0)
			return;
	}
}

static void zone_udp(int fd, int log)
{
	uint8_t packet[1500];
	struct sockaddr_in peer;
	socklen_t len = sizeof(peer);
	ssize_t n = recvfrom(fd, packet, 512, 0, (struct sockaddr *)&peer, &len);
	size_t reply;

	if (n < 17)
		return;
	if (write(log, packet + 13, 1) != 1)
		_exit(1);
	reply = zone_answer(packet, (size_t)n, false);
	if (reply)
		sendto(fd, packet, reply, 0, (struct sockaddr *)&peer, len);
}

/* A byte for every question goes through `log`, so that a test can tell that there was none. */
static pid_t zone_serve(int *ret_log)
{
	int log[2];
	struct pollfd fds[] = { { .fd = world_bind("127.0.0.1", SOCK_DGRAM, 53, NULL), .events = POLLIN },
				{ .fd = world_bind("127.0.0.1", SOCK_STREAM, 53, NULL), .events = POLLIN } };
	pid_t pid;

	if (fds[0].fd < 0 || fds[1].fd < 0 || pipe2(log, O_CLOEXEC | O_NONBLOCK) < 0)
		return -1;
	fflush(stdout);
	pid = fork();
	while (pid == 0 && poll(fds, 2, -1) > 0) {
		if (fds[0].revents)
			zone_udp(fds[0].fd, log[1]);
		if (fds[1].revents)
			zone_tcp(fds[1].fd);
	}
	close(fds[0].fd);
	close(fds[1].fd);
	close(log[1]);
	*ret_log = log[0];
	return pid;
}

static size_t drain(int log)
{
	char data[4096];
	ssize_t n = read(log, data, sizeof(data));

	return n > 0 ? (size_t)n : 0;
}

/* ---- a ClientHello ---- */

static size_t make_hello(uint8_t *to, const char *sni, bool ech)
{
	uint8_t ext[512];
	size_t len = strlen(sni), n = 0, at, body;

	if (len) {
		const uint8_t head[] = { 0, 0, 0, (uint8_t)(len + 5), 0, (uint8_t)(len + 3), 0, 0, (uint8_t)len };

		memcpy(ext, head, sizeof(head));
		memcpy(ext + sizeof(head), sni, len);
		n = sizeof(head) + len;
	}
	if (ech) {
		const uint8_t grease[] = { 0xfe, 0x0d, 0, 4, 1, 2, 3, 4 };

		memcpy(ext + n, grease, sizeof(grease));
		n += sizeof(grease);
	}
	body = 2 + 32 + 1 + 4 + 2 + 2 + n;
	memset(to, 0, 5 + 4 + body);
	to[0] = 22;
	to[1] = 3;
	to[2] = 1;
	to[3] = (uint8_t)((body + 4) >> 8);
	to[4] = (uint8_t)(body + 4);
	to[5] = 1;
	to[7] = (uint8_t)(body >> 8);
	to[8] = (uint8_t)body;
	to[9] = to[10] = 3;
	at = 11 + 32 + 1;
	to[at + 1] = 2;
	to[at + 2] = 0x13;
	to[at + 3] = 1;
	to[at + 4] = 1;
	to[at + 6] = (uint8_t)(n >> 8);
	to[at + 7] = (uint8_t)n;
	memcpy(to + at + 8, ext, n);
	return 5 + 4 + body;
}

/* ---- the tests ---- */

static struct world world;

/* Rules as "NAME/PROTOCOL", for the port of the server. */
static void start(struct net_config *config, const char *const *rules)
{
	for (; *rules; rules++) {
		char text[128];

		snprintf(text, sizeof(text), "%.*s:%u%s", (int)strcspn(*rules, "/"), *rules, server_port,
			 strchr(*rules, '/'));
		world_rule(config, text, false);
	}
	ok(world_start(&world, config, program), "egress is ready");
}

/* Connects to a name as the box does: DNS, then the address that it got. */
static int by_name(const char *name, uint16_t port)
{
	char text[INET_ADDRSTRLEN];
	int rcode;
	uint32_t address = world_ask(&world, name, 1, false, &rcode);

	return address ? world_connect(world_text(address, text), port) : -1;
}

enum { FLOOD_BATCH = 64 };

/* So many questions for a name that does not exist, as fast as they are answered: how many were refused. */
static int flood(int count)
{
	static const uint8_t question[] = { 0, 1, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 4, 'e', 'v', 'i', 'l', 0, 0, 1, 0, 1 };
	struct sockaddr_in sin = { .sin_family = AF_INET, .sin_port = htons(world.dns_udp) };
	auto_close int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct pollfd wait = { .fd = fd, .events = POLLIN };
	uint8_t reply[512];
	int refused = 0;

	sin.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (connect(fd, (struct sockaddr *)&sin, sizeof(sin)) < 0)
		return -1;
	for (int sent = 0; sent < count; sent += FLOOD_BATCH) {
		for (int i = 0; i < FLOOD_BATCH; i++)
			if (send(fd, question, sizeof(question), 0) < 0)
				return -1;
		for (int i = 0; i < FLOOD_BATCH && poll(&wait, 1, 1000) > 0; i++)
			refused += recv(fd, reply, sizeof(reply), 0) > 4 && (reply[3] & 15) == 5;
	}
	return refused;
}

/* Several questions at once, by a client that takes its time with acknowledging: the milliseconds until all are answered, or -1. */
static double ask_at_once(void)
{
	enum { QUESTIONS = 4 };
	static const uint8_t question[] = "\0\x20\x12\x34\1\0\0\1\0\0\0\0\0\0\6public\7example\0\0\1\0"; /* and a 1 */
	uint8_t all[QUESTIONS * sizeof(question)], answers[1024];
	const struct timeval patience = { .tv_sec = 2 };
	const int off = 0;
	auto_close int fd = world_connect("127.0.0.1", world.dns_tcp);
	double from = world_time();
	size_t have = 0, count = 0;

	for (size_t i = 0; i < QUESTIONS; i++) {
		memcpy(all + i * sizeof(question), question, sizeof(question));
		all[(i + 1) * sizeof(question) - 1] = 1;
	}
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	setsockopt(fd, IPPROTO_TCP, TCP_QUICKACK, &off, sizeof(off));
	if (send(fd, all, sizeof(all), MSG_NOSIGNAL) != (ssize_t)sizeof(all))
		return -1;
	while (count < QUESTIONS) {
		ssize_t n = recv(fd, answers + have, sizeof(answers) - have, 0);

		if (n <= 0)
			return -1;
		have += (size_t)n;
		count = 0;
		for (size_t at = 0; at + 2 <= have; count++) {
			at += 2 + ((size_t)answers[at] << 8 | answers[at + 1]);
			if (at > have)
				break;
		}
	}
	return (world_time() - from) * 1000;
}

static void test_dns(int log)
{
	static const char *const rules[] = { "public.example/tcp", "*.wild.example/tcp", NULL };
	struct net_config config;
	struct net_event event;
	uint32_t first, again;
	int rcode, refused;
	double best = -1;

	world_config(&config);
	start(&config, rules);
	first = world_ask(&world, "public.example", 1, false, &rcode);
	ok(rcode == 0 && first >> 16 == 0xc612, "an allowed name has an address of the pool");
	ok(world_event(&world, NET_EVENT_DNS, &event) && event.decision == NET_ALLOWED, "told");
	is_str(event.host, "public.example", "with the name");
	again = world_ask(&world, "PUBLIC.eXample", 1, true, &rcode);
	is_num(again, first, "the same over TCP and in capitals");
	for (int i = 0; i < 5; i++) {
		double ms = ask_at_once();

		best = ms >= 0 && (best < 0 || ms < best) ? ms : best;
	}
	ok(best >= 0 && best < 30, "of several questions none waits for the acknowledgement of another (%.1f ms)",
	   best);
	ok(world_ask(&world, "public.example", 28, false, &rcode) == 0 && rcode == 0, "no AAAA, but the name is there");
	ok(world_ask(&world, "public.example", 16, false, &rcode) == 0 && rcode == 0, "no TXT either");
	ok(world_ask(&world, "a.b.wild.example", 1, false, &rcode) != 0, "a name below a wildcard");
	ok(world_ask(&world, "wild.example", 1, false, &rcode) == 0 && rcode == 3, "the wildcard's own name is not");
	ok(world_ask(&world, "evil.example", 1, false, &rcode) == 0 && rcode == 3, "another name does not exist");
	world_event(&world, NET_EVENT_DNS, &event);
	ok(world_event(&world, NET_EVENT_DNS, &event) && event.decision == NET_REFUSED, "told: %s", event.reason);
	ok(world_event(&world, NET_EVENT_DNS, &event), "each");
	is_str(event.allow, "--allow evil.example", "and what would allow it");
	is_num(drain(log), 0, "no packet has left for any of them");
	refused = flood(100 * FLOOD_BATCH);
	ok(refused > 500 && refused < 5000, "too many questions are refused (%d of %d)", refused, 100 * FLOOD_BATCH);
	is_num(world_end(&world), 0, "it ends with its box");
}

static bool works(int fd)
{
	int far = accept4(server, NULL, NULL, SOCK_CLOEXEC);
	bool good = fd >= 0 && write(fd, "u", 1) == 1 && world_read(far) == 'u' && write(far, "d", 1) == 1 &&
		    world_read(fd) == 'd';

	close(far);
	close(fd);
	return good;
}

static void refused(int fd, enum net_event_decision decision, const char *reason)
{
	struct net_event event;

	is_num((uint64_t)world_read(fd), 'R', "reset");
	close(fd);
	ok(world_event(&world, NET_EVENT_CONNECTION, &event) && event.decision == decision &&
		   strstr(event.reason, reason),
	   "told: %s %s", event.reason, event.allow);
}

static void test_names(int log)
{
	static const char *const rules[] = { "*.example/tcp", "localhost/tcp", "public.example/tcp", NULL };
	struct net_config config;
	struct net_event event;
	uint16_t port;

	world_config(&config);
	config.connect_timeout_ms = 1500;
	start(&config, rules);
	port = world_listen(&world, server_port);
	ok(works(by_name("public.example", port)), "a name with a public address");
	world_event(&world, NET_EVENT_CONNECTION, &event);
	is_str(event.address, "1.2.3.4", "which is what was dialled");
	is_str(event.host, "public.example", "for the name");
	ok(works(by_name("goodalias.example", port)), "through an alias");
	world_event(&world, NET_EVENT_CONNECTION, &event);
	ok(works(by_name("mixed.example", port)), "of mixed answers the public one is taken");
	world_event(&world, NET_EVENT_CONNECTION, &event);
	is_str(event.address, "1.2.3.4", "and no other");
	ok(works(by_name("two.example", port)), "of two answers the one that can be reached");
	world_event(&world, NET_EVENT_CONNECTION, &event);
	ok(works(by_name("big.example", port)), "an answer that comes over TCP");
	world_event(&world, NET_EVENT_CONNECTION, &event);
	drain(log);
	ok(works(by_name("kept.example", port)) && drain(log) > 0, "an answer with a time to live");
	ok(works(by_name("kept.example", port)), "and once more");
	is_num(drain(log), 0, "is kept");
	ok(works(by_name("public.example", port)) && drain(log) > 0, "one without is not");
	for (int i = 0; i < 3; i++)
		world_event(&world, NET_EVENT_CONNECTION, &event);
	refused(by_name("private.example", port), NET_REFUSED, "private.example is at 10.0.0.1: private");
	refused(by_name("metadata.example", port), NET_REFUSED, "169.254.169.254");
	refused(by_name("alias.example", port), NET_REFUSED, "10.0.0.1");
	refused(by_name("localhost", port), NET_REFUSED, "loopback");
	refused(by_name("absent.example", port), NET_FAILED, "does not exist");
	drain(log);
	refused(by_name("slow.example", port), NET_FAILED, "connect_timeout");
	is_num(world_end(&world), 0, "it ends with its box");

	world_config(&config);
	config.rules.allow_private = true;
	start(&config, rules);
	port = world_listen(&world, server_port);
	ok(works(by_name("localhost", port)), "with private ranges allowed it is reached");
	is_num(world_end(&world), 0, "it ends with its box");
}

static int hello_to(const char *name, const char *sni, bool ech, uint16_t port, size_t cut)
{
	uint8_t data[1024];
	size_t len = make_hello(data, sni, ech);
	int fd = by_name(name, port);

	if (cut && write(fd, data, cut) == (ssize_t)cut)
		usleep(50000);
	if (write(fd, data + cut, len - cut) != (ssize_t)(len - cut))
		note("write: %s", strerror(errno));
	return fd;
}

static bool hello_works(int fd)
{
	int far = accept4(server, NULL, NULL, SOCK_CLOEXEC);
	uint8_t data[1024] = { 0 };
	bool good = far >= 0 && recv(far, data, sizeof(data), 0) > 1 && data[0] == 22;

	close(fd);
	good = world_read(far) == 'E' && good;
	close(far);
	return good;
}

static void test_tls(void)
{
	static const char *const rules[] = { "public.example/tls", "two.example/tls", NULL };
	struct net_config config;
	struct net_event event;
	uint16_t port;
	int fd;

	world_config(&config);
	start(&config, rules);
	port = world_listen(&world, server_port);
	ok(hello_works(hello_to("public.example", "public.example", false, port, 0)), "TLS with the right name");
	world_event(&world, NET_EVENT_CONNECTION, &event);
	is_num(event.decision, NET_ALLOWED, "told as allowed");
	ok(hello_works(hello_to("public.example", "PUBLIC.example", false, port, 7)), "in pieces and in capitals");
	world_event(&world, NET_EVENT_CONNECTION, &event);
	refused(hello_to("public.example", "two.example", false, port, 0), NET_REFUSED, "names two.example");
	refused(hello_to("public.example", "", false, port, 0), NET_REFUSED, "names no server");
	refused(hello_to("public.example", "public.example", true, port, 0), NET_REFUSED, "ECH");
	fd = by_name("public.example", port);
	ok(write(fd, "GET / HTTP/1.1\r\n\r\n", 18) == 18, "what is not TLS");
	refused(fd, NET_REFUSED, "");
	is_num(world_end(&world), 0, "it ends with its box");
}

static void test_proxy(int log)
{
	static const char *const rules[] = { "public.example/tcp", NULL };
	static const char *const answers[] = { "HTTP/1.1 200 OK\r\nVia: x\r\n\r\nmore",
					       "HTTP/1.0 200 fine\r\n\r\nmore" };
	struct net_config config;
	uint16_t port, proxy_port;
	int proxy = world_bind("127.0.0.1", SOCK_STREAM, 0, &proxy_port), fd, far;
	char text[512] = "", want[128];

	drain(log);
	for (int i = 0; i < 2; i++) {
		world_config(&config);
		config.proxy_host = strdup(i ? "127.0.0.1" : "proxy.example");
		config.proxy_port = proxy_port;
		start(&config, rules);
		port = world_listen(&world, server_port);
		fd = by_name("public.example", port);
		far = accept4(proxy, NULL, NULL, SOCK_CLOEXEC);
		ok(recv(far, text, sizeof(text) - 1, 0) > 0, "the proxy is asked");
		snprintf(want, sizeof(want), "CONNECT public.example:%u HTTP/1.1\r\n", server_port);
		ok(strncmp(text, want, strlen(want)) == 0, "for the name");
		ok(write(far, answers[i], strlen(answers[i])) > 0 && world_read(fd) == 'm',
		   "what follows its answer arrives");
		ok(write(fd, "u", 1) == 1 && world_read(far) == 'u', "and what the box sends");
		close(far);
		close(fd);
		if (i) {
			is_num(drain(log), 0, "nobody asked for the name's address here");
			fd = by_name("public.example", port);
			far = accept4(proxy, NULL, NULL, SOCK_CLOEXEC);
			ok(write(far, "HTTP/1.1 403 No\r\n\r\n", 19) == 19, "a proxy that refuses");
			is_num((uint64_t)world_read(fd), 'R', "is a reset");
			close(far);
			close(fd);
		} else
			drain(log);
		is_num(world_end(&world), 0, "it ends with its box");
	}
	close(proxy);
}

static void test_attempts(void)
{
	static const char *const rules[] = { "public.example/tcp", NULL };
	struct net_config config;
	struct net_event event;
	char text[INET_ADDRSTRLEN];
	uint32_t address;
	int rcode;

	world_config(&config);
	start(&config, rules);
	address = world_ask(&world, "public.example", 1, false, &rcode);
	/* Only now: here DNS is not at port 53, and would be an attempt. */
	world_hand(&world, socket(AF_PACKET, SOCK_DGRAM | SOCK_CLOEXEC, htons(0x0800)), NET_CAPTURE_PACKET, 0, false);
	usleep(50000);
	ok(world_connect(world_text(address, text), 22) < 0, "a port that nobody listens on");
	ok(world_event(&world, NET_EVENT_ATTEMPT, &event) && event.port == 22, "told: %s", event.reason);
	is_str(event.host, "public.example", "with the name");
	is_str(event.allow, "--allow public.example:22/tcp", "and what would allow it");
	ok(world_connect("1.2.3.4", 25) < 0 && world_connect("1.2.3.4", 25) < 0 && world_connect("1.2.3.4", 26) < 0,
	   "a literal, twice, and another port");
	world_event(&world, NET_EVENT_ATTEMPT, &event);
	is_str(event.allow, "--allow-cidr 1.2.3.4:25/tcp", "told");
	ok(world_event(&world, NET_EVENT_ATTEMPT, &event) && event.port == 26, "once");
	is_num(world_end(&world), 0, "it ends with its box");
}

int main(int argc, char **argv)
{
	int log = -1;
	pid_t zone_pid;

	(void)argc;
	snprintf(program, sizeof(program), "%s/../cordon-egress", dirname(argv[0]));
	if (access(program, X_OK) < 0) {
		skip("%s is not built", program);
		return done_testing();
	}
	if (!world_enter() || !world_file("/etc/resolv.conf", "nameserver 127.0.0.1\n") ||
	    !world_file("/etc/hosts", "127.0.0.1 localhost\n") || world_if("lo:2", SIOCSIFADDR, "1.2.3.4", 0) < 0) {
		skip("no namespaces of one's own: %s", strerror(errno));
		return done_testing();
	}
	alarm(60);
	zone_pid = zone_serve(&log);
	server = world_bind("0.0.0.0", SOCK_STREAM, 0, &server_port);
	test_dns(log);
	test_names(log);
	test_tls();
	test_proxy(log);
	test_attempts();
	kill(zone_pid, SIGKILL);
	waitpid(zone_pid, NULL, 0);
	return done_testing();
}
