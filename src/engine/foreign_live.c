/*
 * A foreign box that lives: one job after another for the same init, what goes in with each, and what is asked beside them. The box's own
 * plan stays; `plan` is the job's while there is one. In the keeper, with the caller's rights.
 */
#include "engine/foreign_state.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "plan/engine.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PREPARE_MS = 60000, FEED_MS = 600000 }; /* until a job has begun; with files that go in */

/* ---- jobs ---- */

void foreign_open(struct foreign *f)
{
	struct link_message m = { .type = LINK_OPENED };

	f->is_open = true;
	f->stage = FOREIGN_IDLE;
	f->deadline_us = UINT64_MAX;
	foreign_ask_numbers(f); /* what building it took counts for no job */
	(void)link_send(f->fds->front, &m, -1);
}

static void forget(struct foreign *f)
{
	fd_close(&f->input);
	fd_close(&f->outputs[0]);
	fd_close(&f->outputs[1]);
	fd_close(&f->files);
	fd_close(&f->feeding);
	fd_close(&f->file);
	job_done(&f->job);
	f->plan = f->box;
	f->has_job = f->has_entry = f->ending = f->in_grace = f->collected = f->cut_short = f->ends_at_start = false;
	f->early_signals = f->credit = f->file_bytes = f->started_us = 0;
	f->deadline_us = UINT64_MAX;
	f->stage = FOREIGN_IDLE;
}

static void begin(struct foreign *f, const struct link_job *head)
{
	struct link_report fresh = { 0 };

	memcpy(fresh.engine_version, f->report->engine_version, sizeof(fresh.engine_version));
	*f->report = fresh;
	if (f->lost.code != CORDON_OK)
		foreign_note(f, &f->lost);
	f->plan = &f->job.plan;
	f->stage = FOREIGN_RUNS;
	f->then = f->numbers;
	f->cpu_base_us = f->numbers.cpu_us;
	f->deadline_us = clock_us() + (head->has_files ? FEED_MS : PREPARE_MS) * 1000ULL;
}

/* Only the front's word stands between two jobs: that it asks for one at a time is its business, and checked. */
void foreign_take_job(struct foreign *f, const struct link_job *head, int fds[LINK_JOB_FDS], size_t n)
{
	struct cordon_error err = { 0 };
	int r;

	if (f->stage != FOREIGN_IDLE)
		return;
	r = f->paused_us ? -EBUSY : n < JOB_FD_FILES ? -EMFILE : job_read(&f->job, f->box, head, fds[JOB_FD_TEXT]);
	if (r < 0) { /* paused: the front asked for both at once */
		if (f->paused_us)
			cordon_fail(&err, CORDON_BUSY, 0, "the box is paused");
		else
			cordon_fail(&err, CORDON_SYSTEM, -r, "read the job");
		begin(f, head);
		f->plan = f->box;
		foreign_note(f, &err);
		forget(f);
		(void)link_send_report(f->fds->front, f->report);
		f->report->error = (struct cordon_error){ 0 };
		return;
	}
	begin(f, head);
	f->input = STEAL_FD(fds[JOB_FD_STDIN]);
	f->outputs[0] = STEAL_FD(fds[JOB_FD_STDOUT]);
	f->outputs[1] = STEAL_FD(fds[JOB_FD_STDERR]);
	f->files = n > JOB_FD_FILES ? STEAL_FD(fds[JOB_FD_FILES]) : -1;
	(void)fd_set_nonblock(f->outputs[0], true);
	(void)fd_set_nonblock(f->outputs[1], true);
	foreign_send_job(f);
}

bool foreign_finish(struct foreign *f)
{
	if (foreign_is_full(f))
		return false;
	foreign_account(f);
	if (f->plan->argv.n)
		foreign_miss_init(f);
	f->report->limits_by_watch = f->plan->limits_by_watch;
	forget(f);
	/* Last: it is what the front waits for, and the next job may follow. */
	(void)link_send_report(f->fds->front, f->report);
	return true;
}

/* ---- what goes in ---- */

void foreign_drop(struct foreign *f)
{
	if (f->files < 0 && f->feeding < 0)
		return;
	fd_close(&f->files);
	fd_close(&f->feeding);
	frame_put(&f->queue, FRAME_DROP, NULL, 0);
}

static void feed_data(struct foreign *f)
{
	char buffer[FRAME_MAX];
	ssize_t n = read(f->feeding, buffer, sizeof(buffer));

	if (n > 0)
		frame_put(&f->queue, FRAME_DATA, buffer, (size_t)n);
	else if (n == 0)
		fd_close(&f->feeding);
	else if (errno != EINTR && errno != EAGAIN)
		foreign_drop(f);
}

