/* The inspecting engine between requests and around long bodies: what waits holds nothing, and what follows a body is looked at. */
#include "egress/inspect_state.h"
#include "inspect_world.h"

#include <signal.h>

#define HOST "Host: api.example.com\r\n"
#define OK_RESPONSE "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"

static void rules_plain(void)
{
	add_rule("api.example.com:80,443", "GET,HEAD,POST", "/v1/*", NULL);
}

/* ---- memory ---- */

static bool holds_buffers(void)
{
	const struct inspect *x = w.egress.conns ? w.egress.conns->engine : NULL;

	return !x || x->client_in.base || x->client_out.base || x->upstream_in.base || x->upstream_out.base;
}

/* What the server would send as TLS, in pieces: what is waited for is in the middle of a record more often than not. */
static void say_in_pieces(const char *text, size_t piece)
{
	BIO *bio = SSL_get_rbio(w.server.stream.ssl), *memory = BIO_new(BIO_s_mem());
	char *data;
	long len;

	BIO_up_ref(bio);
	SSL_set0_wbio(w.server.stream.ssl, memory);
	SSL_new_session_ticket(w.server.stream.ssl);
	stream_write(&w.server.stream, text, strlen(text));
	len = BIO_get_mem_data(memory, &data);
	for (long at = 0; at < len; at += (long)piece) {
		long left = len - at;

		(void)!send(w.server.fd, data + at, (size_t)left < piece ? (size_t)left : piece, MSG_NOSIGNAL);
		turn();
	}
	SSL_set0_wbio(w.server.stream.ssl, bio);
}

/* A connection that waits holds nothing, and goes on as if it had. */
static void test_rests(bool tls)
{
	const char *how = tls ? "TLS" : "plain";

	rules_plain();
	world_open();
	box_connect(tls);
	for (int round = 0; round < 3; round++) {
		forget(&w.server);
		forget(&w.box);
		say(&w.box, "GET /v1/a HTTP/1.1\r\nHost: api.example.com\r\n\r\n");
		until(&w.server, "\r\n\r\n");
		settle();
		ok(!holds_buffers(), "%s: who waits for an answer holds no buffers", how);
		if (tls)
			say_in_pieces(OK_RESPONSE, round == 0 ? 1 : round == 1 ? 7 : 64);
		else
			say(&w.server, OK_RESPONSE);
		ok(until(&w.box, "hi"), "%s: it comes", how);
		settle();
		ok(!holds_buffers(), "%s: nor does who waits for the next request", how);
	}
	is_num(w.dials, 1, "%s: all over one connection", how);
	world_close();
}

/* ---- long bodies ---- */

static bool is_pattern(const char *data, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (data[i] != (char)('a' + i % 23))
			return false;
	return true;
}

/* What follows a long body is a head again, whichever way the body went: within the kernel where it is plain. */
static void test_behind_body(bool tls)
{
	enum { SIZE = 400000 };
	const char *how = tls ? "TLS" : "plain", *body;
	char *data = malloc(SIZE + 200), head[128];
	int n;

	for (size_t i = 0; i < SIZE; i++)
		data[i] = (char)('a' + i % 23);
	rules_plain();
	world_open();
	for (int bad = 0; bad < 2; bad++) {
		box_connect(tls);
		n = snprintf(data + SIZE, 200, "GET /%s/next HTTP/1.1\r\n" HOST "\r\n", bad ? "v2" : "v1");
		snprintf(head, sizeof(head), "POST /v1/a HTTP/1.1\r\n" HOST "Content-Length: %d\r\n\r\n", SIZE);
		say(&w.box, head);
		until(&w.server, "\r\n\r\n");
		say_bytes(&w.box, data, (size_t)(SIZE + n));
		for (int i = 0; i < 1000 && w.server.len < SIZE; i++)
			turn();
		settle();
		body = memmem(w.server.got, w.server.len, "\r\n\r\n", 4);
		ok(body && w.server.len - (size_t)(body + 4 - w.server.got) == SIZE && is_pattern(body + 4, SIZE),
		   "%s: a body, and not a byte of the request behind it", how);
		forget(&w.server);
		say(&w.server, OK_RESPONSE);
		ok(until(&w.box, "hi"), "%s: its response", how);
		if (bad) {
			ok(until(&w.box, "403 Forbidden") && w.server.len == 0,
			   "%s: the request behind it is looked at, too", how);
		} else {
			until(&w.server, "\r\n\r\n");
			is_str(w.server.got, "GET /v1/next HTTP/1.1\r\n" HOST "\r\n", "%s: then the next", how);
		}
		box_close();
	}
	snprintf(head, sizeof(head), "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n", SIZE);
	n = snprintf(data + SIZE, 200, OK_RESPONSE);
	for (int leaves = 0; leaves < 2; leaves++) {
		box_connect(tls);
		say(&w.box, "GET /v1/a HTTP/1.1\r\n" HOST "\r\n");
		until(&w.server, "\r\n\r\n");
		say(&w.server, head);
		until(&w.box, "\r\n\r\n");
		if (leaves) {
			say_bytes(&w.server, data, SIZE / 2);
			peer_close(&w.box);
			say_bytes(&w.server, data, SIZE / 4);
			for (int i = 0; i < 20 && w.egress.conns; i++)
				settle();
			ok(w.egress.conns == NULL, "%s: the box leaves in the middle: all is gone", how);
		} else {
			say_bytes(&w.server, data, (size_t)(SIZE + n));
			until_over(&w.box);
			ok(w.box.status < 0 && !memmem(w.box.got + 15, w.box.len - 15, "HTTP/1.1", 8),
			   "%s: a response that nobody asked for is not passed on", how);
		}
		box_close();
	}
	/* Nothing of it is in what the next connection gets. */
	box_connect(tls);
	say(&w.box, "GET /v1/a HTTP/1.1\r\n" HOST "\r\n");
	until(&w.server, "\r\n\r\n");
	say(&w.server, head);
	memset(data, 'z', SIZE);
	say_bytes(&w.server, data, SIZE);
	for (int i = 0; i < 1000 && w.box.len < SIZE + 42; i++)
		turn();
	body = memmem(w.box.got, w.box.len, "\r\n\r\n", 4);
	ok(body && w.box.len - (size_t)(body + 4 - w.box.got) == SIZE && memcmp(body + 4, data, SIZE) == 0,
	   "%s: the next connection gets its own", how);
	world_close();
	free(data);
}

