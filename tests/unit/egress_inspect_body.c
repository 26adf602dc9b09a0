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

static void pattern(char *data, size_t len)
{
	for (size_t i = 0; i < len; i++)
		data[i] = (char)('a' + i % 23);
}

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

	pattern(data, SIZE);
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

/* ---- who reads slowly ---- */

enum { SLOW_SIZE = 60000 };

/* A request of the box, and an answer to it that it does not read yet. */
static struct inspect *stall(bool last)
{
	static char data[SLOW_SIZE];
	struct inspect *x;
	char head[128];
	int small = 4096;

	pattern(data, SLOW_SIZE);
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
		 last ? "Connection: close\r\n" : "", SLOW_SIZE);
	say(&w.server, head);
	say_bytes(&w.server, data, SLOW_SIZE);
	for (int i = 0; i < 200 && x->stage == INSPECT_EXCHANGE; i++)
		turn();
	ok(x->client.sealed && x->stage == (last ? INSPECT_END : INSPECT_HEAD), "control: %s waits for who reads it",
	   last ? "the last response" : "a response");
	return x;
}

/* What has been encrypted goes out, whatever the connection does by then. */
static void test_slow_reader(bool last)
{
	const char *how = last ? "the last response" : "a response", *body = NULL;
	struct inspect *x = stall(last);

	w.box.deaf = false;
	for (int i = 0; i < 1000 && (!body || w.box.len < SLOW_SIZE + (size_t)(body - w.box.got)); i++) {
		turn();
		body = w.box.len ? memmem(w.box.got, w.box.len, "\r\n\r\n", 4) : NULL;
		body = body ? body + 4 : NULL;
	}
	ok(body && w.box.len == SLOW_SIZE + (size_t)(body - w.box.got) && is_pattern(body, SLOW_SIZE), "%s comes whole",
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
static void test_gone_reader(bool last)
{
	stall(last);
	peer_close(&w.box);
	for (int i = 0; i < 20 && w.egress.conns; i++)
		settle();
	ok(!w.egress.conns, "whom %s was for leaves: all is gone", last ? "the last response" : "a response");
	world_close();
}

/* ---- TLS of other kinds ---- */

/* OpenSSL makes several records at once of a long text where the cipher is an old one: they are taken as well. */
static void test_old_cipher(void)
{
	enum { SIZE = 400000 };
	char *data = malloc(SIZE), head[128];
	int small = 16384;
	const char *body;

	pattern(data, SIZE);
	rules_plain();
	world_open();
	w.box_ciphers = "ECDHE-ECDSA-AES128-SHA:ECDHE-RSA-AES128-SHA";
	box_connect(true);
	settle();
	w.box_ciphers = NULL;
	is_str(SSL_get_version(w.box.stream.ssl), "TLSv1.2", "control: a box with an old TLS");
	ok(strstr(SSL_get_cipher(w.box.stream.ssl), "AES128-SHA"), "and an old cipher");
	setsockopt(w.egress.conns->client, SOL_SOCKET, SO_SNDBUF, &small, sizeof(small));
	say(&w.box, "GET /v1/a HTTP/1.1\r\n" HOST "\r\n");
	until(&w.server, "\r\n\r\n");
	snprintf(head, sizeof(head), "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n", SIZE);
	say(&w.server, head);
	w.box.deaf = true;
	say_bytes(&w.server, data, SIZE / 2);
	w.box.deaf = false;
	say_bytes(&w.server, data + SIZE / 2, SIZE / 2);
	for (int i = 0; i < 1000 && w.box.len < SIZE + 42; i++)
		turn();
	body = memmem(w.box.got, w.box.len, "\r\n\r\n", 4);
	ok(body && w.box.len - (size_t)(body + 4 - w.box.got) == SIZE && memcmp(body + 4, data, SIZE) == 0,
	   "a long body over an old cipher");
	world_close();
	free(data);
}

/* Who asks and closes its side, over TLS without a word of it, gets its answer all the same: nobody reads behind a request. */
static void test_closes_side(bool tls, bool post)
{
	rules_plain();
	world_open();
	box_connect(tls);
	settle();
	say(&w.box, post ? "POST /v1/a HTTP/1.1\r\n" HOST "Content-Length: 4\r\n\r\nbody"
			 : "GET /v1/a HTTP/1.1\r\n" HOST "\r\n");
	shutdown(w.box.fd, SHUT_WR);
	until(&w.server, post ? "body" : "\r\n\r\n");
	say(&w.server, OK_RESPONSE);
	ok(until(&w.box, "hi"), "%s: %s, and then nothing: answered", tls ? "TLS" : "plain", post ? "POST" : "GET");
	world_close();
}

/* The end of a request is met while the rest of it waits for a slow server. */
static void test_ends_early(bool tls)
{
	enum { SIZE = 900000 };
	char *data = malloc(SIZE), head[128];
	int small = 4096;
	const char *body;

	pattern(data, SIZE);
	rules_plain();
	world_open();
	box_connect(tls);
	snprintf(head, sizeof(head), "POST /v1/a HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n%x\r\n", SIZE);
	say(&w.box, head);
	until(&w.server, "\r\n\r\n");
	setsockopt(w.egress.conns->upstream, SOL_SOCKET, SO_SNDBUF, &small, sizeof(small));
	w.server.deaf = true;
	say_bytes(&w.box, data, SIZE);
	say(&w.box, "\r\n0\r\n\r\n");
	for (int i = 0; i < 100 && (w.box.stream.sealed || stream_shut(&w.box.stream) == -EAGAIN); i++)
		turn();
	settle();
	w.server.deaf = false;
	for (int i = 0; i < 2000 && w.server.len < SIZE; i++)
		turn();
	until(&w.server, "\r\n0\r\n\r\n");
	body = w.server.len ? memmem(w.server.got, w.server.len, "\r\n\r\n", 4) : NULL;
	ok(body && memmem(body, w.server.len - (size_t)(body - w.server.got), "\r\n0\r\n\r\n", 7),
	   "%s: a request whose end comes while its middle waits is whole", tls ? "TLS" : "plain");
	say(&w.server, OK_RESPONSE);
	ok(until(&w.box, "hi"), "%s: and is answered", tls ? "TLS" : "plain");
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
		test_gone_reader(tls);
		test_closes_side(tls, false);
		test_closes_side(tls, true);
		test_ends_early(tls);
	}
	test_old_cipher();
	return done_testing();
}
