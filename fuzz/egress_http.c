/*
 * Any bytes as a request (first byte 0), a response (1) or a response to HEAD (2), with what follows as its body. What is read of a piece
 * never contradicts the whole; a head written again from what was read is read the same; a body passes the same bytes however it is cut,
 * and as many as a slow reference finds.
 */
#include "base/str.h"
#include "egress/http.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds, const char *what)
{
	if (holds)
		return;
	fprintf(stderr, "%s\n", what);
	abort();
}

static enum http_status parse(unsigned mode, const char *data, size_t len, struct http_head *ret)
{
	const char *why = NULL;
	enum http_status status = mode == 0 ? http_request_parse(data, len, ret, &why)
					    : http_response_parse(data, len, mode == 2, ret, &why);

	must((status == HTTP_BAD) == (why != NULL), "a refusal and its reason");
	return status;
}

static bool same_span(struct http_span a, struct http_span b)
{
	return a.len == b.len && (!a.len || memcmp(a.data, b.data, a.len) == 0);
}

static bool same(const struct http_head *a, const struct http_head *b)
{
	if (a->minor != b->minor || a->absolute != b->absolute || strcmp(a->host, b->host) != 0 ||
	    a->host_is_address != b->host_is_address || a->host_port != b->host_port || a->upgrade != b->upgrade ||
	    a->is_websocket != b->is_websocket || a->expect_continue != b->expect_continue || a->status != b->status ||
	    a->keep_alive != b->keep_alive || a->body != b->body || a->body_len != b->body_len ||
	    a->field_count != b->field_count || !same_span(a->method, b->method) || !same_span(a->path, b->path) ||
	    !same_span(a->target, b->target))
		return false;
	for (size_t i = 0; i < a->field_count; i++)
		if (!same_span(a->fields[i].name, b->fields[i].name) ||
		    !same_span(a->fields[i].value, b->fields[i].value))
			return false;
	return true;
}

static void check_pieces(unsigned mode, const char *data, size_t len, enum http_status whole, size_t head_len)
{
	static struct http_head part;

	for (size_t i = 0; i < len; i++) {
		char *exact = malloc(i ? i : 1);
		enum http_status status;

		must(exact, "memory");
		memcpy(exact, data, i);
		status = parse(mode, exact, i, &part);
		free(exact);
		must(whole != HTTP_OK || (status == HTTP_OK) == (i >= head_len), "a head that ends elsewhere");
		must(status == HTTP_MORE || status == whole, "a piece was taken differently");
	}
}

static void check_written(unsigned mode, const struct http_head *head)
{
	static struct http_head again;
	auto_str struct str s = { 0 };

	if (mode == 0)
		str_addf(&s, "%.*s %.*s HTTP/1.%d\r\n", (int)head->method.len, head->method.data, (int)head->target.len,
			 head->target.data, head->minor);
	else
		str_addf(&s, "HTTP/1.%d %d\r\n", head->minor, head->status);
	for (size_t i = 0; i < head->field_count; i++) {
		str_add_bytes(&s, head->fields[i].name.data, head->fields[i].name.len);
		str_add(&s, ": ");
		str_add_bytes(&s, head->fields[i].value.data, head->fields[i].value.len);
		str_add(&s, "\r\n");
	}
	str_add(&s, "\r\n");
	if (s.failed || s.len > HTTP_HEAD_MAX)
		return;
	must(parse(mode, s.data, s.len, &again) == HTTP_OK && again.len == s.len, "what was written is not taken");
	must(same(head, &again), "what was written is read differently");
}

struct outcome {
	enum http_status status;
	size_t passed;
	bool done;
};

/* In two pieces cut at `at`, the second one in pieces of `step`. */
static struct outcome feed(const struct http_head *head, const char *data, size_t len, size_t at, size_t step)
{
	struct outcome o = { .status = HTTP_OK };
	struct http_flow flow;

	http_flow_init(&flow, head);
	for (size_t from = 0, n = at; from < len && o.status == HTTP_OK && !flow.done; from += n, n = step) {
		const char *why = NULL;
		size_t passed = 0;

		if (n > len - from)
			n = len - from;
		o.status = http_flow_pass(&flow, data + from, n, &passed, &why);
		must((o.status == HTTP_BAD) == (why != NULL), "a refusal and its reason");
		must(passed <= n && (passed == n || flow.done || o.status == HTTP_BAD), "a piece was left");
		o.passed += passed;
	}
	o.done = flow.done;
	return o;
}

/* How many bytes a whole chunked body has; 0 where it is not all there or malformed. */
static size_t reference(const char *data, size_t len)
{
	size_t at = 0;

	for (;;) {
		unsigned long long n;
		char size[18] = { 0 };
		size_t digits = 0;

		memcpy(size, data + at, len - at < 17 ? len - at : 17);
		digits = strspn(size, "0123456789abcdefABCDEF");
		size[digits] = '\0';
		n = strtoull(size, NULL, 16);
		at += digits;
		if (!digits || digits > 16 || n > INT64_MAX || len - at < 2 || memcmp(data + at, "\r\n", 2) != 0)
			return 0;
		at += 2;
		if (n > len - at || len - at - n < 2 || memcmp(data + at + n, "\r\n", 2) != 0)
			return 0;
		at += n + 2;
		if (!n)
			return at;
	}
}

static void check_body(const struct http_head *head, const char *data, size_t len)
{
	struct outcome whole = feed(head, data, len, len, 1), other;

	for (size_t at = 1; at <= len; at++)
		for (size_t step = 1; step <= 2; step++) {
			other = feed(head, data, len, at, step == 1 ? len : step);
			must(other.status == whole.status && other.passed == whole.passed && other.done == whole.done,
			     "a body that ends elsewhere when it is cut");
		}
	if (head->body == HTTP_BODY_CHUNKED)
		must(reference(data, len) == (whole.done ? whole.passed : 0), "another end than the reference finds");
	if (head->body == HTTP_BODY_LENGTH)
		must(whole.passed == (head->body_len < len ? head->body_len : len), "another length");
	if (head->body == HTTP_BODY_NONE)
		must(whole.done && !whole.passed, "a body where there is none");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct http_head head;
	const char *text = (const char *)data + 1;
	char again[HOSTNAME_SIZE];
	enum http_status status;
	size_t len = size - 1;

	if (!size)
		return 0;
	status = parse(data[0] % 3, text, len, &head);
	check_pieces(data[0] % 3, text, len, status, head.len);
	if (status != HTTP_OK)
		return 0;
	check_written(data[0] % 3, &head);
	if (data[0] % 3 == 0)
		must(hostname_parse(head.host, strlen(head.host), false, again) ==
			     (head.host_is_address ? HOSTNAME_ADDRESS : HOSTNAME_NAME),
		     "a host that is not one");
	check_body(&head, text + head.len, len - head.len);
	return 0;
}
