/*
 * Paths of requests: see rule.h. A path is allowed by a rule only if the server cannot read it as another one. So it is brought into
 * one form, and what servers are known to read differently is not guessed at but refused: encoded slashes and backslashes, what is
 * encoded twice, overlong UTF-8, parameters, ".." behind an empty segment (which some drop before, some after). Pure; any process, any privilege.
 */
#include "base/json.h"
#include "net/rule.h"

#include <errno.h>
#include <string.h>

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f')
		return (c | 0x20) - 'a' + 10;
	return -1;
}

static bool is_unreserved(unsigned char c)
{
	return (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') || c == '-' || c == '.' || c == '_' ||
	       c == '~';
}

/* May this byte stand in a path, raw or behind an escape? */
static bool byte_is_clear(unsigned char c)
{
	return c >= 0x20 && c != 0x7f && c != '\\' && c != ';';
}

/* An escaped percent sign in front of two digits: who decodes twice reads something else. `path` as decode() leaves it. */
static bool is_escaped_twice(const char *path)
{
	for (const char *p = path; (p = strstr(p, "%25")); p += 3)
		if (hex_digit(p[3]) >= 0 && hex_digit(p[4]) >= 0)
			return true;
	return false;
}

/* The path with every escape in its one form: unreserved bytes plain, the rest as %XX. `bytes` gets what it stands for. */
static int decode(const char *path, size_t len, struct str *out, struct str *bytes)
{
	static const char hex[] = "0123456789ABCDEF";

	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)path[i];

		if (c != '%') {
			if (!byte_is_clear(c) || c == ' ' || c >= 0x80)
				return -EINVAL;
			str_add_char(out, (char)c);
			str_add_char(bytes, (char)c);
			continue;
		}
		int high = i + 2 < len ? hex_digit(path[i + 1]) : -1, low = i + 2 < len ? hex_digit(path[i + 2]) : -1;
		if (high < 0 || low < 0)
			return -EINVAL;
		c = (unsigned char)(high << 4 | low);
		if (!byte_is_clear(c) || c == '/')
			return -EINVAL;
		str_add_char(bytes, (char)c);
		if (is_unreserved(c)) {
			str_add_char(out, (char)c);
		} else {
			str_add_char(out, '%');
			str_add_char(out, hex[c >> 4]);
			str_add_char(out, hex[c & 15]);
		}
		i += 2;
	}
	if (out->failed || bytes->failed)
		return -ENOMEM;
	return json_is_utf8(bytes->data, bytes->len) && !is_escaped_twice(out->data) ? 0 : -EINVAL;
}

/* "." and ".." and "//" out of an absolute path, in place. */
static int resolve(char *path)
{
	char *to = path, *p = path;
	bool empty = false;

	while (*p) { /* p stands on a slash, `to` behind what is kept */
		size_t n = strcspn(p + 1, "/");
		bool last = p[1 + n] == '\0';

		if (n == 0 && !last) {
			empty = true;
		} else if (n == 1 && p[1] == '.') {
			if (last)
				*to++ = '/';
		} else if (n == 2 && p[1] == '.' && p[2] == '.') {
			if (to == path || empty)
				return -EINVAL;
			while (*--to != '/')
				;
			if (last)
				*to++ = '/';
		} else {
			memmove(to, p, n + 1);
			to += n + 1;
		}
		p += n + 1;
	}
	*to = '\0';
	return 0;
}

int net_path_normalise(const char *target, size_t len, char *ret, size_t size)
{
	const char *query = memchr(target, '?', len);
	size_t n = query ? (size_t)(query - target) : len;
	auto_str struct str out = { 0 }, bytes = { 0 };
	int rc;

	if (!n || target[0] != '/')
		return -EINVAL;
	for (size_t i = 0; i < len; i++) /* the query as well: it must not be a way to another line, or to a fragment */
		if ((unsigned char)target[i] <= 0x20 || target[i] == 0x7f || target[i] == '#')
			return -EINVAL;
	rc = decode(target, n, &out, &bytes);
	if (rc == 0)
		rc = resolve(out.data);
	if (rc < 0)
		return rc;
	size_t used = strlen(out.data) + 1;
	if (used > size)
		return -ENAMETOOLONG;
	memcpy(ret, out.data, used);
	return 0;
}

bool net_path_match(const char *pattern, const char *path)
{
	const char *star = NULL, *resume = NULL;

	while (*path) {
		if (*pattern == '*') {
			star = pattern++;
			resume = path;
		} else if (*pattern == *path) {
			pattern++;
			path++;
		} else if (star) { /* the last star takes one byte more; earlier ones never need to */
			pattern = star + 1;
			path = ++resume;
		} else {
			return false;
		}
	}
	return pattern[strspn(pattern, "*")] == '\0';
}
