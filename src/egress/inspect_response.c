/*
 * Responses: read as strictly as requests, because a client that sees another end of a response than we do would take the rest for the answer
 * to its next request: see inspect_state.h. Hosts with a secret: what comes back of the value is masked, in the head and in every body
 * that is not plainly binary. A masked body that came in chunks is cut into chunks anew, so that a value across two of them is found.
 *
 * The egress process; no privilege.
 */
#include "egress/inspect_state.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

/* Headers that belong to the hop, or that are written anew. Alt-Svc offers a way that does not exist here. */
static const char *const own_fields[] = { "Connection",     "Keep-Alive", "Proxy-Connection", "Transfer-Encoding",
					  "Content-Length", "Upgrade",    "Alt-Svc",          "Trailer" };

/* Not text, whatever is in them: by the beginning of the content type. */
static const char *const binary_types[] = {
	"image/",
	"audio/",
	"video/",
	"font/",
	"application/octet-stream",
	"application/zip",
	"application/gzip",
	"application/x-gzip",
	"application/x-tar",
	"application/x-gtar",
	"application/x-xz",
	"application/x-bzip2",
	"application/zstd",
	"application/x-7z-compressed",
	"application/java-archive",
	"application/vnd.debian.binary-package",
	"application/x-rpm",
	"application/pdf",
	"application/wasm",
	"application/x-git-upload-pack-result",
};

static bool is_binary(const struct http_head *head)
{
	const struct http_field *type = http_find(head, "Content-Type");

	for (size_t i = 0; type && i < sizeof(binary_types) / sizeof(*binary_types); i++) {
		size_t len = strlen(binary_types[i]);

		/* An SVG is text. */
		if (type->value.len >= 9 && strncasecmp(type->value.data, "image/svg", 9) == 0)
			return false;
		if (type->value.len >= len && strncasecmp(type->value.data, binary_types[i], len) == 0)
			return true;
	}
	return false;
}

static bool is_encoded(const struct http_head *head)
{
	for (size_t i = 0; i < head->field_count; i++) {
		const struct http_field *field = &head->fields[i];

		if (http_name_is(field, "Content-Encoding") && field->value.len &&
		    !(field->value.len == 8 && strncasecmp(field->value.data, "identity", 8) == 0))
			return true;
	}
	return false;
}

/* ---- the head ---- */

static bool is_own(const struct http_field *field)
{
	for (size_t i = 0; i < sizeof(own_fields) / sizeof(*own_fields); i++) {
		if (http_name_is(field, own_fields[i]))
			return true;
	}
	return false;
}

static void write_head(struct inspect *x, const struct http_head *head)
{
	struct buffer *out = &x->client_out;
	const char *data = buffer_data(&x->upstream_in), *line = memchr(data, '\r', head->len);
	bool is_final = head->status >= 200;

	buffer_add(out, data, (size_t)(line - data));
	buffer_add_text(out, "\r\n");
	for (size_t i = 0; i < head->field_count; i++) {
		const struct http_field *field = &head->fields[i];
		/* The answer to HEAD tells how long the body would be. */
		bool tells = head->body == HTTP_BODY_NONE && http_name_is(field, "Content-Length");

		if (is_own(field) && !tells)
			continue;
		/* What a secret has opened is not the box's to keep, or to carry elsewhere; it could not send it back here either. */
		if (x->has_secret && http_name_is(field, "Set-Cookie"))
			continue;
		buffer_add(out, field->name.data, field->name.len);
		buffer_add_text(out, ": ");
		buffer_add(out, field->value.data, field->value.len);
		buffer_add_text(out, "\r\n");
	}
	if (head->body == HTTP_BODY_CHUNKED)
		buffer_add_text(out, "Transfer-Encoding: chunked\r\n");
	else if (head->body == HTTP_BODY_LENGTH)
		buffer_addf(out, "Content-Length: %llu\r\n", (unsigned long long)head->body_len);
	if (head->status == 101)
		buffer_add_text(out, "Connection: Upgrade\r\nUpgrade: websocket\r\n");
	else if (is_final && !(x->request.keep_alive && x->response.keep_alive))
		buffer_add_text(out, "Connection: close\r\n");
	buffer_add_text(out, "\r\n");
}

