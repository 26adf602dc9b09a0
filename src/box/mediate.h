/* Modes and times of files at process level, where Landlock has no right for them: the keeper changes them for the payload. */
#ifndef BOX_MEDIATE_H
#define BOX_MEDIATE_H

#include "plan/plan.h"

struct mediate_scope {
	int work;  /* the private directory; -1: nothing is mediated */
	uid_t uid; /* the payload's, on the host */
	gid_t gid;
};

/* Keeper: does what the call asks for, if it may be done. Returns what to answer: 0, or an errno. *ret_denied: the policy refused it. */
int mediate(const struct cordon_plan *plan, const struct mediate_scope *scope, int listener,
	    const struct seccomp_event *e, bool *ret_denied);

#endif
