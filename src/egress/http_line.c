/*
 * The first lines of HTTP/1 heads, and whom a request is for: the host in Host and in the target, which must be one. Every part has one
 * form. Runs in the egress process, unprivileged.
 */
#include "egress/http_read.h"
#include "net/address.h"

enum { METHOD_MAX = 19, PORT_HTTP = 80, PORT_HTTPS = 443 };

/* ---- whom it is for ---- */

/* 1 to 65535 without zeros in front. */
static bool parse_port(struct http_span text, int *ret)
{
	int port = 0;

	if (!text.len || text.len > 5 || text.data[0] == '0')
		return false;
	for (size_t i = 0; i < text.len; i++) {
		if (!is_digit(text.data[i]))
			return false;
		port = port * 10 + (text.data[i] - '0');
	}
	*ret = port;
	return port <= 65535;
}

bool http_read_authority(const struct reading *r, struct http_span text, struct authority *ret)
{
	struct http_span host = text, port;
	const char *colon = NULL;
	struct net_address address;

	ret->port = -1;
	if (text.len && text.data[0] == '[') {
		const char *end = memchr(text.data, ']', text.len);

		if (!end)
			return bad(r, "a host that is neither a name nor an address");
		host.len = (size_t)(end + 1 - text.data);
		colon = host.len < text.len ? end + 1 : NULL;
	} else if (text.len) {
		colon = memchr(text.data, ':', text.len);
	}
	if (colon) {
		port = (struct http_span){ colon + 1, (size_t)(text.data + text.len - colon - 1) };
		host.len = (size_t)(colon - text.data);
		if (*colon != ':' || !parse_port(port, &ret->port))
			return bad(r, "a host with a bad port");
	}
	switch (hostname_parse(host.data, host.len, false, ret->host)) {
	case HOSTNAME_NAME:
		ret->is_address = false;
		return true;
	case HOSTNAME_ADDRESS:
		ret->is_address = true;
		if (address_parse(host.data, host.len, &address) == 0 && address_text(&address, ret->host))
			return true;
		break;
	case HOSTNAME_INVALID:
		break;
	}
	return bad(r, "a host that is neither a name nor an address");
}

bool http_check_authority(const struct reading *r)
{
	const struct http_head *head = r->head;
	struct authority target = { .port = -1 };
	int port = head->host_port;

	if (!http_read_authority(r, r->authority, &target))
		return false;
	if (r->default_port < 0 && target.port < 0)
		return bad(r, "CONNECT without a port");
	if (target.port < 0)
		target.port = r->default_port;
	if (port < 0)
		port = r->default_port;
	if (strcmp(target.host, head->host) != 0 || target.is_address != head->host_is_address || target.port != port)
		return bad(r, "a target for another host than Host");
	return true;
}

/* ---- the first line ---- */

static bool check_method(const struct reading *r, struct http_span method)
{
	if (method.len > METHOD_MAX)
		return bad(r, "not HTTP, or a method that is too long");
	for (size_t i = 0; i < method.len; i++) {
		if (!is_token(method.data[i]))
			return bad(r, "not HTTP, or a malformed request line");
		/* Methods have a case; a server that does not know so would see another one than we do. */
		if (method.data[i] >= 'a' && method.data[i] <= 'z')
			return bad(r, "a method in lower case");
	}
	return true;
}

static bool parse_absolute(struct reading *r, struct http_span rest)
{
	size_t len = 0;

	while (len < rest.len && rest.data[len] != '/' && rest.data[len] != '?')
		len++;
	r->authority = (struct http_span){ rest.data, len };
	r->head->absolute = true;
	r->head->path = (struct http_span){ rest.data + len, rest.len - len };
	if (len == rest.len)
		r->head->path = (struct http_span){ "/", 1 };
	else if (rest.data[len] == '?')
		return bad(r, "a target with a query but no path");
	return true;
}

static bool parse_target(struct reading *r)
{
	struct http_span target = r->head->target;
	size_t scheme = 0;

	for (size_t i = 0; i < target.len; i++)
		if (target.data[i] <= ' ' || target.data[i] > '~' || target.data[i] == '#')
			return bad(r, "a byte that may not be in a target");
	r->default_port = -1;
	r->head->path = target;
	if (span_is(r->head->method, "CONNECT")) {
		r->authority = target;
		r->head->path.len = 0;
		return true;
	}
	if (target.data[0] == '/')
		return true;
	if (span_is(target, "*"))
		return span_is(r->head->method, "OPTIONS") || bad(r, "a target of * that is not for OPTIONS");
	if (span_starts(target, "http://"))
		scheme = strlen("http://");
	else if (span_starts(target, "https://"))
		scheme = strlen("https://");
	else
		return bad(r, "a target that is neither a path nor an http URL");
	r->default_port = scheme == strlen("http://") ? PORT_HTTP : PORT_HTTPS;
	return parse_absolute(r, (struct http_span){ target.data + scheme, target.len - scheme });
}

static bool parse_version(const struct reading *r, struct http_span text)
{
	if (text.len != 8 || memcmp(text.data, "HTTP/1.", 7) != 0 || (text.data[7] != '0' && text.data[7] != '1'))
		return bad(r, "another version than HTTP/1.0 or HTTP/1.1");
	r->head->minor = text.data[7] - '0';
	return true;
}

bool http_read_request_line(struct reading *r, struct http_span line)
{
	struct http_head *head = r->head;

	if (line.len >= 14 && memcmp(line.data, "PRI * HTTP/2.0", 14) == 0)
		return bad(r, "HTTP/2 where only HTTP/1.1 is read");
	if (!cut(&line, ' ', &head->method) || !head->method.len)
		return bad(r, "not HTTP, or a malformed request line");
	if (!check_method(r, head->method))
		return false;
	if (!cut(&line, ' ', &head->target) || !head->target.len)
		return bad(r, "a malformed request line");
	return parse_target(r) && parse_version(r, line);
}

/* The reason phrase may be missing, with its blank or without: real servers do both. */
bool http_read_status_line(struct reading *r, struct http_span line)
{
	struct http_span version;

	if (!cut(&line, ' ', &version) || !parse_version(r, version))
		return bad(r, "not HTTP/1.0 or HTTP/1.1");
	if (line.len < 3 || line.data[0] < '1' || !is_digit(line.data[0]) || !is_digit(line.data[1]) ||
	    !is_digit(line.data[2]) || (line.len > 3 && line.data[3] != ' '))
		return bad(r, "a malformed status line");
	for (size_t i = 3; i < line.len; i++)
		if (!is_text(line.data[i], true))
			return bad(r, "a malformed status line");
	r->head->status = (line.data[0] - '0') * 100 + (line.data[1] - '0') * 10 + (line.data[2] - '0');
	return true;
}

bool http_check_beginning(const struct reading *r, struct http_span line)
{
	static const char version[] = "HTTP/1.";
	struct http_span method = line;

	if (!r->is_request)
		return !memcmp(line.data, version, line.len < 7 ? line.len : 7) || bad(r, "not HTTP/1.0 or HTTP/1.1");
	if (!cut(&line, ' ', &method))
		return check_method(r, method);
	return method.len ? check_method(r, method) : bad(r, "not HTTP, or a malformed request line");
}
