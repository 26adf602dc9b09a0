/* The one error type, by value (struct cordon_error in cordon.h). Any process. */
#ifndef BASE_ERROR_H
#define BASE_ERROR_H

#include <cordon.h>

/* Fills *err (which may be NULL) and returns -1, so that a failure is one line. With errnum, ": <strerror>" follows. */
__attribute__((format(printf, 4, 5))) int cordon_fail(struct cordon_error *err, enum cordon_code code, int errnum,
						      const char *fmt, ...);
/* Adds what to do about it; returns -1. */
__attribute__((format(printf, 2, 3))) int fail_hint(struct cordon_error *err, const char *fmt, ...);
/* Names the step unless a deeper one has done so; returns -1. */
int fail_step(struct cordon_error *err, const char *step);
/* What another process said is text, and nothing to a terminal: terminated, and without control characters. */
void fail_clean(struct cordon_error *err);
/* -1 and CORDON_NO_MEMORY. */
int fail_memory(struct cordon_error *err);

#endif