/* The values in the head, in place; what frames the body has been read before. */
static enum inspect_step mask_head(struct inspect *x, const struct http_head *head)
{
	struct mask_flow flow = { 0 };
	bool failed = false;
	const size_t version = strlen("HTTP/1.1 200");

	mask_unref(x->response.mask);
	x->response.mask = x->has_secret ? secrets_mask(x->shared->secrets, &failed) : NULL;
	if (failed)
		return inspect_fail(x, 502, "out of memory");
	if (x->response.mask && head->len > version)
		mask_pass(x->response.mask, &flow, buffer_data(&x->upstream_in) + version, head->len - version, true);
	return STEP_IDLE;
}

static enum inspect_step begin_raw(struct inspect *x)
{
	if (!x->request.is_websocket)
		return inspect_fail(x, 502, "the other side changes the protocol without having been asked");
	x->stage = INSPECT_RAW;
	x->response.begun = true;
	return STEP_MORE;
}

static enum inspect_step begin_body(struct inspect *x, const struct http_head *head)
{
	struct inspect_response *response = &x->response;

	if (response->mask && head->body != HTTP_BODY_NONE && is_encoded(head))
		return inspect_fail(x, 502,
				    "the response is compressed although that was not asked for, "
				    "so the secret of this host could not be masked in it");
	if (response->mask && is_binary(head)) {
		mask_unref(response->mask);
		response->mask = NULL;
	}
	response->begun = true;
	response->keep_alive = head->keep_alive && head->body != HTTP_BODY_CLOSE;
	response->chunked = response->mask && head->body == HTTP_BODY_CHUNKED;
	http_flow_init(&response->flow, head);
	response->done = head->body == HTTP_BODY_NONE || (head->body == HTTP_BODY_LENGTH && !head->body_len);
	return STEP_MORE;
}

static enum inspect_step pass_head(struct inspect *x)
{
	struct http_head head;
	const char *why = "";
	enum inspect_step r;

	/* Also heads wait for room: of interim ones there may be any number. */
	if (!x->upstream_in.len || !inspect_has_room(&x->client, &x->client_out) ||
	    !inspect_head_is_there(&x->upstream_in, &x->scanned))
		return STEP_IDLE;
	switch (http_response_parse(buffer_data(&x->upstream_in), x->upstream_in.len, x->request.is_head, &head,
				    &why)) {
	case HTTP_MORE:
		if (x->upstream_in.len < HTTP_HEAD_MAX)
			return STEP_IDLE;
		return inspect_fail(x, 502, "the head of the response is too long");
	case HTTP_BAD:
		return inspect_fail(x, 502, "not a response that can be passed on: %s", why);
	case HTTP_OK:
		break;
	}
	r = mask_head(x, &head);
	if (r == STEP_IDLE && head.status == 101)
		r = begin_raw(x);
	else if (r == STEP_IDLE && head.status >= 200)
		r = begin_body(x, &head);
	if (r == STEP_GONE || x->stage == INSPECT_END)
		return r;
	write_head(x, &head);
	buffer_take(&x->upstream_in, head.len);
	x->scanned = 0;
	return STEP_MORE;
}

/* ---- the body ---- */

enum { CHUNK_SIZE, CHUNK_DATA, CHUNK_END, CHUNK_LAST };

static unsigned hex(char c)
{
	return c >= '0' && c <= '9' ? (unsigned)(c - '0') : ((unsigned)c | 0x20) - 'a' + 10;
}

/* What the chunks hold. Their form has been checked (http_flow_pass()): only digits, line ends and data can come. */
static void unchunk(struct inspect_response *response, struct buffer *to, const char *data, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		switch (response->chunk_state) {
		case CHUNK_SIZE:
			if (data[i] == '\n')
				response->chunk_state = response->chunk_left ? CHUNK_DATA : CHUNK_LAST;
			else if (data[i] != '\r')
				response->chunk_left = response->chunk_left << 4 | hex(data[i]);
			break;
		case CHUNK_DATA: {
			size_t n = len - i < response->chunk_left ? len - i : (size_t)response->chunk_left;

			buffer_add(to, data + i, n);
			response->chunk_left -= n;
			i += n - 1;
			if (!response->chunk_left)
				response->chunk_state = CHUNK_END;
			break;
		}
		case CHUNK_END:
			if (data[i] == '\n')
				response->chunk_state = CHUNK_SIZE;
			break;
		default:
			break;
		}
	}
}

