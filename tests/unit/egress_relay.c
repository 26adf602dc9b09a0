/* Connections through egress: half-close, backpressure, resets, amounts, limits and refusals, told as events. */
#include "egress_world.h"

static struct world world;
static uint16_t server_port, box_port;
static int server;

static void start(struct net_config *config)
{
	char rule[64];

	server = world_bind("127.0.0.1", SOCK_STREAM, 0, &server_port);
	snprintf(rule, sizeof(rule), "127.0.0.1:%u/tcp", server_port);
	world_rule(config, rule, true);
	ok(world_start(&world, config, NULL), "egress is ready");
	box_port = world_listen(&world, server_port);
}

static void stop(void)
{
	close(server);
	is_num(world_end(&world), 0, "egress ends with its box");
}

/* Both ends of a connection through egress. */
static bool pair(int *ret_client, int *ret_server)
{
	*ret_client = world_connect("127.0.0.1", box_port);
	*ret_server = accept4(server, NULL, NULL, SOCK_CLOEXEC);
	return *ret_client >= 0 && *ret_server >= 0;
}

static void test_half_close(void)
{
	struct net_config config;
	struct net_event event;
	int client, far;

	world_config(&config);
	start(&config);

	ok(pair(&client, &far), "a connection");
	ok(write(client, "q", 1) == 1 && world_read(far) == 'q', "a byte up");
	shutdown(client, SHUT_WR);
	is_num((uint64_t)world_read(far), 'E', "the box's end arrives");
	ok(write(far, "abc", 3) == 3 && world_read(client) == 'a', "and the answer still comes back");
	close(far);
	ok(world_read(client) == 'b' && world_read(client) == 'c' && world_read(client) == 'E', "to its end");
	close(client);
	ok(world_event(&world, NET_EVENT_CONNECTION, &event), "it is told");
	is_num(event.decision, NET_ALLOWED, "as allowed");
	is_str(event.host, "127.0.0.1", "with its place");
	is_str(event.address, "127.0.0.1", "what was dialled");
	is_num(event.port, server_port, "the port");
	is_num(event.up_bytes, 1, "the bytes up");
	is_num(event.down_bytes, 3, "the bytes down");
	ok(event.duration_us > 0 && event.time_us > 0 && strstr(event.rule, "127.0.0.1"), "time, and the rule");

	ok(pair(&client, &far), "another one");
	shutdown(far, SHUT_WR);
	is_num((uint64_t)world_read(client), 'E', "the server's end arrives");
	ok(write(client, "xy", 2) == 2 && world_read(far) == 'x' && world_read(far) == 'y', "the box may still send");
	close(client);
	is_num((uint64_t)world_read(far), 'E', "to its end");
	close(far);
	ok(world_event(&world, NET_EVENT_CONNECTION, &event) && event.up_bytes == 2, "told as well");
	stop();
}

static void reset(int fd)
{
	const struct linger linger = { 1, 0 };

	setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger));
	close(fd);
}

static void test_reset(void)
{
	struct net_config config;
	struct net_event event;
	int client, far;

	world_config(&config);
	start(&config);
	pair(&client, &far);
	ok(write(far, "z", 1) == 1 && world_read(client) == 'z', "a byte");
	reset(far);
	is_num((uint64_t)world_read(client), 'R', "the server's reset reaches the box");
	close(client);
	ok(world_event(&world, NET_EVENT_CONNECTION, &event) && event.decision == NET_FAILED, "told as failed: %s",
	   event.reason);

	pair(&client, &far);
	ok(write(far, "z", 1) == 1 && world_read(client) == 'z', "a byte");
	reset(client);
	is_num((uint64_t)world_read(far), 'R', "the box's reset reaches the server");
	close(far);
	ok(world_event(&world, NET_EVENT_CONNECTION, &event) && event.decision == NET_ALLOWED, "told: %s",
	   event.reason);

	pair(&client, &far);
	shutdown(client, SHUT_WR);
	is_num((uint64_t)world_read(far), 'E', "a half-closed one");
	reset(client);
	/* After an end of file recv() goes on to say just that; the error is there all the same. */
	ok(poll(&(struct pollfd){ .fd = far, .events = POLLPRI }, 1, 2000) == 1, "and its reset after that");
	close(far);
	stop();
}

