/*
 * A box that cordon builds itself: see engine.h. Init is a child of the keeper's, in the box's namespaces; what goes to it and comes from it are
 * messages with descriptors (box/link.h), so that input, output and files never pass through here. Numbers, pausing and limits are the box's
 * control group's. Runs in the keeper, with the caller's rights.
 */
#include "engine/native.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "box/denial.h"
#include "box/descend.h"
#include "box/watch.h"
#include "os/process.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>

enum {
	SETUP_MS = 30000,       /* building a box takes milliseconds; this is for a host that hangs */
	END_MS = 3000,          /* from LINK_END to LINK_EXITED, before init itself is killed */
	END_PROCESS_MS = 25000, /* the same at process level, where init has to find them one by one */
	DESCEND_MS = 5000,
	LATER_US = 20000,   /* a run that lasts this long gets its CPU share and disk rates on v1 */
	LOOK_US = 5000,     /* between two looks at the numbers, at least */
	DENIALS_FREE = 256, /* refused calls answered at once; beyond, at most one batch a millisecond */
	MEDIATED_US = 100000,
	MEDIATED_MAX = 2000, /* calls done for the payload in that time; then they wait for the next */
};
enum { FD_LINK, FD_INIT, FD_LISTENER };

static struct native *of(const struct keeper *k)
{
	return k->engine;
}

/* ---- building and taking down ---- */

static int create(struct keeper *k, struct cordon_error *err)
{
	static struct native n;

	n = (struct native){
		.k = k, .cgroup = CGROUP_INIT, .link = -1, .init = -1, .listener = -1, .later_us = UINT64_MAX
	};
	k->engine = &n;
	k->has_base = true; /* its group is new */
	snprintf(k->report.engine_version, sizeof(k->report.engine_version), "cordon %s", CORDON_VERSION);
	if (k->plan->level == LEVEL_PROCESS)
		(void)prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
	if (native_build(&n, err) < 0)
		return -1;
	k->groups = n.has_cgroup;
	k->init_pid = n.init_pid;
	k->deadline_us = clock_us() + SETUP_MS * 1000ULL;
	return 0;
}

static void destroy(struct keeper *k)
{
	struct cordon_plan *plan = k->plan;
	struct native *n = of(k);

	if (!n) {
		keeper_tell(k);
		return;
	}
	fd_close(&n->link); /* its lifeline: init would go even where it cannot be killed */
	if (!k->report.has_exit || k->is_open || plan->level == LEVEL_PROCESS)
		process_end(&n->init);
	fd_close(&n->listener);
	keeper_tell(k);
	if (n->has_cgroup && plan->level == LEVEL_PROCESS)
		(void)cgroup_kill(&n->cgroup);
	/* After LINK_EXITED nobody is in it any more, and init's namespaces go meanwhile. */
	if (n->has_cgroup && cgroup_destroy(&n->cgroup) == 0)
		plan->layers &= ~LAYER_BIT(CGROUP); /* gone: not to be looked for again */
	process_end(&n->init);
	if (plan->level == LEVEL_PROCESS)
		(void)descend_end(
			DESCEND_MS); /* what init could not end, because it was killed itself, has come to us */
}

/* ---- ending ---- */

static void end(struct keeper *k)
{
	struct link_message m = { .type = LINK_END };
	struct native *n = of(k);

	if (k->stage == KEEPER_IDLE) {
		n->is_gone = true; /* nobody is in it but init */
		return;
	}
	k->deadline_us = clock_us() + (k->plan->level == LEVEL_PROCESS ? END_PROCESS_MS : END_MS) * 1000ULL;
	if (k->plan->level == LEVEL_PROCESS && n->has_cgroup)
		(void)cgroup_kill(&n->cgroup); /* init may lack the right to */
	/* Without a pid namespace the payload, which may have started meanwhile, does not die with init: init has to end it. */
	if ((!k->report.started && k->plan->level == LEVEL_CONTAINER && !k->is_open) || link_send_now(n->link, &m) < 0)
		(void)process_signal(n->init, SIGKILL);
}

static void force(struct keeper *k)
{
	k->deadline_us = UINT64_MAX;
	(void)process_signal(of(k)->init, SIGKILL);
}

static void leave(struct keeper *k)
{
	of(k)->is_gone = true;
}

