/*
 * HTTP/1 bodies as they pass: where the message ends, and nothing else. Of chunks only the strictest form is taken: hexadecimal digits, CR LF,
 * the bytes, CR LF, and an empty line right behind the last one. Any cut of the stream gives the same. Runs in the egress process,
 * unprivileged.
 */
#include "egress/http.h"

enum { DIGITS_MAX = 16 };

enum state {
	CHUNK_SIZE,
	CHUNK_SIZE_LF,
	CHUNK_DATA,
	CHUNK_DATA_CR,
	CHUNK_DATA_LF,
	CHUNK_END_CR, /* behind the last chunk: a trailer would stand here */
	CHUNK_END_LF,
	CHUNK_BROKEN,
};

void http_flow_init(struct http_flow *flow, const struct http_head *head)
{
	*flow = (struct http_flow){ .kind = head->body };
	if (flow->kind == HTTP_BODY_LENGTH)
		flow->left = head->body_len;
	flow->done = flow->kind == HTTP_BODY_NONE || (flow->kind == HTTP_BODY_LENGTH && !flow->left);
}

static int hex(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

/* One byte of a chunk's size; NULL or what is wrong with it. */
static const char *step_size(struct http_flow *flow, char c)
{
	int digit = hex(c);

	if (digit >= 0) {
		if (flow->digits == DIGITS_MAX || flow->left > (uint64_t)INT64_MAX >> 4)
			return "a chunk that is too long";
		flow->left = flow->left << 4 | (uint64_t)digit;
		flow->digits++;
		return NULL;
	}
	if (!flow->digits)
		return "a chunk without a size";
	if (c != '\r')
		return c == '\n' ? "a chunk's line that does not end with CR LF"
				 : "a chunk's size with something behind it";
	flow->state = CHUNK_SIZE_LF;
	return NULL;
}

static const char *step_end(struct http_flow *flow, char c, char want, enum state next)
{
	if (c != want)
		return flow->state == CHUNK_END_CR ? "a trailer behind the chunks"
						   : "a chunk's line that does not end with CR LF";
	flow->state = next;
	return NULL;
}

static const char *step(struct http_flow *flow, char c)
{
	const char *why;

	switch ((enum state)flow->state) {
	case CHUNK_SIZE:
		return step_size(flow, c);
	case CHUNK_SIZE_LF:
		return step_end(flow, c, '\n', flow->left ? CHUNK_DATA : CHUNK_END_CR);
	case CHUNK_DATA_CR:
		return step_end(flow, c, '\r', CHUNK_DATA_LF);
	case CHUNK_DATA_LF:
		flow->digits = 0;
		return step_end(flow, c, '\n', CHUNK_SIZE);
	case CHUNK_END_CR:
		return step_end(flow, c, '\r', CHUNK_END_LF);
	case CHUNK_END_LF:
		why = step_end(flow, c, '\n', CHUNK_END_LF);
		flow->done = !why;
		return why;
	case CHUNK_DATA:
	case CHUNK_BROKEN:
		break;
	}
	return "bytes behind a malformed chunk";
}

static enum http_status pass_chunks(struct http_flow *flow, const char *data, size_t len, size_t *ret_len,
				    const char **why)
{
	const char *wrong = NULL;
	size_t at = 0;

	while (at < len && !flow->done && !wrong) {
		if (flow->state == CHUNK_DATA) {
			size_t n = flow->left < len - at ? (size_t)flow->left : len - at;

			at += n;
			flow->left -= n;
			if (!flow->left)
				flow->state = CHUNK_DATA_CR;
			continue;
		}
		wrong = step(flow, data[at]);
		at += !wrong;
	}
	*ret_len = at;
	if (!wrong)
		return HTTP_OK;
	flow->state = CHUNK_BROKEN;
	*why = wrong;
	return HTTP_BAD;
}

enum http_status http_flow_pass(struct http_flow *flow, const char *data, size_t len, size_t *ret_len, const char **why)
{
	*ret_len = 0;
	if (flow->done)
		return HTTP_OK;
	switch (flow->kind) {
	case HTTP_BODY_NONE:
		break;
	case HTTP_BODY_CLOSE:
		*ret_len = len;
		break;
	case HTTP_BODY_LENGTH:
		*ret_len = flow->left < len ? (size_t)flow->left : len;
		flow->left -= *ret_len;
		flow->done = !flow->left;
		break;
	case HTTP_BODY_CHUNKED:
		return pass_chunks(flow, data, len, ret_len, why);
	}
	return HTTP_OK;
}
