/*
 * What libfyaml, libidn2, libunistring and jansson, as distributions build them for glibc, want besides what musl has: checked forms of functions
 * (_FORTIFY_SOURCE). The rest of what they use musl has under the same names and with the same types, on purpose; whether that is all is
 * the linker's to say (tools/lite.sh). Only in programs that are built with musl.
 */
#include "musl/musl.h"

#include <stdarg.h>
#include <stdio.h>
#include <sys/select.h>

/* NOLINTBEGIN(bugprone-reserved-identifier): glibc's names */
int __vsnprintf_chk(char *buf, size_t size, int flag, size_t room, const char *fmt, va_list ap);
int __snprintf_chk(char *buf, size_t size, int flag, size_t room, const char *fmt, ...);
int __vasprintf_chk(char **ret, int flag, const char *fmt, va_list ap);
int __asprintf_chk(char **ret, int flag, const char *fmt, ...);
int __vfprintf_chk(FILE *file, int flag, const char *fmt, va_list ap);
void *__memmove_chk(void *to, const void *from, size_t len, size_t room);
char *__strncpy_chk(char *to, const char *from, size_t len, size_t room);
long __fdelt_chk(long fd);

int __vsnprintf_chk(char *buf, size_t size, int flag, size_t room, const char *fmt, va_list ap)
{
	(void)flag;
	if (size > room)
		__builtin_trap(); /* abort() would signal whom libc takes us for, which after a bare clone is our parent */
	return vsnprintf(buf, size, fmt, ap);
}

int __snprintf_chk(char *buf, size_t size, int flag, size_t room, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = __vsnprintf_chk(buf, size, flag, room, fmt, ap);
	va_end(ap);
	return n;
}

int __vasprintf_chk(char **ret, int flag, const char *fmt, va_list ap)
{
	(void)flag;
	return vasprintf(ret, fmt, ap);
}

int __asprintf_chk(char **ret, int flag, const char *fmt, ...)
{
	va_list ap;
	int n;

	(void)flag;
	va_start(ap, fmt);
	n = vasprintf(ret, fmt, ap);
	va_end(ap);
	return n;
}

int __vfprintf_chk(FILE *file, int flag, const char *fmt, va_list ap)
{
	(void)flag;
	return vfprintf(file, fmt, ap);
}

void *__memmove_chk(void *to, const void *from, size_t len, size_t room)
{
	if (len > room)
		__builtin_trap();
	return memmove(to, from, len);
}

char *__strncpy_chk(char *to, const char *from, size_t len, size_t room)
{
	if (len > room)
		__builtin_trap();
	return strncpy(to, from, len);
}

/* Which word of an fd_set an fd is in. */
long __fdelt_chk(long fd)
{
	if (fd < 0 || fd >= FD_SETSIZE)
		__builtin_trap();
	return fd / (long)(8 * sizeof(long));
}
/* NOLINTEND(bugprone-reserved-identifier) */
