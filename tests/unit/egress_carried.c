/*
 * Connections that are carried to egress over a stream. The test speaks for the inside, frame by frame: what is allowed and refused, half-close,
 * resets, credit, many at once, and everything that an honest inside would not say. egress_carried_box.c has the real inside.
 */
#include "egress_world.h"
#include "stream/carry.h"

enum { LOOPBACK = 0x7f000001, MANY = 300, BIG = 4 << 20 };

static struct world world;
static uint16_t server_port;
static int server, stream;
static struct frame_reader reader;

/* ---- the inside ---- */

static void say(const struct carry_frame *f)
{
	auto_str struct str out = { 0 };

	carry_put(&out, f);
	if (fd_write_all(stream, out.data, out.len) < 0)
		note("say %d: %s", (int)f->type, strerror(errno));
}

static void say_open(uint32_t id, uint32_t address, uint16_t port)
{
	say(&(struct carry_frame){ .type = CARRY_OPEN, .id = id, .address = address, .port = port });
}

static void say_of(enum carry_type type, uint32_t id)
{
	say(&(struct carry_frame){ .type = type, .id = id });
}

static void say_data(uint32_t id, const void *data, size_t len)
{
	say(&(struct carry_frame){ .type = CARRY_DATA, .id = id, .data = data, .len = len });
}

static void say_credit(uint32_t id, size_t n)
{
	say(&(struct carry_frame){ .type = CARRY_CREDIT, .id = id, .number = (uint32_t)n });
}

/* The next frame, within so long; false: none came, or the stream is over. */
static bool hear_for(struct carry_frame *ret, int ms)
{
	struct pollfd wait = { .fd = stream, .events = POLLIN };
	int r;

	while ((r = carry_next(&reader, ret)) == 0) {
		size_t room;
		void *to = frame_room(&reader, &room);
		ssize_t n = poll(&wait, 1, ms) == 1 ? recv(stream, to, room, 0) : 0;

		if (n <= 0)
			return false;
		frame_added(&reader, (size_t)n);
	}
	return r == 1;
}

static bool hear(enum carry_type type, uint32_t id)
{
	struct carry_frame f = { 0 };
	bool good = hear_for(&f, 2000) && f.type == type && f.id == id;

	if (!good)
		note("heard %d of %u, not %d of %u", (int)f.type, f.id, (int)type, id);
	return good;
}

static bool hear_data(uint32_t id, const char *text)
{
	struct carry_frame f = { 0 };

	return hear_for(&f, 2000) && f.type == CARRY_DATA && f.id == id && f.len == strlen(text) &&
	       memcmp(f.data, text, f.len) == 0;
}

/* The stream ends within two seconds, whatever is said before. */
static bool stream_ends(void)
{
	struct pollfd wait = { .fd = stream, .events = POLLIN };
	char data[4096];
	ssize_t n = 1;

	while (n > 0 && poll(&wait, 1, 2000) == 1)
		n = recv(stream, data, sizeof(data), 0);
	return n <= 0;
}

static uint32_t ask(uint32_t id, const char *name, int *ret_rcode)
{
	uint8_t q[300] = { 0x12, 0x34, 1, 0, 0, 1 };
	const uint8_t *a;
	struct carry_frame f = { .type = CARRY_QUERY, .id = id, .data = q };
	size_t n = 12;

	for (const char *p = name; *p;) {
		size_t len = strcspn(p, ".");

		q[n++] = (uint8_t)len;
		memcpy(q + n, p, len);
		n += len;
		p += len + (p[len] == '.');
	}
	q[n + 2] = q[n + 4] = 1;
	f.len = n + 5;
	say(&f);
	*ret_rcode = -1;
	if (!hear_for(&f, 2000) || f.type != CARRY_ANSWER || f.id != id || f.len < 16)
		return 0;
	a = f.data;
	*ret_rcode = a[3] & 15;
	a += f.len - 4;
	return *ret_rcode ? 0 : (uint32_t)a[0] << 24 | (uint32_t)a[1] << 16 | (uint32_t)a[2] << 8 | a[3];
}

/* ---- around it ---- */

static void attach(void)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		abort();
	reader.at = reader.end = 0;
	stream = pair[0];
	world_hand(&world, pair[1], NET_CAPTURE_STREAM, 0, false);
}

