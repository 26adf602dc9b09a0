/* What the two files that read HTTP heads share: http.c (fields, the whole) and http_line.c (first lines, hosts). Runs in the egress process. */
#ifndef EGRESS_HTTP_READ_H
#define EGRESS_HTTP_READ_H

#include "egress/http.h"

#include <string.h>

/* What has been seen of a head so far. */
struct reading {
	struct http_head *head;
	const char **why;
	bool is_request;
	struct http_span authority; /* of the target, for absolute-form and CONNECT */
	int default_port;           /* of the target's scheme, or -1 */
	bool has_host, has_length, has_transfer, has_upgrade, has_expect;
	bool says_close, says_keep_alive, says_upgrade; /* in Connection */
};

static inline bool bad(const struct reading *r, const char *why)
{
	*r->why = why;
	return false;
}

/* ---- bytes ---- */

static inline char lower(char c)
{
	return (char)(c >= 'A' && c <= 'Z' ? c | 0x20 : c);
}

static inline bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static inline bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

/* tchar of RFC 9110. */
static inline bool is_token(char c)
{
	return is_digit(c) || (lower(c) >= 'a' && lower(c) <= 'z') || (c && strchr("!#$%&'*+-.^_`|~", c));
}

static inline bool is_text(char c, bool obs_text)
{
	return c == '\t' || (c >= ' ' && c <= '~') || (obs_text && (unsigned char)c >= 0x80);
}

static inline bool span_is(struct http_span span, const char *text)
{
	if (span.len != strlen(text))
		return false;
	for (size_t i = 0; i < span.len; i++)
		if (lower(span.data[i]) != lower(text[i]))
			return false;
	return true;
}

static inline bool span_starts(struct http_span span, const char *text)
{
	size_t len = strlen(text);

	return span.len >= len && span_is((struct http_span){ span.data, len }, text);
}

static inline struct http_span trim(struct http_span span)
{
	while (span.len && is_blank(span.data[0])) {
		span.data++;
		span.len--;
	}
	while (span.len && is_blank(span.data[span.len - 1]))
		span.len--;
	return span;
}

/* Up to the first `c`, which is taken as well; false where there is none. */
static inline bool cut(struct http_span *rest, char c, struct http_span *ret)
{
	const char *at = rest->len ? memchr(rest->data, c, rest->len) : NULL;

	if (!at)
		return false;
	*ret = (struct http_span){ rest->data, (size_t)(at - rest->data) };
	rest->len -= ret->len + 1;
	rest->data = at + 1;
	return true;
}

/* ---- first lines and hosts ---- */

struct authority {
	char host[HOSTNAME_SIZE];
	bool is_address;
	int port; /* -1: none given */
};

/* From Host or a target. */
bool http_read_authority(const struct reading *r, struct http_span text, struct authority *ret);
/* The target names the same host and port as Host. */
bool http_check_authority(const struct reading *r);
bool http_read_request_line(struct reading *r, struct http_span line);
bool http_read_status_line(struct reading *r, struct http_span line);
/* The beginning of a first line that is not all there: so that what is not HTTP at all is refused before a line's end comes. */
bool http_check_beginning(const struct reading *r, struct http_span line);

#endif
