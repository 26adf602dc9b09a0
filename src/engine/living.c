/*
 * Boxes that live: cordon_box_open() to cordon_box_close(). The keeper is that of cordon_run(), told to go on; each job has a front of its
 * own over the same link. What is asked beside jobs (numbers, pause, resume) goes over a socket of its own, so that it never meets a job's
 * messages. The link is the box's lifeline: when this process ends, however it ends, the keeper ends the box. With the caller's rights.
 */
#include "base/error.h"
#include "base/fd.h"
#include "base/str.h"
#include "box/feed.h"
#include "box/front.h"
#include "box/job.h"
#include "engine/spawn.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct cordon_box {
	const struct cordon_plan *plan;
	int keeper, control; /* its link; -1: the box is gone */
	struct spawned spawned;
	struct traffic traffic;
	pthread_mutex_t asking; /* over `control`, one at a time */
	atomic_bool is_busy, is_paused, is_gone;
	struct cordon_error why; /* it is gone */
};

/* ---- opening and closing ---- */

static void box_free(struct cordon_box *box)
{
	fd_close(&box->keeper);
	fd_close(&box->control);
	traffic_done(&box->traffic);
	spawn_done(&box->spawned);
	(void)pthread_mutex_destroy(&box->asking);
	free(box);
}

static int box_start(struct cordon_box *box, struct cordon_error *err)
{
	struct keeper_fds fds = { .front = -1, .stdio = { -1, -1, -1 }, .events = -1, .control = -1 };
	int link[2] = { -1, -1 }, control[2] = { -1, -1 }, r;

	r = socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, link) < 0 ? -errno : front_above_stdio(link);
	if (r == 0)
		r = socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, control) < 0 ? -errno
										       : front_above_stdio(control);
	box->keeper = link[0];
	box->control = control[0];
	if (r == 0)
		r = traffic_open(&box->traffic, box->plan, &fds.events);
	fds.front = link[1];
	fds.control = control[1];
	if (r == 0)
		r = spawn_keeper(&box->spawned, box->plan, &fds);
	fd_close(&link[1]);
	fd_close(&control[1]);
	fd_close(&fds.events);
	return r < 0 ? cordon_fail(err, CORDON_SYSTEM, -r, "start the keeper") : 0;
}

/* 0 once the box stands. */
static int box_await(struct cordon_box *box, struct cordon_error *err)
{
	struct link_report *report = calloc(1, sizeof(*report));
	struct link_message m;
	int fd = -1, r, status = -1;

	if (!report)
		return fail_memory(err);
	do {
		r = link_receive(box->keeper, &m, &fd);
		fd_close(&fd);
	} while (r > 0 && m.type != LINK_OPENED && m.type != LINK_REPORT);
	if (r > 0 && m.type == LINK_OPENED) {
		status = 0;
	} else if (r > 0 && link_receive_report(box->keeper, report) == 0 && report->error.code != CORDON_OK) {
		if (err)
			*err = report->error;
	} else {
		cordon_fail(err, CORDON_SYSTEM, r < 0 ? -r : 0, "the keeper ended before the box stood");
		(void)fail_step(err, "keeper");
	}
	free(report);
	return status;
}

int cordon_box_open(struct cordon_box **ret_box, const struct cordon_plan *plan, struct cordon_error *err)
{
	struct cordon_box *box;

	if (!ret_box || !plan || !plan->lives) {
		cordon_fail(err, CORDON_INVALID, 0, "a box that lives needs a plan of one");
		return fail_hint(err, "set `lives` in the job that it is planned with");
	}
	box = calloc(1, sizeof(*box));
	if (!box)
		return fail_memory(err);
	box->plan = plan;
	box->keeper = box->control = -1;
	(void)pthread_mutex_init(&box->asking, NULL);
	traffic_init(&box->traffic);
	if (spawn_init(&box->spawned) < 0 || box_start(box, err) < 0) {
		if (!box->spawned.owner)
			(void)fail_memory(err);
		box_free(box);
		return fail_step(err, "front");
	}
	if (box_await(box, err) < 0) {
		cordon_box_close(box);
		return -1;
	}
	*ret_box = box;
	return 0;
}

/* Nothing of it is left when this returns: the keeper hears that its front is gone, ends the box and undoes what lasts. */
static void box_end(struct cordon_box *box)
{
	if (box->keeper < 0)
		return;
	fd_close(&box->keeper);
	spawn_wait(&box->spawned, box->plan, true);
}

void cordon_box_close(struct cordon_box *box)
{
	if (!box)
		return;
	box_end(box);
	box_free(box);
}

/* ---- jobs ---- */

