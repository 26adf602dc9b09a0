/*
 * HTTP/1 heads. A head is cut into lines first (CR LF and nothing else), its first line is read as soon as it is there (http_line.c), the fields once the
 * empty line is: each must have its one form, then those that say where a message ends or whom it is for go through the table of
 * handlers below, and at last they are looked at together. There is no second reading of anything: what is not understood in the
 * one way is refused with a reason. Runs in the egress process, unprivileged.
 */
#include "egress/http_read.h"

#include "base/str.h"

enum { LENGTH_DIGITS_MAX = 18 };

bool http_name_is(const struct http_field *field, const char *name)
{
	return span_is(field->name, name);
}

static char as_variable(char c)
{
	if (c >= 'a' && c <= 'z')
		return (char)(c - 'a' + 'A');
	return is_digit(c) || (c >= 'A' && c <= 'Z') ? c : '_';
}

bool http_name_like(const struct http_field *field, const char *name, size_t len)
{
	if (field->name.len != len)
		return false;
	for (size_t i = 0; i < len; i++)
		if (as_variable(field->name.data[i]) != as_variable(name[i]))
			return false;
	return true;
}

const struct http_field *http_find(const struct http_head *head, const char *name)
{
	for (size_t i = 0; i < head->field_count; i++)
		if (http_name_is(&head->fields[i], name))
			return &head->fields[i];
	return NULL;
}

/* ---- fields ---- */

static bool take_host(struct reading *r, struct http_span value)
{
	struct authority host = { .port = -1 };

	if (!r->is_request)
		return true;
	if (r->has_host)
		return bad(r, "more than one Host");
	r->has_host = true;
	if (!http_read_authority(r, value, &host))
		return false;
	memcpy(r->head->host, host.host, sizeof(host.host));
	r->head->host_is_address = host.is_address;
	r->head->host_port = host.port;
	return true;
}

static bool take_length(struct reading *r, struct http_span value)
{
	uint64_t length = 0;

	if (r->has_length)
		return bad(r, "more than one Content-Length");
	r->has_length = true;
	if (!value.len || value.len > LENGTH_DIGITS_MAX || (value.len > 1 && value.data[0] == '0'))
		return bad(r, "a malformed Content-Length");
	for (size_t i = 0; i < value.len; i++) {
		if (!is_digit(value.data[i]))
			return bad(r, "a malformed Content-Length");
		length = length * 10 + (uint64_t)(value.data[i] - '0');
	}
	r->head->body_len = length;
	return true;
}

static bool take_transfer(struct reading *r, struct http_span value)
{
	if (r->has_transfer)
		return bad(r, "more than one Transfer-Encoding");
	r->has_transfer = true;
	return span_is(value, "chunked") || bad(r, "a Transfer-Encoding other than chunked");
}

static bool take_connection(struct reading *r, struct http_span value)
{
	static const char *const never[] = { "host", "content-length", "transfer-encoding" };
	struct http_span token;
	bool more = true;

	while (more) {
		more = cut(&value, ',', &token);
		token = trim(more ? token : value);
		for (size_t i = 0; i < token.len; i++)
			if (!is_token(token.data[i]))
				return bad(r, "a malformed Connection");
		/* A field that is named here may be dropped by whoever is next. Some servers do name Transfer-Encoding. */
		for (size_t i = 0; i < ARRAY_LEN(never); i++)
			if (r->is_request && span_is(token, never[i]))
				return bad(r, "a Connection that names a field of the message's frame");
		r->says_close = r->says_close || span_is(token, "close");
		r->says_keep_alive = r->says_keep_alive || span_is(token, "keep-alive");
		r->says_upgrade = r->says_upgrade || span_is(token, "upgrade");
	}
	return true;
}

static bool take_upgrade(struct reading *r, struct http_span value)
{
	r->head->is_websocket = !r->has_upgrade && span_is(value, "websocket");
	r->has_upgrade = true;
	return true;
}

static bool take_expect(struct reading *r, struct http_span value)
{
	if (!r->is_request)
		return true;
	if (r->has_expect || !span_is(value, "100-continue"))
		return bad(r, "an Expect other than 100-continue");
	r->has_expect = r->head->expect_continue = true;
	return true;
}

/* Servers that hand fields on as variables do not tell "-" from "_". */
static bool take_alias(struct reading *r, struct http_span value)
{
	(void)value;
	return bad(r, "a field that some servers take for Content-Length, Transfer-Encoding or Host");
}

static const struct {
	const char *name;
	bool (*take)(struct reading *r, struct http_span value);
} handlers[] = {
	{ "Host", take_host },
	{ "Content-Length", take_length },
	{ "Transfer-Encoding", take_transfer },
	{ "Connection", take_connection },
	{ "Upgrade", take_upgrade },
	{ "Expect", take_expect },
	{ "Content_Length", take_alias },
	{ "Transfer_Encoding", take_alias },
	{ "Http_Host", take_alias },
	{ "Http-Host", take_alias },
};

