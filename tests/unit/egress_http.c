/* HTTP/1 heads: what has one reading is read, what has two is refused with its reason. */
#include "egress/http.h"
#include "tap.h"

#define LINE "GET / HTTP/1.1\r\n"
#define HOST "Host: example.com\r\n"

/* From a block of exactly that size, so that ASan sees a byte read behind it. The head stays valid until the next call. */
static enum http_status parse(bool is_request, const char *data, size_t len, struct http_head *ret, const char **why)
{
	static char *exact;

	free(exact);
	exact = malloc(len ? len : 1);
	memcpy(exact, data, len);
	*why = "";
	return is_request ? http_request_parse(exact, len, ret, why) : http_response_parse(exact, len, false, ret, why);
}

static bool span_is(struct http_span span, const char *text)
{
	return span.len == strlen(text) && memcmp(span.data, text, span.len) == 0;
}

/* Escapes what would break a line of TAP. */
static const char *shown(const char *data, size_t len)
{
	static char out[160];
	size_t n = 0;

	for (size_t i = 0; i < len && n + 5 < sizeof(out); i++)
		if (data[i] >= ' ' && data[i] <= '~' && data[i] != '#')
			out[n++] = data[i];
		else
			n += (size_t)snprintf(out + n, 5, "\\x%02x", (unsigned char)data[i]);
	out[n] = '\0';
	return out;
}

static void refused(bool is_request, const char *data, size_t len, const char *reason)
{
	static struct http_head head;
	const char *why;
	enum http_status status = parse(is_request, data, len, &head, &why);

	if (!ok(status == HTTP_BAD && strcmp(why, reason) == 0, "refused: %s", shown(data, len)))
		note("status %d: %s; wanted: %s", status, why, reason);
}

#define REFUSED(text, why) refused(true, (text), sizeof(text) - 1, (why))
#define REFUSED_RESPONSE(text, why) refused(false, (text), sizeof(text) - 1, (why))

static const struct http_head *taken(bool is_request, const char *data, size_t len)
{
	static struct http_head head;
	const char *why;
	enum http_status status = parse(is_request, data, len, &head, &why);

	if (!ok(status == HTTP_OK && head.len <= len, "taken: %s", shown(data, len)))
		note("status %d: %s", status, why);
	return &head;
}

#define TAKEN(text) taken(true, (text), sizeof(text) - 1)
#define TAKEN_RESPONSE(text) taken(false, (text), sizeof(text) - 1)

static void test_request(void)
{
	const struct http_head *h = TAKEN("POST /a/b?c=d HTTP/1.1\r\nhOsT:\t Example.COM:8080 \r\nX-Empty:\r\n"
					  "Content-Length: 42\r\n\r\nbody");

	is_num(h->len,
	       sizeof("POST /a/b?c=d HTTP/1.1\r\nhOsT:\t Example.COM:8080 \r\nX-Empty:\r\nContent-Length: 42\r\n\r\n") -
		       1,
	       "the length of the head");
	ok(span_is(h->method, "POST") && span_is(h->target, "/a/b?c=d") && span_is(h->path, "/a/b?c=d"),
	   "the line's parts");
	ok(h->minor == 1 && h->keep_alive && !h->absolute && !h->upgrade && !h->expect_continue, "the flags");
	is_str(h->host, "example.com", "the host");
	ok(h->host_port == 8080 && !h->host_is_address, "its port");
	ok(h->body == HTTP_BODY_LENGTH && h->body_len == 42, "the body");
	is_num(h->field_count, 3, "the fields");
	ok(http_find(h, "x-empty") && http_find(h, "X-EMPTY")->value.len == 0 && !http_find(h, "x-emptyy"),
	   "a field by its name");
	ok(span_is(http_find(h, "host")->value, "Example.COM:8080"), "a value without blanks around it");

	h = TAKEN("GET / HTTP/1.0\r\nHost: example.com.\r\n\r\n");
	ok(h->minor == 0 && !h->keep_alive && h->host_port == -1 && h->body == HTTP_BODY_NONE, "HTTP/1.0");
	is_str(h->host, "example.com", "a dot at the end");
	h = TAKEN("GET / HTTP/1.0\r\n" HOST "Connection: Keep-Alive\r\n\r\n");
	ok(h->keep_alive, "HTTP/1.0 with keep-alive");
	h = TAKEN(LINE HOST "Connection: foo, close\r\n\r\n");
	ok(!h->keep_alive, "close");
	h = TAKEN(LINE HOST "Connection: keep-alive\r\nConnection: ,close,\r\n\r\n");
	ok(!h->keep_alive, "close wins");
	h = TAKEN("POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: CHUNKED\r\nExpect: 100-Continue\r\n\r\n");
	ok(h->body == HTTP_BODY_CHUNKED && h->expect_continue, "chunked, with 100-continue");
	h = TAKEN("GET / HTTP/1.1\r\nHost: 0x7f.1\r\n\r\n");
	ok(h->host_is_address && strcmp(h->host, "127.0.0.1") == 0, "an address in another spelling");
	h = TAKEN("GET / HTTP/1.1\r\nHost: [::1]:8080\r\n\r\n");
	ok(h->host_is_address && strcmp(h->host, "::1") == 0 && h->host_port == 8080, "an IPv6 address");
}