static void explain(const struct keeper *k, bool silent, struct cordon_error *err)
{
	const struct link_report *r = &k->report;

	if (silent) {
		cordon_fail(err, CORDON_SYSTEM, ETIMEDOUT, k->is_open ? "preparing the job" : "building the box");
		return;
	}
	cordon_fail(err, CORDON_SYSTEM, 0, "%s ended %s", r->has_exit ? "the payload's child" : "init",
		    r->started   ? "while the payload ran"
		    : r->is_idle ? "between two jobs"
				 : "before the payload was started");
	(void)fail_hint(err, "it was killed from outside; see the kernel log for an OOM kill");
	(void)fail_step(err, "init");
}

/* ---- numbers, pausing ---- */

static void stats(struct keeper *k, bool all)
{
	struct engine_exited e = { .type = ENGINE_STATS };
	const struct native *n = of(k);
	struct cgroup_usage used = { 0 };
	struct watch_usage now = { 0 };
	const bool is_over = k->report.has_exit; /* what it has now is nothing */

	if ((!n->has_cgroup || k->plan->limits_by_watch) && !is_over) {
		watch_read(n->init_pid, &now);
		e.cpu_us = now.cpu_us;
		e.memory_bytes = now.memory_bytes;
		e.processes = now.processes;
	}
	if (n->has_cgroup && !all) {
		e.cpu_us = cgroup_read_cpu_us(&n->cgroup);
	} else if (n->has_cgroup && cgroup_read_usage(&n->cgroup, &used) == 0) {
		e.cpu_us = used.cpu_us;
		e.memory_peak_bytes = used.memory_peak_bytes;
		e.oom = (int32_t)used.oom_kills;
		e.process_refusals = used.process_refusals;
	}
	if (n->has_cgroup && all && !is_over && !k->plan->limits_by_watch)
		cgroup_read_now(&n->cgroup, &e.memory_bytes, &e.processes);
	keeper_numbers(k, &e);
}

static void freeze(struct keeper *k, bool paused)
{
	struct native *n = of(k);
	struct cordon_error err = { 0 };
	int r = n->has_cgroup ? cgroup_pause(&n->cgroup, paused) : -EOPNOTSUPP;

	if (r == 0) {
		stats(k, true);
		return;
	}
	cordon_fail(&err, CORDON_UNAVAILABLE, -r, "this host cannot pause a box");
	(void)fail_hint(&err, "it takes cgroup v2, alone or beside v1, and the right to make groups there");
	keeper_answer(k, &err);
}

static void pause_it(struct keeper *k)
{
	freeze(k, true);
}

static void resume(struct keeper *k)
{
	freeze(k, false);
}

/* Something that a running box has to have cannot be had. */
static void give_up(struct keeper *k, int r, const char *what)
{
	struct cordon_error err = { 0 };

	cordon_fail(&err, CORDON_SYSTEM, -r, "%s", what);
	(void)fail_step(&err, "cgroup");
	keeper_note(k, &err);
	k->report.failed = true;
	keeper_end(k);
}

/* The job was on its way when the box was paused: beside v1 it has joined its groups since, and not the one that is frozen. */
static void pause_late(struct keeper *k)
{
	int r = k->paused_us ? cgroup_pause(&of(k)->cgroup, true) : 0;

	if (r < 0)
		give_up(k, r, "pause the job");
}

/* On v1 these have trees of their own: for runs that last. */
static void on_later(struct native *n)
{
	int r = cgroup_add_later(&n->cgroup, &n->cgroup_limits);

	n->later_us = UINT64_MAX;
	if (r < 0)
		give_up(n->k, r, "limit CPU and disk rates");
}

/* ---- jobs ---- */

static int exec(struct keeper *k, const struct link_message *job, int fds[LINK_JOB_FDS], size_t count,
		struct cordon_error *err)
{
	struct native *n = of(k);
	int r;

	n->throttle_us = n->denied = 0;
	stats(k, true); /* its init has worked since the last one ended */
	k->then = k->numbers;
	k->cpu_base_us = k->numbers.cpu_us;
	native_give_pipes(n, fds + JOB_FD_STDIN);
	r = link_send_fds(n->link, job, fds, count);
	if (r == -EPIPE || r == -ECONNRESET)
		return 0; /* init is gone, which is heard next and explained */
	return r < 0 ? cordon_fail(err, CORDON_SYSTEM, -r, "hand the job to init") : 0;
}

static void rest(struct keeper *k)
{
	fd_close(&of(k)->listener);
}

static void files(struct keeper *k)
{
	struct link_message m = { .type = LINK_COLLECT };

	if (link_send(of(k)->link, &m, -1) < 0)
		k->cut_short = true;
}

/* One that finds the link full is one of hundreds. */
static void pass_signal(struct keeper *k, int sig)
{
	struct link_message m = { .type = LINK_SIGNAL, .signal = sig };

	(void)link_send_now(of(k)->link, &m);
}

