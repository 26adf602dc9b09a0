/* The small files of /etc that a box has of its own, whoever builds it. Pure. */
#ifndef BOX_ETC_H
#define BOX_ETC_H

#include "plan/plan.h"

enum { ETC_FILES = 6 };

struct etc_file {
	const char *name; /* in /etc */
	char *text;
};
/* uid and gid are the payload's, as the box sees them. 0 or -ENOMEM; etc_done() in any case. */
int etc_make(const struct cordon_plan *plan, uid_t uid, gid_t gid, struct etc_file ret[ETC_FILES]);
void etc_done(struct etc_file files[ETC_FILES]);

#endif