static void start(struct net_config *config)
{
	char rule[64];

	server = world_bind("127.0.0.1", SOCK_STREAM, 0, &server_port);
	snprintf(rule, sizeof(rule), "127.0.0.1:%u/tcp", server_port);
	world_rule(config, rule, true);
	ok(world_start(&world, config, NULL), "egress is ready");
	attach();
}

static void stop(void)
{
	close(server);
	close(stream);
	is_num(world_end(&world), 0, "egress ends with its box");
}

static int opened(uint32_t id)
{
	struct pollfd wait = { .fd = server, .events = POLLIN };

	say_open(id, LOOPBACK, server_port);
	return poll(&wait, 1, 2000) == 1 ? accept4(server, NULL, NULL, SOCK_CLOEXEC) : -1;
}

/* One that is relayed by now. */
static int joined(uint32_t id)
{
	int far = opened(id);

	return write(far, "o", 1) == 1 && hear_data(id, "o") ? far : -1;
}

static void reset(int fd)
{
	const struct linger linger = { 1, 0 };

	setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger));
	close(fd);
}

static bool told(enum net_event_decision decision, const char *reason, struct net_event *ret)
{
	bool good = world_event(&world, NET_EVENT_CONNECTION, ret) && ret->decision == decision &&
		    strstr(ret->reason, reason);

	if (!good)
		note("event %u: %s", ret->decision, ret->reason);
	return good;
}

static void test_half_close(void)
{
	struct net_config config;
	struct net_event event;
	int far;

	world_config(&config);
	start(&config);
	far = opened(0);
	ok(far >= 0, "an allowed address is dialled");
	say_data(0, "q", 1);
	is_num((uint64_t)world_read(far), 'q', "a byte up");
	say_of(CARRY_END, 0);
	is_num((uint64_t)world_read(far), 'E', "the box's end arrives");
	ok(write(far, "abc", 3) == 3 && hear_data(0, "abc"), "and the answer still comes back");
	close(far);
	ok(hear(CARRY_END, 0) && hear(CARRY_CLOSE, 0), "to its end");
	say_of(CARRY_CLOSE, 0);
	ok(told(NET_ALLOWED, "", &event), "it is told");
	is_str(event.host, "127.0.0.1", "with its place");
	is_num(event.port, server_port, "the port");
	is_num(event.up_bytes, 1, "the bytes up");
	is_num(event.down_bytes, 3, "the bytes down");

	far = opened(0);
	ok(far >= 0, "the same id once more");
	shutdown(far, SHUT_WR);
	ok(hear(CARRY_END, 0), "the server's end arrives");
	say_data(0, "xy", 2);
	ok(world_read(far) == 'x' && world_read(far) == 'y', "the box may still send");
	say_of(CARRY_END, 0);
	is_num((uint64_t)world_read(far), 'E', "to its end");
	close(far);
	ok(hear(CARRY_CLOSE, 0), "both ways are over");
	say_of(CARRY_CLOSE, 0);
	ok(told(NET_ALLOWED, "", &event) && event.up_bytes == 2, "told as well");
	stop();
}

static void test_reset(void)
{
	struct net_config config;
	struct net_event event;
	int far;

	world_config(&config);
	start(&config);
	far = opened(1);
	ok(write(far, "z", 1) == 1 && hear_data(1, "z"), "a byte");
	reset(far);
	ok(hear(CARRY_RESET, 1), "the server's reset reaches the box");
	ok(told(NET_FAILED, "reset by the other side", &event), "told as failed");
	say_data(1, "late", 4);
	say_of(CARRY_RESET, 1);

	far = opened(1);
	ok(write(far, "z", 1) == 1 && hear_data(1, "z"), "a byte of another");
	say_of(CARRY_RESET, 1);
	is_num((uint64_t)world_read(far), 'R', "the box's reset reaches the server");
	ok(hear(CARRY_RESET, 1), "and is answered");
	ok(told(NET_ALLOWED, "reset by the box", &event), "told");
	close(far);

	far = opened(1);
	say_of(CARRY_END, 1);
	is_num((uint64_t)world_read(far), 'E', "a half-closed one");
	say_of(CARRY_RESET, 1);
	ok(poll(&(struct pollfd){ .fd = far, .events = POLLPRI }, 1, 2000) == 1, "and its reset after that");
	ok(hear(CARRY_RESET, 1) && told(NET_ALLOWED, "reset by the box", &event), "told");
	close(far);
	stop();
}

