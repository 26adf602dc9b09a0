/*
 * Jobs for a box that lives: see plan.h. Held to the policy that the box was planned with, by the code that plans a box of one job. Runs
 * in the front, with the caller's rights; changes nothing.
 */
#include "plan/plan.h"

#include "base/path.h"
#include "plan/command.h"
#include "plan/engine.h"
#include "plan/mounts.h"

#include <stdlib.h>
#include <string.h>

/* What is shared with the box's plan stays; what belongs to a job begins empty. */
static void begin(struct cordon_plan *plan, const struct cordon_plan *box)
{
	*plan = *box;
	plan->argv = plan->env = plan->notes = (struct strv){ 0 };
	plan->code = (struct plan_code){ 0 };
	plan->ins = plan->outs = NULL;
	plan->in_count = plan->out_count = 0;
	plan->workdir = NULL;
}

static int resolve_deadline(struct cordon_plan *plan, const struct cordon_job *job, struct cordon_error *err)
{
	if (job->timeout_ms > plan->limits.wall_time_ms)
		return cordon_fail(err, CORDON_DENIED, 0, "a deadline of %llu ms is later than the box's of %llu ms",
				   (unsigned long long)job->timeout_ms, (unsigned long long)plan->limits.wall_time_ms);
	if (job->timeout_ms)
		plan->limits.wall_time_ms = job->timeout_ms;
	return 0;
}

static int check_shape(const struct cordon_plan *box, const struct cordon_job *job, struct cordon_error *err)
{
	bool carries = (job->in && job->in[0]) || (job->out && job->out[0]);

	if (!box->lives || job->lives)
		return cordon_fail(err, CORDON_INVALID, 0,
				   "only a box that lives takes jobs, and none that lives itself");
	if (job->tty || job->keep)
		return cordon_fail(err, CORDON_UNAVAILABLE, 0, "a job in a box that lives has no %s",
				   job->tty ? "terminal" : "keep");
	if (!job->language && !(job->argv && job->argv[0]) && !carries)
		return cordon_fail(err, CORDON_INVALID, 0, "nothing to run: the command is empty");
	return 0;
}

static int build(struct cordon_plan *plan, const struct cordon_plan *box, const struct cordon_job *job,
		 struct cordon_error *err)
{
	plan->out_max_bytes = job->out_max_bytes ? job->out_max_bytes : 1ULL << 30;
	plan->workdir = job->workdir ? path_clean(plan->home, job->workdir) : strdup(box->workdir);
	if (!plan->workdir)
		return cordon_fail(err, CORDON_INVALID, 0, "'%s' is not a path", job->workdir ? job->workdir : "");
	if (strv_copy(&plan->env, &box->env) < 0)
		return fail_memory(err);
	if (resolve_deadline(plan, job, err) < 0 || plan_resolve_argv(plan, job, err) < 0 ||
	    plan_add_env(plan, box->policy, job->env, err) < 0 || plan_check_patterns(plan, box->policy, err) < 0 ||
	    plan_check_first(plan, err) < 0 || plan_resolve_copies(plan, box->policy, job->in, job->out, err) < 0)
		return -1;
	return plan_check_engine(plan, box->policy, err);
}

int plan_job_new(struct cordon_plan **ret_plan, const struct cordon_plan *box, const struct cordon_job *job,
		 struct cordon_error *err)
{
	struct cordon_job whole = { 0 };
	struct cordon_plan *plan;

	if (!job || job->size < sizeof(size_t))
		return cordon_fail(err, CORDON_INVALID, 0, "a job needs its size set");
	memcpy(&whole, job, job->size < sizeof(whole) ? job->size : sizeof(whole));
	if (check_shape(box, &whole, err) < 0)
		return fail_step(err, "plan");
	plan = malloc(sizeof(*plan));
	if (!plan)
		return fail_memory(err);
	begin(plan, box);
	if (build(plan, box, &whole, err) < 0) {
		plan_job_free(plan);
		return fail_step(err, "plan");
	}
	*ret_plan = plan;
	return 0;
}

void plan_job_free(struct cordon_plan *plan)
{
	if (!plan)
		return;
	plan_free_copies(plan->ins, plan->in_count);
	plan_free_copies(plan->outs, plan->out_count);
	free(plan->workdir);
	free(plan->code.path);
	free(plan->code.data);
	strv_done(&plan->argv);
	strv_done(&plan->env);
	strv_done(&plan->notes);
	free(plan);
}
