/* The one error type, by value. Allocates nothing. Any process, any privilege. */
#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const char *const code_names[] = {
	[CORDON_OK] = "ok",
	[CORDON_INVALID] = "invalid",
	[CORDON_DENIED] = "denied",
	[CORDON_UNAVAILABLE] = "unavailable",
	[CORDON_NOT_FOUND] = "not_found",
	[CORDON_NOT_EXECUTABLE] = "not_executable",
	[CORDON_SYSTEM] = "system",
	[CORDON_NO_MEMORY] = "no_memory",
	[CORDON_INTERNAL] = "internal",
	[CORDON_BUSY] = "busy",
};

const char *cordon_code_name(int code)
{
	if (code < 0 || (size_t)code >= sizeof(code_names) / sizeof(*code_names))
		return "internal";
	return code_names[code];
}

int cordon_fail(struct cordon_error *err, enum cordon_code code, int errnum, const char *fmt, ...)
{
	va_list ap;
	size_t len;

	if (!err)
		return -1;
	memset(err, 0, sizeof(*err));
	err->code = (int)code;
	err->errnum = errnum;
	va_start(ap, fmt);
	vsnprintf(err->message, sizeof(err->message), fmt, ap);
	va_end(ap);
	len = strlen(err->message);
	if (errnum)
		snprintf(err->message + len, sizeof(err->message) - len, ": %s",
			 strerrordesc_np(errnum) ?: "unknown error");
	return -1;
}

int fail_hint(struct cordon_error *err, const char *fmt, ...)
{
	va_list ap;

	if (!err)
		return -1;
	va_start(ap, fmt);
	vsnprintf(err->hint, sizeof(err->hint), fmt, ap);
	va_end(ap);
	return -1;
}

int fail_step(struct cordon_error *err, const char *step)
{
	if (err && !err->step[0])
		snprintf(err->step, sizeof(err->step), "%s", step);
	return -1;
}

/* C1 controls in UTF-8 are 0xc2 0x80…0x9f; some terminals obey them. */
static void clean(char *text, size_t size)
{
	text[size - 1] = '\0';
	for (; *text; text++) {
		unsigned char c = (unsigned char)*text, next = (unsigned char)text[1];

		if (c < ' ' || c == 0x7f)
			*text = '?';
		else if (c == 0xc2 && next >= 0x80 && next < 0xa0)
			text[0] = text[1] = '?';
	}
}

void fail_clean(struct cordon_error *err)
{
	clean(err->step, sizeof(err->step));
	clean(err->message, sizeof(err->message));
	clean(err->hint, sizeof(err->hint));
}

int fail_memory(struct cordon_error *err)
{
	return cordon_fail(err, CORDON_NO_MEMORY, 0, "out of memory");
}
