/*
 * HTTP/1.1 as a strict reader sees it: one request or response head, and how its body is framed. What two readers could take differently is
 * refused (RFC 9112 with every leniency off). Pure; hostile bytes from both sides. Runs in the egress process.
 */
#ifndef EGRESS_HTTP_H
#define EGRESS_HTTP_H

#include "net/hostname.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { HTTP_HEAD_MAX = 65536, HTTP_FIELDS_MAX = 128 };

struct http_span {
	const char *data; /* into the head */
	size_t len;
};

struct http_field {
	struct http_span name, value; /* value without surrounding blanks */
};

enum http_body { HTTP_BODY_NONE, HTTP_BODY_LENGTH, HTTP_BODY_CHUNKED, HTTP_BODY_CLOSE /* responses: until the end */ };

struct http_head {
	size_t len; /* of the whole head, with the empty line */
	int minor;  /* HTTP/1.minor: 0 or 1 */
	/* requests */
	struct http_span method, target; /* as they stand */
	struct http_span
		path; /* of the target, with the query; "/" for an absolute-form target without one; "*" for OPTIONS * */
	bool absolute;            /* absolute-form: its authority was the same as Host */
	char host[HOSTNAME_SIZE]; /* normalised; from Host */
	bool host_is_address;
	int host_port; /* -1: none given */
	bool upgrade, is_websocket, expect_continue;
	/* responses */
	int status;
	/* both */
	bool keep_alive;
	enum http_body body;
	uint64_t body_len;
	struct http_field fields[HTTP_FIELDS_MAX];
	size_t field_count;
};

enum http_status { HTTP_OK, HTTP_MORE, HTTP_BAD };

/* `why` gets a constant sentence for HTTP_BAD. CONNECT is HTTP_OK with method CONNECT: the caller refuses it. */
enum http_status http_request_parse(const char *data, size_t len, struct http_head *ret, const char **why);
/* `to_head`: the request was HEAD; `to_connect` is not supported. 1xx and 204/304 have no body. */
enum http_status http_response_parse(const char *data, size_t len, bool to_head, struct http_head *ret,
				     const char **why);
bool http_name_is(const struct http_field *field, const char *name); /* case-insensitive */
/* The same for a server that hands fields on as variables: X_Api_Key and X.Api.Key are X-Api-Key to it. `len`: of name. */
bool http_name_like(const struct http_field *field, const char *name, size_t len);
const struct http_field *http_find(const struct http_head *head, const char *name);

/* A body as it passes: how many of the next bytes belong to it. Chunk sizes are strict hexadecimal without sign, extensions and trailers are
 * refused (HTTP_BAD). */
struct http_flow {
	enum http_body kind;
	uint64_t left;   /* of the body, or of the chunk */
	unsigned state;  /* of the chunk reader */
	unsigned digits; /* of the chunk's size, so far */
	bool done;
};
void http_flow_init(struct http_flow *flow, const struct http_head *head);
/* Looks at data; *ret_len is how many of its bytes belong to this body (framing and all). HTTP_OK: flow->done tells whether that was the end.
 * HTTP_BAD: *ret_len bytes were well, and nothing more can pass. Never HTTP_MORE. */
enum http_status http_flow_pass(struct http_flow *flow, const char *data, size_t len, size_t *ret_len,
				const char **why);

#endif