/* ---- what init says ---- */

static void on_started(struct native *n, const struct link_message *m, int *listener)
{
	struct keeper *k = n->k;

	n->listener = STEAL_FD(*listener);
	k->plan->degraded |= k->plan->layers & k->plan->may_degrade & ~m->layers;
	keeper_started(k, m->layers);
	if (n->has_cgroup && k->plan->cgroup.mode == CGROUP_V1 && !k->is_open)
		n->later_us = k->started_us + LATER_US;
	pause_late(k);
}

static void hear(struct native *n)
{
	struct keeper *k = n->k;
	struct link_message m;
	int fd = -1, r = link_receive(n->link, &m, &fd);

	if (r <= 0) {
		fd_close(&n->link);
		return;
	}
	switch (m.type) {
	case LINK_ERROR:
		keeper_failed(k, &m.error);
		break;
	case LINK_STARTED:
		on_started(n, &m, &fd);
		break;
	case LINK_EXITED:
		keeper_exited(k, &m.exit);
		break;
	case LINK_TTY:
	case LINK_FILE:
	case LINK_COLLECTED:
		(void)link_send(k->fds->front, &m, fd);
		k->collected = k->collected || m.type == LINK_COLLECTED;
		break;
	case LINK_MAPPED:
	case LINK_CGROUP:
	case LINK_SIGNAL:
	case LINK_WINDOW:
	case LINK_END:
	case LINK_COLLECT:
	case LINK_PROGRESS:
	case LINK_REPORT:
	case LINK_JOB:
	case LINK_STAT:
	case LINK_PAUSE:
	case LINK_RESUME:
	case LINK_STATS:
		break; /* not from init */
	case LINK_OPENED:
		if (!k->ending)
			keeper_opened(k);
		break;
	}
	fd_close(&fd);
}

static void on_listener(struct native *n, short events, uint64_t now)
{
	const struct prepared *p = &n->k->prepared;
	const struct mediate_scope scope = { .work = p->work ? p->scratch : -1, .uid = p->uid, .gid = p->gid };
	unsigned refused;

	if (!(events & POLLIN)) {
		fd_close(&n->listener); /* everyone who used the filter is gone */
		return;
	}
	if (now - n->mediated_us > MEDIATED_US) {
		n->mediated_us = now;
		n->mediated = 0;
	}
	/* None where whoever asked was interrupted meanwhile: it will ask again. */
	refused = denial_serve(n->k->plan, &scope, n->listener, &n->k->report, 64, &n->mediated);
	n->denied += refused;
	if (refused && n->denied > DENIALS_FREE)
		n->throttle_us = now + 1000;
	else if (n->mediated > MEDIATED_MAX)
		n->throttle_us = n->mediated_us + MEDIATED_US + 1;
}

/* Init is gone: what it said last may still be on its way. */
static void on_gone(struct native *n)
{
	const struct keeper *k = n->k;

	while (n->link >= 0 && !(k->stage == KEEPER_COLLECTS ? k->collected : k->report.has_exit))
		hear(n);
	n->is_gone = true;
}

/* ---- the loop ---- */

static uint64_t await(struct keeper *k, struct pollfd fds[ENGINE_FDS], uint64_t now)
{
	const struct native *n = of(k);
	uint64_t at = k->ending ? UINT64_MAX : n->later_us;

	fds[FD_LINK].fd = n->link;
	fds[FD_INIT].fd = n->init;
	fds[FD_LISTENER].fd = n->throttle_us > now ? -1 : n->listener;
	return n->throttle_us > now && n->throttle_us < at ? n->throttle_us : at;
}

static void turn(struct keeper *k, const struct pollfd fds[ENGINE_FDS], uint64_t now)
{
	struct native *n = of(k);

	if (fds[FD_LISTENER].revents)
		on_listener(n, fds[FD_LISTENER].revents, now);
	if (fds[FD_LINK].revents)
		hear(n);
	else if (fds[FD_INIT].revents) /* all that init said has been heard */
		on_gone(n);
	if (!k->ending && now >= n->later_us)
		on_later(n);
}

static enum engine_state state(const struct keeper *k)
{
	const struct native *n = of(k);

	if (n->is_gone)
		return ENGINE_GONE;
	return n->link >= 0 ? ENGINE_STANDS : ENGINE_LEAVES;
}

const struct engine_ops native_ops = {
	.create = create,
	.exec = exec,
	.rest = rest,
	.files = files,
	.signal = pass_signal,
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
