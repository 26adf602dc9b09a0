/*
 * What the keeper makes before init exists, because init could not: idmapped copies of mounts (they need the rights of the file
 * system's owner), the scratch directory, placeholders for protected paths. With the caller's rights.
 */
#ifndef BOX_PREPARE_H
#define BOX_PREPARE_H

#include "box/guard.h"
#include "plan/plan.h"

struct prepared {
	int *mounts, *ins; /* detached trees, -1 where init takes the source itself; NULL: none at all */
	size_t mount_count, in_count;
	int image;          /* the root, where it is an image: a detached tree, or -1 */
	int scratch;        /* storage on disk: where the private files lie, or -1 */
	char *scratch_path; /* its path, where init has to open it again; NULL: `scratch` is a detached tree */
	char *work;         /* process level: the private directory, which is also the home */
	uid_t uid;          /* the payload's id on the host; as root, uid + 1 is init's */
	gid_t gid;
	struct guard guard; /* over protected paths */
};
#define PREPARED_INIT                                           \
	{                                                       \
		.image = -1, .scratch = -1, .guard = GUARD_INIT \
	}

/* An ordinary user on cgroup v2: moves this process into a scope of its own and looks again. What it was not given is watched or left out;
 * an error only where that was required. */
int prepare_scope(struct cordon_plan *plan, const char *owner, struct cordon_error *err);
/* Whether prepare_box() makes something that lasts, and so needs the owner's name. */
bool prepare_lasts(const struct cordon_plan *plan);
int prepare_box(struct cordon_plan *plan, const char *owner, struct prepared *ret, struct cordon_error *err);
void prepare_done(struct prepared *p); /* frees and closes; removing what lasts is lasting_undo() */

#endif
