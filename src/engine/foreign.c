/*
 * A foreign box, from start to end: see foreign.h. One poll loop over the front, the driver, init and the front's pipes. The driver removes
 * the container whatever happens to us: its control socket is its lifeline, as the stream is init's.
 */
#include "engine/foreign_state.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "box/guard.h"
#include "box/lasting.h"
#include "box/watch.h"
#include "os/process.h"
#include "plan/engine.h"
#include "plan/errand.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	END_MS = 3000,       /* from END to EXITED, before the container is killed */
	FORCE_MS = 10000,    /* and until it is tried harder */
	COLLECT_MS = 120000, /* copying out */
	REMOVE_MS = 15000,   /* what a killed driver left */
	LOOK_US = 20000,     /* between two looks at the numbers, at least */
	GUARD_US = 10000,
	WATCH_US = 50000,
};

void foreign_note(struct foreign *f, const struct cordon_error *err)
{
	if (f->report->error.code == CORDON_OK)
		f->report->error = *err;
}

/* ---- ending ---- */

void foreign_request(struct foreign *f, enum engine_packet_type type)
{
	const struct engine_request r = { .type = type };

	if (f->control >= 0)
		(void)send(f->control, &r, sizeof(r), MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* Each time harder: the driver is asked, then left without its keeper, then killed. */
static void force(struct foreign *f)
{
	f->deadline_us = clock_us() + FORCE_MS * 1000ULL;
	switch (f->force++) {
	case 0:
		foreign_request(f, ENGINE_KILL);
		break;
	case 1:
		fd_close(&f->control);
		break;
	default:
		(void)process_signal(f->driver, SIGKILL);
		fd_close(&f->stream);
		f->deadline_us = UINT64_MAX;
	}
}

void foreign_end(struct foreign *f)
{
	if (f->ending)
		return;
	f->ending = true;
	f->ended_us = clock_us();
	foreign_thaw(f);
	if (f->is_open && !f->report->started && f->stage == FOREIGN_RUNS && f->stream >= 0) {
		foreign_drop(f); /* a box that lives outlives a job that has not begun */
		f->ends_at_start = true;
		f->deadline_us = clock_us() + END_MS * 1000ULL;
	} else if ((f->report->started || f->stage == FOREIGN_IDLE) && f->stream >= 0) {
		frame_put(&f->queue, f->stage == FOREIGN_RUNS && f->is_open ? FRAME_KILL : FRAME_END, NULL, 0);
		f->deadline_us = clock_us() + END_MS * 1000ULL;
	} else {
		force(f);
	}
}

/* The driver is gone, and what it should have removed has the stream: all that is left of it here is to end that. Who is only slow to take
 * what was said before has all the time. */
static void cut_off(struct foreign *f)
{
	struct pollfd p = { .fd = f->stream, .events = POLLRDHUP };

	f->deadline_us = UINT64_MAX;
	if (poll(&p, 1, 0) == 0)
		fd_close(&f->stream);
}

/* The driver would have said what hangs: it does so itself, or what it started. */
static void explain_silence(const struct foreign *f, struct cordon_error *err)
{
	const struct engine *e = f->plan->engine;

	cordon_fail(err, CORDON_SYSTEM, 0,
		    f->is_created ? "the container of %s runs, and says nothing" : "%s did not build the box in time",
		    e->name);
	if (e->makes_root)
		(void)fail_hint(err, "this host is overloaded, or %s hangs: look for its processes, and try again",
				e->name);
	else
		(void)fail_hint(err, "look at the log of %s; restarting it may help", e->name);
	(void)fail_step(err, "engine");
}

static void on_deadline(struct foreign *f)
{
	struct cordon_error err = { 0 };

	if (f->driver < 0) {
		cut_off(f);
		return;
	}
	if (f->ending || f->report->has_exit) {
		force(f);
		return;
	}
	if (!f->report->started) {
		explain_silence(f, &err);
		foreign_note(f, &err);
		foreign_end(f);
		return;
	}
	f->report->timed_out = true;
	if (f->plan->limits.grace_ms && !f->in_grace) {
		f->in_grace = true;
		f->deadline_us = clock_us() + f->plan->limits.grace_ms * 1000;
		foreign_signal(f, SIGTERM);
		return;
	}
	foreign_end(f);
}

/* ---- the driver ---- */

static bool writes_host(const struct cordon_plan *plan)
{
	for (size_t i = 0; i < plan->mount_count; i++)
		if (plan->mounts[i].writable)
			return true;
	return false;
}

static int refuse_lacks(struct foreign *f, uint32_t lacks, struct cordon_error *err)
{
	static const char other[] = "see `cordon doctor`; --engine native watches what the kernel cannot";
	const struct plan_limits *l = &f->plan->limits;
	const char *groups =
		f->plan->as_root ? other
		: f->plan->engine->makes_root
			? "systemd-run --user --scope -p Delegate=yes cordon run … gives control groups to a user; "
			  "--engine native watches what the kernel cannot"
			: "a user's own daemon holds limits only on cgroup v2, in control groups that are his; use "
			  "root's "
			  "daemon, or --engine native, which watches what the kernel cannot";
	const struct {
		uint32_t bit;
		bool matters;
		const char *what, *hint;
	} rows[] = {
		{ ENGINE_LACKS_MEMORY, l->memory_bytes, "limits.memory", groups },
		{ ENGINE_LACKS_CPU, l->cpu_milli, "limits.cpus", groups },
		{ ENGINE_LACKS_PROCESSES, l->processes && !f->counts_processes, "limits.processes", groups },
		{ ENGINE_LACKS_DISK_RATE, f->plan->rates_needed, "limits.disk_read and limits.disk_write", groups },
		{ ENGINE_LACKS_OWNER, writes_host(f->plan),
		  "who owns what is written to a mount, since its daemon has other ids,",
		  "copy files in and out (--in, --out), or use a daemon without userns-remap, or another engine" },
		{ ENGINE_LACKS_CGROUPNS, f->plan->required & LAYER_BIT(CGROUPNS), "a cgroup namespace", other },
		{ ENGINE_LACKS_USERNS, f->plan->layers & LAYER_BIT(USERNS), "a user namespace", other },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if ((lacks & rows[i].bit) && rows[i].matters) {
			cordon_fail(err, CORDON_UNAVAILABLE, 0, "%s cannot hold %s on this host", f->plan->engine->name,
				    rows[i].what);
			(void)fail_hint(err, "%s", rows[i].hint);
			return fail_step(err, "engine");
		}
	return 0;
}

static void on_created(struct foreign *f, const struct engine_created *c)
{
	struct cordon_error err = { 0 };

	f->is_created = true;
	fd_close(&f->net.netns); /* it is the container's now */
	f->net.init_pid = c->is_local ? c->init_pid : 0;
	snprintf(f->net.init_path, sizeof(f->net.init_path), "%.63s", c->init_path);
	f->net.is_linked = c->is_linked;
	if (!c->is_linked)
		fd_close(&f->net.link);
	/* The container has its own hold on what lies there. An ordinary user's stays: who removes a directory takes the mounts on it away. */
	if (f->shelf.path && f->plan->as_root)
		shelf_undo(f->plan->state_dir, f->owner);
	snprintf(f->report->engine_version, sizeof(f->report->engine_version), "%.95s", c->version);
	f->counts_processes = (c->lacks & ENGINE_LACKS_PROCESSES) && (f->plan->layers & LAYER_BIT(USERNS));
	if (c->lacks & ENGINE_LACKS_CGROUPNS)
		f->plan->layers &= ~LAYER_BIT(CGROUPNS); /* not told as held */
	if (refuse_lacks(f, c->lacks, &err) < 0) {
		foreign_note(f, &err);
		foreign_end(f);
	}
}

void foreign_ask_numbers(struct foreign *f)
{
	if (!f->wants_numbers && f->control >= 0)
		foreign_request(f, ENGINE_STAT);
	f->wants_numbers = true;
}

static uint64_t cpu_used_us(const struct foreign *f)
{
	return f->numbers.cpu_us > f->cpu_base_us ? f->numbers.cpu_us - f->cpu_base_us : 0;
}

/* The first numbers are those of the runtime and init, before the payload did anything to speak of. */
static void on_numbers(struct foreign *f, const struct engine_exited *e)
{
	uint64_t limit = f->plan->limits.cpu_time_ms * 1000, milli = f->plan->limits.cpu_milli, wait;
	struct engine_exited before = f->numbers;

	f->wants_numbers = false;
	f->numbers = *e;
	if (!f->numbers.cpu_us)
		f->numbers.cpu_us = before.cpu_us;
	if (before.memory_peak_bytes > f->numbers.memory_peak_bytes)
		f->numbers.memory_peak_bytes = before.memory_peak_bytes;
	if (before.oom > f->numbers.oom)
		f->numbers.oom = before.oom;
	if (before.process_refusals > f->numbers.process_refusals)
		f->numbers.process_refusals = before.process_refusals;
	if (!f->has_base) {
		f->has_base = true;
		f->cpu_base_us = f->numbers.cpu_us;
	}
	if (f->ending || f->report->has_exit || e->exited)
		return;
	if (cpu_used_us(f) >= limit) {
		f->report->out_of_cpu = true;
		foreign_end(f);
		return;
	}
	wait = (limit - cpu_used_us(f)) * 1000 / (milli ? milli : 1000);
	f->cpu_check_us = clock_us() + (wait > LOOK_US ? wait : LOOK_US);
}

/* A front that does not listen misses a line. */
static void tell_progress(struct foreign *f, const struct engine_progress *p)
{
	struct link_message m = { .type = LINK_PROGRESS,
				  .progress = { .done_bytes = p->done_bytes, .total_bytes = p->total_bytes } };

	snprintf(m.progress.text, sizeof(m.progress.text), "%.119s", p->text);
	if (!f->front_gone)
		(void)link_send_now(f->fds->front, &m);
}

static void from_driver(struct foreign *f)
{
	union engine_packet p = { 0 };
	ssize_t n = recv(f->control, &p, sizeof(p), MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		fd_close(&f->control);
		return;
	}
	if (p.type == ENGINE_CREATED && n == (ssize_t)sizeof(p.created)) {
		on_created(f, &p.created);
	} else if ((p.type == ENGINE_STATS || p.type == ENGINE_EXITED) && n == (ssize_t)sizeof(p.exited)) {
		on_numbers(f, &p.exited);
		if (f->asked)
			foreign_answer(f, NULL);
	} else if (p.type == ENGINE_ERROR && n == (ssize_t)sizeof(p.failed)) {
		if (f->asked == LINK_PAUSE || f->asked == LINK_RESUME)
			foreign_answer(f, &p.failed.error);
		else
			foreign_note(f, &p.failed.error);
	} else if (p.type == ENGINE_PROGRESS && n == (ssize_t)sizeof(p.progress) && !f->is_created && !f->ending) {
		f->deadline_us = clock_us() + ENGINE_SILENCE_MS * 1000ULL; /* it is slow, and alive */
		tell_progress(f, &p.progress);
	}
}

/* ---- the front ---- */

static bool is_wish_to_end(int sig)
{
	return sig == SIGINT || sig == SIGTERM || sig == SIGHUP || sig == SIGQUIT;
}

bool foreign_is_unwanted(const struct foreign *f)
{
	struct link_message m;
	int r = f->front_gone ? 0 : link_peek(f->fds->front, &m);

	return r == 0 || (r > 0 && (m.type == LINK_END || (m.type == LINK_SIGNAL && is_wish_to_end(m.signal))));
}

static void from_front(struct foreign *f)
{
	int fds[LINK_JOB_FDS], r;
	struct link_message m;
	size_t n;

	r = link_receive_fds(f->fds->front, &m, fds, LINK_JOB_FDS, &n);
	if (r > 0 && m.type == LINK_JOB)
		foreign_take_job(f, &m.job, fds, n);
	for (size_t i = 0; i < n; i++)
		fd_close(&fds[i]);
	if (r <= 0) {
		f->front_gone = true;
		f->report->cancelled = true;
		f->pending[0].len = f->pending[1].len = 0;
		fd_close(&f->outputs[0]);
		fd_close(&f->outputs[1]);
		foreign_end(f);
	} else if (m.type == LINK_SIGNAL && (!f->is_ready || f->copy.is_on) && is_wish_to_end(m.signal)) {
		f->report->cancelled = true; /* nobody is there yet who could hear it, and that may take its time */
		foreign_end(f);
	} else if (m.type == LINK_SIGNAL) {
		foreign_signal(f, m.signal);
	} else if (m.type == LINK_WINDOW) {
		foreign_set_window(f, m.window);
	} else if (m.type == LINK_END && f->stage == FOREIGN_IDLE) {
		/* it crossed the report */
	} else if (m.type == LINK_END && f->report->has_exit) {
		f->cut_short = !f->is_open ||
			       f->plan->out_count; /* what is cut short is the copying out, which the front notices */
	} else if (m.type == LINK_END) {
		f->report->cancelled = m.reason == LINK_CANCEL;
		f->report->over_output = m.reason == LINK_OUTPUT;
		foreign_end(f);
	}
}

static void on_guard(struct foreign *f, uint64_t now)
{
	struct cordon_error err = { 0 };

	f->guard_us = now + GUARD_US;
	if (guard_check(&f->prepared.guard, f->plan, &err) == 0)
		return;
	foreign_note(f, &err);
	f->report->cancelled = true;
	foreign_end(f);
}

/* Files in a plain directory on the host's disk: no file system bounds them, so they are counted. */
static bool watches_disk(const struct foreign *f)
{
	return f->plan->storage == PLAN_STORAGE_WATCH && f->report->started && !f->ending && !f->report->has_exit;
}

static void watch_disk(struct foreign *f, uint64_t now)
{
	struct watch_usage usage = { 0 };

	f->watch_us = now + WATCH_US;
	if (watch_tree(f->prepared.scratch, &usage) < 0 ||
	    (usage.disk_bytes <= f->plan->limits.disk_bytes && usage.inodes <= f->plan->limits.inodes))
		return;
	f->report->over_disk = true;
	foreign_end(f);
}

/* ---- the loop ---- */

static void leave(struct foreign *f)
{
	foreign_thaw(f);
	f->stage = FOREIGN_LEAVES;
	if (!f->collected && f->plan->out_count) { /* cut short: init has no ear for us while it hands out */
		force(f);
		return;
	}
	frame_put(&f->queue, FRAME_END, NULL, 0);
	foreign_request(f, ENGINE_LEAVE);
	f->deadline_us = clock_us() + END_MS * 1000ULL;
}

static void begin(struct foreign *f)
{
	struct cordon_error err = { 0 };

	if (foreign_net_enter(f, &err) == 0) {
		f->plan->lives ? foreign_open(f) : foreign_send_job(f);
		return;
	}
	foreign_net_explain(f, &err);
	foreign_note(f, &err);
	foreign_end(f);
}

/* What follows from what has been heard. */
static void advance(struct foreign *f)
{
	const bool keeps = f->plan->engine->keeps_numbers && !f->plan->lives;

	if (f->is_created && f->is_ready && !f->has_job && !f->is_open && !f->ending)
		begin(f);
	if (f->stage == FOREIGN_RUNS && f->report->has_exit) {
		f->stage = FOREIGN_COUNTS;
		f->ending = true;
		f->deadline_us = clock_us() + END_MS * 1000ULL;
		if (!keeps)
			foreign_ask_numbers(f);
	}
	if (f->stage == FOREIGN_COUNTS && (!f->wants_numbers || keeps || f->control < 0)) {
		f->stage = FOREIGN_COLLECTS;
		f->deadline_us = clock_us() + COLLECT_MS * 1000ULL;
		if (f->plan->out_count && !f->front_gone)
			frame_put(&f->queue, FRAME_COLLECT, NULL, 0);
	}
	if (f->stage == FOREIGN_COLLECTS &&
	    (f->collected || f->cut_short || !f->plan->out_count || f->front_gone || f->stream < 0)) {
		if (f->is_open && !f->front_gone && f->stream >= 0 && f->control >= 0 && !f->cut_short)
			(void)foreign_finish(f);
		else
			leave(f);
	}
}

static int next_timeout_ms(const struct foreign *f, uint64_t now)
{
	uint64_t at = f->paused_us ? UINT64_MAX : f->deadline_us;

	if (f->report->started && !f->ending && !f->wants_numbers && !f->paused_us && f->cpu_check_us < at)
		at = f->cpu_check_us;
	if (f->guard_us > now && f->guard_us < at)
		at = f->guard_us;
	if (watches_disk(f) && f->watch_us < at)
		at = f->watch_us;
	if (at <= now)
		return 0;
	at = (at - now + 999) / 1000;
	return at > 3600000 ? 3600000 : (int)at;
}

/* Gone after it removed the container; or before, and then the stream is what ends it. */
static void on_driver_gone(struct foreign *f)
{
	struct cordon_error err = { 0 };
	int status = 0;

	(void)process_wait(f->driver, &status);
	fd_close(&f->driver);
	fd_close(&f->control);
	f->paused_us = 0;
	f->deadline_us = clock_us() + END_MS * 1000ULL;
	if (WIFEXITED(status) && WEXITSTATUS(status) <= 1)
		return;
	f->driver_died = true;
	cordon_fail(&err, CORDON_SYSTEM, 0, "the driver of %s ended before the container did", f->plan->engine->name);
	(void)fail_hint(&err, "it was killed from outside, or cannot be executed");
	(void)fail_step(&err, "engine");
	if (!f->ending)
		foreign_note(f, &err);
	f->ending = true;
	fd_close(&f->stream);
}

static void turn(struct foreign *f)
{
	uint64_t now = clock_us();
	bool takes_input = f->report->started && !f->report->has_exit && f->credit && f->stream >= 0 && !f->queue.len;
	struct pollfd fds[] = {
		{ .fd = f->front_gone ? -1 : f->fds->front, .events = POLLIN },
		{ .fd = f->stream,
		  .events =
			  (short)((foreign_is_full(f) ? 0 : POLLIN) | (f->queue.len || f->copy.is_on ? POLLOUT : 0)) },
		{ .fd = f->control, .events = POLLIN },
		{ .fd = f->driver, .events = POLLIN },
		{ .fd = takes_input ? f->input : -1, .events = POLLIN },
		{ .fd = f->pending[0].len ? f->outputs[0] : -1, .events = POLLOUT },
		{ .fd = f->pending[1].len ? f->outputs[1] : -1, .events = POLLOUT },
		{ .fd = f->guard_us > now ? -1 : f->prepared.guard.fd, .events = POLLIN },
		{ .fd = egress_fd(&f->net.egress), .events = POLLIN },
		{ .fd = f->asked || f->control_gone ? -1 : f->fds->control, .events = POLLIN },
		{ .fd = !foreign_passes(f) ? -1
			: f->feeding >= 0  ? f->feeding
					   : f->files,
		  .events = POLLIN },
		{ .fd = f->is_created && !f->ending ? f->net.link : -1, .events = POLLIN },
	};

	if (fds[1].fd >= 0 && !fds[1].events)
		fds[1].fd = -1; /* a hang-up must not wake us as long as nothing can be read */
	(void)poll(fds, ARRAY_LEN(fds), next_timeout_ms(f, now));
	now = clock_us();
	for (int i = 0; i < 2; i++)
		if (fds[5 + i].revents)
			foreign_give_output(f, i);
	if (fds[7].revents)
		on_guard(f, now);
	if (fds[8].revents)
		foreign_net_turn(f);
	if (fds[11].revents)
		foreign_link_serve(f);
	if (fds[2].revents)
		from_driver(f);
	else if (fds[3].revents)
		on_driver_gone(f);
	if (fds[4].revents)
		foreign_take_input(f);
	if (fds[0].revents)
		from_front(f);
	if (fds[9].revents)
		foreign_asked(f);
	if (fds[10].revents)
		foreign_pass_file(f);
	foreign_from_init(f);
	advance(f);
	if (watches_disk(f) && now >= f->watch_us)
		watch_disk(f, now);
	if (f->paused_us)
		; /* time stands still */
	else if (now >= f->deadline_us)
		on_deadline(f);
	else if (f->report->started && !f->ending && now >= f->cpu_check_us)
		foreign_ask_numbers(f);
	if ((fds[1].revents & POLLOUT) && f->copy.is_on && !f->ending)
		f->deadline_us = now + ENGINE_SILENCE_MS * 1000ULL; /* it takes what goes in */
	foreign_feed(f);
	foreign_to_init(f);
}

void foreign_account(struct foreign *f)
{
	struct link_report *r = f->report;

	/* Memory ran out for init as well: the payload went with it. */
	if (!r->has_exit && f->numbers.oom > f->then.oom && r->started) {
		r->exit.status = SIGKILL;
		r->has_exit = true;
	}
	/* gVisor's clock goes on while its control group is held back: what it says counts only where nobody else does. */
	r->cpu_us = f->plan->engine->own_kernel && f->has_base ? 0 : r->exit.cpu_us;
	if (cpu_used_us(f) > r->cpu_us)
		r->cpu_us = cpu_used_us(f);
	r->memory_peak_bytes = f->numbers.memory_peak_bytes ? f->numbers.memory_peak_bytes : r->exit.maxrss_bytes;
	r->oom_kills = f->numbers.oom > f->then.oom ? 1 : 0;
	r->process_refusals = f->numbers.process_refusals - f->then.process_refusals;
	if (!r->wall_us && f->started_us)
		r->wall_us = (f->ending && f->ended_us > f->started_us ? f->ended_us : clock_us()) - f->started_us;
}

void foreign_miss_init(struct foreign *f)
{
	const struct link_report *r = f->report;
	struct cordon_error err = { 0 };

	if ((r->has_exit && r->started) || r->timed_out || r->cancelled || r->out_of_cpu || r->over_output ||
	    r->over_disk)
		return;
	cordon_fail(&err, CORDON_SYSTEM, 0, "the container of %s ended %s", f->plan->engine->name,
		    r->started ? "while the payload ran" : "before the payload was started");
	if (f->plan->engine->makes_root)
		(void)fail_hint(&err, "it was killed from outside; see the kernel log for an OOM kill");
	else
		(void)fail_hint(&err,
				"%s was stopped or restarted, or the container was killed from outside: see its log, "
				"and the kernel's for an OOM kill; then run it again",
				f->plan->engine->name);
	(void)fail_step(&err, "init");
	foreign_note(f, &err);
}

static void watch(struct foreign *f)
{
	f->deadline_us = clock_us() + ENGINE_SILENCE_MS * 1000ULL;
	while (f->driver >= 0 || f->stream >= 0 || foreign_is_full(f)) {
		turn(f);
		if (f->report->started && !f->swept) {
			f->swept = true;
			lasting_sweep(&f->plan->cgroup, 1, f->plan->state_dir, f->plan->scratch_dir);
		}
	}
	foreign_account(f);
	foreign_miss_init(f);
	f->report->is_idle = f->is_open && f->stage == FOREIGN_IDLE;
}

void foreign_run(struct cordon_plan *plan, const struct keeper_fds *fds, const char *owner, struct link_report *report)
{
	static struct foreign f; /* its reader is large */

	f = (struct foreign){ .plan = plan,
			      .fds = fds,
			      .owner = owner,
			      .report = report,
			      .prepared = PREPARED_INIT,
			      .net = FOREIGN_NET_INIT,
			      .shelf = SHELF_INIT,
			      .driver = -1,
			      .control = -1,
			      .stream = -1,
			      .file = -1,
			      .copy.file = -1,
			      .box = plan,
			      .files = -1,
			      .feeding = -1,
			      .input = fds->stdio[0],
			      .outputs = { fds->stdio[1], fds->stdio[2] },
			      .deadline_us = UINT64_MAX };
	for (int i = 0; i < 2 && f.outputs[i] >= 0; i++)
		(void)fd_set_nonblock(f.outputs[i], true);
	if (foreign_open_terminal(&f, &report->error) == 0 && foreign_start(&f, &report->error) == 0)
		watch(&f);
	else
		foreign_net_explain(&f, &report->error);
	process_end(&f.driver);
	fd_close(&f.control);
	fd_close(&f.stream);
	fd_close(&f.input);
	fd_close(&f.outputs[0]);
	fd_close(&f.outputs[1]);
	fd_close(&f.file);
	foreign_net_done(&f); /* after the box: it carried to the end */
	fd_close(&f.files);
	fd_close(&f.feeding);
	/* The container of a daemon, and a runtime's, outlive a driver that was killed. One that is paused hears nobody, not even its runtime. */
	if (f.driver_died && plan->engine->makes_root)
		cgroup_end_named(&plan->cgroup, owner);
	if (f.driver_died)
		(void)engine_errand(plan->driver, plan->engine->name, "--remove", owner, REMOVE_MS, NULL);
	prepare_done(&f.prepared);
	shelf_close(&f.shelf);
	foreign_copy_done(&f);
	/* As long as a placeholder is a place for mounts in this namespace, it cannot be removed. */
	if (f.root)
		(void)umount2(f.root, MNT_DETACH);
}
