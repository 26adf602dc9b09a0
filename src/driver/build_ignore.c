/*
 * .dockerignore: one pattern a line, the last one that matches decides, "!" makes an exception. A pattern also matches what lies below what it
 * matches. "*" and "?" stay within a component, "**" does not. Pure.
 */
#include "driver/build.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* "/a/./b/" is "a/b". */
static char *clean(const char *from, size_t len)
{
	struct str s = { 0 };

	for (size_t at = 0; at < len;) {
		const char *slash = memchr(from + at, '/', len - at);
		size_t n = slash ? (size_t)(slash - from) - at : len - at;

		if (n && !(n == 1 && from[at] == '.')) {
			if (s.len)
				str_add_char(&s, '/');
			str_add_bytes(&s, from + at, n);
		}
		at += n + 1;
	}
	return str_take(&s);
}

static int add_line(struct build_ignore *ignore, const char *line, size_t len)
{
	auto_free char *path = NULL;
	bool is_exception;

	while (len && strchr(" \t\r", line[len - 1]))
		len--;
	while (len && strchr(" \t", *line))
		line++, len--;
	if (!len || *line == '#')
		return 0;
	is_exception = *line == '!';
	path = clean(line + is_exception, len - is_exception);
	if (!path)
		return -ENOMEM;
	if (!*path)
		return 0;
	ignore->has_exceptions = ignore->has_exceptions || is_exception;
	return strv_add_take(&ignore->patterns, str_printf("%s%s", is_exception ? "!" : "", path));
}

int build_ignore_parse(struct build_ignore *ignore, const char *text)
{
	if (str_starts(text, "\xef\xbb\xbf"))
		text += 3;
	while (*text) {
		size_t len = strcspn(text, "\n");
		int r = add_line(ignore, text, len);

		if (r < 0)
			return r;
		text += len + (text[len] == '\n');
	}
	return 0;
}

/* Behind a "[": whether c is one of the class; *ret_end is behind its "]". A class without an end is none. */
static bool in_class(const char *p, char c, const char **ret_end)
{
	bool negated = *p == '^' || *p == '!', found = false;
	const char *at = p + negated;

	for (bool first = true; *at && (first || *at != ']'); first = false) {
		char low = *at == '\\' && at[1] ? *++at : *at, high = low;

		at++;
		if (*at == '-' && at[1] && at[1] != ']') {
			at++;
			high = *at == '\\' && at[1] ? *++at : *at;
			at++;
		}
		found = found || (c >= low && c <= high);
	}
	*ret_end = *at ? at + 1 : NULL;
	return *at && found != negated;
}

/* The pattern, and then the end or a slash. Each "*" may begin again; steps bound what a strange pattern costs. */
static bool matches(const char *pattern, const char *path, unsigned *steps)
{
	const char *end;

	for (;; pattern++, path++) {
		if (!*steps || !--*steps)
			return false;
		if (!*pattern)
			return !*path || *path == '/';
		if (pattern[0] == '*' && pattern[1] == '*') {
			pattern += 2;
			if (*pattern == '/' && matches(pattern + 1, path, steps))
				return true;
			for (; *path; path++)
				if (matches(pattern, path, steps))
					return true;
			return !*pattern;
		}
		if (*pattern == '*') {
			for (;; path++) {
				if (matches(pattern + 1, path, steps))
					return true;
				if (!*path || *path == '/')
					return false;
			}
		}
		if (!*path)
			return false;
		if (*pattern == '[') {
			if (*path == '/' || !in_class(pattern + 1, *path, &end))
				return false;
			pattern = end - 1;
		} else if (*pattern == '?') {
			if (*path == '/')
				return false;
		} else {
			if (*pattern == '\\' && pattern[1])
				pattern++;
			if (*pattern != *path)
				return false;
		}
	}
}

bool build_ignores(const struct build_ignore *ignore, const char *path)
{
	bool ignored = false;

	for (size_t i = 0; i < ignore->patterns.n; i++) {
		const char *p = ignore->patterns.v[i];
		unsigned steps = 100000;

		if (matches(p + (*p == '!'), path, &steps))
			ignored = *p != '!';
	}
	return ignored;
}

void build_ignore_done(struct build_ignore *ignore)
{
	strv_done(&ignore->patterns);
}