static void test_targets(void)
{
	const struct http_head *h = TAKEN("GET http://Example.com/x?y HTTP/1.1\r\n" HOST "\r\n");

	ok(h->absolute && span_is(h->path, "/x?y"), "absolute-form");
	h = TAKEN("GET HTTPS://example.com HTTP/1.1\r\nHost: example.com:443\r\n\r\n");
	ok(h->absolute && span_is(h->path, "/") && h->host_port == 443, "absolute-form without a path");
	h = TAKEN("GET http://example.com:80/ HTTP/1.1\r\n" HOST "\r\n");
	ok(h->host_port == -1, "the scheme's own port");
	h = TAKEN("OPTIONS * HTTP/1.1\r\n" HOST "\r\n");
	ok(span_is(h->path, "*"), "asterisk-form");
	h = TAKEN("CONNECT example.com:443 HTTP/1.1\r\nHost: example.com:443\r\n\r\n");
	ok(span_is(h->method, "CONNECT") && h->path.len == 0, "CONNECT is told");
	REFUSED("CONNECT example.com HTTP/1.1\r\n" HOST "\r\n", "CONNECT without a port");
	REFUSED("CONNECT other.com:443 HTTP/1.1\r\nHost: example.com:443\r\n\r\n",
		"a target for another host than Host");
	REFUSED("CONNECT / HTTP/1.1\r\n" HOST "\r\n", "a host that is neither a name nor an address");
	REFUSED("GET example.com:443 HTTP/1.1\r\n" HOST "\r\n", "a target that is neither a path nor an http URL");
	REFUSED("GET * HTTP/1.1\r\n" HOST "\r\n", "a target of * that is not for OPTIONS");
	REFUSED("GET ftp://example.com/ HTTP/1.1\r\n" HOST "\r\n", "a target that is neither a path nor an http URL");
	REFUSED("GET http:/example.com/ HTTP/1.1\r\n" HOST "\r\n", "a target that is neither a path nor an http URL");
	REFUSED("GET http://other.com/ HTTP/1.1\r\n" HOST "\r\n", "a target for another host than Host");
	REFUSED("GET http://example.com:81/ HTTP/1.1\r\n" HOST "\r\n", "a target for another host than Host");
	REFUSED("GET https://example.com/ HTTP/1.1\r\nHost: example.com:80\r\n\r\n",
		"a target for another host than Host");
	REFUSED("GET http://u@example.com/ HTTP/1.1\r\n" HOST "\r\n", "a host that is neither a name nor an address");
	REFUSED("GET http://u:p@example.com/ HTTP/1.1\r\n" HOST "\r\n", "a host with a bad port");
	REFUSED("GET http://example.com\\@other.com/ HTTP/1.1\r\n" HOST "\r\n",
		"a host that is neither a name nor an address");
	REFUSED("GET http:///x HTTP/1.1\r\n" HOST "\r\n", "a host that is neither a name nor an address");
	REFUSED("GET http://example.com?x HTTP/1.1\r\n" HOST "\r\n", "a target with a query but no path");
	REFUSED("GET /#x HTTP/1.1\r\n" HOST "\r\n", "a byte that may not be in a target");
	REFUSED("GET /\x7f HTTP/1.1\r\n" HOST "\r\n", "a byte that may not be in a target");
	REFUSED("GET /\xc3\xa4 HTTP/1.1\r\n" HOST "\r\n", "a byte that may not be in a target");
	REFUSED("GET /\0 HTTP/1.1\r\n" HOST "\r\n", "a byte that may not be in a target");
	REFUSED("GET /\ra HTTP/1.1\r\n" HOST "\r\n", "a byte that may not be in a target");
	REFUSED("GET /\ta HTTP/1.1\r\n" HOST "\r\n", "a byte that may not be in a target");
}

