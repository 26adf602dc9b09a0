/*
 * A box that asks for more names than there are addresses: the service answers the rest with an error and tells it once, who has an address
 * keeps it and connects, and the process does not grow. The real service, over TCP, without the limit on questions a second.
 */
#include "egress_world.h"

enum {
	LAST = NET_POOL_SIZE - 2, /* the last name, from 0, that there is an address for */
	LATE = LAST - 1,          /* the very last is the broadcast address of this world */
	NAMES = NET_POOL_SIZE + 100,
	BATCH = 16,
	MEMORY_KB = 8 << 10, /* more than before: names of 22 bytes, the tables of the pool, the queue of events */
};

static struct world world;
static uint32_t addresses[NAMES];
static uint8_t codes[NAMES];
static unsigned allowed, failed;
static struct net_event failure;

static void read_events(bool wait)
{
	struct pollfd ready = { .fd = world.events, .events = POLLIN };
	struct net_event event;

	while (poll(&ready, 1, wait ? 200 : 0) > 0 && recv(world.events, &event, sizeof(event), 0) == sizeof(event)) {
		if (event.kind != NET_EVENT_DNS)
			continue;
		if (event.decision == NET_ALLOWED) {
			allowed += 1 + event.more;
		} else {
			failed++;
			failure = event;
		}
	}
}

static size_t question(uint8_t *q, unsigned n)
{
	static const uint8_t rest[] = "\4wild\7example\0\0\1\0\1";
	char label[16];
	int len = snprintf(label, sizeof(label), "n%u", n);
	size_t size = 12 + 1 + (size_t)len + sizeof(rest) - 1;

	memset(q, 0, 14);
	q[0] = (uint8_t)(size >> 8), q[1] = (uint8_t)size;
	q[4] = 1, q[7] = 1;
	q[14] = (uint8_t)len;
	memcpy(q + 15, label, (size_t)len);
	memcpy(q + 15 + len, rest, sizeof(rest) - 1);
	return 2 + size;
}

static bool answer(int fd, unsigned n)
{
	uint8_t size[2], a[512];
	size_t len;

	if (recv(fd, size, 2, MSG_WAITALL) != 2)
		return false;
	len = (size_t)size[0] << 8 | size[1];
	if (len < 16 || len > sizeof(a) || recv(fd, a, len, MSG_WAITALL) != (ssize_t)len)
		return false;
	codes[n] = a[3] & 15;
	if (a[7])
		addresses[n] = (uint32_t)a[len - 4] << 24 | (uint32_t)a[len - 3] << 16 | (uint32_t)a[len - 2] << 8 |
			       a[len - 1];
	return true;
}

/* All of them, a few at once, over connections that are not held for long. */
static bool ask_all(void)
{
	auto_close int fd = -1;
	uint8_t q[BATCH * 64];

	for (unsigned n = 0; n < NAMES; n += BATCH) {
		unsigned end = n + BATCH < NAMES ? n + BATCH : NAMES;
		size_t len = 0;

		if (n % (BATCH * 128) == 0) {
			fd_close(&fd);
			fd = world_connect("127.0.0.1", world.dns_tcp);
		}
		for (unsigned i = n; i < end; i++)
			len += question(q + len, i);
		if (send(fd, q, len, MSG_NOSIGNAL) != (ssize_t)len)
			return false;
		for (unsigned i = n; i < end; i++)
			if (!answer(fd, i))
				return false;
		read_events(false);
	}
	return true;
}

static bool reaches(unsigned n, uint16_t port, int server)
{
	char text[INET_ADDRSTRLEN];
	int fd = world_connect(world_text(addresses[n], text), port), far;
	struct pollfd arrives = { .fd = server, .events = POLLIN };
	bool good;

	if (fd < 0 || poll(&arrives, 1, 2000) <= 0)
		return false;
	far = accept4(server, NULL, NULL, SOCK_CLOEXEC);
	good = write(fd, "u", 1) == 1 && world_read(far) == 'u' && write(far, "d", 1) == 1 && world_read(fd) == 'd';
	close(far);
	close(fd);
	return good;
}

static void test_full(void)
{
	struct net_config config;
	uint16_t server_port = 0, box_port;
	int server = world_bind("127.0.0.1", SOCK_STREAM, 0, &server_port), rcode = -1;
	unsigned given = 0, wrong = 0, refused = 0;
	char rule[64];
	long before, after;

	world_config(&config);
	config.rules.allow_private = true;
	snprintf(rule, sizeof(rule), "*.wild.example:%u/tcp", server_port);
	world_rule(&config, rule, false);
	world_any_rate = true;
	ok(world_start(&world, &config, NULL), "egress is ready");
	box_port = world_listen(&world, server_port);
	before = world_rss(world.pid);
	ok(ask_all(), "%d names are asked for, and all answered", NAMES);
	after = world_rss(world.pid);
	for (unsigned n = 0; n < NAMES; n++) {
		given += addresses[n] != 0 && codes[n] == 0;
		refused += addresses[n] == 0 && codes[n] == 2;
		wrong += n && addresses[n] && addresses[n] <= addresses[n - 1];
	}
	is_num(given, LAST + 1, "as many as there are have an address");
	is_num(wrong, 0, "each another");
	is_num(refused, NAMES - LAST - 1, "and the rest SERVFAIL");
	ok(addresses[LAST] && !addresses[LAST + 1], "in the order they came");
	read_events(true);
	is_num(allowed, LAST + 1, "those who have one are told");
	is_num(failed, 1, "that there is none left is told once");
	ok(failure.decision == NET_FAILED && strstr(failure.reason, "too many names"), "as a failure: %s",
	   failure.reason);
	is_str(failure.host, "n16383.wild.example", "of the first that has none");
	is_num(world_ask(&world, "n7.wild.example", 1, false, &rcode), addresses[7], "an early name keeps its own");
	ok(reaches(0, box_port, server) && reaches(LATE, box_port, server), "and connects, as a late one does");
	if (before && after)
		ok(after - before < MEMORY_KB, "for %ld kB", after - before);
	close(server);
	is_num(world_end(&world), 0, "it ends with its box");
}

int main(void)
{
	if (!world_enter() || !world_file("/etc/hosts", "127.0.0.1 localhost n0.wild.example n16381.wild.example\n")) {
		skip("no namespaces of one's own: %s", strerror(errno));
		return done_testing();
	}
	test_full();
	return done_testing();
}
