/*
 * A box that lives, in the keeper: one job after another for the same init, and what is asked beside them. With the caller's rights.
 */
#include "engine/keeper_state.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

enum { PREPARE_MS = 60000, FEED_MS = 600000 }; /* until a job has begun; with files that go in */

/* Whoever waits at the other end, and cannot be told, hears at least that nothing will come; for us the front is gone then. */
static void hang_up(int link)
{
	(void)shutdown(link, SHUT_RDWR);
}

/* ---- jobs ---- */

static void become_idle(struct keeper *k)
{
	k->stage = KEEPER_IDLE;
	k->ending = false;
	k->deadline_us = k->cpu_check_us = UINT64_MAX;
}

/* What engine it is has been told to the box. */
static void forget_report(struct keeper *k)
{
	struct link_report fresh = { 0 };

	memcpy(fresh.engine_version, k->report.engine_version, sizeof(fresh.engine_version));
	k->report = fresh;
}

void keeper_opened(struct keeper *k)
{
	struct link_message m = { .type = LINK_OPENED };

	k->is_open = true;
	become_idle(k);
	k->ops->stats(k, true); /* what building it took counts for no job */
	if (k->report.error.code == CORDON_OK && link_send(k->fds->front, &m, -1) < 0)
		hang_up(k->fds->front);
}

static void begin(struct keeper *k, const struct link_job *head)
{
	forget_report(k);
	if (k->lost.code != CORDON_OK)
		keeper_note(k, &k->lost);
	k->stage = KEEPER_RUNS;
	k->ending = k->in_grace = k->collected = k->cut_short = false;
	k->started_us = k->ended_us = k->early_signals = 0;
	k->runs = head->runs;
	k->out_count = head->out_count;
	k->wall_time_ms = head->wall_time_ms;
	k->then = k->numbers;
	k->cpu_base_us = k->numbers.cpu_us;
	k->deadline_us = clock_us() + (head->has_files ? FEED_MS : PREPARE_MS) * 1000ULL;
}

/* Last: it is what the front waits for, and the next job may follow. */
static void finish(struct keeper *k)
{
	k->ops->rest(k);
	become_idle(k);
	if (!k->front_gone && link_send_report(k->fds->front, &k->report) < 0)
		hang_up(k->fds->front);
	forget_report(k);
}

void keeper_finish_job(struct keeper *k)
{
	keeper_account(k);
	if (k->runs)
		keeper_miss_init(k);
	finish(k);
}

/* Only the front's word stands between two jobs: that it asks for one at a time is its business, and checked. */
void keeper_take_job(struct keeper *k, const struct link_message *m, int fds[LINK_JOB_FDS], size_t n)
{
	struct cordon_error err = { 0 };
	int r = -1;

	if (!k->is_open || k->stage != KEEPER_IDLE || k->ending || k->ops->state(k) < ENGINE_SPEAKS)
		return; /* why it is gone is about to be told */
	begin(k, &m->job);
	if (k->paused_us) /* the front asked for both at once */
		cordon_fail(&err, CORDON_BUSY, 0, "the box is paused");
	else if (n < JOB_FD_FILES)
		cordon_fail(&err, CORDON_SYSTEM, EMFILE, "take the job's files");
	else
		r = k->ops->exec(k, m, fds, n, &err);
	if (r == 0)
		return;
	keeper_note(k, &err);
	finish(k);
}

/* ---- beside jobs ---- */

static void set_paused(struct keeper *k, bool paused)
{
	uint64_t now = clock_us(), since;

	if (paused && !k->paused_us) {
		k->paused_us = now;
	} else if (!paused && k->paused_us) {
		/* A job that was on its way may have begun since. */
		since = k->started_us > k->paused_us ? k->started_us : k->paused_us;
		if (k->deadline_us != UINT64_MAX)
			k->deadline_us += now - since;
		if (k->cpu_check_us != UINT64_MAX)
			k->cpu_check_us = now;
		k->started_us += k->started_us ? now - since : 0;
		k->paused_us = 0;
	}
}

void keeper_thaw(struct keeper *k)
{
	if (!k->paused_us)
		return;
	k->ops->resume(k);
	set_paused(k, false);
}

static void fail_ending(const struct keeper *k, struct cordon_error *err)
{
	cordon_fail(err, k->ops->state(k) >= ENGINE_SPEAKS ? CORDON_BUSY : CORDON_SYSTEM, 0, "the job is being ended");
}

void keeper_asked(struct keeper *k)
{
	struct cordon_error err = { 0 };
	struct link_message m;
	int fd = -1, r = link_receive(k->fds->control, &m, &fd);
	const bool stands = k->is_open && k->ops->state(k) >= ENGINE_SPEAKS;

	fd_close(&fd);
	if (r <= 0 || (m.type != LINK_STAT && m.type != LINK_PAUSE && m.type != LINK_RESUME)) {
		k->control_gone = r <= 0;
		return;
	}
	k->asked = m.type;
	k->before = k->awaited;
	if (!stands || (k->ending && m.type == LINK_PAUSE)) {
		k->before = 0;
		fail_ending(k, &err);
		keeper_answer(k, &err);
	} else if (m.type == LINK_STAT || (m.type == LINK_PAUSE) == (k->paused_us != 0)) {
		k->ops->stats(k, true); /* what is so already is only told */
	} else if (m.type == LINK_PAUSE) {
		k->ops->pause(k);
	} else {
		k->ops->resume(k);
	}
}

void keeper_answer(struct keeper *k, const struct cordon_error *err)
{
	const unsigned asked = k->asked;
	struct link_message m = { 0 };
	struct cordon_error late = { 0 };

	if (!asked)
		return;
	if (k->before) {
		k->before--;
		return;
	}
	k->asked = 0;
	/* The job's end came first: who is frozen does not hear of it, and no deadline runs. */
	if (!err && asked == LINK_PAUSE && k->ending) {
		k->ops->resume(k);
		fail_ending(k, &late);
		err = &late;
	}
	m.type = err ? LINK_ERROR : LINK_STATS;
	if (err) {
		m.error = *err;
	} else {
		if (asked != LINK_STAT)
			set_paused(k, asked == LINK_PAUSE);
		m.stats = (struct link_stats){
			.memory_bytes = k->numbers.memory_bytes,
			.memory_peak_bytes = k->numbers.memory_peak_bytes,
			.cpu_us = k->numbers.cpu_us,
			.processes = k->numbers.processes,
			.is_paused = k->paused_us,
			.is_busy = k->stage != KEEPER_IDLE,
		};
	}
	if (link_send_now(k->fds->control, &m) < 0)
		hang_up(k->fds->control);
}