static bool parse_field(struct reading *r, struct http_span line)
{
	struct http_head *head = r->head;
	struct http_field field;

	if (is_blank(line.data[0]))
		return bad(r, "a folded field");
	if (!cut(&line, ':', &field.name) || !field.name.len)
		return bad(r, "a field without a name");
	for (size_t i = 0; i < field.name.len; i++)
		if (!is_token(field.name.data[i]))
			return bad(r, is_blank(field.name.data[i]) ? "a blank before the colon of a field"
								   : "a byte that may not be in a field's name");
	for (size_t i = 0; i < line.len; i++)
		if (!is_text(line.data[i], !r->is_request))
			return bad(r, line.data[i] == '\r' ? "a bare CR" : "a byte that may not be in a field");
	field.value = trim(line);
	if (head->field_count == HTTP_FIELDS_MAX)
		return bad(r, "too many fields");
	head->fields[head->field_count++] = field;
	for (size_t i = 0; i < ARRAY_LEN(handlers); i++)
		if (http_name_is(&field, handlers[i].name))
			return handlers[i].take(r, field.value);
	return true;
}

/* ---- the whole ---- */

/* What both kinds have in common; body and body_len as the fields say. */
static bool finish(struct reading *r)
{
	struct http_head *head = r->head;

	if (r->has_transfer && r->has_length)
		return bad(r, "both Content-Length and Transfer-Encoding");
	if (r->has_transfer && head->minor == 0)
		return bad(r, "Transfer-Encoding in HTTP/1.0");
	if (r->has_transfer)
		head->body = HTTP_BODY_CHUNKED;
	else if (r->has_length)
		head->body = HTTP_BODY_LENGTH;
	head->keep_alive = !r->says_close && (head->minor == 1 || r->says_keep_alive);
	head->upgrade = r->has_upgrade || r->says_upgrade;
	head->is_websocket = head->is_websocket && r->says_upgrade && head->minor == 1;
	return true;
}

static bool finish_request(struct reading *r)
{
	struct http_head *head = r->head;

	if (!finish(r))
		return false;
	if (!r->has_host)
		return bad(r, "no Host");
	if (r->authority.data && !http_check_authority(r))
		return false;
	if (head->expect_continue && head->minor == 0)
		return bad(r, "Expect in HTTP/1.0");
	if (head->body != HTTP_BODY_NONE || !span_is(head->method, "GET"))
		head->is_websocket = false;
	return true;
}

static bool finish_response(struct reading *r, bool to_head)
{
	struct http_head *head = r->head;
	bool is_empty = head->status < 200 || head->status == 204;

	if (!finish(r))
		return false;
	/* "Content-Length: 0" is common there; anything else some clients would wait for. */
	if (is_empty && (r->has_transfer || head->body_len))
		return bad(r, "a body where the status has none");
	if (is_empty || to_head || head->status == 304) {
		head->body = HTTP_BODY_NONE;
		head->body_len = 0;
	} else if (head->body == HTTP_BODY_NONE) {
		head->body = HTTP_BODY_CLOSE;
		head->keep_alive = false;
	}
	return true;
}

static enum http_status refuse(const struct reading *r, const char *why)
{
	*r->why = why;
	return HTTP_BAD;
}

/* Looks for the empty line; *ret_first is the length of the first line with its end, 0 where that is not there yet. */
static enum http_status find_end(const struct reading *r, struct http_span data, size_t *ret_first, size_t *ret_len)
{
	const char *start = data.data;
	struct http_span line;

	*ret_first = 0;
	while (cut(&data, '\n', &line)) {
		if (!line.len || line.data[line.len - 1] != '\r')
			return refuse(r, "a line that does not end with CR LF");
		if (!*ret_first) {
			*ret_first = line.len + 1;
			continue;
		}
		if (line.len == 1) {
			*ret_len = (size_t)(data.data - start);
			return HTTP_OK;
		}
	}
	return HTTP_MORE;
}

static bool parse_first(struct reading *r, struct http_span line)
{
	return r->is_request ? http_read_request_line(r, line) : http_read_status_line(r, line);
}

static enum http_status parse(struct reading *r, struct http_span data)
{
	struct http_span line = { 0 }, rest;
	size_t first = 0, len = 0;
	enum http_status status;

	if (!data.len)
		return HTTP_MORE;
	if (data.len > HTTP_HEAD_MAX)
		data.len = HTTP_HEAD_MAX;
	status = find_end(r, data, &first, &len);
	if (status == HTTP_MORE && data.len == HTTP_HEAD_MAX)
		status = refuse(r, "a head that is too long");
	if (status == HTTP_BAD)
		return HTTP_BAD;
	memset(r->head, 0, offsetof(struct http_head, fields));
	r->head->field_count = 0;
	r->head->host_port = -1;
	if (!first)
		return http_check_beginning(r, data) ? HTTP_MORE : HTTP_BAD;
	if (!parse_first(r, (struct http_span){ data.data, first - 2 }))
		return HTTP_BAD;
	if (status == HTTP_MORE)
		return HTTP_MORE;
	r->head->len = len;
	rest = (struct http_span){ data.data + first, len - first };
	while (cut(&rest, '\n', &line) && line.len > 1) {
		line.len--;
		if (!parse_field(r, line))
			return HTTP_BAD;
	}
	return HTTP_OK;
}

enum http_status http_request_parse(const char *data, size_t len, struct http_head *ret, const char **why)
{
	struct reading r = { .head = ret, .why = why, .is_request = true };
	enum http_status status = parse(&r, (struct http_span){ data, len });

	return status == HTTP_OK && !finish_request(&r) ? HTTP_BAD : status;
}

enum http_status http_response_parse(const char *data, size_t len, bool to_head, struct http_head *ret,
				     const char **why)
{
	struct reading r = { .head = ret, .why = why };
	enum http_status status = parse(&r, (struct http_span){ data, len });

	return status == HTTP_OK && !finish_response(&r, to_head) ? HTTP_BAD : status;
}