/* What has been encrypted and waits for a slow reader: it goes out, whatever the connection does by then. */
static void test_slow_reader(bool last)
{
	enum { SIZE = 60000 };
	const char *how = last ? "the last response" : "a response", *body;
	char data[SIZE], head[128];
	struct inspect *x;
	int small = 4096;

	for (size_t i = 0; i < SIZE; i++)
		data[i] = (char)('a' + i % 23);
	rules_plain();
	world_open();
	box_connect(true);
	settle();
	x = w.egress.conns->engine;
	setsockopt(w.egress.conns->client, SOL_SOCKET, SO_SNDBUF, &small, sizeof(small));
	setsockopt(w.box.fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small));
	SSL_key_update(w.box.stream.ssl, SSL_KEY_UPDATE_REQUESTED);
	say(&w.box, "GET /v1/a HTTP/1.1\r\n" HOST "\r\n");
	until(&w.server, "\r\n\r\n");
	w.box.deaf = true;
	snprintf(head, sizeof(head), "HTTP/1.1 200 OK\r\n%sContent-Length: %d\r\n\r\n",
		 last ? "Connection: close\r\n" : "", SIZE);
	say(&w.server, head);
	say_bytes(&w.server, data, SIZE);
	for (int i = 0; i < 200 && x->stage == INSPECT_EXCHANGE; i++)
		turn();
	ok(x->client.sealed && x->stage == (last ? INSPECT_END : INSPECT_HEAD), "control: %s waits for who reads it",
	   how);
	w.box.deaf = false;
	for (int i = 0; i < 1000 && w.box.len < SIZE + strlen(head); i++)
		turn();
	body = memmem(w.box.got, w.box.len, "\r\n\r\n", 4);
	ok(body && w.box.len - (size_t)(body + 4 - w.box.got) == SIZE && is_pattern(body + 4, SIZE), "%s comes whole",
	   how);
	if (last) {
		ok(until_over(&w.box) && w.box.status == 0, "%s: and its end is said", how);
	} else {
		ok(!x->client.sealed, "%s: then nothing waits", how);
		forget(&w.box);
		forget(&w.server);
		say(&w.box, "GET /v1/b HTTP/1.1\r\n" HOST "\r\n");
		until(&w.server, "\r\n\r\n");
		say(&w.server, OK_RESPONSE);
		ok(until(&w.box, "hi"), "%s: and the next one", how);
	}
	box_close();
	world_close();
}

/* A box that goes away while something waits for it. */
static void test_gone_reader(void)
{
	enum { SIZE = 60000 };
	char *data = calloc(1, SIZE), head[128];
	int small = 4096;

	rules_plain();
	world_open();
	box_connect(true);
	settle();
	setsockopt(w.egress.conns->client, SOL_SOCKET, SO_SNDBUF, &small, sizeof(small));
	setsockopt(w.box.fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small));
	say(&w.box, "GET /v1/a HTTP/1.1\r\n" HOST "\r\n");
	until(&w.server, "\r\n\r\n");
	w.box.deaf = true;
	snprintf(head, sizeof(head), "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n", SIZE);
	say(&w.server, head);
	say_bytes(&w.server, data, SIZE);
	settle();
	ok(w.egress.conns && ((struct inspect *)w.egress.conns->engine)->client.sealed, "control: a response waits");
	peer_close(&w.box);
	for (int i = 0; i < 20 && w.egress.conns; i++)
		settle();
	ok(!w.egress.conns, "whoever it was for leaves: all is gone");
	world_close();
	free(data);
}

int main(void)
{
	signal(SIGPIPE, SIG_IGN); /* as the process does: splice() has no MSG_NOSIGNAL */
	for (int tls = 0; tls < 2; tls++) {
		test_rests(tls);
		test_behind_body(tls);
		test_slow_reader(tls);
	}
	test_gone_reader();
	return done_testing();
}