static void test_refused(void)
{
	struct net_config config;
	struct net_event event;

	world_config(&config);
	config.connections = 1;
	start(&config);
	say_open(7, LOOPBACK, 4444);
	say_data(7, "before it knows", 15);
	ok(hear(CARRY_RESET, 7), "a port without a rule is reset");
	ok(told(NET_REFUSED, "", &event), "told: %s", event.reason);
	is_str(event.allow, "--allow-cidr 127.0.0.1:4444/tcp", "and what would allow it");
	is_str(event.address, "", "nothing was dialled");
	say_of(CARRY_RESET, 7);
	say_open(7, LOOPBACK + 1, server_port);
	ok(hear(CARRY_RESET, 7) && told(NET_REFUSED, "", &event), "an address without a rule, too: %s", event.reason);
	say_of(CARRY_CLOSE, 7);
	say_open(8, 0xc612004d, server_port);
	ok(hear(CARRY_RESET, 8) && told(NET_REFUSED, "no name has this address", &event), "nobody's address, too");
	ok(joined(9) >= 0, "control: one connection");
	say_open(10, LOOPBACK, server_port);
	ok(hear(CARRY_RESET, 10) && told(NET_REFUSED, "more than 1 connections", &event), "the limit is the same");
	stop();
}

static void test_names(void)
{
	struct net_config config;
	struct net_event event;
	uint32_t address;
	uint8_t question[] = { 0, 22, 0, 1, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 4, 'e', 'v', 'i', 'l', 0, 0, 1, 0, 1 };
	struct carry_frame f;
	int rcode, far;
	char rule[64];

	server = world_bind("127.0.0.1", SOCK_STREAM, 0, &server_port);
	world_config(&config);
	config.rules.allow_private = true;
	snprintf(rule, sizeof(rule), "here.example:%u/tcp", server_port);
	world_rule(&config, rule, false);
	ok(world_start(&world, &config, NULL), "egress is ready");
	attach();
	address = ask(77, "here.example", &rcode);
	ok(rcode == 0 && address >> 16 == 0xc612, "an allowed name has an address of the pool");
	ok(world_event(&world, NET_EVENT_DNS, &event) && event.decision == NET_ALLOWED, "told");
	ok(ask(78, "evil.example", &rcode) == 0 && rcode == 3, "another name does not exist");
	ok(world_event(&world, NET_EVENT_DNS, &event) && event.decision == NET_REFUSED, "told");
	is_str(event.allow, "--allow evil.example", "and what would allow it");
	far = (say_open(3, address, server_port), accept4(server, NULL, NULL, SOCK_CLOEXEC));
	say_data(3, "u", 1);
	is_num((uint64_t)world_read(far), 'u', "a connection by name");
	close(far);
	ok(hear(CARRY_END, 3), "ends");
	say_of(CARRY_END, 3);
	ok(hear(CARRY_CLOSE, 3), "in order");
	say_of(CARRY_CLOSE, 3);
	ok(told(NET_ALLOWED, "", &event), "it is told");
	is_str(event.host, "here.example", "with its name");
	is_str(event.address, "127.0.0.1", "and what was dialled");
	say_open(4, 0x09090909, 53);
	say_data(4, question, sizeof(question));
	ok(hear_for(&f, 2000) && f.type == CARRY_DATA && f.len > 12 && (((const uint8_t *)f.data)[5] & 15) == 3,
	   "names over TCP, at any address");
	say_of(CARRY_END, 4);
	ok(hear(CARRY_END, 4) && hear(CARRY_CLOSE, 4), "to the end");
	say_of(CARRY_CLOSE, 4);
	say(&(struct carry_frame){ .type = CARRY_ATTEMPT, .protocol = 6, .address = address, .port = 22 });
	ok(world_event(&world, NET_EVENT_ATTEMPT, &event) && event.port == 22, "an attempt is told: %s", event.reason);
	is_str(event.host, "here.example", "with its name");
	is_str(event.allow, "--allow here.example:22/tcp", "and what would allow it");
	say(&(struct carry_frame){ .type = CARRY_ATTEMPT, .protocol = 17, .address = address, .port = 443 });
	ok(world_event(&world, NET_EVENT_ATTEMPT, &event) && strstr(event.reason, "UDP"), "so is UDP");
	say(&(struct carry_frame){ .type = CARRY_ATTEMPT, .id = 5, .protocol = 6, .address = address, .port = 23 });
	ok(hear_for(&f, 2000) && f.type == CARRY_VERDICT && f.id == 5 && f.number == 0, "one that asks is refused");
	say(&(struct carry_frame){
		.type = CARRY_ATTEMPT, .id = 6, .protocol = 6, .address = address, .port = server_port });
	ok(hear_for(&f, 2000) && f.type == CARRY_VERDICT && f.id == 6 && f.number == 1, "or allowed, by the rules");
	stop();
}

