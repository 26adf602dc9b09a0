/*
 * Limits of connections whose requests are read: rates, totals and times hold whichever way a body goes: within the kernel (plain, of known
 * length), through buffers (in chunks), through TLS.
 */
#include "inspect_world.h"

#include <signal.h>

#define HOST "Host: api.example.com\r\n"

enum { SIZE = 400000, RATE = 1000000, BURST = 200000, TOTAL = 150000 };

static const struct body {
	const char *name;
	bool tls, chunked;
} bodies[] = {
	{ "plain, of known length", false, false },
	{ "plain, in chunks", false, true },
	{ "TLS, of known length", true, false },
	{ "TLS, in chunks", true, true },
};
static char data[SIZE];
static struct conn_peer link_peer;

static void gone(struct conn_peer *peer, bool reset)
{
	(void)peer;
	(void)reset;
}

static void limits_open(void)
{
	add_rule("api.example.com:80,443", "GET,POST", "/v1/*", NULL);
	world_open();
	pool_init(&w.egress.pool);
}

static void limits_close(void)
{
	box_close();
	while (w.egress.conns)
		conn_reset(w.egress.conns, NET_ALLOWED, "the end");
	pool_done(&w.egress.pool);
	w.silent = false;
	world_close();
}

/* A connection with the timers and the waiting of a real one: box_connect() has none of them. */
static void limits_connect(bool tls)
{
	uint32_t at = pool_address(&w.egress.pool, host);
	struct net_address address = { .family = AF_INET,
				       .bytes = { (uint8_t)(at >> 24), (uint8_t)(at >> 16), (uint8_t)(at >> 8),
						  (uint8_t)at } };
	int fds[2];

	tcp_pair(fds);
	w.tls = tls;
	peer_open(&w.box, fds[0], tls ? authority_connect(w.box_trust, host) : NULL);
	link_peer = (struct conn_peer){ .gone = gone };
	conn_carry(&w.egress, fds[1], &address, tls ? 443 : 80, &link_peer);
}

/* ---- bodies ---- */

/* Until the head of a body has come to who reads it. */
static struct peer *begin(const struct body *body, enum conn_way way)
{
	struct peer *from = way == CONN_UP ? &w.box : &w.server, *to = way == CONN_UP ? &w.server : &w.box;
	char head[160], length[64];

	if (body->chunked)
		snprintf(length, sizeof(length), "Transfer-Encoding: chunked\r\n\r\n%x\r\n", SIZE);
	else
		snprintf(length, sizeof(length), "Content-Length: %d\r\n\r\n", SIZE);
	limits_connect(body->tls);
	if (way == CONN_DOWN) {
		say(&w.box, "GET /v1/a HTTP/1.1\r\n" HOST "\r\n");
		until(&w.server, "\r\n\r\n");
	}
	snprintf(head, sizeof(head), "%s%s", way == CONN_UP ? "POST /v1/a HTTP/1.1\r\n" HOST : "HTTP/1.1 200 OK\r\n",
		 length);
	say(from, head);
	until(to, "\r\n\r\n");
	return to;
}

/* As much of the body as the connection takes within two seconds. */
static void pour(const struct body *body, enum conn_way way)
{
	struct peer *from = way == CONN_UP ? &w.box : &w.server, *to = way == CONN_UP ? &w.server : &w.box;
	uint64_t end = clock_us() + 2000000;
	size_t sent = 0;

	while (link_peer.conn && to->len < SIZE && clock_us() < end) {
		ssize_t n = sent < SIZE ? stream_write(&from->stream, data + sent, SIZE - sent) : 0;

		sent += n > 0 ? (size_t)n : 0;
		turn();
	}
	if (link_peer.conn && body->chunked)
		say(from, "\r\n0\r\n\r\n");
	settle();
}

/* ---- what is limited ---- */

static void test_rate(const struct body *body, enum conn_way way, bool limited)
{
	const char *what = way == CONN_UP ? "upload" : "download";
	uint64_t began, took;
	struct peer *to;

	limits_open();
	if (limited)
		bucket_init(&w.egress.bucket[way], w.egress.loop, RATE, BURST);
	to = begin(body, way);
	began = clock_us();
	pour(body, way);
	took = (clock_us() - began) / 1000;
	ok(to->len >= SIZE, "%s: %s: all of it comes", body->name, what);
	if (limited)
		ok(took >= (SIZE - BURST) / (RATE / 1000) * 9 / 10, "%s: not faster than %s says (%" PRIu64 " ms)",
		   body->name, what, took);
	else
		ok(took < (SIZE - BURST) / (RATE / 1000) * 9 / 10,
		   "%s: control: without a limit at once (%" PRIu64 " ms)", body->name, took);
	limits_close();
}

