/* Jobs for a box that lives: see job.h. */
#include "box/job.h"

#include "base/fd.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static int fill(struct stream_job *to, const struct cordon_plan *plan)
{
	to->out_bytes = plan->out_max_bytes;
	to->workdir = strdup(plan->workdir);
	to->path = strdup(plan->path);
	if (!to->workdir || !to->path || strv_copy(&to->argv, &plan->argv) < 0 || strv_copy(&to->env, &plan->env) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < plan->in_count; i++)
		if (strv_add(&to->ins, plan->ins[i].box) < 0)
			return -ENOMEM;
	if (plan->code.path && strv_add(&to->ins, plan->code.path) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < plan->out_count; i++)
		if (strv_add(&to->outs, plan->outs[i].box) < 0)
			return -ENOMEM;
	return 0;
}

int job_write(const struct cordon_plan *plan, struct link_job *ret_job)
{
	auto_close int fd = memfd_create("cordon-job", MFD_CLOEXEC);
	auto_str struct str text = { 0 };
	struct stream_job job = { 0 };
	int r = fd < 0 ? -errno : fill(&job, plan);

	*ret_job = (struct link_job){ .wall_time_ms = plan->limits.wall_time_ms,
				      .out_count = (uint32_t)plan->out_count,
				      .runs = plan->argv.n,
				      .has_files = job.ins.n };
	stream_job_put(&text, &job);
	stream_job_done(&job);
	if (r == 0 && (text.failed || text.len > STREAM_JOB_MAX))
		r = text.failed ? -ENOMEM : -E2BIG;
	r = r < 0 ? r : fd_write_all(fd, text.data, text.len);
	fd = fd_above_stdio(STEAL_FD(fd));
	return r < 0 ? r : STEAL_FD(fd);
}

static int point(struct job *job)
{
	const struct stream_job *t = &job->texts;
	struct cordon_plan *p = &job->plan;

	p->outs = calloc(t->outs.n + 1, sizeof(*p->outs));
	if (!p->outs)
		return -ENOMEM;
	for (size_t i = 0; i < t->outs.n; i++)
		p->outs[i] = (struct plan_copy){ .box = t->outs.v[i], .fd = -1 };
	p->out_count = t->outs.n;
	p->ins = NULL;
	p->in_count = 0;
	p->argv = t->argv;
	p->env = t->env;
	p->workdir = t->workdir;
	p->out_max_bytes = t->out_bytes;
	return 0;
}

int job_read(struct job *ret, const struct cordon_plan *box, const struct link_job *head, int fd)
{
	auto_free char *text = NULL;
	ssize_t n;
	int r;

	*ret = (struct job){ .plan = *box };
	ret->plan.outs = NULL;
	ret->plan.out_count = 0;
	if (lseek(fd, 0, SEEK_SET) < 0)
		return -errno;
	n = fd_load(fd, STREAM_JOB_MAX, &text);
	if (n < 0)
		return (int)n;
	r = stream_job_get(text, (size_t)n, &ret->texts);
	r = r < 0 ? r : point(ret);
	ret->plan.limits.wall_time_ms = head->wall_time_ms;
	if (r < 0)
		job_done(ret);
	return r;
}

void job_done(struct job *job)
{
	free(job->plan.outs);
	stream_job_done(&job->texts);
	*job = (struct job){ 0 };
}