static int fail_gone(struct cordon_box *box, struct cordon_error *err)
{
	if (box->why.code == CORDON_OK)
		(void)cordon_fail(err, CORDON_SYSTEM, 0, "the box has ended");
	else if (err)
		*err = box->why;
	return fail_step(err, "keeper");
}

/* One at a time, and none while it is paused. */
static int box_take(struct cordon_box *box, struct cordon_error *err)
{
	if (atomic_exchange(&box->is_busy, true)) {
		cordon_fail(err, CORDON_BUSY, 0, "the box runs a job already");
		return fail_hint(err, "one job at a time: wait for its result, or open another box");
	}
	if (!box->is_paused && !box->is_gone)
		return 0;
	box->is_busy = false;
	if (box->is_gone)
		return fail_gone(box, err);
	cordon_fail(err, CORDON_BUSY, 0, "the box is paused");
	return fail_hint(err, "cordon_box_resume() first");
}

static int send_job(struct cordon_box *box, struct front *f, int *ret_files)
{
	struct link_message m = { .type = LINK_JOB };
	int fds[LINK_JOB_FDS] = { -1, -1, -1, -1, -1 }, files[2] = { -1, -1 }, r;
	struct pipes p;

	r = front_open_pipes(f, &p);
	fds[JOB_FD_TEXT] = r < 0 ? r : job_write(f->plan, &m.job);
	r = fds[JOB_FD_TEXT] < 0 ? fds[JOB_FD_TEXT] : 0;
	if (r == 0 && m.job.has_files)
		r = socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, files) < 0 ? -errno
										     : front_above_stdio(files);
	fds[JOB_FD_STDIN] = p.in[0];
	fds[JOB_FD_STDOUT] = p.out[1];
	fds[JOB_FD_STDERR] = p.err[1];
	fds[JOB_FD_FILES] = files[1];
	if (r == 0)
		r = link_send_fds(box->keeper, &m, fds, m.job.has_files ? LINK_JOB_FDS : JOB_FD_FILES);
	if (r == -EPIPE || r == -ECONNRESET)
		r = 0; /* why it is gone is still to be read */
	front_close_theirs(&p);
	fd_close(&fds[JOB_FD_TEXT]);
	fd_close(&files[1]);
	if (r == 0)
		front_take_pipes(f, &p);
	front_close_pipes(&p);
	*ret_files = files[0];
	return r;
}

/* The keeper ended, or said that the box did: whoever comes next is told why. */
static void note_gone(struct cordon_box *box, const struct front *f)
{
	if (f->reported && !f->report.is_last)
		return;
	box->why = f->gone;
	if (f->reported) {
		cordon_fail(&box->why, CORDON_SYSTEM, 0, "the box has ended with an earlier job");
		(void)fail_step(&box->why, "keeper");
		(void)fail_hint(&box->why, "that one's result says how; open another box");
	}
	if (box->why.code == CORDON_OK) {
		cordon_fail(&box->why, CORDON_SYSTEM, 0, "the box has ended: its keeper was killed");
		(void)fail_step(&box->why, "keeper");
	}
	box->is_gone = true;
	box_end(box);
}

static int serve_job(struct cordon_box *box, struct front *f, struct cordon_result **ret_result,
		     struct cordon_error *err)
{
	struct cordon_error feed_error = { 0 };
	int files = -1, r;

	collect_init(&f->collect, f->plan, &f->collect_error);
	f->owner = box->spawned.owner;
	f->keeper = box->keeper;
	r = send_job(box, f, &files);
	if (r < 0) {
		fd_close(&files);
		return cordon_fail(err, CORDON_SYSTEM, -r, "hand the job over");
	}
	if (files >= 0)
		(void)feed_send(f->plan, files, &feed_error);
	fd_close(&files); /* not whole: whoever takes them hears that, too */
	front_serve(f);
	note_gone(box, f);
	front_drain(f);
	collect_done(&f->collect,
		     f->collected || !f->plan->out_count || (f->reported && f->plan->argv.n && !f->report.started));
	if (f->reported && feed_error.code != CORDON_OK)
		f->report.error = feed_error;
	return front_result(f, ret_result, err);
}

static int box_job(struct cordon_box *box, const struct cordon_job *job, const struct cordon_io *io,
		   struct cordon_result **ret_result, struct cordon_error *err)
{
	struct cordon_error unused;
	struct cordon_plan *plan = NULL;
	struct front *f = NULL;
	int r = plan_job_new(&plan, box->plan, job, err ? err : &unused);

