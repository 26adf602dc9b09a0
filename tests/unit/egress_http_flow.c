/* HTTP/1 bodies: where a message ends, however it is cut, and every chunk that has two readings. */
#include "egress/http.h"
#include "tap.h"

struct outcome {
	enum http_status status;
	size_t passed;
	bool done;
	const char *why;
};

/* Feeds the data in pieces of `step`. */
static struct outcome feed(enum http_body kind, uint64_t body_len, const char *data, size_t len, size_t step)
{
	struct http_head head = { .body = kind, .body_len = body_len };
	struct outcome o = { .status = HTTP_OK, .why = "" };
	struct http_flow flow;

	http_flow_init(&flow, &head);
	for (size_t at = 0; at < len && o.status == HTTP_OK; at += step) {
		size_t n = len - at < step ? len - at : step, passed = 99;

		o.status = http_flow_pass(&flow, data + at, n, &passed, &o.why);
		o.passed += passed;
		if (flow.done)
			break;
	}
	o.done = flow.done;
	return o;
}

static void check(const char *data, size_t len, enum http_status status, size_t passed, bool done, const char *why,
		  const char *what)
{
	for (size_t step = 1; step <= len; step++) {
		struct outcome o = feed(HTTP_BODY_CHUNKED, 0, data, len, step);

		if (o.status == status && o.passed == passed && o.done == done && strcmp(o.why, why) == 0)
			continue;
		ok(false, "%s", what);
		note("in pieces of %zu: status %d, %zu bytes, %s: %s", step, o.status, o.passed,
		     o.done ? "done" : "open", o.why);
		return;
	}
	ok(true, "%s", what);
}

#define TAKEN(text, extra, what) check(text extra, sizeof(text extra) - 1, HTTP_OK, sizeof(text) - 1, true, "", (what))
#define OPEN(text, what) check(text, sizeof(text) - 1, HTTP_OK, sizeof(text) - 1, false, "", (what))
#define REFUSED(good, rest, why, what) \
	check(good rest, sizeof(good rest) - 1, HTTP_BAD, sizeof(good) - 1, false, (why), (what))

static void test_chunks(void)
{
	static const char behind[] = "a chunk's size with something behind it", none[] = "a chunk without a size",
			  end[] = "a chunk's line that does not end with CR LF",
			  trailer[] = "a trailer behind the chunks", too_long[] = "a chunk that is too long";

	TAKEN("0\r\n\r\n", "", "an empty body");
	TAKEN("5\r\nhello\r\n0\r\n\r\n", "GET / HTTP/1.1\r\n", "one chunk, and the next message");
	TAKEN("3\r\n\r\n\r\r\nA\r\n0123456789\r\n000\r\n\r\n", "", "chunks of anything");
	TAKEN("a\r\n0123456789\r\n0000000000000001\r\nx\r\n0\r\n\r\n", "", "zeros in front");
	OPEN("5\r\nhello\r\n0\r\n\r", "all but the last byte");
	OPEN("7fffffffffffffff\r\nx", "the longest chunk");
	REFUSED("", "+5\r\nhello", none, "a plus");
	REFUSED("", "-5\r\nhello", none, "a minus");
	REFUSED("", " 5\r\nhello", none, "a blank in front");
	REFUSED("", "\r\nhello", none, "no size");
	REFUSED("", "\n", none, "no size, LF only");
	REFUSED("0", "x5\r\nhello", behind, "0x in front");
	REFUSED("5", " \r\nhello", behind, "a blank behind");
	REFUSED("5", "\t\r\nhello", behind, "a tab behind");
	REFUSED("5", ";a=b\r\nhello", behind, "an extension");
	REFUSED("5", ";\n\r\nhello", behind, "an extension with LF");
	REFUSED("5", "g\r\nhello", behind, "another letter");
	REFUSED("5", "_0\r\nhello", behind, "an underscore");
	REFUSED("5", ".0\r\nhello", behind, "a dot");
	REFUSED("5", "\0\r\nhello", behind, "a NUL");
	REFUSED("5", "\nhello", end, "LF only behind the size");
	REFUSED("5\r", "hello", end, "CR only behind the size");
	REFUSED("5\r", "\r\nhello", end, "two CR behind the size");
	REFUSED("5\r\nhello", "\n0\r\n\r\n", end, "LF only behind the chunk");
	REFUSED("5\r\nhello\r", "0\r\n\r\n", end, "CR only behind the chunk");
	REFUSED("5\r\nhello", "x\r\n", end, "a chunk that is longer than it says");
	REFUSED("5\r\nhello", "0\r\n\r\n", end, "nothing behind the chunk");
	REFUSED("7fffffffffffffff", "f\r\n", too_long, "a digit more than the longest");
	REFUSED("800000000000000", "0\r\n", too_long, "2^63");
	REFUSED("fffffffffffffff", "f\r\n", too_long, "2^64 - 1");
	REFUSED("0000000000000000", "5\r\nhello", too_long, "seventeen digits");
	REFUSED("0\r\n", "X: y\r\n\r\n", trailer, "a trailer");
	REFUSED("0\r\n", "\n", trailer, "LF only at the end");
	REFUSED("0\r\n\r", "x", end, "CR only at the end");
	REFUSED("0\r\n\r", "\r\n", end, "two CR at the end");
}

static void test_others(void)
{
	struct outcome o = feed(HTTP_BODY_NONE, 0, "abc", 3, 3);
	struct http_head head = { .body = HTTP_BODY_CHUNKED };
	struct http_flow flow;
	const char *why = "";
	size_t n = 1;

	ok(o.done && o.passed == 0 && o.status == HTTP_OK, "no body");
	o = feed(HTTP_BODY_LENGTH, 0, "abc", 3, 3);
	ok(o.done && o.passed == 0, "a length of none");
	for (size_t step = 1; step < 8; step++) {
		o = feed(HTTP_BODY_LENGTH, 5, "abcdefg", 7, step);
		ok(o.done && o.passed == 5, "a length, in pieces of %zu", step);
	}
	o = feed(HTTP_BODY_LENGTH, UINT64_MAX, "abc", 3, 1);
	ok(!o.done && o.passed == 3, "a length that has not come");
	o = feed(HTTP_BODY_CLOSE, 0, "abc", 3, 2);
	ok(!o.done && o.passed == 3, "until the end");
	http_flow_init(&flow, &head);
	ok(http_flow_pass(&flow, "x", 1, &n, &why) == HTTP_BAD && n == 0, "a malformed chunk");
	ok(http_flow_pass(&flow, "0\r\n\r\n", 5, &n, &why) == HTTP_BAD && n == 0 && !flow.done,
	   "nothing passes after it");
}

int main(void)
{
	test_chunks();
	test_others();
	return done_testing();
}
