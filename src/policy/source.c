/* Where a value comes from: see source.h. Runs in the front, with the caller's rights. */
#include "policy/source.h"

#include "base/fd.h"
#include "base/str.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void add_where(struct str *s, const struct source *at)
{
	if (at->file)
		str_addf(s, "%s:%u:%u: ", at->file, at->line, at->column);
	else if (at->origin && str_starts(at->origin, "flag ")) {
		str_addf(s, "%s: ", at->origin + strlen("flag "));
		return;
	}
	if (at->key)
		str_addf(s, "%s: ", at->key);
}

static int fail_at(const struct source *at, enum cordon_code code, struct cordon_error *err, const char *fmt,
		   va_list ap)
{
	auto_str struct str s = { 0 };

	add_where(&s, at);
	str_addv(&s, fmt, ap);
	if (s.failed)
		return fail_memory(err);
	cordon_fail(err, code, 0, "%s", s.data);
	return fail_step(err, "policy");
}

int source_fail(const struct source *at, struct cordon_error *err, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	fail_at(at, CORDON_INVALID, err, fmt, ap);
	va_end(ap);
	return -1;
}

int source_fail_code(const struct source *at, enum cordon_code code, struct cordon_error *err, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	fail_at(at, code, err, fmt, ap);
	va_end(ap);
	return -1;
}

char *source_origin(const struct source *at)
{
	if (at->origin)
		return strdup(at->origin);
	if (at->file)
		return str_printf("%s:%u:%u", at->file, at->line, at->column);
	return strdup("call");
}

char *source_dir(const char *file)
{
	const char *slash = strrchr(file, '/');
	auto_free char *dir = slash ? strndup(file, (size_t)(slash - file) + 1) : strdup(".");
	auto_close int fd = dir ? open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
	char real[4096];

	return fd >= 0 && fd_real_path(fd, real, sizeof(real)) == 0 ? strdup(real) : NULL;
}
