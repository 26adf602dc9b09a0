/*
 * What a box leaves on the host while it lives, and how it goes away. Everything lasting is found by the owner's name alone:
 * the keeper at the normal end, the front when the keeper was killed, and a later start when both were, all do the very same.
 * Undoing is idempotent and goes on after a failure. DESIGN: undo stack; here the stack is the table in lasting.c.
 */
#ifndef BOX_LASTING_H
#define BOX_LASTING_H

#include "plan/plan.h"

/* keep_scratch: job.keep. 0, or why something is still there: it may be tried again. */
int lasting_undo(const struct cordon_plan *plan, const char *owner, bool keep_scratch);
/* Orphans of earlier boxes. `living`: how many cgroups are known to be in use. */
void lasting_sweep(const struct cgroup_host *cgroup, unsigned living, const char *state_dir, const char *scratch_dir);

#endif
