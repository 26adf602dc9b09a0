/*
 * What `cordon image build` reads, as any bytes: a line of a daemon's answer, which comes out printable and whole; a .dockerignore and a path, where
 * an answer comes at all, and what is ignored below an ignored directory without exceptions is ignored, too.
 */
#include "driver/build.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds, const char *what)
{
	if (holds)
		return;
	fprintf(stderr, "%s\n", what);
	abort();
}

static void read_line(const char *text, size_t len)
{
	static struct build_line line;
	size_t n;

	build_read_line(text, len, &line);
	n = strnlen(line.text, sizeof(line.text));
	must(n < sizeof(line.text), "a text has its end");
	must(line.kind != BUILD_NOTHING || n == 0, "nothing says nothing");
	for (size_t i = 0; i < n; i++) {
		unsigned char c = (unsigned char)line.text[i];

		must((c >= ' ' && c != 0x7f) || (line.kind == BUILD_TEXT && (c == '\n' || c == '\t')),
		     "a text is printable");
		must(c != 0xc2 || (unsigned char)line.text[i + 1] >= 0xa0, "no command of eight bits, either");
	}
}

/* A pattern file, and behind a NUL a path. */
static void ignore(const char *text, size_t len)
{
	struct build_ignore ignore = { 0 };
	char *all = str_printf("%.*s", (int)len, text);
	size_t split = all ? strlen(all) : 0;
	char *path = split < len ? strndup(text + split + 1, len - split - 1) : strdup("a/b");
	char *below = path ? str_printf("%s/x", path) : NULL;

	must(all && path && below && build_ignore_parse(&ignore, all) == 0, "memory");
	if (build_ignores(&ignore, path) && !ignore.has_exceptions && len < 64)
		must(build_ignores(&ignore, below), "what is below goes with it");
	build_ignore_done(&ignore);
	free(all);
	free(path);
	free(below);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 2)
		return 0;
	if (data[0] & 1)
		ignore((const char *)data + 1, size - 1);
	else
		read_line((const char *)data + 1, size - 1);
	return 0;
}
