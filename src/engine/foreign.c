/*
 * A foreign box, from start to end: see engine.h and foreign_state.h. The driver removes the container whatever happens to us: its control socket is its
 * lifeline, as the stream is init's. In the keeper, with the caller's rights.
 */
#include "engine/foreign_state.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
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
	END_MS = 3000,     /* from END to EXITED, before the container is killed */
	FORCE_MS = 10000,  /* and until it is tried harder */
	REMOVE_MS = 15000, /* what a killed driver left */
	LOOK_US = 20000,   /* between two looks at the numbers, at least */
};
enum { FD_STREAM, FD_CONTROL, FD_DRIVER, FD_INPUT, FD_OUT, FD_ERR, FD_FILES, FD_NET_LINK };

static struct foreign *of(const struct keeper *k)
{
	return k->engine;
}

/* ---- ending ---- */

static void request(struct foreign *f, enum engine_packet_type type)
{
	const struct engine_request r = { .type = type };

	if (f->control >= 0)
		(void)send(f->control, &r, sizeof(r), MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* It answers in the order in which it was asked. */
static void ask(struct foreign *f, enum engine_packet_type type)
{
	if (f->control < 0 || f->k->awaited == ARRAY_LEN(f->order))
		return;
	f->order[f->k->awaited++] = (uint8_t)type;
	request(f, type);
}

static void forget_oldest(struct foreign *f)
{
	if (f->k->awaited)
		memmove(f->order, f->order + 1, --f->k->awaited);
}

static void lose_driver(struct foreign *f)
{
	fd_close(&f->control);
	f->k->awaited = f->k->before = 0; /* nobody will say */
}

/* Memory ran out for init as well: the payload went with it. */
static void infer_exit(struct keeper *k)
{
	if (k->report.has_exit || !k->report.started || k->numbers.oom <= k->then.oom)
		return;
	k->report.exit.status = SIGKILL;
	k->report.has_exit = true;
}

/* The driver is gone, and what it should have removed has the stream: all that is left of it here is to end that. Who is only slow to take
 * what was said before has all the time. */
static void cut_off(struct foreign *f)
{
	struct pollfd p = { .fd = f->stream, .events = POLLRDHUP };

	f->k->deadline_us = UINT64_MAX;
	if (poll(&p, 1, 0) != 0)
		return;
	fd_close(&f->stream);
	infer_exit(f->k);
}

/* Each time harder: the driver is asked, then left without its keeper, then killed. */
static void force(struct keeper *k)
{
	struct foreign *f = of(k);

	if (f->driver < 0) {
		cut_off(f);
		return;
	}
	k->deadline_us = clock_us() + FORCE_MS * 1000ULL;
	switch (f->force++) {
	case 0:
		request(f, ENGINE_KILL);
		break;
	case 1:
		lose_driver(f);
		break;
	default:
		(void)process_signal(f->driver, SIGKILL);
		fd_close(&f->stream);
		k->deadline_us = UINT64_MAX;
	}
}

static void end(struct keeper *k)
{
	struct foreign *f = of(k);

	if (k->is_open && !k->report.started && k->stage == KEEPER_RUNS && f->stream >= 0) {
		foreign_drop(f); /* a box that lives outlives a job that has not begun */
		f->ends_at_start = true;
		k->deadline_us = clock_us() + END_MS * 1000ULL;
	} else if ((k->report.started || k->stage == KEEPER_IDLE) && f->stream >= 0) {
		frame_put(&f->queue, k->stage == KEEPER_RUNS && k->is_open ? FRAME_KILL : FRAME_END, NULL, 0);
		k->deadline_us = clock_us() + END_MS * 1000ULL;
	} else {
		force(k);
	}
}

static void leave(struct keeper *k)
{
	struct foreign *f = of(k);

	if (!k->collected && k->out_count) { /* cut short: init has no ear for us while it hands out */
		force(k);
		return;
	}
	frame_put(&f->queue, FRAME_END, NULL, 0);
	request(f, ENGINE_LEAVE);
	k->deadline_us = clock_us() + END_MS * 1000ULL;
}

void foreign_fail(struct foreign *f, const struct cordon_error *err)
{
	keeper_failed(f->k, err);
	keeper_end(f->k);
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

static void explain(const struct keeper *k, bool silent, struct cordon_error *err)
{
	const struct link_report *r = &k->report;
	const struct engine *e = k->plan->engine;

	if (silent) {
		explain_silence(of(k), err);
		return;
	}
	cordon_fail(err, CORDON_SYSTEM, 0, "the container of %s ended %s", e->name,
		    r->started   ? "while the payload ran"
		    : r->is_idle ? "between two jobs"
				 : "before the payload was started");
	if (e->makes_root)
		(void)fail_hint(err, "it was killed from outside; see the kernel log for an OOM kill");
	else
		(void)fail_hint(err,
				"%s was stopped or restarted, or the container was killed from outside: see its log, "
				"and the kernel's for an OOM kill; then run it again",
				e->name);
	(void)fail_step(err, "init");
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
		{ ENGINE_LACKS_SWAP, l->memory_bytes, "limits.memory without swap",
		  "swapoff -a, or a kernel that counts swap (swapaccount=1 at boot) and a daemon that limits it; "
		  "--engine "
		  "native does without the daemon" },
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
		shelf_undo(f->plan->state_dir, f->k->owner);
	snprintf(f->k->report.engine_version, sizeof(f->k->report.engine_version), "%.95s", c->version);
	f->counts_processes = (c->lacks & ENGINE_LACKS_PROCESSES) && (f->plan->layers & LAYER_BIT(USERNS));
	if (c->lacks & ENGINE_LACKS_CGROUPNS)
		f->plan->layers &= ~LAYER_BIT(CGROUPNS); /* not told as held */
	if (refuse_lacks(f, c->lacks, &err) < 0) {
		keeper_note(f->k, &err);
		keeper_end(f->k);
	}
}

/* A front that does not listen misses a line. */
static void tell_progress(struct foreign *f, const struct engine_progress *p)
{
	struct link_message m = { .type = LINK_PROGRESS,
				  .progress = { .done_bytes = p->done_bytes, .total_bytes = p->total_bytes } };

	snprintf(m.progress.text, sizeof(m.progress.text), "%.119s", p->text);
	if (!f->k->front_gone)
		(void)link_send_now(f->k->fds->front, &m);
}

/* Of what is asked, only pausing can fail, and the container goes on; anything else is the end of it. */
static void on_driver_error(struct foreign *f, const struct cordon_error *err)
{
	if (f->k->awaited && f->order[0] != ENGINE_STAT) {
		forget_oldest(f);
		keeper_answer(f->k, err);
	} else {
		keeper_note(f->k, err);
	}
}

static void from_driver(struct foreign *f)
{
	union engine_packet p = { 0 };
	ssize_t n = recv(f->control, &p, sizeof(p), MSG_DONTWAIT);
	struct keeper *k = f->k;

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		lose_driver(f);
		return;
	}
	if (p.type == ENGINE_CREATED && n == (ssize_t)sizeof(p.created)) {
		on_created(f, &p.created);
	} else if ((p.type == ENGINE_STATS || p.type == ENGINE_EXITED) && n == (ssize_t)sizeof(p.exited)) {
		/* Init is in the group, too, and alone there between two jobs. */
		p.exited.processes -= k->stage == KEEPER_IDLE ? p.exited.processes : p.exited.processes != 0;
		if (p.type == ENGINE_STATS)
			forget_oldest(f);
		else
			k->awaited = k->before = 0; /* its last word, to all of them */
		keeper_numbers(k, &p.exited);
	} else if (p.type == ENGINE_ERROR && n == (ssize_t)sizeof(p.failed)) {
		on_driver_error(f, &p.failed.error);
	} else if (p.type == ENGINE_PROGRESS && n == (ssize_t)sizeof(p.progress) && !f->is_created && !k->ending) {
		k->deadline_us = clock_us() + ENGINE_SILENCE_MS * 1000ULL; /* it is slow, and alive */
		tell_progress(f, &p.progress);
	}
}

/* Gone after it removed the container; or before, and then the stream is what ends it. */
static void on_driver_gone(struct foreign *f)
{
	struct cordon_error err = { 0 };
	struct keeper *k = f->k;
	int status = 0;

	(void)process_wait(f->driver, &status);
	fd_close(&f->driver);
	lose_driver(f);
	k->paused_us = 0;
	k->is_over = true;
	k->deadline_us = clock_us() + END_MS * 1000ULL;
	if (WIFEXITED(status) && WEXITSTATUS(status) <= 1)
		return;
	f->driver_died = true;
	cordon_fail(&err, CORDON_SYSTEM, 0, "the driver of %s ended before the container did", f->plan->engine->name);
	(void)fail_hint(&err, "it was killed from outside, or cannot be executed");
	(void)fail_step(&err, "engine");
	if (!k->ending)
		keeper_note(k, &err);
	k->ending = true;
	fd_close(&f->stream);
}

/* ---- the front ---- */

static bool is_wish_to_end(int sig)
{
	return sig == SIGINT || sig == SIGTERM || sig == SIGHUP || sig == SIGQUIT;
}

bool foreign_is_unwanted(const struct foreign *f)
{
	struct link_message m;
	int r = f->k->front_gone ? 0 : link_peek(f->k->fds->front, &m);

	return r == 0 || (r > 0 && (m.type == LINK_END || (m.type == LINK_SIGNAL && is_wish_to_end(m.signal))));
}

static void drop_output(struct foreign *f)
{
	for (int i = 0; i < 2; i++) {
		f->pending[i].len = f->pending_at[i] = 0;
		fd_close(&f->outputs[i]);
	}
}

/* ---- jobs ---- */

static void files(struct keeper *k)
{
	frame_put(&of(k)->queue, FRAME_COLLECT, NULL, 0);
}

static void pass_signal(struct keeper *k, int sig)
{
	const char byte = (char)sig;

	frame_put(&of(k)->queue, FRAME_SIGNAL, &byte, 1);
}

static void stats(struct keeper *k, bool all)
{
	(void)all;
	if (of(k)->control < 0)
		k->cpu_check_us = UINT64_MAX; /* nobody will say */
	ask(of(k), ENGINE_STAT);
}

static void pause_it(struct keeper *k)
{
	ask(of(k), ENGINE_PAUSE);
}

static void resume(struct keeper *k)
{
	ask(of(k), ENGINE_RESUME);
}

/* ---- the loop ---- */

static enum engine_state state(const struct keeper *k)
{
	const struct foreign *f = of(k);

	if (f->driver < 0 && f->stream < 0 && !foreign_is_full(f))
		return ENGINE_GONE;
	if (f->stream < 0 || f->control < 0)
		return ENGINE_LEAVES;
	return foreign_is_full(f) ? ENGINE_SPEAKS : ENGINE_STANDS;
}

static void begin(struct foreign *f)
{
	struct cordon_error err = { 0 };

	if (foreign_net_enter(f, &err) < 0)
		foreign_fail(f, &err);
	else if (f->plan->lives)
		keeper_opened(f->k);
	else
		foreign_send_job(f);
}

static uint64_t await(struct keeper *k, struct pollfd fds[ENGINE_FDS], uint64_t now)
{
	struct foreign *f = of(k);
	const struct link_report *r = &k->report;
	bool takes_input = r->started && !r->has_exit && f->credit && f->stream >= 0, is_full;

	const bool was_full = k->front_gone && foreign_is_full(f); /* what was read behind it wakes nobody */

	if (k->front_gone)
		drop_output(f);
	foreign_feed(f);
	foreign_to_init(f);
	is_full = foreign_is_full(f);
	fds[FD_STREAM].events =
		(short)((is_full ? 0 : POLLIN) | (f->queue.len || (f->copy.is_on && !k->ending) ? POLLOUT : 0));
	/* A hang-up must not wake us as long as nothing can be read. */
	fds[FD_STREAM].fd = fds[FD_STREAM].events ? f->stream : -1;
	fds[FD_CONTROL].fd = f->control;
	fds[FD_DRIVER].fd = f->driver;
	fds[FD_INPUT].fd = takes_input && !f->queue.len ? f->input : -1;
	for (int i = 0; i < 2; i++)
		fds[FD_OUT + i] = (struct pollfd){ .fd = f->pending[i].len ? f->outputs[i] : -1, .events = POLLOUT };
	if (foreign_passes(f))
		fds[FD_FILES].fd = f->feeding >= 0 ? f->feeding : f->files;
	fds[FD_NET_LINK].fd = f->is_created && !k->ending ? f->net.link : -1;
	return was_full ? now : UINT64_MAX;
}

static void turn(struct keeper *k, const struct pollfd fds[ENGINE_FDS], uint64_t now)
{
	struct foreign *f = of(k);

	for (int i = 0; i < 2; i++)
		if (fds[FD_OUT + i].revents)
			foreign_give_output(f, i);
	if (fds[FD_NET_LINK].revents)
		foreign_link_serve(f);
	if (fds[FD_CONTROL].revents)
		from_driver(f);
	else if (fds[FD_DRIVER].revents)
		on_driver_gone(f);
	if (fds[FD_INPUT].revents)
		foreign_take_input(f);
	if (fds[FD_FILES].revents)
		foreign_pass_file(f);
	foreign_from_init(f);
	if (f->is_created && f->is_ready && !f->has_job && !k->is_open && !k->ending)
		begin(f);
	k->is_deaf = !f->is_ready || f->copy.is_on;
	if ((fds[FD_STREAM].revents & POLLOUT) && f->copy.is_on && !k->ending)
		k->deadline_us = now + ENGINE_SILENCE_MS * 1000ULL; /* it takes what goes in */
	if (state(k) == ENGINE_GONE)
		infer_exit(k);
}

/* ---- building and taking down ---- */

static int create(struct keeper *k, struct cordon_error *err)
{
	static struct foreign f; /* its reader is large */

	f = (struct foreign){ .k = k,
			      .plan = k->plan,
			      .net = FOREIGN_NET_INIT,
			      .shelf = SHELF_INIT,
			      .driver = -1,
			      .control = -1,
			      .stream = -1,
			      .file = -1,
			      .copy.file = -1,
			      .files = -1,
			      .feeding = -1,
			      .input = k->fds->stdio[0],
			      .outputs = { k->fds->stdio[1], k->fds->stdio[2] } };
	k->engine = &f;
	k->groups = 1;
	k->is_deaf = true;
	for (int i = 0; i < 2 && f.outputs[i] >= 0; i++)
		(void)fd_set_nonblock(f.outputs[i], true);
	if (foreign_open_terminal(&f, err) < 0 || foreign_start(&f, err) < 0)
		return -1;
	k->deadline_us = clock_us() + ENGINE_SILENCE_MS * 1000ULL;
	return 0;
}

static void close_all(struct foreign *f)
{
	int *const all[] = { &f->control,    &f->stream, &f->input, &f->outputs[0],
			     &f->outputs[1], &f->file,   &f->files, &f->feeding };

	for (size_t i = 0; i < ARRAY_LEN(all); i++)
		fd_close(all[i]);
}

static void destroy(struct keeper *k)
{
	struct foreign *f = of(k);

	if (!f) {
		keeper_tell(k);
		return;
	}
	process_end(&f->driver);
	close_all(f);
	foreign_net_done(f);
	keeper_tell(k);
	/* The container of a daemon, and a runtime's, outlive a driver that was killed. One that is paused hears nobody, not even its runtime. */
	if (f->driver_died && k->plan->engine->makes_root)
		cgroup_end_named(&k->plan->cgroup, k->owner);
	if (f->driver_died)
		(void)engine_errand(k->plan->driver, k->plan->engine->name, "--remove", k->owner, REMOVE_MS, NULL);
	shelf_close(&f->shelf);
	foreign_copy_done(f);
	/* As long as a placeholder is a place for mounts in this namespace, it cannot be removed. */
	if (f->root)
		(void)umount2(f->root, MNT_DETACH);
}

const struct engine_ops foreign_ops = {
	.create = create,
	.exec = foreign_exec,
	.rest = foreign_rest,
	.files = files,
	.signal = pass_signal,
	.window = foreign_set_window,
	.stats = stats,
	.pause = pause_it,
	.resume = resume,
	.end = end,
	.force = force,
	.leave = leave,
	.destroy = destroy,
	.await = await,
	.turn = turn,
	.state = state,
	.explain = explain,
	.look_us = LOOK_US,
};