	if (r == 0) {
		f = calloc(1, sizeof(*f));
		/* First what front_done() relies on: a front that is not begun has descriptors of 0, which are the caller's. */
		if (!f || front_init(f, plan, io, &box->traffic) < 0 || traffic_renew(&box->traffic) < 0)
			r = fail_memory(err);
	}
	if (r == 0)
		r = serve_job(box, f, ret_result, err);
	if (f)
		front_done(f);
	free(f);
	plan_job_free(plan);
	return r < 0 ? fail_step(err, "front") : r;
}

int cordon_box_exec(struct cordon_box *box, const struct cordon_job *job, const struct cordon_io *io,
		    struct cordon_result **ret_result, struct cordon_error *err)
{
	int r;

	if (!box || !ret_result || (io && io->size < sizeof(size_t)))
		return cordon_fail(err, CORDON_INVALID, 0,
				   "a job needs a box, room for its result, and an io with its size set");
	if (box_take(box, err) < 0)
		return -1;
	r = box_job(box, job, io, ret_result, err);
	box->is_busy = false;
	return r;
}

/* ---- files between jobs ---- */

static int carry(struct cordon_box *box, const struct cordon_job *job, struct cordon_error *err)
{
	struct cordon_result *result = NULL;
	int r = cordon_box_exec(box, job, NULL, &result, err);

	if (r == 0 && result->error) {
		if (err)
			*err = *result->error;
		r = -1;
	}
	cordon_result_free(result);
	return r;
}

static int pair(const char *from, const char *to, char **ret, struct cordon_error *err)
{
	if (!from || !to || !*from || !*to || strchr(from, ':') || strchr(to, ':'))
		return cordon_fail(err, CORDON_INVALID, 0, "a copy needs two paths without a colon");
	*ret = str_printf("%s:%s", from, to);
	return *ret ? 0 : fail_memory(err);
}

int cordon_box_put(struct cordon_box *box, const char *host, const char *path, struct cordon_error *err)
{
	struct cordon_job job = { .size = sizeof(job) };
	const char *list[2] = { NULL };
	auto_free char *spec = NULL;

	if (pair(host, path, &spec, err) < 0)
		return -1;
	list[0] = spec;
	job.in = list;
	return carry(box, &job, err);
}

int cordon_box_get(struct cordon_box *box, const char *path, const char *host, struct cordon_error *err)
{
	struct cordon_job job = { .size = sizeof(job) };
	const char *list[2] = { NULL };
	auto_free char *spec = NULL;

	if (pair(path, host, &spec, err) < 0)
		return -1;
	list[0] = spec;
	job.out = list;
	return carry(box, &job, err);
}

/* ---- beside jobs ---- */

static int ask(struct cordon_box *box, enum link_type type, struct link_stats *ret_stats, struct cordon_error *err)
{
	struct link_message m = { .type = type };
	int fd = -1, r;

	if (!box)
		return cordon_fail(err, CORDON_INVALID, 0, "there is no box");
	if (box->is_gone)
		return fail_gone(box, err);
	(void)pthread_mutex_lock(&box->asking);
	r = link_send(box->control, &m, -1);
	r = r < 0 ? r : link_receive(box->control, &m, &fd);
	(void)pthread_mutex_unlock(&box->asking);
	fd_close(&fd);
	if (r <= 0)
		return cordon_fail(err, CORDON_SYSTEM, 0, "the box has ended");
	if (m.type == LINK_ERROR) {
		if (err)
			*err = m.error;
		return -1;
	}
	*ret_stats = m.stats;
	box->is_paused = m.stats.is_paused;
	return 0;
}

int cordon_box_stats(struct cordon_box *box, struct cordon_stats *ret_stats, struct cordon_error *err)
{
	struct cordon_stats whole = { 0 };
	struct link_stats s;

	if (!ret_stats || ret_stats->size < sizeof(size_t))
		return cordon_fail(err, CORDON_INVALID, 0, "stats need their size set");
	if (ask(box, LINK_STAT, &s, err) < 0)
		return -1;
	whole = (struct cordon_stats){ .size = ret_stats->size,
				       .memory_bytes = s.memory_bytes,
				       .memory_peak_bytes = s.memory_peak_bytes,
				       .cpu_us = s.cpu_us,
				       .processes = s.processes,
				       .is_paused = s.is_paused,
				       .is_busy = s.is_busy };
	memcpy(ret_stats, &whole, whole.size < sizeof(whole) ? whole.size : sizeof(whole));
	return 0;
}

int cordon_box_pause(struct cordon_box *box, struct cordon_error *err)
{
	struct link_stats s;

	return ask(box, LINK_PAUSE, &s, err);
}

int cordon_box_resume(struct cordon_box *box, struct cordon_error *err)
{
	struct link_stats s;

	return ask(box, LINK_RESUME, &s, err);
}
