/* Paths of requests: normalised, or refused as ambiguous, and matched. */
#include "net/rule.h"
#include "tap.h"

#include <errno.h>

static void check_path(const char *target, const char *want)
{
	char path[256] = "";
	int rc = net_path_normalise(target, strlen(target), path, sizeof(path));

	if (want)
		is_str(rc == 0 ? path : NULL, want, "the path of '%s'", target);
	else
		is_num(rc, -EINVAL, "'%s' is refused", target);
}

/* A target and its path; NULL: refused. */
static const char *const paths[][2] = {
	{ "/", "/" },
	{ "/a/b", "/a/b" },
	{ "/a/b/", "/a/b/" },
	{ "/a?x=/../;#", NULL },
	{ "/a?x=/../;y", "/a" },
	{ "/?", "/" },
	{ "/a//b", "/a/b" },
	{ "//a", "/a" },
	{ "///", "/" },
	{ "/a/./b", "/a/b" },
	{ "/a/.", "/a/" },
	{ "/a/b/..", "/a/" },
	{ "/a/../b", "/b" },
	{ "/a/b/../../c", "/c" },
	{ "/a/..", "/" },
	{ "/a/../", "/" },
	{ "/%61%2Db%7e", "/a-b~" },
	{ "/%41", "/A" },
	{ "/a/%2e%2e/b", "/b" },
	{ "/a/%2E./b", "/b" },
	{ "/a/.%2e", "/" },
	{ "/%2e", "/" },
	{ "/%252e%252e/x", NULL },
	{ "/%252f", NULL },
	{ "/%25%32%65", NULL },
	{ "/%2525", NULL },
	{ "/%25", "/%25" },
	{ "/%25/2e", "/%25/2e" },
	{ "/100%25x", "/100%25x" },
	{ "/100%25a", "/100%25a" },
	{ "/a%20b", "/a%20b" },
	{ "/%c3%a9", "/%C3%A9" },
	{ "/...", "/..." },
	{ "/..a", "/..a" },
	{ "/a:b@c,d=e!$&'()*+", "/a:b@c,d=e!$&'()*+" },
	{ "/%3f%23", "/%3F%23" },
	{ "/%2a", "/%2A" },
	{ "/%21", "/%21" },
	{ "", NULL },
	{ "a", NULL },
	{ "*", NULL },
	{ "?x", NULL },
	{ "http://example.com/", NULL },
	{ "/..", NULL },
	{ "/../a", NULL },
	{ "/a/../..", NULL },
	{ "/a/../../b", NULL },
	{ "/%2e%2e/a", NULL },
	{ "/./..", NULL },
	{ "/a//../b", NULL },
	{ "//..", NULL },
	{ "/a%2fb", NULL },
	{ "/a%2Fb", NULL },
	{ "/a/..%2fb", NULL },
	{ "/a%5cb", NULL },
	{ "/a\\b", NULL },
	{ "/a\\..\\b", NULL },
	{ "/a%00", NULL },
	{ "/a%0d%0ab", NULL },
	{ "/a%1f", NULL },
	{ "/a%7f", NULL },
	{ "/a\tb", NULL },
	{ "/a b", NULL },
	{ "/a\x7f", NULL },
	{ "/a\r\nX: y", NULL },
	{ "/a?b\r\nX: y", NULL },
	{ "/a?b c", NULL },
	{ "/a;b", NULL },
	{ "/a/..;/b", NULL },
	{ "/a%3bb", NULL },
	{ "/a#b", NULL },
	{ "/%", NULL },
	{ "/%4", NULL },
	{ "/%g1", NULL },
	{ "/%1g", NULL },
	{ "/%u002e", NULL },
	{ "/%c0%af", NULL },
	{ "/%c0%ae%c0%ae/x", NULL },
	{ "/%e0%80%af", NULL },
	{ "/%f0%80%80%af", NULL },
	{ "/%ff", NULL },
	{ "/%c3", NULL },
	{ "/%ed%a0%80", NULL },
	{ "/\xc3\xa9", NULL },
	{ "/%%61", NULL },
};

static void check_paths(void)
{
	char path[256];

	for (size_t i = 0; i < ARRAY_LEN(paths); i++)
		check_path(paths[i][0], paths[i][1]);
	is_num(net_path_normalise("/a\0b", 4, path, sizeof(path)), -EINVAL, "NUL in a path");
	is_num(net_path_normalise("/abcd", 5, path, 6), 0, "a path that just fits");
	is_num(net_path_normalise("/abcd", 5, path, 5), -ENAMETOOLONG, "one that does not");
	is_num(net_path_normalise("/%4", 3, path, sizeof(path)), -EINVAL, "an escape cut by the length");
	is_num(net_path_normalise("/%41", 3, path, sizeof(path)), -EINVAL, "also where a digit follows behind it");
}

static void check_path_matching(void)
{
	static const struct {
		const char *pattern, *path;
		bool match;
	} cases[] = {
		{ "/v1/*", "/v1/", true },
		{ "/v1/*", "/v1/a/b", true },
		{ "/v1/*", "/v1", false },
		{ "/v1/*", "/v10/a", false },
		{ "/v1", "/v1", true },
		{ "/v1", "/v1/", false },
		{ "/*", "/", true },
		{ "/*", "/x", true },
		{ "/a*b", "/ab", true },
		{ "/a*b", "/axxb", true },
		{ "/a*b", "/axxbc", false },
		{ "/a*b*c", "/abxbxc", true },
		{ "/a*b*c", "/axc", false },
		{ "/**", "/x", true },
		{ "/a*a", "/a", false },
		{ "/a*a", "/aa", true },
		{ "/*/x", "/a/b/x", true },
		{ "/*/x", "/x", false },
		{ "/a", "/A", false },
		{ "/a.b", "/axb", false },
		{ "/a?", "/ab", false },
		{ "/x*", "/", false },
		{ "", "/", false },
		{ "/*", "/%2A", true },
		{ "/repo*.git/*", "/repo/x.git/info", true },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		ok(net_path_match(cases[i].pattern, cases[i].path) == cases[i].match, "'%s' %s '%s'", cases[i].pattern,
		   cases[i].match ? "matches" : "does not match", cases[i].path);
}

/* ---- narrowing ---- */

int main(void)
{
	check_paths();
	check_path_matching();
	return done_testing();
}