static void test_lines(void)
{
	static const char line[] = "a malformed request line", not_http[] = "not HTTP, or a malformed request line",
			  version[] = "another version than HTTP/1.0 or HTTP/1.1";

	REFUSED("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "HTTP/2 where only HTTP/1.1 is read");
	REFUSED("GET  / HTTP/1.1\r\n" HOST "\r\n", line);
	REFUSED("GET /  HTTP/1.1\r\n" HOST "\r\n", version);
	REFUSED("GET / HTTP/1.1 \r\n" HOST "\r\n", version);
	REFUSED("GET\t/\tHTTP/1.1\r\n" HOST "\r\n", not_http);
	REFUSED(" GET / HTTP/1.1\r\n" HOST "\r\n", not_http);
	REFUSED("\r\nGET / HTTP/1.1\r\n" HOST "\r\n", not_http);
	REFUSED("GET /\r\n", line);
	REFUSED("GET\r\n", not_http);
	REFUSED("GET / \r\n" HOST "\r\n", version);
	REFUSED("GET / HTTP/1.2\r\n" HOST "\r\n", version);
	REFUSED("GET / HTTP/2.0\r\n" HOST "\r\n", version);
	REFUSED("GET / HTTP/1.10\r\n" HOST "\r\n", version);
	REFUSED("GET / http/1.1\r\n" HOST "\r\n", version);
	REFUSED("get / HTTP/1.1\r\n" HOST "\r\n", "a method in lower case");
	REFUSED("G(T / HTTP/1.1\r\n" HOST "\r\n", not_http);
	REFUSED("\x16\x03\x01\x02", not_http);
	REFUSED("AAAAAAAAAAAAAAAAAAAAAAAAAAAA", "not HTTP, or a method that is too long");
	REFUSED("GET / HTTP/1.1\n" HOST "\r\n", "a line that does not end with CR LF");
	REFUSED(LINE "Host: example.com\n\r\n", "a line that does not end with CR LF");
	REFUSED(LINE HOST "\n", "a line that does not end with CR LF");
	REFUSED("\n", "a line that does not end with CR LF");
}

static void test_fields(void)
{
	static const char byte[] = "a byte that may not be in a field",
			  name[] = "a byte that may not be in a field's name",
			  blank[] = "a blank before the colon of a field";

	REFUSED(LINE HOST "X: a\rb\r\n\r\n", "a bare CR");
	REFUSED(LINE HOST "X: a\r\r\n\r\n", "a bare CR");
	REFUSED(LINE HOST "\r\r\n\r\n", "a field without a name");
	REFUSED(LINE HOST "X: a\r\n b\r\n\r\n", "a folded field");
	REFUSED(LINE HOST "X: a\r\n\tb\r\n\r\n", "a folded field");
	REFUSED(LINE " X: a\r\n" HOST "\r\n", "a folded field");
	REFUSED(LINE HOST "X: a\r\n \r\n\r\n", "a folded field");
	REFUSED(LINE HOST "X : a\r\n\r\n", blank);
	REFUSED(LINE HOST "X\t: a\r\n\r\n", blank);
	REFUSED(LINE "Host : example.com\r\n\r\n", blank);
	REFUSED(LINE HOST "X Y: a\r\n\r\n", blank);
	REFUSED(LINE HOST "X\0: a\r\n\r\n", name);
	REFUSED(LINE HOST "X\x0b: a\r\n\r\n", name);
	REFUSED(LINE HOST "X\xa0: a\r\n\r\n", name);
	REFUSED(LINE HOST "X(: a\r\n\r\n", name);
	REFUSED(LINE HOST ": a\r\n\r\n", "a field without a name");
	REFUSED(LINE HOST "X\r\n\r\n", "a field without a name");
	REFUSED(LINE HOST "X: a\0b\r\n\r\n", byte);
	REFUSED(LINE HOST "X: a\x7f\r\n\r\n", byte);
	REFUSED(LINE HOST "X: a\x0b\r\n\r\n", byte);
	REFUSED(LINE HOST "X: \xc3\xa4\r\n\r\n", byte);
	TAKEN(LINE HOST "X: a\tb \r\n!#$%&'*+-.^_`|~: \"(),/:;<=>?@[\\]{}\r\n\r\n");
}

static void test_host(void)
{
	static const char neither[] = "a host that is neither a name nor an address", port[] = "a host with a bad port";

	REFUSED(LINE "\r\n", "no Host");
	REFUSED("GET / HTTP/1.0\r\n\r\n", "no Host");
	REFUSED(LINE HOST HOST "\r\n", "more than one Host");
	REFUSED(LINE HOST "host: other.com\r\n\r\n", "more than one Host");
	REFUSED(LINE HOST "Http_Host: other.com\r\n\r\n",
		"a field that some servers take for Content-Length, Transfer-Encoding or Host");
	REFUSED(LINE "Host:\r\n\r\n", neither);
	REFUSED(LINE "Host: user@example.com\r\n\r\n", neither);
	REFUSED(LINE "Host: a.com, b.com\r\n\r\n", neither);
	REFUSED(LINE "Host: a.com b.com\r\n\r\n", neither);
	REFUSED(LINE "Host: example.com/x\r\n\r\n", neither);
	REFUSED(LINE "Host: http://example.com\r\n\r\n", port);
	REFUSED(LINE "Host: example..com\r\n\r\n", neither);
	REFUSED(LINE "Host: example.com:\r\n\r\n", port);
	REFUSED(LINE "Host: example.com:0\r\n\r\n", port);
	REFUSED(LINE "Host: example.com:080\r\n\r\n", port);
	REFUSED(LINE "Host: example.com:65536\r\n\r\n", port);
	REFUSED(LINE "Host: example.com:80a\r\n\r\n", port);
	REFUSED(LINE "Host: example.com:+80\r\n\r\n", port);
	REFUSED(LINE "Host: example.com:80:80\r\n\r\n", port);
	REFUSED(LINE "Host: example.com: 80\r\n\r\n", port);
	REFUSED(LINE "Host: ::1\r\n\r\n", port);
	REFUSED(LINE "Host: [::1\r\n\r\n", neither);
	REFUSED(LINE "Host: [::1]x\r\n\r\n", port);
	REFUSED(LINE "Host: [::1%eth0]\r\n\r\n", neither);
	REFUSED(LINE "Host: [example.com]\r\n\r\n", neither);
	REFUSED(LINE "Host: :80\r\n\r\n", neither);
}

#define POST "POST / HTTP/1.1\r\n" HOST
#define CL "Content-Length: "
#define TE "Transfer-Encoding: "

static void test_smuggling(void)
{
	static const char both[] = "both Content-Length and Transfer-Encoding", length[] = "a malformed Content-Length",
			  other[] = "a Transfer-Encoding other than chunked", two[] = "more than one Transfer-Encoding",
			  alias[] = "a field that some servers take for Content-Length, Transfer-Encoding or Host",
			  named[] = "a Connection that names a field of the message's frame";

	REFUSED(POST CL "6\r\n" TE "chunked\r\n\r\n0\r\n\r\nG", both);
	REFUSED(POST TE "chunked\r\n" CL "4\r\n\r\n5c\r\n", both);
	REFUSED(POST CL "4\r\n" CL "4\r\n\r\n", "more than one Content-Length");
	REFUSED(POST CL "4\r\ncontent-length: 5\r\n\r\n", "more than one Content-Length");
	REFUSED(POST CL "4, 4\r\n\r\n", length);
	REFUSED(POST CL "\r\n\r\n", length);
	REFUSED(POST CL "+4\r\n\r\n", length);
	REFUSED(POST CL "-4\r\n\r\n", length);
	REFUSED(POST CL "0x4\r\n\r\n", length);
	REFUSED(POST CL "04\r\n\r\n", length);
	REFUSED(POST CL "4 4\r\n\r\n", length);
	REFUSED(POST CL "4.0\r\n\r\n", length);
	REFUSED(POST CL "1e3\r\n\r\n", length);
	REFUSED(POST CL "\"4\"\r\n\r\n", length);
	REFUSED(POST CL "18446744073709551617\r\n\r\n", length);
	REFUSED(POST CL "9999999999999999999\r\n\r\n", length);
	ok(TAKEN(POST CL "999999999999999999\r\n\r\n")->body_len == 999999999999999999, "a long one (control)");
	ok(TAKEN(POST CL "\t0 \t\r\n\r\n")->body == HTTP_BODY_LENGTH, "none, with blanks (control)");
	REFUSED(POST TE "xchunked\r\n\r\n", other);
	REFUSED(POST TE "chunked, identity\r\n\r\n", other);
	REFUSED(POST TE "identity, chunked\r\n\r\n", other);
	REFUSED(POST TE "gzip, chunked\r\n\r\n", other);
	REFUSED(POST TE "identity\r\n\r\n", other);
	REFUSED(POST TE "\"chunked\"\r\n\r\n", other);
	REFUSED(POST TE "chunked;q=1\r\n\r\n", other);
	REFUSED(POST TE "chunked,\r\n\r\n", other);
	REFUSED(POST TE ",chunked\r\n\r\n", other);
	REFUSED(POST TE "\r\n\r\n", other);
	REFUSED(POST TE "chun\tked\r\n\r\n", other);
	REFUSED(POST TE "\x0b"
			"chunked\r\n\r\n",
		"a byte that may not be in a field");
	REFUSED(POST "Transfer-Encoding:\r\n chunked\r\n\r\n", other);
	REFUSED(POST "Transfer-Encoding : chunked\r\n\r\n", "a blank before the colon of a field");
	REFUSED(POST "Transfer-Encoding\t:chunked\r\n\r\n", "a blank before the colon of a field");
	REFUSED(POST "X: a\nTransfer-Encoding: chunked\r\n\r\n", "a line that does not end with CR LF");
	REFUSED(POST "X: a\rTransfer-Encoding: chunked\r\n\r\n", "a bare CR");
	REFUSED(POST TE "chunked\r\n" TE "chunked\r\n\r\n", two);
	REFUSED(POST TE "chunked\r\n" TE "x\r\n\r\n", two);
	REFUSED(POST TE "chunked\r\nTransfer_Encoding: x\r\n\r\n", alias);
	REFUSED(POST CL "4\r\nContent_Length: 5\r\n\r\n", alias);
	REFUSED("POST / HTTP/1.0\r\n" HOST TE "chunked\r\n\r\n", "Transfer-Encoding in HTTP/1.0");
	REFUSED(POST CL "4\r\nConnection: Content-Length\r\n\r\n", named);
	REFUSED(POST "Connection: close, host\r\n\r\n", named);
	REFUSED(POST "Connection: clo se\r\n\r\n", "a malformed Connection");
	TAKEN(POST TE "\tchunked\t\r\n\r\n");
}

static void test_upgrade(void)
{
	const struct http_head *h = TAKEN(LINE HOST "Connection: keep-alive, Upgrade\r\nUpgrade: WebSocket\r\n\r\n");

	ok(h->upgrade && h->is_websocket, "a WebSocket");
	h = TAKEN(LINE HOST "Upgrade: websocket\r\n\r\n");
	ok(h->upgrade && !h->is_websocket, "without Connection: an upgrade, no WebSocket");
	h = TAKEN(LINE HOST "Connection: Upgrade\r\n\r\n");
	ok(h->upgrade && !h->is_websocket, "Connection alone");
	h = TAKEN(LINE HOST "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n\r\n");
	ok(h->upgrade && !h->is_websocket, "h2c is no WebSocket");
	h = TAKEN(LINE HOST "Connection: Upgrade\r\nUpgrade: websocket, h2c\r\n\r\n");
	ok(h->upgrade && !h->is_websocket, "a choice is no WebSocket");
	h = TAKEN(LINE HOST "Connection: Upgrade\r\nUpgrade: h2c\r\nUpgrade: websocket\r\n\r\n");
	ok(h->upgrade && !h->is_websocket, "two are no WebSocket");
	h = TAKEN(LINE HOST "Connection: Upgrade\r\nUpgrade: websocket\r\nUpgrade: h2c\r\n\r\n");
	ok(h->upgrade && !h->is_websocket, "two, the other way round");
	h = TAKEN(POST "Connection: Upgrade\r\nUpgrade: websocket\r\nContent-Length: 1\r\n\r\n");
	ok(h->upgrade && !h->is_websocket, "a POST is no WebSocket");
	h = TAKEN("GET / HTTP/1.0\r\n" HOST "Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n");
	ok(h->upgrade && !h->is_websocket, "HTTP/1.0 has no WebSocket");
	REFUSED(POST "Expect: 200-ok\r\n\r\n", "an Expect other than 100-continue");
	REFUSED(POST "Expect: 100-continue\r\nExpect: 100-continue\r\n\r\n", "an Expect other than 100-continue");
	REFUSED("POST / HTTP/1.0\r\n" HOST "Expect: 100-continue\r\n\r\n", "Expect in HTTP/1.0");
}

static void test_response(void)
{
	static const char line[] = "a malformed status line", none[] = "a body where the status has none";
	const struct http_head *h = TAKEN_RESPONSE("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX: \xc3\xa4\r\n\r\nhello");
	struct http_head head;
	const char *why;

	ok(h->status == 200 && h->body == HTTP_BODY_LENGTH && h->body_len == 5 && h->keep_alive, "200");
	h = TAKEN_RESPONSE("HTTP/1.1 200\r\nTransfer-Encoding: chunked\r\n\r\n");
	ok(h->status == 200 && h->body == HTTP_BODY_CHUNKED, "no reason phrase");
	h = TAKEN_RESPONSE("HTTP/1.0 404 \r\n\r\n");
	ok(h->status == 404 && h->body == HTTP_BODY_CLOSE && !h->keep_alive, "an empty reason; until the end");
	h = TAKEN_RESPONSE("HTTP/1.1 200 OK\r\nConnection: keep-alive\r\n\r\n");
	ok(h->body == HTTP_BODY_CLOSE && !h->keep_alive, "until the end, whatever Connection says");
	h = TAKEN_RESPONSE("HTTP/1.1 304 Not Modified\r\nContent-Length: 500\r\n\r\n");
	ok(h->body == HTTP_BODY_NONE && h->keep_alive, "304");
	h = TAKEN_RESPONSE("HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n");
	ok(h->body == HTTP_BODY_NONE && h->keep_alive, "204");
	h = TAKEN_RESPONSE("HTTP/1.1 100 Continue\r\n\r\n");
	ok(h->body == HTTP_BODY_NONE && h->status == 100, "100");
	h = TAKEN_RESPONSE("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n");
	ok(h->body == HTTP_BODY_NONE && h->is_websocket, "101");
	h = TAKEN_RESPONSE(
		"HTTP/1.1 200 OK\r\nConnection: keep-alive, Transfer-Encoding\r\nTransfer-Encoding: chunked\r\n\r\n");
	ok(h->body == HTTP_BODY_CHUNKED, "a server that names Transfer-Encoding in Connection");
	h = TAKEN_RESPONSE("HTTP/1.1 999 Denied\r\nHost: a\r\nHost: b\r\nExpect: x\r\nContent-Length: 0\r\n\r\n");
	ok(h->status == 999 && h->body == HTTP_BODY_LENGTH, "fields of requests mean nothing");
	ok(http_response_parse("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", 38, true, &head, &why) == HTTP_OK &&
		   head.body == HTTP_BODY_NONE && head.body_len == 0,
	   "an answer to HEAD");
	REFUSED_RESPONSE("HTTP/1.1 204 x\r\nContent-Length: 1\r\n\r\n", none);
	REFUSED_RESPONSE("HTTP/1.1 101 x\r\nTransfer-Encoding: chunked\r\n\r\n", none);
	REFUSED_RESPONSE("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n",
			 "both Content-Length and Transfer-Encoding");
	REFUSED_RESPONSE("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\n",
			 "more than one Content-Length");
	REFUSED_RESPONSE("HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "Transfer-Encoding in HTTP/1.0");
	REFUSED_RESPONSE("HTTP/1.1 200 OK\r\nX: a\r\n b\r\n\r\n", "a folded field");
	REFUSED_RESPONSE("HTTP/1.1 200 OK\nX: a\n\n", "a line that does not end with CR LF");
	REFUSED_RESPONSE("HTTP/1.1 99 x\r\n\r\n", line);
	REFUSED_RESPONSE("HTTP/1.1 099 x\r\n\r\n", line);
	REFUSED_RESPONSE("HTTP/1.1 2000 x\r\n\r\n", line);
	REFUSED_RESPONSE("HTTP/1.1 +20 x\r\n\r\n", line);
	REFUSED_RESPONSE("HTTP/1.1  200 x\r\n\r\n", line);
	REFUSED_RESPONSE("HTTP/1.1 200 a\rb\r\n\r\n", line);
	REFUSED_RESPONSE("HTTP/2 200\r\n\r\n", "not HTTP/1.0 or HTTP/1.1");
	REFUSED_RESPONSE("ICY 200 OK\r\n", "not HTTP/1.0 or HTTP/1.1");
	REFUSED_RESPONSE("SSH", "not HTTP/1.0 or HTTP/1.1");
}

static void test_every_byte(bool is_request, const char *text)
{
	size_t len = strlen(text);
	char *other = strdup(text);
	struct http_head head;
	const char *why;
	bool held = true;

	for (size_t i = 0; i < len; i++)
		held = held && parse(is_request, text, i, &head, &why) == HTTP_MORE;
	ok(held, "every piece wants more");
	ok(parse(is_request, text, len, &head, &why) == HTTP_OK && head.len == len, "the whole does not (control)");
	for (size_t i = 0; i < len; i++) {
		for (unsigned value = 0; value < 256; value++) {
			enum http_status status;

			other[i] = (char)value;
			status = parse(is_request, other, len, &head, &why);
			held = held && (status != HTTP_BAD || why[0]);
		}
		other[i] = text[i];
	}
	ok(held, "every byte changed: read, or refused with a reason");
	free(other);
}

static void test_bounds(void)
{
	static char big[HTTP_HEAD_MAX + 64];
	size_t len = (size_t)snprintf(big, sizeof(big), LINE HOST "X: ");
	struct http_head head;
	const char *why;

	memset(big + len, 'x', sizeof(big) - len);
	memcpy(big + HTTP_HEAD_MAX - 4, "\r\n\r\n", 4);
	ok(parse(true, big, HTTP_HEAD_MAX - 1, &head, &why) == HTTP_MORE, "a byte less than the longest head");
	ok(parse(true, big, HTTP_HEAD_MAX, &head, &why) == HTTP_OK, "the longest head");
	memcpy(big + HTTP_HEAD_MAX - 4, "xxx\r\n\r\n", 7);
	refused(true, big, HTTP_HEAD_MAX + 3, "a head that is too long");
	len = (size_t)snprintf(big, sizeof(big), LINE HOST);
	for (unsigned i = 1; i <= HTTP_FIELDS_MAX; i++) {
		memcpy(big + len, "\r\n", 2);
		if (i == HTTP_FIELDS_MAX)
			ok(parse(true, big, len + 2, &head, &why) == HTTP_OK && head.field_count == i, "%u fields", i);
		len += (size_t)snprintf(big + len, sizeof(big) - len, "X: y\r\n");
	}
	memcpy(big + len, "\r\n", 2);
	refused(true, big, len + 2, "too many fields");
}

int main(void)
{
	test_request();
	test_targets();
	test_lines();
	test_fields();
	test_host();
	test_smuggling();
	test_upgrade();
	test_response();
	test_every_byte(true, "POST http://example.com/x HTTP/1.1\r\n" HOST
			      "Content-Length: 10\r\nConnection: a, close\r\n\r\n");
	test_every_byte(false, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nConnection: keep-alive\r\n\r\n");
	test_bounds();
	return done_testing();
}