/* A response may last: a value that another request has brought meanwhile can stand in what is still to come. */
static void renew_mask(struct inspect *x)
{
	bool failed = false;
	struct mask *mask = secrets_mask(x->shared->secrets, &failed);

	if (failed) {
		x->plain.failed = true;
		return;
	}
	mask_unref(x->response.mask);
	x->response.mask = mask;
}

/* What is certain of `plain` goes to the box. */
static void pass_masked(struct inspect *x, bool end)
{
	struct inspect_response *response = &x->response;
	struct buffer *plain = &x->plain, *out = &x->client_out;
	size_t n = 0;

	renew_mask(x);
	if (plain->len)
		n = mask_pass(response->mask, &response->mask_flow, buffer_data(plain), plain->len, end);
	if (response->chunked && n)
		buffer_addf(out, "%zx\r\n", n);
	if (n)
		inspect_move(plain, out, n);
	if (response->chunked && n)
		buffer_add_text(out, "\r\n");
	if (response->chunked && end)
		buffer_add_text(out, "0\r\n\r\n");
}

static enum inspect_step pass_body(struct inspect *x)
{
	struct inspect_response *response = &x->response;
	const char *why = "";
	size_t n = 0;

	if (response->done || !x->upstream_in.len || !inspect_has_room(&x->client, &x->client_out))
		return STEP_IDLE;
	if (http_flow_pass(&response->flow, buffer_data(&x->upstream_in), x->upstream_in.len, &n, &why) == HTTP_BAD)
		return inspect_fail(x, 502, "the body of the response: %s", why);
	response->done = response->flow.done;
	if (!response->mask) {
		inspect_move(&x->upstream_in, &x->client_out, n);
		return n || response->done ? STEP_MORE : STEP_IDLE;
	}
	if (response->chunked)
		unchunk(response, &x->plain, buffer_data(&x->upstream_in), n);
	else
		buffer_add(&x->plain, buffer_data(&x->upstream_in), n);
	buffer_take(&x->upstream_in, n);
	pass_masked(x, response->done);
	return n || response->done ? STEP_MORE : STEP_IDLE;
}

enum inspect_step inspect_response_pass(struct inspect *x)
{
	return x->response.begun ? pass_body(x) : pass_head(x);
}

enum inspect_step inspect_response_eof(struct inspect *x, ssize_t status)
{
	struct inspect_response *response = &x->response;

	if (!response->begun) {
		/* A connection that was kept may be closed at any time, and clients try again then. An answer would keep them from it. */
		if (x->requests > 1 && !x->upstream_in.len) {
			inspect_tell(x, NET_FAILED, "the other side closed the connection", NULL);
			return inspect_end(x, true, NET_ALLOWED, NULL);
		}
		return inspect_fail(x, 502,
				    status ? "the other side broke the connection before it answered"
					   : "the other side closed the connection before it answered");
	}
	if (response->flow.kind != HTTP_BODY_CLOSE)
		return inspect_fail(x, 502, "the other side closed the connection in the middle of its response");
	response->done = true;
	response->truncated = status != 0; /* passed on as it is: an end without a word */
	if (response->mask)
		pass_masked(x, true);
	return STEP_MORE;
}

void inspect_response_raw(struct inspect *x)
{
	if (!x->response.mask) {
		inspect_move(&x->upstream_in, &x->client_out, x->upstream_in.len);
		return;
	}
	buffer_add(&x->plain, buffer_data(&x->upstream_in), x->upstream_in.len);
	buffer_take(&x->upstream_in, x->upstream_in.len);
	pass_masked(x, x->upstream_ended);
}

void inspect_response_done(struct inspect *x)
{
	mask_unref(x->response.mask);
	buffer_done(&x->plain);
	x->response = (struct inspect_response){ 0 };
}