static void feed_entry(struct foreign *f, const struct link_file *file, int *fd)
{
	struct frame_entry e = { .index = file->index, .depth = file->depth, .mode = file->mode, .size = file->size };
	char target[4096];
	ssize_t n;

	memcpy(e.name, file->name, sizeof(e.name));
	frame_put_entry(&f->queue, &e);
	if (S_ISREG(file->mode))
		f->feeding = STEAL_FD(*fd);
	if (!S_ISLNK(file->mode))
		return;
	n = readlinkat(*fd, "", target, sizeof(target));
	if (n > 0)
		frame_put(&f->queue, FRAME_DATA, target, (size_t)n);
	else
		foreign_drop(f);
}

void foreign_pass_file(struct foreign *f)
{
	struct link_message m;
	int fd = -1;

	if (f->feeding >= 0) {
		feed_data(f);
		return;
	}
	if (link_receive(f->files, &m, &fd) <= 0) {
		foreign_drop(f); /* the front could not read it all */
	} else if (m.type == LINK_FILE) {
		feed_entry(f, &m.file, &fd);
	} else if (m.type == LINK_COLLECTED) {
		fd_close(&f->files);
		frame_put(&f->queue, FRAME_START, NULL, 0);
	}
	fd_close(&fd);
}

/* ---- beside jobs ---- */

static void shift(struct foreign *f, uint64_t by)
{
	if (f->deadline_us != UINT64_MAX)
		f->deadline_us += by;
	if (f->started_us)
		f->started_us += by;
	f->cpu_check_us += by;
}

static void set_paused(struct foreign *f, bool paused)
{
	uint64_t now = clock_us();

	if (paused && !f->paused_us) {
		f->paused_us = now;
	} else if (!paused && f->paused_us) {
		shift(f, now - f->paused_us);
		f->paused_us = 0;
	}
}

void foreign_thaw(struct foreign *f)
{
	if (!f->paused_us)
		return;
	foreign_request(f, ENGINE_RESUME);
	set_paused(f, false);
}

static int fail_ending(const struct foreign *f, struct cordon_error *err)
{
	return cordon_fail(err, f->is_open && f->control >= 0 ? CORDON_BUSY : CORDON_SYSTEM, 0,
			   "the job is being ended");
}

void foreign_asked(struct foreign *f)
{
	static const enum engine_packet_type types[] = {
		[LINK_STAT] = ENGINE_STAT, [LINK_PAUSE] = ENGINE_PAUSE, [LINK_RESUME] = ENGINE_RESUME
	};
	struct cordon_error err = { 0 };
	struct link_message m;
	int fd = -1, r = link_receive(f->fds->control, &m, &fd);

	fd_close(&fd);
	if (r <= 0 || (m.type != LINK_STAT && m.type != LINK_PAUSE && m.type != LINK_RESUME)) {
		f->control_gone = r <= 0;
		return;
	}
	f->asked = m.type;
	f->before = f->wants_numbers;
	if (f->is_open && f->control >= 0 && !(f->ending && m.type == LINK_PAUSE)) {
		/* What is so already is only told. */
		foreign_request(f, types[(m.type == LINK_PAUSE) == (f->paused_us != 0) ? LINK_STAT : m.type]);
		return;
	}
	f->before = 0;
	(void)fail_ending(f, &err);
	foreign_answer(f, &err);
}

void foreign_answer(struct foreign *f, const struct cordon_error *err)
{
	struct link_message m = { 0 };
	struct cordon_error late = { 0 };

	if (f->before) {
		f->before--;
		return;
	}
	/* The job's end came first: who is frozen does not hear of it, and no deadline runs. */
	if (!err && f->asked == LINK_PAUSE && f->ending) {
		foreign_request(f, ENGINE_RESUME);
		(void)fail_ending(f, &late);
		err = &late;
	}
	m.type = err ? LINK_ERROR : LINK_STATS;
	if (err) {
		m.error = *err;
	} else {
		if (f->asked != LINK_STAT)
			set_paused(f, f->asked == LINK_PAUSE);
		m.stats = (struct link_stats){
			.memory_bytes = f->numbers.memory_bytes,
			.memory_peak_bytes = f->numbers.memory_peak_bytes,
			.cpu_us = f->numbers.cpu_us,
			.processes = f->stage != FOREIGN_IDLE && f->numbers.processes ? f->numbers.processes - 1 : 0,
			.is_paused = f->paused_us,
			.is_busy = f->stage != FOREIGN_IDLE,
		};
	}
	f->asked = 0;
	(void)link_send_now(f->fds->control, &m);
}
