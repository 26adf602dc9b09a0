/*
 * A native box that lives, in the keeper: one job after another for the same init, and what is asked beside them. With the caller's rights.
 */
#include "engine/keeper_state.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "box/watch.h"

#include <errno.h>
#include <string.h>

enum {
	SETUP_MS = 30000,
	PREPARE_MS = 30000,
	FEED_MS = 600000
}; /* building it; until a job has begun; with files that go in */

/* ---- jobs ---- */

void keeper_opened(struct keeper *k)
{
	struct link_message m = { .type = LINK_OPENED };

	k->is_open = true;
	k->deadline_us = k->cpu_check_us = UINT64_MAX;
	if (k->report.error.code == CORDON_OK)
		(void)link_send(k->fds->front, &m, -1);
}

static void read_then(struct keeper *k)
{
	struct watch_usage usage = { 0 };

	k->then = (struct cgroup_usage){ 0 };
	if (k->has_cgroup) {
		(void)cgroup_read_usage(&k->cgroup, &k->then);
	} else {
		watch_read(k->init_pid, &usage);
		k->then.cpu_us = usage.cpu_us;
	}
}

/* Paused: the front asked for both at once. */
static void refuse_job(struct keeper *k)
{
	memset(&k->report, 0, sizeof(k->report));
	if (k->paused_us)
		cordon_fail(&k->report.error, CORDON_BUSY, 0, "the box is paused");
	else
		cordon_fail(&k->report.error, CORDON_SYSTEM, EMFILE, "take the job's files");
	(void)link_send_report(k->fds->front, &k->report);
	memset(&k->report, 0, sizeof(k->report));
}

/* Only the front's word stands between two jobs: that it asks for one at a time is its business, and checked. */
void keeper_take_job(struct keeper *k, const struct link_message *m, int fds[LINK_JOB_FDS], size_t n)
{
	struct cordon_error err = { 0 };
	int r;

	if (!k->is_open || k->in_job || k->ending)
		return;
	if (k->paused_us || n < JOB_FD_FILES) {
		refuse_job(k);
		return;
	}
	memset(&k->report, 0, sizeof(k->report));
	k->in_job = true;
	k->done = false;
	k->runs = m->job.runs;
	k->out_count = m->job.out_count;
	k->wall_time_ms = m->job.wall_time_ms;
	k->started_us = k->term_us = k->throttle_us = k->early_signals = k->denied = 0;
	k->deadline_us = clock_us() + (m->job.has_files ? FEED_MS : PREPARE_MS) * 1000ULL;
	read_then(k);
	if (k->lost.code != CORDON_OK)
		keeper_note(k, &k->lost);
	keeper_give_pipes(k, fds + JOB_FD_STDIN);
	r = link_send_fds(k->link, m, fds, n);
	if (r == 0)
		return;
	cordon_fail(&err, CORDON_SYSTEM, -r, "hand the job to init");
	keeper_note(k, &err);
	keeper_end(k);
}

static void finish_job(struct keeper *k)
{
	if (k->runs)
		keeper_miss_init(k);
	keeper_account(k);
	keeper_collect(k);
	fd_close(&k->listener);
	k->in_job = k->ending = k->done = false;
	k->deadline_us = k->cpu_check_us = UINT64_MAX;
	if (!k->front_gone)
		(void)link_send_report(k->fds->front, &k->report);
}

void keeper_live(struct keeper *k)
{
	bool is_there = true;

	k->deadline_us = clock_us() + SETUP_MS * 1000ULL;
	while (is_there && !(k->front_gone && !k->in_job)) {
		is_there = keeper_turn(k);
		if (!is_there) /* what init said last may still be on its way */
			while (!k->done && k->link >= 0)
				keeper_hear(k);
		keeper_sweep(k);
		if (k->in_job && k->done && is_there)
			finish_job(k);
	}
	if (is_there)
		return;
	if (!k->in_job && k->is_open) {
		k->report.is_idle = true;
		k->report.has_exit = false;
	}
	keeper_miss_init(k);
	keeper_account(k);
}

/* ---- beside jobs ---- */

static void set_paused(struct keeper *k, bool paused)
{
	uint64_t now = clock_us(), by;

	if (paused && !k->paused_us) {
		k->paused_us = now;
	} else if (!paused && k->paused_us) {
		by = now - k->paused_us;
		k->paused_us = 0;
		if (k->deadline_us != UINT64_MAX)
			k->deadline_us += by;
		if (k->cpu_check_us != UINT64_MAX)
			k->cpu_check_us += by;
		k->started_us += k->started_us ? by : 0;
	}
}

void keeper_thaw(struct keeper *k)
{
	if (!k->paused_us)
		return;
	(void)cgroup_pause(&k->cgroup, false);
	set_paused(k, false);
}

/* The job was on its way when the box was paused: beside v1 it has joined its groups since, and not the one that is frozen. */
void keeper_pause_late(struct keeper *k)
{
	struct cordon_error err = { 0 };
	int r = k->paused_us ? cgroup_pause(&k->cgroup, true) : 0;

	if (r == 0)
		return;
	cordon_fail(&err, CORDON_SYSTEM, -r, "pause the job");
	(void)fail_step(&err, "cgroup");
	keeper_note(k, &err);
	k->report.failed = true;
	keeper_end(k);
}

static int freeze(struct keeper *k, bool paused, struct cordon_error *err)
{
	int r = paused && k->ending ? -EBUSY : k->has_cgroup ? cgroup_pause(&k->cgroup, paused) : -EOPNOTSUPP;

	if (r == -EBUSY)
		return cordon_fail(err, CORDON_BUSY, 0, "the job is being ended");
	if (r < 0) {
		cordon_fail(err, CORDON_UNAVAILABLE, -r, "this host cannot pause a box");
		return fail_hint(err, "it takes cgroup v2, alone or beside v1, and the right to make groups there");
	}
	set_paused(k, paused);
	return 0;
}

static void read_stats(struct keeper *k, struct link_stats *ret)
{
	struct cgroup_usage used = { 0 };
	struct watch_usage now = { 0 };

	if (k->has_cgroup && cgroup_read_usage(&k->cgroup, &used) == 0) {
		ret->cpu_us = used.cpu_us;
		ret->memory_peak_bytes = used.memory_peak_bytes;
		cgroup_read_now(&k->cgroup, &ret->memory_bytes, &ret->processes);
	}
	if (!k->has_cgroup || k->plan->limits_by_watch) {
		watch_read(k->init_pid, &now);
		ret->cpu_us = ret->cpu_us ? ret->cpu_us : now.cpu_us;
		ret->memory_bytes = ret->memory_bytes ? ret->memory_bytes : now.memory_bytes;
		ret->processes = now.processes;
	}
	ret->is_paused = k->paused_us;
	ret->is_busy = k->in_job;
}

void keeper_asked(struct keeper *k)
{
	struct link_message m, answer = { .type = LINK_STATS };
	int fd = -1, r = link_receive(k->fds->control, &m, &fd);

	fd_close(&fd);
	if (r <= 0) {
		k->control_gone = true;
		return;
	}
	if (m.type == LINK_STAT ||
	    ((m.type == LINK_PAUSE || m.type == LINK_RESUME) && freeze(k, m.type == LINK_PAUSE, &answer.error) == 0)) {
		answer.stats = (struct link_stats){ 0 };
		read_stats(k, &answer.stats);
	} else {
		answer.type = LINK_ERROR;
	}
	(void)link_send_now(k->fds->control, &answer);
}