enum { BIG = 64 << 20, CHUNK = 65536 };

/* Position-dependent, so that nothing can be swapped or lost. */
static void fill(unsigned char *data, size_t at)
{
	for (size_t i = 0; i < CHUNK; i++)
		data[i] = (unsigned char)((at + i) * 2654435761u >> 24);
}

static void send_big(int fd, size_t size)
{
	unsigned char data[CHUNK];

	for (size_t at = 0; at < size; at += CHUNK) {
		fill(data, at);
		if (fd_write_all(fd, data, CHUNK) < 0)
			break;
	}
}

static bool receive_big(int fd, size_t size)
{
	unsigned char data[CHUNK], want[CHUNK];

	for (size_t at = 0; at < size; at += CHUNK) {
		fill(want, at);
		if (fd_read_full(fd, data, CHUNK) != CHUNK || memcmp(data, want, CHUNK) != 0)
			return false;
	}
	return world_read(fd) == 'E';
}

static void test_backpressure(void)
{
	struct net_config config;
	struct net_event event;
	int client, far;
	long before, after;
	pid_t pid;

	world_config(&config);
	start(&config);
	ok(pair(&client, &far), "a connection");
	before = world_rss(world.pid);
	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		close(client);
		send_big(far, BIG);
		_exit(0);
	}
	close(far);
	usleep(300000); /* a slow reader: everything on the way is full by now */
	after = world_rss(world.pid);
	is_num((uint64_t)waitpid(pid, NULL, WNOHANG), 0, "the sender waits for its reader");
	ok(receive_big(client, BIG), "64 MiB arrive whole, in order, and end");
	ok(after - before < 2048, "egress holds none of it (%ld kB more)", after - before);
	waitpid(pid, NULL, 0);
	close(client);
	ok(world_event(&world, NET_EVENT_CONNECTION, &event), "it is told");
	is_num(event.down_bytes, BIG, "with every byte");

	ok(pair(&client, &far), "the other way");
	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		close(far);
		send_big(client, BIG / 4);
		shutdown(client, SHUT_WR);
		_exit(0);
	}
	ok(receive_big(far, BIG / 4), "16 MiB up");
	close(far);
	close(client);
	waitpid(pid, NULL, 0);
	ok(world_event(&world, NET_EVENT_CONNECTION, &event), "it is told");
	is_num(event.up_bytes, BIG / 4, "with every byte");
	stop();
}

static void test_rate(void)
{
	struct net_config config;
	int client, far, client2, far2;
	double begin, took;
	pid_t pid;

	world_config(&config);
	config.download_bps = 4 << 20;
	start(&config);
	ok(pair(&client, &far) && pair(&client2, &far2), "two connections under 4 MiB/s");
	fflush(stdout);
	begin = world_time();
	pid = fork();
	if (pid == 0) {
		if (fork() == 0) {
			send_big(far2, 2 << 20);
			_exit(0);
		}
		send_big(far, 2 << 20);
		_exit(0);
	}
	close(far);
	close(far2);
	fflush(stdout);
	if (fork() == 0) {
		_exit(receive_big(client2, 2 << 20) ? 0 : 1);
	}
	ok(receive_big(client, 2 << 20), "2 MiB arrive");
	ok(waitpid(pid, NULL, 0) == pid && wait(NULL) > 0, "both");
	took = world_time() - begin;
	/* 4 MiB, less a burst of a fifth of a second's worth. */
	ok(took > 0.6 && took < 1.5, "the whole box has one rate: 4 MiB took %.2f s", took);
	close(client);
	close(client2);
	stop();
}