static void test_total(const struct body *body, enum conn_way way)
{
	const char *what = way == CONN_UP ? "upload_total" : "download_total";
	const struct net_event *event;
	struct peer *to;

	limits_open();
	*(way == CONN_UP ? &w.egress.config.upload_total : &w.egress.config.download_total) = TOTAL;
	to = begin(body, way);
	pour(body, way);
	ok(!link_peer.conn && to->len <= TOTAL, "%s: %s ends it", body->name, what);
	event = event_of(NET_EVENT_CONNECTION, 0);
	ok(event && event->decision == NET_REFUSED && strstr(event->reason, what), "%s: %s: which is told: %s",
	   body->name, what, event ? event->reason : "nothing");
	is_num(event ? (way == CONN_UP ? event->up_bytes : event->down_bytes) : 0, TOTAL, "%s: %s: to the byte",
	       body->name, what);
	box_close();
	limits_connect(body->tls);
	event = event_of(NET_EVENT_CONNECTION, 0);
	ok(event && event->decision == NET_REFUSED && strstr(event->reason, "used up"),
	   "%s: %s: there is no other after it", body->name, what);
	limits_close();
}

static void test_idle(const struct body *body)
{
	const struct net_event *event;
	uint64_t began;
	char byte[] = "x";

	limits_open();
	w.egress.config.idle_timeout_ms = 150;
	begin(body, CONN_DOWN);
	world_ms = 10;
	for (int i = 0; i < 8 && link_peer.conn; i++) {
		say(&w.server, byte);
		for (int wait = 0; wait < 3; wait++)
			turn();
	}
	ok(link_peer.conn, "%s: control: one byte now and then is enough for idle_timeout", body->name);
	began = clock_us();
	while (link_peer.conn && clock_us() < began + 2000000)
		turn();
	ok(!link_peer.conn && clock_us() - began > 50000, "%s: in the middle of a body, silence ends it", body->name);
	world_ms = 1;
	event = event_of(NET_EVENT_CONNECTION, 0);
	ok(event && event->decision == NET_FAILED && strstr(event->reason, "idle_timeout"), "%s: which is told: %s",
	   body->name, event ? event->reason : "nothing");
	limits_close();
}

/* A server that is connected to and never begins TLS. */
static void test_silent(bool silent)
{
	const struct net_event *event;
	uint64_t began = clock_us();

	world_ms = 10;
	limits_open();
	w.egress.config.connect_timeout_ms = 200;
	w.silent = silent;
	limits_connect(true);
	say(&w.box, "GET /v1/a HTTP/1.1\r\n" HOST "\r\n");
	while (link_peer.conn && clock_us() < began + (silent ? 2000000 : 500000))
		turn();
	is_num(w.dials, 1, "a server that accepts and %s", silent ? "says nothing" : "begins TLS");
	if (silent) {
		ok(until_over(&w.box), "is not waited for longer than connect_timeout");
		event = event_of(NET_EVENT_CONNECTION, 0);
		ok(event && event->decision == NET_FAILED && strstr(event->reason, "connect_timeout"),
		   "which is told: %s", event ? event->reason : "nothing");
	} else {
		ok(link_peer.conn && strstr(w.server.got, "GET /v1/a"),
		   "control: has the request, and the time that it takes");
	}
	limits_close();
	world_ms = 1;
}

int main(void)
{
	signal(SIGPIPE, SIG_IGN);
	memset(data, 'a', sizeof(data));
	for (size_t i = 0; i < ARRAY_LEN(bodies); i++) {
		for (int way = 0; way < 2; way++) {
			test_rate(&bodies[i], (enum conn_way)way, true);
			test_rate(&bodies[i], (enum conn_way)way, false);
			test_total(&bodies[i], (enum conn_way)way);
		}
		test_idle(&bodies[i]);
	}
	test_silent(true);
	test_silent(false);
	return done_testing();
}