/* A line whose bytes nobody takes, and another beside it. */
static void test_credit(void)
{
	struct net_config config;
	static char data[CARRY_PIECE];
	struct carry_frame f;
	size_t got = 0, flowed = 0, up = 0;
	int slow, quick;
	pid_t pid, other;
	long before;

	world_config(&config);
	start(&config);
	slow = opened(1);
	quick = opened(2);
	before = world_rss(world.pid);
	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		close(stream);
		while (write(slow, data, sizeof(data)) > 0)
			;
		_exit(0);
	}
	while (hear_for(&f, 300) && f.type == CARRY_DATA && f.id == 1)
		got += f.len;
	is_num(got, CARRY_WINDOW, "without credit a window comes and no more");
	is_num((uint64_t)waitpid(pid, NULL, WNOHANG), 0, "its sender waits");
	other = fork();
	if (other == 0) {
		for (size_t sent = 0; sent < BIG; sent += sizeof(data))
			if (fd_write_all(quick, data, sizeof(data)) < 0)
				break;
		_exit(0);
	}
	close(slow);
	while (flowed < BIG && hear_for(&f, 2000) && f.type == CARRY_DATA && f.id == 2) {
		flowed += f.len;
		say_credit(2, f.len);
	}
	is_num(flowed, BIG, "another line flows meanwhile");
	while (up < BIG && (say_data(2, data, sizeof(data)), up += sizeof(data), true)) {
		if (fd_read_full(quick, data, sizeof(data)) != sizeof(data))
			break;
		while (up % CARRY_WINDOW == 0 && hear_for(&f, 2000) && f.type != CARRY_CREDIT)
			;
	}
	is_num(up, BIG, "in both directions");
	ok(world_rss(world.pid) - before < 2048, "egress holds none of it (%ld kB more)",
	   world_rss(world.pid) - before);
	say_credit(1, CARRY_WINDOW);
	for (got = 0; got < CARRY_WINDOW && hear_for(&f, 2000);)
		got += f.id == 1 ? f.len : 0;
	is_num(got, CARRY_WINDOW, "with credit the slow one goes on");
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	waitpid(other, NULL, 0);
	close(quick);
	stop();
}

static void test_many(void)
{
	struct net_config config;
	struct net_event event;
	static int far[MANY];
	size_t answered = 0, ended = 0, events = 0;
	struct carry_frame f;

	world_config(&config);
	start(&config);
	for (uint32_t i = 0; i < MANY; i++)
		say_open(i * 13, LOOPBACK, server_port);
	for (int i = 0; i < MANY; i++)
		far[i] = accept4(server, NULL, NULL, SOCK_CLOEXEC);
	for (uint32_t i = 0; i < MANY; i++)
		say_data(i * 13, &(uint8_t){ (uint8_t)i }, 1);
	for (int i = 0; i < MANY; i++) {
		char byte;

		if (recv(far[i], &byte, 1, 0) == 1 && write(far[i], &byte, 1) == 1)
			close(far[i]);
	}
	while (ended < MANY && hear_for(&f, 2000)) {
		answered += f.type == CARRY_DATA && f.len == 1 && *(const uint8_t *)f.data == (uint8_t)(f.id / 13);
		ended += f.type == CARRY_END;
		if (f.type == CARRY_END)
			say_of(CARRY_END, f.id);
	}
	is_num(answered, MANY, "of %d lines at once each has its own answer", MANY);
	is_num(ended, MANY, "and its end");
	while (events < MANY && told(NET_ALLOWED, "", &event) && event.up_bytes == 1 && event.down_bytes == 1)
		events++;
	is_num(events, MANY, "each is told");
	stop();
}