static void test_limits(void)
{
	struct net_config config;
	struct net_event event;
	int client[4], far[4];
	char data[8192] = { 0 };
	size_t got = 0;
	ssize_t n;
	double begin;

	world_config(&config);
	config.connections = 2;
	config.download_total = 5000;
	config.idle_timeout_ms = 300;
	start(&config);
	ok(pair(&client[0], &far[0]) && pair(&client[1], &far[1]), "two connections");
	client[2] = world_connect("127.0.0.1", box_port);
	is_num((uint64_t)world_read(client[2]), 'R', "the third is one too many");
	ok(world_event(&world, NET_EVENT_CONNECTION, &event) && event.decision == NET_REFUSED, "told: %s",
	   event.reason);
	is_str(event.allow, "a larger network.connections", "and what would allow it");
	close(client[1]);
	close(far[1]);
	world_event(&world, NET_EVENT_CONNECTION, &event);
	ok(pair(&client[1], &far[1]), "one ends, another may come");
	begin = world_time();
	is_num((uint64_t)world_read(client[1]), 'R', "nothing moves: it is ended");
	ok(world_time() - begin < 2, "after its idle timeout");
	is_num((uint64_t)world_read(far[0]), 'R', "and so is the other one");
	for (int i = 0; i < 3; i++) {
		close(client[i]);
		if (i < 2)
			close(far[i]);
	}
	while (world_event(&world, NET_EVENT_CONNECTION, &event) && !strstr(event.reason, "idle"))
		;
	ok(strstr(event.reason, "idle_timeout"), "told: %s", event.reason);
	ok(pair(&client[0], &far[0]), "a new one");
	ok(write(far[0], data, sizeof(data)) == sizeof(data), "8192 bytes are sent");
	while ((n = recv(client[0], data, sizeof(data), 0)) > 0)
		got += (size_t)n;
	is_num(got, 5000, "5000 come, which is the total");
	close(client[0]);
	close(far[0]);
	client[0] = world_connect("127.0.0.1", box_port);
	is_num((uint64_t)world_read(client[0]), 'R', "and then no connection");
	close(client[0]);
	stop();
}

/* As many as are allowed, again and again: one that has ended does not stand in the way of the next. */
static void test_next(void)
{
	enum { ROUNDS = 300 };
	struct net_config config;
	int client, far, good = 0;

	world_config(&config);
	config.connections = 1;
	start(&config);
	for (int i = 0; i < ROUNDS; i++) {
		if (!pair(&client, &far))
			break;
		close(far);
		if (world_read(client) == 'E')
			good++;
		close(client);
	}
	is_num((uint64_t)good, ROUNDS, "one connection at a time, one right after the other");
	stop();
}

static void test_refused(void)
{
	struct net_config config;
	struct net_event event;
	uint16_t other, closed;
	int client, probe;
	char rule[64];

	world_config(&config);
	probe = world_bind("127.0.0.1", SOCK_STREAM, 0, &closed);
	close(probe);
	snprintf(rule, sizeof(rule), "127.0.0.1:%u/tcp", closed);
	world_rule(&config, rule, true);
	start(&config);
	other = world_listen(&world, 4444);
	client = world_connect("127.0.0.1", other);
	is_num((uint64_t)world_read(client), 'R', "a port without a rule is reset");
	close(client);
	ok(world_event(&world, NET_EVENT_CONNECTION, &event) && event.decision == NET_REFUSED, "told: %s",
	   event.reason);
	is_str(event.allow, "--allow-cidr 127.0.0.1:4444/tcp", "and what would allow it");
	is_str(event.address, "", "nothing was dialled");
	client = world_connect("127.0.0.2", box_port);
	is_num((uint64_t)world_read(client), 'R', "an address without a rule is reset");
	close(client);
	client = world_connect("198.18.0.77", box_port);
	is_num((uint64_t)world_read(client), 'R', "an address of the pool that stands for nobody, too");
	close(client);
	ok(world_event(&world, NET_EVENT_CONNECTION, &event) && world_event(&world, NET_EVENT_CONNECTION, &event),
	   "told: %s", event.reason);
	other = world_listen(&world, closed);
	client = world_connect("127.0.0.1", other);
	is_num((uint64_t)world_read(client), 'R', "a server that is not there is a reset");
	close(client);
	ok(world_event(&world, NET_EVENT_CONNECTION, &event) && event.decision == NET_FAILED, "told as failed: %s",
	   event.reason);
	stop();
}

int main(void)
{
	if (!world_enter()) {
		skip("no network namespace of one's own: %s", strerror(errno));
		return done_testing();
	}
	alarm(60);
	test_half_close();
	test_reset();
	test_refused();
	test_limits();
	test_next();
	test_backpressure();
	test_rate();
	return done_testing();
}
