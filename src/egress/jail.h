/* The rights that the egress process sheds before it reads a byte of the box. Runs in the egress process. */
#ifndef EGRESS_JAIL_H
#define EGRESS_JAIL_H

#include "base/error.h"

#include <stdbool.h>
#include <sys/types.h>

struct jail_options {
	bool has_ids; /* needed where it is started as root */
	uid_t uid;
	gid_t gid;
	bool listens;   /* lazy: further ports are opened as they are wanted */
	bool sanitized; /* memory, files and calls stay: a sanitizer looks at its own process in the end */
};

/* Descriptors as many as may be had; identity, capabilities, memory dumps, files and system calls: gone, in this order and for good.
 * Needs: everything opened that is not in jail.c's list of files. */
int jail_enter(const struct jail_options *options, struct cordon_error *err);

#endif
