/*
 * Watching protected paths from outside. In the box they are mount points and cannot be replaced; but when somebody on the host
 * renames or removes one, the kernel takes the box's mount away with it. The keeper then ends the box. Runs in the keeper.
 */
#ifndef BOX_GUARD_H
#define BOX_GUARD_H

#include "plan/plan.h"

#include <sys/stat.h>

struct guard {
	int fd;            /* inotify, or -1: nothing is protected */
	struct stat *held; /* per protect: what stood there when the box was built */
	size_t count;
};
#define GUARD_INIT       \
	{                \
		.fd = -1 \
	}

/* After the placeholders are made, before init takes its mounts. */
int guard_begin(struct guard *g, const struct cordon_plan *plan, struct cordon_error *err);
/* Something happened in a watched directory: 0, or -1 with CORDON_DENIED when a protected path is not what it was. */
int guard_check(struct guard *g, const struct cordon_plan *plan, struct cordon_error *err);
void guard_done(struct guard *g);

#endif
