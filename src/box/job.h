/*
 * A job for a box that lives, on its way from the front to who runs it: its texts in a memfd, and the plan that it amounts to. The front
 * says what to run; the box's own plan, which keeper and init have since it was built, says how.
 */
#ifndef BOX_JOB_H
#define BOX_JOB_H

#include "box/link.h"
#include "plan/plan.h"
#include "stream/job.h"

/* Front: of a plan from plan_job_new(). A memfd, or -errno. */
int job_write(const struct cordon_plan *plan, struct link_job *ret_job);

/* Keeper and init. */
struct job {
	struct cordon_plan plan; /* the box's, with what this job runs: argv, env, workdir, paths of outs */
	struct stream_job texts; /* what it points into; texts.ins are the paths that JOB_FD_FILES speaks of */
};
int job_read(struct job *ret_job, const struct cordon_plan *box, const struct link_job *head, int fd); /* 0 or -errno */
void job_done(struct job *job);

#endif
