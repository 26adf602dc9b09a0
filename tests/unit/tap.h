/*
 * TAP for unit tests: a test is a plain C program.
 *
 *	int main(void)
 *	{
 *		ok(1 + 1 == 2, "sums work");
 *		is_str(name, "expected", "the name of %d", 7);
 *		return done_testing();
 *	}
 *
 * ok(), is_str() and is_num() return whether they held, so that a test may stop early. skip() says why and counts as
 * a failure with CORDON_MUST=1. Everything goes to stdout, unbuffered by line, so that a crash loses nothing.
 */
#ifndef TESTS_TAP_H
#define TESTS_TAP_H

#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static unsigned tap_count, tap_failed;

static inline void tap_line(bool good, const char *directive, const char *fmt, va_list ap)
{
	printf("%s %u - ", good ? "ok" : "not ok", ++tap_count);
	vprintf(fmt, ap);
	printf("%s\n", directive);
	fflush(stdout);
	if (!good)
		tap_failed++;
}

__attribute__((format(printf, 4, 5))) static inline bool tap_ok(bool good, const char *file, int line, const char *fmt,
								...)
{
	va_list ap;

	va_start(ap, fmt);
	tap_line(good, "", fmt, ap);
	va_end(ap);
	if (!good)
		printf("#   failed at %s:%d\n", file, line);
	return good;
}

__attribute__((format(printf, 5, 6))) static inline bool tap_is_str(const char *got, const char *want, const char *file,
								    int line, const char *fmt, ...)
{
	bool good = got && want ? strcmp(got, want) == 0 : got == want;
	va_list ap;

	va_start(ap, fmt);
	tap_line(good, "", fmt, ap);
	va_end(ap);
	if (!good)
		printf("#   failed at %s:%d\n#   got:  %s\n#   want: %s\n", file, line, got ? got : "(null)",
		       want ? want : "(null)");
	return good;
}

__attribute__((format(printf, 5, 6))) static inline bool tap_is_num(uint64_t got, uint64_t want, const char *file,
								    int line, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	tap_line(got == want, "", fmt, ap);
	va_end(ap);
	if (got != want)
		printf("#   failed at %s:%d\n#   got:  %" PRIu64 "\n#   want: %" PRIu64 "\n", file, line, got, want);
	return got == want;
}

#define ok(cond, ...) tap_ok((cond), __FILE__, __LINE__, __VA_ARGS__)
#define is_str(got, want, ...) tap_is_str((got), (want), __FILE__, __LINE__, __VA_ARGS__)
#define is_num(got, want, ...) tap_is_num((uint64_t)(got), (uint64_t)(want), __FILE__, __LINE__, __VA_ARGS__)

/* A line for whoever reads the log. */
__attribute__((format(printf, 1, 2))) static inline void note(const char *fmt, ...)
{
	va_list ap;

	printf("# ");
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	printf("\n");
}

/* Something that this host cannot show, and why. */
__attribute__((format(printf, 1, 2))) static inline void skip(const char *fmt, ...)
{
	const char *must = getenv("CORDON_MUST");
	va_list ap;

	va_start(ap, fmt);
	tap_line(!(must && strcmp(must, "1") == 0), " # SKIP", fmt, ap);
	va_end(ap);
}

/* Prints the plan; the exit status of the test. */
static inline int done_testing(void)
{
	printf("1..%u\n", tap_count);
	return tap_failed || !tap_count ? 1 : 0;
}

#endif