/* ---- what an honest inside does not say ---- */

static void open_and(const struct carry_frame *frames, size_t n, const char *what)
{
	auto_str struct str all = { 0 };
	struct net_config config;
	struct net_event event;
	int far, client;
	uint16_t port;

	world_config(&config);
	start(&config);
	far = joined(1);
	for (size_t i = 0; i < n; i++)
		carry_put(&all, &frames[i]);
	/* At once: or the first has its effect before the last is read. */
	if (fd_write_all(stream, all.data, all.len) < 0)
		note("say: %s", strerror(errno));
	ok(stream_ends(), "%s: the stream is closed", what);
	is_num((uint64_t)world_read(far), 'R', "its connections end");
	while (world_event(&world, NET_EVENT_CONNECTION, &event) && event.decision == NET_REFUSED)
		;
	ok(event.decision == NET_FAILED && strstr(event.reason, "cannot be"), "told: %s", event.reason);
	close(far);
	port = world_listen(&world, server_port);
	client = world_connect("127.0.0.1", port);
	far = accept4(server, NULL, NULL, SOCK_CLOEXEC);
	ok(write(client, "u", 1) == 1 && world_read(far) == 'u', "egress is as ever");
	close(client);
	close(far);
	stop();
}
#define OPEN_AND(what, ...)                                   \
	open_and((const struct carry_frame[]){ __VA_ARGS__ }, \
		 sizeof((const struct carry_frame[]){ __VA_ARGS__ }) / sizeof(struct carry_frame), what)

static void test_hostile(void)
{
	static char data[CARRY_PIECE];
	const struct carry_frame piece = { .type = CARRY_DATA, .id = 2, .data = data, .len = sizeof(data) };

	OPEN_AND("a line twice", { .type = CARRY_OPEN, .id = 1, .address = LOOPBACK, .port = 80 });
	OPEN_AND("a line beyond the last", { .type = CARRY_OPEN, .id = CARRY_LINES, .port = 80 });
	OPEN_AND("data of no line", { .type = CARRY_DATA, .id = 2, .data = data, .len = 1 });
	OPEN_AND("credit that was never used", { .type = CARRY_CREDIT, .id = 1, .number = 2 });
	OPEN_AND("data after the end", { .type = CARRY_END, .id = 1 },
		 { .type = CARRY_DATA, .id = 1, .data = data, .len = 1 });
	OPEN_AND("the last word twice", { .type = CARRY_OPEN, .id = 2, .address = LOOPBACK, .port = 1 },
		 { .type = CARRY_RESET, .id = 2 }, { .type = CARRY_RESET, .id = 2 });
	OPEN_AND("more than the window", { .type = CARRY_OPEN, .id = 2, .address = LOOPBACK, .port = 1 }, piece, piece,
		 piece);
	OPEN_AND("an answer", { .type = CARRY_ANSWER, .id = 1, .data = data, .len = 1 });
	OPEN_AND("a protocol that is none", { .type = CARRY_ATTEMPT, .id = 1, .protocol = 1 });
	OPEN_AND("no frame at all", { .type = CARRY_TYPES - 1, .id = 1 }, { .type = CARRY_DATA, .id = 1 });
}

static void test_death(void)
{
	struct net_config config;
	struct net_event event;
	int far[3];

	world_config(&config);
	start(&config);
	for (uint32_t i = 0; i < 3; i++)
		far[i] = joined(i);
	say_data(0, "half of somethi", 15);
	ok(write(stream, "\4\1\0", 3) == 3, "a frame that is cut off");
	close(stream);
	for (int i = 0; i < 3; i++) {
		char c = world_read(far[i]);

		while (c != 'R' && c != 'E' && c != '?')
			c = world_read(far[i]);
		is_num((uint64_t)c, 'R', "connection %d ends with the stream", i);
		ok(told(NET_FAILED, "the box's stream ended", &event), "told");
		close(far[i]);
	}
	stream = -1;
	stop();
}

int main(void)
{
	if (!world_enter() || !world_file("/etc/hosts", "127.0.0.1 here.example\n")) {
		skip("no network namespace of one's own: %s", strerror(errno));
		return done_testing();
	}
	alarm(60);
	test_half_close();
	test_reset();
	test_refused();
	test_names();
	test_credit();
	test_many();
	test_hostile();
	test_death();
	return done_testing();
}
