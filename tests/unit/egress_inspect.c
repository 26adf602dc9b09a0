/* The inspecting engine: what passes and how, what is refused, and what happens when either side breaks. Over plain sockets and over TLS. */
#include "inspect_world.h"

#define OK_RESPONSE "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"

static const struct net_event nothing;

static const struct net_event *request_event(size_t n)
{
	const struct net_event *event = event_of(NET_EVENT_REQUEST, n);

	return event ? event : &nothing;
}

static void kill_server(bool reset)
{
	const struct linger now = { .l_onoff = 1 };

	if (reset)
		setsockopt(w.server.fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
	peer_close(&w.server);
}

static void rules_plain(void)
{
	add_rule("api.example.com:80,443", "GET,HEAD,POST", "/v1/*", NULL);
}

/* One request that passes, and its response. */
static void test_allowed(bool tls)
{
	const char *how = tls ? "TLS" : "plain";

	rules_plain();
	world_open();
	box_connect(tls);
	say(&w.box,
	    "GET /v1/a?q=1 HTTP/1.1\r\nHost: api.example.com\r\nX-One:  two \r\nConnection: keep-alive\r\n\r\n");
	ok(until(&w.server, "\r\n\r\n"), "%s: the request arrives", how);
	is_str(w.server.got, "GET /v1/a?q=1 HTTP/1.1\r\nHost: api.example.com\r\nX-One: two\r\n\r\n",
	       "%s: written anew", how);
	say(&w.server, "HTTP/1.1 200 Fine\r\nContent-Length: 2\r\nAlt-Svc: h3=\":443\"\r\nX-Two: 3\r\n\r\nhi");
	ok(until(&w.box, "hi"), "%s: the response arrives", how);
	is_str(w.box.got, "HTTP/1.1 200 Fine\r\nX-Two: 3\r\nContent-Length: 2\r\n\r\nhi", "%s: as it was", how);
	/* The second one on the same connection, and the same other side. */
	forget(&w.server);
	forget(&w.box);
	say(&w.box, "POST /v1/b HTTP/1.1\r\nHost: API.example.com.\r\nContent-Length: 5\r\n\r\nhello");
	ok(until(&w.server, "hello"), "%s: a second request with a body", how);
	say(&w.server, OK_RESPONSE);
	ok(until(&w.box, "hi"), "%s: its response", how);
	is_num(w.dials, 1, "%s: dialled once", how);
	is_num(request_event(0)->decision, NET_ALLOWED, "%s: an event for the first", how);
	is_str(request_event(0)->path, "/v1/a", "%s: with its path, without the query", how);
	is_str(request_event(1)->method, "POST", "%s: and one for the second", how);
	/* A third one that is refused, and ends it. */
	forget(&w.box);
	forget(&w.server);
	say(&w.box, "GET /v2 HTTP/1.1\r\nHost: api.example.com\r\n\r\n");
	ok(until(&w.box, "403 Forbidden") && until_over(&w.box), "%s: a third that is refused, and the end", how);
	is_num((uint64_t)-w.box.status, 0, "%s: in order", how);
	is_num(w.server.len, 0, "%s: of which the other side hears nothing", how);
	is_num(request_event(2)->decision, NET_REFUSED, "%s: its event says so", how);
	ok(strstr(request_event(2)->allow, "/v2"), "%s: and what would allow it: %s", how, request_event(2)->allow);
	ok(strstr(w.box.got, "/v2") && strstr(w.box.got, "api.example.com") && strstr(w.box.got, "to allow it"),
	   "%s: the answer can be read", how);
	world_close();
}

/* ---- refusals ---- */

#define HOST "Host: api.example.com\r\n"
static const struct {
	const char *what, *request;
	int status;
} refused[] = {
	{ "a method", "DELETE /v1/a HTTP/1.1\r\n" HOST "\r\n", 403 },
	{ "a method in small letters", "get /v1/a HTTP/1.1\r\n" HOST "\r\n", 400 },
	{ "a path", "GET /v2/a HTTP/1.1\r\n" HOST "\r\n", 403 },
	{ "a path that only begins so", "GET /v11 HTTP/1.1\r\n" HOST "\r\n", 403 },
	{ "dots", "GET /v1/../admin HTTP/1.1\r\n" HOST "\r\n", 403 },
	{ "encoded dots", "GET /v1/%2e%2e/admin HTTP/1.1\r\n" HOST "\r\n", 403 },
	{ "dots above the root", "GET /v1/../../v1/x HTTP/1.1\r\n" HOST "\r\n", 403 },
	{ "an encoded slash", "GET /v1%2fa HTTP/1.1\r\n" HOST "\r\n", 403 },
	{ "a backslash", "GET /v1/..\\admin HTTP/1.1\r\n" HOST "\r\n", 403 },
	{ "an encoded NUL", "GET /v1/a%00b HTTP/1.1\r\n" HOST "\r\n", 403 },
	{ "path parameters", "GET /v1/..;/admin HTTP/1.1\r\n" HOST "\r\n", 403 },
	{ "OPTIONS *", "OPTIONS * HTTP/1.1\r\n" HOST "\r\n", 403 },
	{ "another host", "GET /v1/a HTTP/1.1\r\nHost: other.example.com\r\n\r\n", 403 },
	{ "a host with a port", "GET /v1/a HTTP/1.1\r\nHost: api.example.com:8080\r\n\r\n", 403 },
	{ "an address as host", "GET /v1/a HTTP/1.1\r\nHost: 192.0.2.1\r\n\r\n", 403 },
	{ "no host", "GET /v1/a HTTP/1.1\r\n\r\n", 400 },
	{ "two hosts", "GET /v1/a HTTP/1.1\r\n" HOST "Host: other.example.com\r\n\r\n", 400 },
	{ "absolute-form with another scheme", "GET https://api.example.com/v1/a HTTP/1.1\r\n" HOST "\r\n", 403 },
	{ "absolute-form to another host", "GET http://other.example.com/v1/a HTTP/1.1\r\n" HOST "\r\n", 400 },
	{ "CONNECT", "CONNECT api.example.com:443 HTTP/1.1\r\nHost: api.example.com:443\r\n\r\n", 403 },
	{ "CL and TE", "POST /v1/a HTTP/1.1\r\n" HOST "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n", 400 },
	{ "two lengths", "POST /v1/a HTTP/1.1\r\n" HOST "Content-Length: 4\r\nContent-Length: 5\r\n\r\n", 400 },
	{ "a signed length", "POST /v1/a HTTP/1.1\r\n" HOST "Content-Length: +4\r\n\r\n", 400 },
	{ "TE twice", "POST /v1/a HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked, identity\r\n\r\n", 400 },
	{ "a blank before the colon", "POST /v1/a HTTP/1.1\r\n" HOST "Transfer-Encoding : chunked\r\n\r\n", 400 },
	{ "a folded line", "GET /v1/a HTTP/1.1\r\n" HOST "X: a\r\n b\r\n\r\n", 400 },
	{ "bare line feeds", "GET /v1/a HTTP/1.1\nHost: api.example.com\n\n", 400 },
	{ "a bare carriage return", "GET /v1/a HTTP/1.1\r\n" HOST "X: a\rb\r\n\r\n", 400 },
	{ "HTTP/0.9", "GET /v1/a\r\n\r\n", 400 },
	{ "HTTP/2 by prior knowledge", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400 },
	{ "something else", "SSH-2.0-OpenSSH_9.2\r\n", 400 },
	{ "an upgrade", "GET /v1/a HTTP/1.1\r\n" HOST "Connection: upgrade\r\nUpgrade: spdy/3\r\n\r\n", 403 },
	{ "a Connection option", "GET /v1/a HTTP/1.1\r\n" HOST "Connection: close, Authorization\r\n\r\n", 403 },
	{ "a WebSocket elsewhere",
	  "GET /v2 HTTP/1.1\r\n" HOST "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
	  "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
	  403 },
};

static void test_refused(void)
{
	rules_plain();
	world_open();
	for (size_t i = 0; i < ARRAY_LEN(refused); i++) {
		char status[32];

		snprintf(status, sizeof(status), "HTTP/1.1 %d ", refused[i].status);
		box_connect(false);
		say(&w.box, refused[i].request);
		ok(until(&w.box, "\r\n\r\n") && strncmp(w.box.got, status, strlen(status)) == 0 && w.dials == 0,
		   "%s: %d, and nothing is dialled", refused[i].what, refused[i].status);
		if (w.box.got && strncmp(w.box.got, status, strlen(status)) != 0)
			note("%s", w.box.got);
		is_num(request_event(0)->decision, NET_REFUSED, "%s: told", refused[i].what);
		box_close();
	}
	/* The control: the same connection takes what is allowed, also in odd but clear forms. */
	box_connect(false);
	say(&w.box, "GET http://api.example.com/v1/%61/./b/../c?x=%2f HTTP/1.1\r\nHost: api.example.com:80\r\n\r\n");
	ok(until(&w.server, "\r\n\r\n"), "absolute-form, dots and escapes that are clear");
	ok(w.server.got && strstr(w.server.got, "GET /v1/a/c?x=%2f HTTP/1.1\r\nHost: api.example.com:80\r\n"),
	   "sent as the rule saw it");
	world_close();
}

static void test_stripped(void)
{
	rules_plain();
	world_open();
	box_connect(false);
	say(&w.box, "GET /v1/a HTTP/1.1\r\n" HOST
		    "X-HTTP-Method-Override: DELETE\r\nX-Original-URL: /admin\r\nX_HTTP_Method.Override: "
		    "PUT\r\nConnection: Upgrade, HTTP2-Settings\r\n"
		    "Upgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAoAAAAAIAAAAA\r\nAuthorization: mine\r\n\r\n");
	until(&w.server, "\r\n\r\n");
	is_str(w.server.got, "GET /v1/a HTTP/1.1\r\n" HOST "Authorization: mine\r\n\r\n",
	       "overrides and the offer of HTTP/2 do not pass; credentials of one's own do where there is no secret");
	say(&w.server, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n");
	ok(until(&w.box, "502 Bad Gateway"), "a change of protocol that nobody asked for is refused");
	world_close();
}

/* ---- bodies ---- */

static void test_chunked(bool tls)
{
	const char *how = tls ? "TLS" : "plain";

	rules_plain();
	world_open();
	box_connect(tls);
	say(&w.box, "POST /v1/a HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n");
	ok(until(&w.server, "hello"), "%s: a chunk passes before the next one comes", how);
	say(&w.box, "6\r\n world\r\n0\r\n\r\nGET /v1/b HTTP/1.1\r\n" HOST "\r\n");
	ok(until(&w.server, "0\r\n\r\n"), "%s: up to the last", how);
	settle();
	ok(!strstr(w.server.got, "GET"), "%s: the next request waits for its turn", how);
	say(&w.server, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n");
	ok(until(&w.box, "abc"), "%s: a chunk of the response", how);
	say(&w.server, "a\r\n0123456789\r\n0\r\n\r\n");
	ok(until(&w.box, "0123456789\r\n0\r\n\r\n"), "%s: all of it", how);
	ok(until(&w.server, "GET /v1/b"), "%s: then the next request", how);
	say(&w.server, OK_RESPONSE);
	ok(until(&w.box, "hi"), "%s: and its response", how);
	box_close();

	box_connect(tls);
	say(&w.box, "POST /v1/a HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n5;x=y\r\nhello\r\n0\r\n\r\n");
	ok(until(&w.box, "400 Bad Request"), "%s: chunk extensions are refused", how);
	settle();
	ok(!w.server.got || !strstr(w.server.got, "hello"), "%s: and not passed on", how);
	box_close();

	box_connect(tls);
	say(&w.box, "GET /v1/a HTTP/1.1\r\n" HOST "\r\n");
	until(&w.server, "\r\n\r\n");
	say(&w.server, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nhi");
	ok(until(&w.box, "502 Bad Gateway"), "%s: a response with two lengths is refused", how);
	box_close();

	box_connect(tls);
	say(&w.box, "GET /v1/a HTTP/1.1\r\n" HOST "\r\n");
	until(&w.server, "\r\n\r\n");
	say(&w.server, OK_RESPONSE "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil");
	until(&w.box, "hi");
	until_over(&w.box);
	ok(!strstr(w.box.got, "evil"), "%s: a response that nobody asked for does not pass", how);
	world_close();
}

static void test_continue(void)
{
	rules_plain();
	world_open();
	box_connect(false);
	say(&w.box, "POST /v1/a HTTP/1.1\r\n" HOST "Expect: 100-continue\r\nContent-Length: 4\r\n\r\n");
	ok(until(&w.server, "Expect: 100-continue"), "100-continue is asked for");
	say(&w.server, "HTTP/1.1 100 Continue\r\n\r\n");
	ok(until(&w.box, "100 Continue\r\n\r\n"), "and given");
	say(&w.box, "body");
	ok(until(&w.server, "body"), "the body follows");
	say(&w.server, OK_RESPONSE);
	ok(until(&w.box, "hi"), "and the response");
	forget(&w.box);
	forget(&w.server);
	say(&w.box, "POST /v1/a HTTP/1.1\r\n" HOST "Expect: 100-continue\r\nContent-Length: 4\r\n\r\n");
	until(&w.server, "\r\n\r\n");
	say(&w.server, "HTTP/1.1 417 Expectation Failed\r\nContent-Length: 0\r\n\r\n");
	ok(until(&w.box, "417") && until_over(&w.box), "an answer instead of it ends the connection, in order");
	is_num((uint64_t)-w.box.status, 0, "without a reset");
	world_close();
}

static void test_head_and_close(void)
{
	rules_plain();
	world_open();
	box_connect(false);
	say(&w.box, "HEAD /v1/a HTTP/1.1\r\n" HOST "\r\nGET /v1/b HTTP/1.1\r\n" HOST "\r\n");
	until(&w.server, "\r\n\r\n");
	say(&w.server, "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n");
	ok(until(&w.box, "Content-Length: 1000\r\n\r\n") && until(&w.server, "GET /v1/b"),
	   "the response to HEAD has no body, and the next request goes on");
	say(&w.server, "HTTP/1.0 200 OK\r\n\r\nuntil the end");
	kill_server(false);
	ok(until(&w.box, "Connection: close\r\n\r\nuntil the end") && until_over(&w.box),
	   "a body until the end of the connection");
	is_num((uint64_t)-w.box.status, 0, "and its end");
	box_close();
	box_connect(false);
	say(&w.box, "GET /v1/a HTTP/1.0\r\n" HOST "\r\n");
	ok(until(&w.server, "HTTP/1.0\r\n") && until(&w.server, "Connection: close"), "HTTP/1.0 stays what it is");
	world_close();
}

static bool is_pattern(const char *data, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (data[i] != (char)('a' + i % 23))
			return false;
	return true;
}

static void test_large(bool tls)
{
	enum { SIZE = 3 << 20 };
	const char *how = tls ? "TLS" : "plain", *body;
	char *data = malloc(SIZE), head[128];

	for (size_t i = 0; i < SIZE; i++)
		data[i] = (char)('a' + i % 23);
	rules_plain();
	world_open();
	box_connect(tls);
	snprintf(head, sizeof(head), "POST /v1/a HTTP/1.1\r\n" HOST "Content-Length: %d\r\n\r\n", SIZE);
	say(&w.box, head);
	say_bytes(&w.box, data, SIZE);
	for (int i = 0; i < 2000 && w.server.len < SIZE + 60; i++)
		turn();
	until(&w.server, "\r\n\r\n");
	body = memmem(w.server.got, w.server.len, "\r\n\r\n", 4);
	ok(body && w.server.len - (size_t)(body + 4 - w.server.got) == SIZE && is_pattern(body + 4, SIZE),
	   "%s: %d bytes up", how, SIZE);
	snprintf(head, sizeof(head), "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n", SIZE);
	say(&w.server, head);
	say_bytes(&w.server, data, SIZE);
	for (int i = 0; i < 2000 && w.box.len < SIZE; i++)
		turn();
	settle();
	body = memmem(w.box.got, w.box.len, "\r\n\r\n", 4);
	ok(body && w.box.len - (size_t)(body + 4 - w.box.got) == SIZE && is_pattern(body + 4, SIZE), "%s: and down",
	   how);
	ok(request_event(0)->up_bytes > SIZE && request_event(0)->down_bytes > SIZE, "%s: counted", how);
	world_close();
	free(data);
}

/* ---- WebSocket ---- */

#define WEBSOCKET                                                                      \
	"GET /v1/ws HTTP/1.1\r\n" HOST "Connection: Upgrade\r\nUpgrade: websocket\r\n" \
	"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
#define SWITCHING                                                                           \
	"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n" \
	"Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n"

static void test_websocket(bool tls, bool read_only)
{
	const char *how = tls ? "TLS" : "plain";

	rules_plain();
	w.egress.config.rules.read_only = read_only;
	world_open();
	box_connect(tls);
	say(&w.box, WEBSOCKET);
	if (read_only) {
		ok(until(&w.box, "403 Forbidden") && strstr(w.box.got, "read-only"),
		   "%s: no WebSocket where only reading is", how);
		is_num(w.dials, 0, "%s: nothing is dialled", how);
		world_close();
		return;
	}
	ok(until(&w.server, "Connection: Upgrade\r\nUpgrade: websocket\r\n"), "%s: the upgrade arrives", how);
	say(&w.server, SWITCHING "\x81\x02yo");
	ok(until(&w.box, "Upgrade: websocket\r\n") && until(&w.box, "\x81\x02yo"), "%s: and is accepted", how);
	say(&w.box, "\x81\x82zzzz12");
	ok(until(&w.server, "\x81\x82zzzz12"), "%s: frames up", how);
	say(&w.server, "\x81\x03"
		       "abc");
	ok(until(&w.box, "abc"), "%s: frames down", how);
	stream_shut(&w.box.stream);
	ok(until_over(&w.server), "%s: a half-close is carried", how);
	say(&w.server, "last");
	ok(until(&w.box, "last"), "%s: what comes after it too", how);
	stream_shut(&w.server.stream);
	ok(until_over(&w.box), "%s: and the end", how);
	is_num(request_event(0)->decision, NET_ALLOWED, "%s: told", how);
	ok(event_of(NET_EVENT_CONNECTION, 0) != NULL, "%s: with the connection", how);
	world_close();
}

static void test_read_only(void)
{
	add_rule("api.example.com:80,443", NULL, NULL, NULL);
	w.egress.config.rules.read_only = true;
	world_open();
	box_connect(false);
	say(&w.box, "POST /v1/a HTTP/1.1\r\n" HOST "Content-Length: 0\r\n\r\n");
	ok(until(&w.box, "403 Forbidden") && strstr(w.box.got, "read-only"), "read-only: no POST");
	ok(strstr(w.box.got, "--net-read-only"), "and why");
	box_close();
	box_connect(false);
	say(&w.box, "GET /any%2fpath HTTP/1.1\r\n" HOST "\r\n");
	ok(until(&w.server, "GET /any%2fpath "), "read-only: GET, and the path as it is where no rule looks at it");
	world_close();
}

/* ---- secrets ---- */

static void rules_secret(void)
{
	add_rule("api.example.com:80,443", NULL, NULL, "KEY");
	add_secret("KEY", "Authorization: Bearer {}", "cordon-secret-KEY");
	snprintf(w.secret_answer, sizeof(w.secret_answer), "sk-very-secret-1");
}

static void test_secret_set(bool tls)
{
	const char *how = tls ? "TLS" : "plain";

	rules_secret();
	world_open();
	box_connect(tls);
	say(&w.box, "GET /a?k=cordon-secret-KEY HTTP/1.1\r\n" HOST
		    "Authorization: Bearer stolen\r\nCookie: mine\r\nX-Api-Key: mine\r\nAccept-Encoding: gzip\r\n"
		    "X-Other: cordon-secret-KEY!\r\n\r\n");
	until(&w.server, "\r\n\r\n");
	is_str(w.server.got,
	       "GET /a?k=sk-very-secret-1 HTTP/1.1\r\n" HOST "X-Other: sk-very-secret-1!\r\n"
	       "Accept-Encoding: identity\r\nAuthorization: Bearer sk-very-secret-1\r\n\r\n",
	       "%s: the header is set, placeholders are replaced, other credentials are stripped", how);
	is_num(w.secret_asked, 1, "%s: the value was asked for", how);
	say(&w.server, "HTTP/1.1 200 sk-very-secret-1\r\nContent-Type: text/plain\r\nX-Echo: [sk-very-secret-1]\r\n"
		       "Set-Cookie: session=1\r\n"
		       "Transfer-Encoding: chunked\r\n\r\n8\r\nab sk-ve\r\n");
	ok(until(&w.box, "ab "), "%s: a response that echoes it", how);
	say(&w.server, "c\r\nry-secret-1.\r\n0\r\n\r\n");
	ok(until(&w.box, "0\r\n\r\n"), "%s: across two chunks", how);
	ok(!strstr(w.box.got, "secret-1") && !strstr(w.box.got, "sk-ve"), "%s: nothing of it comes back", how);
	ok(!strstr(w.box.got, "session"), "%s: nor what it opens", how);
	ok(strstr(w.box.got, "X-Echo: [****************]") && strstr(w.box.got, "****************."), "%s: but stars",
	   how);
	forget(&w.box);
	forget(&w.server);
	/* user:cordon-secret-KEY */
	say(&w.box, "GET /b HTTP/1.1\r\n" HOST "Authorization: Basic dXNlcjpjb3Jkb24tc2VjcmV0LUtFWQ==\r\n\r\n");
	until(&w.server, "\r\n\r\n");
	ok(strstr(w.server.got, "Authorization: Basic dXNlcjpzay12ZXJ5LXNlY3JldC0x\r\n") &&
		   !strstr(w.server.got, "Bearer"),
	   "%s: a placeholder in Basic credentials", how);
	is_num(w.secret_asked, 1, "%s: the value is kept", how);
	say(&w.server, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 21\r\n\r\n"
		       "\"sk-very-secret-1\" ok");
	until(&w.box, " ok");
	ok(strstr(w.box.got, "\"****************\" ok"), "%s: masked in a body of known length", how);
	for (size_t i = 0; i < w.kept_count; i++) {
		const char *p = (const char *)&w.kept[i];

		if (memmem(p, sizeof(w.kept[i]), "secret-1", 8))
			ok(false, "%s: the value is in an event", how);
	}
	box_close();
	box_connect(tls);
	say(&w.box, "GET /a HTTP/1.1\r\n" HOST "\r\n");
	until(&w.server, "\r\n\r\n");
	say(&w.server, "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 2\r\n\r\nhi");
	ok(until(&w.box, "502 Bad Gateway"), "%s: a compressed response is refused", how);
	box_close();
	box_connect(tls);
	say(&w.box, "TRACE /a HTTP/1.1\r\n" HOST "\r\n");
	ok(until(&w.box, "403 Forbidden"), "%s: TRACE is refused", how);
	world_close();
}

static void test_secret_failed(void)
{
	rules_secret();
	snprintf(w.secret_answer, sizeof(w.secret_answer), "evil\r\nX-Injected: 1");
	world_open();
	box_connect(false);
	say(&w.box, "GET /a HTTP/1.1\r\n" HOST "\r\n");
	ok(until(&w.box, "502 Bad Gateway") && strstr(w.box.got, "KEY"), "a value with a line end: no request");
	is_num(w.dials, 0, "nothing is dialled");
	ok(!strstr(w.box.got, "Injected") && !strstr(w.box.got, "evil"), "nor shown");
	world_close();
	/* Placeholders without end. */
	rules_secret();
	world_open();
	box_connect(false);
	say(&w.box, "GET /a HTTP/1.1\r\n" HOST);
	for (int i = 0; i < 120; i++) {
		say(&w.box, "X-A: ");
		for (int k = 0; k < 25; k++)
			say(&w.box, "cordon-secret-KEY,");
		say(&w.box, "\r\n");
	}
	say(&w.box, "\r\n");
	snprintf(w.secret_answer, sizeof(w.secret_answer), "%063d", 7);
	ok(until(&w.box, "400 Bad Request") && w.dials == 0, "a head that grows too long with its secrets is refused");
	world_close();
	/* A box that leaves while the value is awaited. */
	rules_secret();
	w.secret_answer[0] = '\0';
	world_open();
	box_connect(false);
	say(&w.box, "GET /a HTTP/1.1\r\n" HOST "\r\n");
	settle();
	is_num(w.secret_asked, 1, "asked for");
	box_close();
	snprintf(w.secret_answer, sizeof(w.secret_answer), "late");
	box_connect(false);
	say(&w.box, "GET /a HTTP/1.1\r\n" HOST "\r\n");
	settle();
	is_num(w.secret_asked, 1, "an answer is awaited already");
	world_close();
}

static void test_secret_elsewhere(void)
{
	add_rule("api.example.com:80,443", "GET", NULL, NULL);
	add_rule("other.example.com:80,443", NULL, NULL, "KEY");
	add_secret("KEY", "Authorization: Bearer {}", "cordon-secret-KEY");
	snprintf(w.secret_answer, sizeof(w.secret_answer), "sk-very-secret-1");
	world_open();
	box_connect(false);
	say(&w.box, "GET /a?cordon-secret-KEY HTTP/1.1\r\n" HOST "X: cordon-secret-KEY\r\n\r\n");
	until(&w.server, "\r\n\r\n");
	is_str(w.server.got, "GET /a?cordon-secret-KEY HTTP/1.1\r\n" HOST "X: cordon-secret-KEY\r\n\r\n",
	       "at another host the placeholder stays what it is");
	is_num(w.secret_asked, 0, "and nobody asks for the value");
	world_close();
	/* Two rules of one host: the secret belongs to one path. */
	add_rule("api.example.com:80,443", NULL, "/a/*", "KEY");
	add_rule("api.example.com:80,443", NULL, "/b/*", NULL);
	add_secret("KEY", "Authorization: Bearer {}", "cordon-secret-KEY");
	snprintf(w.secret_answer, sizeof(w.secret_answer), "sk-very-secret-1");
	world_open();
	box_connect(false);
	say(&w.box, "GET /b/x HTTP/1.1\r\n" HOST "X: cordon-secret-KEY\r\n\r\n");
	until(&w.server, "\r\n\r\n");
	ok(!strstr(w.server.got, "secret-1") && strstr(w.server.got, "X: cordon-secret-KEY"),
	   "nor on a path that is not the secret's");
	say(&w.server, OK_RESPONSE);
	until(&w.box, "hi");
	say(&w.box, "GET /a/x HTTP/1.1\r\n" HOST "\r\n");
	ok(until(&w.server, "Authorization: Bearer sk-very-secret-1"), "but on the one that is");
	world_close();
}

/* ---- failures ---- */

static void test_failures(bool tls)
{
	const char *how = tls ? "TLS" : "plain";
	static const char get[] = "GET /v1/a HTTP/1.1\r\n" HOST "\r\n";

	rules_plain();
	world_open();
	box_connect(tls);
	w.dial_status = -ETIMEDOUT;
	w.dial_failed = NET_FAILED;
	say(&w.box, get);
	ok(until(&w.box, "504 Gateway Timeout"), "%s: nobody answers: 504", how);
	is_num(request_event(0)->decision, NET_FAILED, "%s: told", how);
	box_close();
	box_connect(tls);
	w.dial_status = -EACCES;
	w.dial_failed = NET_REFUSED;
	say(&w.box, get);
	ok(until(&w.box, "403 Forbidden") && strstr(w.box.got, "the dial came"), "%s: a private address: 403", how);
	box_close();
	for (int reset = 0; reset < 2; reset++) {
		const char *end = reset ? "breaks" : "closes";

		box_connect(tls);
		say(&w.box, get);
		until(&w.server, "\r\n\r\n");
		kill_server(reset);
		ok(until(&w.box, "502 Bad Gateway"), "%s: it %s before the response: 502", how, end);
		box_close();
		box_connect(tls);
		say(&w.box, get);
		until(&w.server, "\r\n\r\n");
		say(&w.server, "HTTP/1.1 200 OK\r\nContent-");
		settle();
		kill_server(reset);
		ok(until(&w.box, "502 Bad Gateway"), "%s: it %s in the head: 502", how, end);
		box_close();
		box_connect(tls);
		say(&w.box, get);
		until(&w.server, "\r\n\r\n");
		say(&w.server, "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc");
		until(&w.box, "abc");
		kill_server(reset);
		ok(until_over(&w.box) && w.box.status < 0, "%s: it %s in the body: a reset", how, end);
		is_num(request_event(0)->decision, NET_FAILED, "%s: told", how);
		box_close();
		box_connect(tls);
		say(&w.box, get);
		until(&w.server, "\r\n\r\n");
		say(&w.server, OK_RESPONSE);
		until(&w.box, "hi");
		kill_server(reset);
		ok(until_over(&w.box), "%s: it %s between requests: so does the box's", how, end);
		box_close();
		box_connect(tls);
		say(&w.box, get);
		until(&w.server, "\r\n\r\n");
		say(&w.server, "HTTP/1.1 200 OK\r\nContent-Length: 10000000\r\n\r\nabc");
		until(&w.box, "abc");
		say(&w.server, "defgh");
		until(&w.box, "abcdefgh");
		kill_server(reset);
		ok(until_over(&w.box) && w.box.status < 0, "%s: it %s in a long body: a reset", how, end);
		box_close();
		box_connect(tls);
		say(&w.box, "POST /v1/a HTTP/1.1\r\n" HOST "Content-Length: 10000000\r\n\r\nabc");
		until(&w.server, "abc");
		say(&w.box, "defgh");
		until(&w.server, "abcdefgh");
		say(&w.server, "HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\n\r\n");
		kill_server(false);
		ok(until(&w.box, "413 Too Large"), "%s: an early answer to a long body arrives", how);
		box_close();
	}
	/* The box leaves, at each stage. */
	for (int stage = 0; stage < 4; stage++) {
		box_connect(tls);
		if (stage == 1)
			say(&w.box, "GET /v1/a HTT");
		if (stage >= 2)
			say(&w.box, "POST /v1/a HTTP/1.1\r\n" HOST "Content-Length: 100\r\n\r\nabc");
		if (stage >= 2)
			until(&w.server, "abc");
		if (stage == 3)
			say(&w.server, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nabc");
		settle();
		peer_close(&w.box);
		settle();
		settle();
		ok(w.egress.conns == NULL, "%s: the box leaves at stage %d: all is gone", how, stage);
		box_close();
	}
	world_close();
}

static void test_bad_upstream(void)
{
	struct authority *other = NULL, *real;
	struct cordon_error err;

	rules_plain();
	world_open();
	authority_new(NULL, &other, &err);
	real = w.server_authority;
	w.server_authority = other;
	box_connect(true);
	say(&w.box, "GET /v1/a HTTP/1.1\r\n" HOST "\r\n");
	ok(until(&w.box, "502 Bad Gateway") && strstr(w.box.got, "certificate"),
	   "an upstream that nobody vouches for: 502");
	ok(!w.server.got || !strstr(w.server.got, "GET"), "it hears nothing");
	w.server_authority = real;
	authority_free(other);
	world_close();
}

int main(void)
{
	for (int tls = 0; tls < 2; tls++) {
		test_allowed(tls);
		test_chunked(tls);
		test_large(tls);
		test_websocket(tls, false);
		test_websocket(tls, true);
		test_secret_set(tls);
		test_failures(tls);
	}
	test_refused();
	test_stripped();
	test_continue();
	test_head_and_close();
	test_read_only();
	test_secret_failed();
	test_secret_elsewhere();
	test_bad_upstream();
	return done_testing();
}
