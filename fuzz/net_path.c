/*
 * Any bytes as the target of a request: what comes out is in one form, which cannot be read as another path however often it is decoded
 * once more or its segments are resolved; and patterns decide as a slow matcher does. The second line is a pattern.
 */
#include "net/rule.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool good, const char *what, const char *detail)
{
	if (good)
		return;
	fprintf(stderr, "%s: '%s'\n", what, detail);
	abort();
}

static bool slow_match(const char *pattern, const char *path)
{
	if (*pattern == '*')
		return slow_match(pattern + 1, path) || (*path && slow_match(pattern, path + 1));
	return *pattern ? *pattern == *path && slow_match(pattern + 1, path + 1) : !*path;
}

static void check_form(const char *path)
{
	static const char *const never[] = { "//", "/./", "/../", "\\",  ";",   "?",  "#",
					     " ",  "%2F", "%5C",  "%00", "%3B", "%2E" };
	size_t len = strlen(path);
	char again[4200];

	must(path[0] == '/', "not absolute", path);
	for (size_t i = 0; i < ARRAY_LEN(never); i++)
		must(!strstr(path, never[i]), never[i], path);
	must(!str_ends(path, "/.") && !str_ends(path, "/.."), "dots at the end", path);
	for (size_t i = 0; i < len; i++)
		must(path[i] > 0x20 && path[i] < 0x7f, "a byte", path);
	must(net_path_normalise(path, len, again, sizeof(again)) == 0 && strcmp(path, again) == 0, "not stable", path);
}

static void check_match(const uint8_t *data, size_t size, const char *path)
{
	char pattern[13];
	size_t n = size < sizeof(pattern) - 1 ? size : sizeof(pattern) - 1;

	memcpy(pattern, data, n);
	pattern[n] = '\0';
	if (strlen(path) < 16) /* the slow one is very slow */
		must(net_path_match(pattern, path) == slow_match(pattern, path), "decided differently", pattern);
	must(net_path_match("*", path) && net_path_match(path, path), "does not match itself", path);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *newline = memchr(data, '\n', size);
	size_t len = newline ? (size_t)(newline - data) : size;
	char path[4200];

	if (net_path_normalise((const char *)data, len, path, sizeof(path)) < 0)
		return 0;
	check_form(path);
	if (newline)
		check_match(newline + 1, size - len - 1, path);
	return 0;
}
