/* What a build sends and what it hears: .dockerignore, and the lines of an answer. */
#include "driver/build.h"
#include "tap.h"

static bool ignores(const char *text, const char *path)
{
	struct build_ignore ignore = { 0 };
	bool is;

	if (build_ignore_parse(&ignore, text) < 0)
		abort();
	is = build_ignores(&ignore, path);
	build_ignore_done(&ignore);
	return is;
}

static void test_ignore(void)
{
	static const struct {
		const char *text, *path;
		bool ignored;
	} rows[] = {
		{ "", "a", false },
		{ "a", "a", true },
		{ "a", "a/b/c", true },
		{ "a", "ab", false },
		{ "a", "b/a", false },
		{ "/a/", "a", true },
		{ "./a//b/.", "a/b", true },
		{ "  a \r\n", "a", true },
		{ "# a\na b", "a b", true },
		{ "# a", "a", false },
		{ "\xef\xbb\xbf"
		  "a",
		  "a", true },
		{ "*", "a", true },
		{ "*.o", "a.o", true },
		{ "*.o", "d/a.o", false },
		{ "*/a.o", "d/a.o", true },
		{ "*/a.o", "d/e/a.o", false },
		{ "**/a.o", "a.o", true },
		{ "**/a.o", "d/e/a.o", true },
		{ "**/a.o", "d/ba.o", false },
		{ "**", "d/e", true },
		{ "d/**", "d/e/f", true },
		{ "d/**", "d", false },
		{ "d/**/f", "d/f", true },
		{ "d/**/f", "d/x/y/f", true },
		{ "**.tmp", "a/b.tmp", true },
		{ "a?c", "abc", true },
		{ "a?c", "a/c", false },
		{ "a[b-d]e", "ace", true },
		{ "a[^b-d]e", "ace", false },
		{ "a[^b-d]e", "axe", true },
		{ "a[bc", "ab", false },
		{ "a\\*", "a*", true },
		{ "a\\*", "ab", false },
		{ "a\n!a/b", "a/b", false },
		{ "a\n!a/b", "a/c", true },
		{ "!a/b\na", "a/b", true },
		{ "*\n!*.md\nREADME.md", "CHANGES.md", false },
		{ "*\n!*.md\nREADME.md", "README.md", true },
		{ "a*a*a*a*a*a*a*a*a*a*a*a*a*b", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", false },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		ok(ignores(rows[i].text, rows[i].path) == rows[i].ignored, "pattern %zu %s '%s'", i + 1,
		   rows[i].ignored ? "leaves out" : "leaves", rows[i].path);
}

static struct build_line line_of(const char *text)
{
	struct build_line line;

	build_read_line(text, strlen(text), &line);
	return line;
}

static void test_lines(void)
{
	struct build_line l = line_of("{\"stream\":\"Step 1\\n\\u001b[31mred\\u009b\\rx\"}");

	ok(l.kind == BUILD_TEXT && strcmp(l.text, "Step 1\n [31mred  \nx") == 0,
	   "what a build prints, without commands to terminals");
	l = line_of("{\"status\":\"Downloading\",\"id\":\"abc\",\"progressDetail\":{\"current\":5,\"total\":9}}");
	ok(l.kind == BUILD_STATUS && l.done_bytes == 5 && l.total_bytes == 9, "how far a pull is");
	is_str(l.text, "abc: Downloading", "and with what");
	l = line_of("{\"aux\":{\"ID\":\"sha256:12\"}}");
	ok(l.kind == BUILD_ID && strcmp(l.text, "sha256:12") == 0, "what was built");
	l = line_of("{\"errorDetail\":{\"message\":\"no\\nway\"}}");
	ok(l.kind == BUILD_ERROR && strcmp(l.text, "no way") == 0, "an error, on one line");
	ok(line_of("{\"stream\":7}").kind == BUILD_NOTHING && line_of("[]").kind == BUILD_NOTHING &&
		   line_of("x").kind == BUILD_NOTHING && line_of("").kind == BUILD_NOTHING,
	   "anything else says nothing");
}

int main(void)
{
	test_ignore();
	test_lines();
	return done_testing();
}
