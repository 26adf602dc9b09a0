/*
 * The probe: a static program that is run inside a box, and outside for the control. One act per argument list; it answers with one line on
 * stdout: "ok", "ok VALUE", or the name of an errno. Its exit status is 0 whenever it could answer.
 *
 *	probe open /etc/shadow r            EACCES
 *	probe calls mount umount2           mount EPERM
 *	                                    umount2 EPERM
 *
 * An act does its deed only as far as needed, and so that the control outside does no harm: calls get arguments that the kernel
 * refuses once it has looked at the right to call them.
 */
#ifndef TESTS_PROBE_H
#define TESTS_PROBE_H

#include <errno.h>
#include <stddef.h>

struct act {
	const char *name;
	int argc;                /* arguments it needs */
	int (*run)(char **argv); /* 0 or -errno; it may print more than "ok" itself and then returns ANSWERED */
};

enum { ANSWERED = 1 };

#define ARRAY_LEN(a) (sizeof(a) / sizeof(*(a)))

extern const struct act call_acts[], file_acts[], net_acts[], process_acts[];

const char *errno_name(int errnum);
long number(const char *text);
/* 0 or ret_value where the call gave `r`; -errno where it gave -1. */
static inline int check(long r)
{
	return r < 0 ? -errno : 0;
}

#endif
