/*
 * The keeper: owns one box from before anything of it exists until nothing of it is left.
 *
 * Forked by the front, with the caller's rights. Makes the cgroup, the scratch directory and the placeholders, clones init into
 * the new namespaces, writes its id maps, then sits in one poll loop: deadline, CPU time, the front, init, and the seccomp
 * listener. It carries no output and parses no byte of the payload. If the front dies it ends the box; if it dies itself, init ends
 * with its lifeline and the front (or a later start) undoes what lasts.
 */
#include "engine/keeper_state.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "box/denial.h"
#include "box/descend.h"
#include "engine/foreign.h"
#include "box/lasting.h"
#include "box/watch.h"
#include "os/limits.h"
#include "os/process.h"
#include "plan/engine.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

enum {
	SETUP_MS = 30000,       /* building a box takes milliseconds; this is for a host that hangs */
	END_MS = 3000,          /* from LINK_END to LINK_EXITED, before init itself is killed */
	END_PROCESS_MS = 25000, /* the same at process level, where init has to find them one by one */
	DESCEND_MS = 5000,
	COLLECT_MS = 120000, /* copying out */
	LATER_US = 20000,    /* a run that lasts this long gets its CPU share and disk rates on v1 */
	EGRESS_US = 2000,    /* and one that lasts this long its egress, if it did not want it before */
	WATCH_US = 50000,    /* between two looks where limits are watched */
	DENIALS_FREE = 256,  /* refused calls answered at once; beyond, at most one batch a millisecond */
	MEDIATED_US = 100000,
	MEDIATED_MAX = 2000, /* calls done for the payload in that time; then they wait for the next */
};
/* ---- ending ---- */

void keeper_end(struct keeper *k)
{
	struct link_message m = { .type = LINK_END };

	if (k->ending)
		return;
	k->ending = true;
	keeper_thaw(k);
	k->deadline_us = clock_us() + (k->plan->level == LEVEL_PROCESS ? END_PROCESS_MS : END_MS) * 1000ULL;
	if (k->plan->level == LEVEL_PROCESS && k->has_cgroup)
		(void)cgroup_kill(&k->cgroup); /* init may lack the right to */
	/* Without a pid namespace the payload, which may have started meanwhile, does not die with init: init has to end it. */
	if ((!k->report.started && k->plan->level == LEVEL_CONTAINER && !k->is_open) || link_send_now(k->link, &m) < 0)
		(void)process_signal(k->init, SIGKILL);
}

void keeper_note(struct keeper *k, const struct cordon_error *err)
{
	if (k->report.error.code == CORDON_OK)
		k->report.error = *err;
}

/* ---- the loop ---- */

/* No payload uses up its CPU time sooner than this. Where the keeper also watches, it looks more often. */
static uint64_t cpu_time_at_least_us(const struct cordon_plan *plan)
{
	uint64_t milli = plan->limits.cpu_milli ? plan->limits.cpu_milli : 1000,
		 wait = plan->limits.cpu_time_ms * 1000000 / milli;
	bool watches = plan->limits_by_watch || plan->storage == PLAN_STORAGE_WATCH;

	return watches && wait > WATCH_US ? WATCH_US : wait;
}

/* For the payload: once it is there, as long as it is there. One that finds the link full is one of hundreds. */
static void pass_signal(struct keeper *k, int sig)
{
	struct link_message m = { .type = LINK_SIGNAL, .signal = sig };

	if (k->report.has_exit || sig < 1 || sig > 64)
		return;
	if (k->report.started)
		(void)link_send_now(k->link, &m);
	else
		k->early_signals |= 1ULL << (sig - 1);
}

void keeper_hear(struct keeper *k)
{
	struct cordon_error said;
	struct link_message m;
	int fd = -1, r = link_receive(k->link, &m, &fd);

	if (r <= 0) {
		fd_close(&k->link);
		return;
	}
	switch (m.type) {
	case LINK_ERROR:
		if (!k->report.started && egress_said(&k->egress, &said))
			keeper_note(k, &said); /* it went first: what failed in the box failed because of that */
		keeper_note(k, &m.error);
		break;
	case LINK_STARTED:
		k->listener = STEAL_FD(fd);
		k->report.started = true;
		k->report.layers = m.layers;
		k->plan->degraded |= k->plan->layers & k->plan->may_degrade & ~m.layers;
		k->started_us = clock_us();
		if (!k->ending)
			k->deadline_us = k->started_us + k->wall_time_ms * 1000;
		k->cpu_check_us = k->started_us + cpu_time_at_least_us(k->plan);
		if (k->has_cgroup && k->plan->cgroup.mode == CGROUP_V1 && !k->is_open)
			k->later_us = k->started_us + LATER_US;
		if (k->egress.wanted >= 0)
			k->egress_us = k->started_us + EGRESS_US;
		for (int sig = 1; k->early_signals && sig <= 64; sig++)
			if (k->early_signals & 1ULL << (sig - 1))
				pass_signal(k, sig);
		keeper_pause_late(k);
		break;
	case LINK_EXITED:
		k->report.exit = m.exit;
		k->report.has_exit = true;
		k->report.wall_us = k->started_us ? clock_us() - k->started_us : 0;
		k->ending = true;
		k->done = true;
		break;
	case LINK_TTY:
	case LINK_FILE:
	case LINK_COLLECTED:
		(void)link_send(k->fds->front, &m, fd);
		k->done = k->done || m.type == LINK_COLLECTED;
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
		keeper_opened(k);
		break;
	}
	fd_close(&fd);
}

static void from_front(struct keeper *k)
{
	int fds[LINK_JOB_FDS], r;
	struct link_message m;
	size_t n;

	r = link_receive_fds(k->fds->front, &m, fds, LINK_JOB_FDS, &n);
	if (r > 0 && m.type == LINK_JOB)
		keeper_take_job(k, &m, fds, n);
	for (size_t i = 0; i < n; i++)
		fd_close(&fds[i]);
	if (r <= 0) {
		k->front_gone = true;
		k->report.cancelled = true;
		keeper_end(k);
	} else if (m.type == LINK_SIGNAL) {
		pass_signal(k, m.signal);
	} else if (m.type == LINK_END && k->is_open && !k->in_job) {
		/* it crossed the report */
	} else if (m.type == LINK_END && k->report.has_exit) {
		k->done =
			true; /* the payload has ended; what is cut short is the copying out, which the front notices */
	} else if (m.type == LINK_END) {
		k->report.cancelled = m.reason == LINK_CANCEL;
		k->report.over_output = m.reason == LINK_OUTPUT;
		keeper_end(k);
	}
}

static void on_deadline(struct keeper *k)
{
	if (k->is_open && !k->ending && !k->report.started) {
		cordon_fail(&k->report.error, CORDON_SYSTEM, ETIMEDOUT, "preparing the job");
		keeper_end(k);
		return;
	}
	if (k->ending || !k->report.started) {
		if (!k->ending)
			cordon_fail(&k->report.error, CORDON_SYSTEM, ETIMEDOUT, "building the box");
		k->ending = true;
		k->deadline_us = UINT64_MAX;
		(void)process_signal(k->init, SIGKILL);
		return;
	}
	k->report.timed_out = true;
	if (k->plan->limits.grace_ms && !k->term_us) {
		k->term_us = clock_us();
		k->deadline_us = k->term_us + k->plan->limits.grace_ms * 1000;
		pass_signal(k, SIGTERM);
		return;
	}
	keeper_end(k);
}

/* CPU time in all: the next look is when it could be used up at the earliest. */
static void check_cpu(struct keeper *k, uint64_t now)
{
	uint64_t limit = k->plan->limits.cpu_time_ms * 1000, used, milli = k->plan->limits.cpu_milli, wait;
	struct watch_usage usage = { 0 };

	if (k->plan->limits_by_watch) {
		watch_read(k->init_pid, &usage);
		used = k->has_cgroup ? cgroup_read_cpu_us(&k->cgroup) : usage.cpu_us;
		used -= used > k->then.cpu_us ? k->then.cpu_us : used;
		if (usage.memory_bytes > k->report.memory_peak_bytes)
			k->report.memory_peak_bytes = usage.memory_bytes;
		if (usage.memory_bytes > k->plan->limits.memory_bytes) {
			k->report.over_memory = true;
			keeper_end(k);
			return;
		}
	} else {
		used = cgroup_read_cpu_us(&k->cgroup) - k->then.cpu_us;
	}
	if (k->prepared.scratch >= 0 && k->plan->storage == PLAN_STORAGE_WATCH &&
	    watch_tree(k->prepared.scratch, &usage) == 0 &&
	    (usage.disk_bytes > k->plan->limits.disk_bytes || usage.inodes > k->plan->limits.inodes)) {
		k->report.over_disk = true;
		keeper_end(k);
		return;
	}
	if (used >= limit) {
		k->report.out_of_cpu = true;
		keeper_end(k);
		return;
	}
	wait = (limit - used) * 1000 / (milli ? milli : 1000);
	if ((k->plan->limits_by_watch || k->plan->storage == PLAN_STORAGE_WATCH) && wait > WATCH_US)
		wait = WATCH_US;
	k->cpu_check_us = now + (wait > 5000 ? wait : 5000);
}

static void on_listener(struct keeper *k, short events, uint64_t now)
{
	const struct mediate_scope scope = {
		.work = k->prepared.work ? k->prepared.scratch : -1,
		.uid = k->prepared.uid,
		.gid = k->prepared.gid,
	};
	unsigned refused;

	if (!(events & POLLIN)) {
		fd_close(&k->listener); /* everyone who used the filter is gone */
		return;
	}
	if (now - k->mediated_us > MEDIATED_US) {
		k->mediated_us = now;
		k->mediated = 0;
	}
	/* None where whoever asked was interrupted meanwhile: it will ask again. */
	refused = denial_serve(k->plan, &scope, k->listener, &k->report, 64, &k->mediated);
	k->denied += refused;
	if (refused && k->denied > DENIALS_FREE)
		k->throttle_us = now + 1000;
	else if (k->mediated > MEDIATED_MAX)
		k->throttle_us = k->mediated_us + MEDIATED_US + 1;
}

/* A payload can make events in a watched directory as fast as it likes: look at most a hundred times a second. */
static void on_guard(struct keeper *k, uint64_t now)
{
	struct cordon_error err = { 0 };

	k->guard_us = now + 10000;
	if (guard_check(&k->prepared.guard, k->plan, &err) == 0)
		return;
	keeper_note(k, &err);
	k->report.cancelled = true;
	keeper_end(k);
}

/* On v1 these have trees of their own: for runs that last. */
static void on_later(struct keeper *k)
{
	struct cordon_error err = { 0 };
	int r = cgroup_add_later(&k->cgroup, &k->cgroup_limits);

	k->later_us = UINT64_MAX;
	if (r == 0)
		return;
	cordon_fail(&err, CORDON_SYSTEM, -r, "limit CPU and disk rates");
	(void)fail_step(&err, "cgroup");
	keeper_note(k, &err);
	k->report.failed = true;
	keeper_end(k);
}

/* It is wanted, or time has come, or it has ended: without egress there is no network, which is safe, but a payload that it never served is not left to find out. */
static void on_egress(struct keeper *k)
{
	struct cordon_error err = { 0 };
	bool served = false;

	k->egress_us = UINT64_MAX;
	if (egress_is_started(&k->egress))
		served = egress_failed(&k->egress, &err);
	else if (egress_start(&k->egress, k->plan, k->fds->events, &err) == 0)
		return;
	keeper_note(k, &err);
	k->lost = err;
	if ((served && k->report.started) || k->is_open)
		return;
	k->report.failed = k->report.started;
	keeper_end(k);
}

static int next_timeout_ms(const struct keeper *k, uint64_t now)
{
	uint64_t at = k->paused_us ? UINT64_MAX : k->deadline_us;

	if (k->report.started && !k->ending && !k->paused_us && k->cpu_check_us < at)
		at = k->cpu_check_us;
	if (k->throttle_us > now && k->throttle_us < at)
		at = k->throttle_us;
	if (k->guard_us > now && k->guard_us < at)
		at = k->guard_us;
	if (!k->ending && k->later_us < at)
		at = k->later_us;
	if (!k->ending && k->egress_us < at)
		at = k->egress_us;
	if (at <= now)
		return 0;
	at = (at - now + 999) / 1000;
	return at > 3600000 ? 3600000 : (int)at;
}

bool keeper_turn(struct keeper *k)
{
	uint64_t now = clock_us();
	struct pollfd fds[] = {
		{ .fd = k->link, .events = POLLIN },
		{ .fd = k->front_gone ? -1 : k->fds->front, .events = POLLIN },
		{ .fd = k->init, .events = POLLIN },
		{ .fd = k->throttle_us > now ? -1 : k->listener, .events = POLLIN },
		{ .fd = k->guard_us > now ? -1 : k->prepared.guard.fd, .events = POLLIN },
		{ .fd = egress_fd(&k->egress), .events = POLLIN },
		{ .fd = k->control_gone ? -1 : k->fds->control, .events = POLLIN },
	};

	(void)poll(fds, ARRAY_LEN(fds), next_timeout_ms(k, now));
	now = clock_us();
	if (fds[3].revents)
		on_listener(k, fds[3].revents, now);
	if (fds[4].revents)
		on_guard(k, now);
	if (fds[5].revents)
		on_egress(k);
	if (fds[6].revents)
		keeper_asked(k);
	if (fds[0].revents)
		keeper_hear(k);
	if (fds[1].revents)
		from_front(k);
	if (fds[2].revents && !fds[0].revents) /* all that init said has been heard */
		return false;
	if (!k->ending && now >= k->later_us)
		on_later(k);
	if (!k->ending && now >= k->egress_us)
		on_egress(k);
	if (k->paused_us)
		return true; /* time stands still */
	if (now >= k->deadline_us)
		on_deadline(k);
	else if (k->report.started && !k->ending && now >= k->cpu_check_us)
		check_cpu(k, now);
	return true;
}

void keeper_sweep(struct keeper *k)
{
	if (k->swept || !k->report.started)
		return;
	k->swept = true;
	lasting_sweep(&k->plan->cgroup, k->has_cgroup, k->plan->state_dir, k->plan->scratch_dir);
}

/* Files of --out, once everything in the box stands still. */
void keeper_collect(struct keeper *k)
{
	struct link_message m = { .type = LINK_COLLECT };

	if (!k->report.has_exit || !(k->is_open ? k->out_count : k->plan->out_count) || k->front_gone)
		return;
	k->done = false;
	k->deadline_us = clock_us() + COLLECT_MS * 1000ULL;
	if (link_send(k->link, &m, -1) == 0)
		while (!k->done && !k->front_gone && keeper_turn(k))
			;
}

void keeper_account(struct keeper *k)
{
	struct cgroup_usage usage = { 0 };

	k->report.cpu_us = k->report.exit.cpu_us;
	if (k->report.exit.maxrss_bytes > k->report.memory_peak_bytes)
		k->report.memory_peak_bytes = k->report.exit.maxrss_bytes;
	if (!k->report.wall_us && k->started_us)
		k->report.wall_us = clock_us() - k->started_us;
	k->report.degraded = k->plan->degraded;
	k->report.limits_by_watch = k->plan->limits_by_watch;
	if (!k->has_cgroup || cgroup_read_usage(&k->cgroup, &usage) < 0)
		return;
	/* The group's account begins later than the run on v1; init's misses whom nobody waited for. */
	usage.cpu_us -= k->then.cpu_us;
	if (usage.cpu_us > k->report.cpu_us)
		k->report.cpu_us = usage.cpu_us;
	if (usage.memory_peak_bytes)
		k->report.memory_peak_bytes = usage.memory_peak_bytes;
	k->report.oom_kills = usage.oom_kills - k->then.oom_kills;
	k->report.process_refusals = usage.process_refusals - k->then.process_refusals;
}

/* Init, or the payload's child, went without a word: it was killed, or could not even say what failed. */
void keeper_miss_init(struct keeper *k)
{
	const struct link_report *p = &k->report;
	struct cordon_error err = { 0 };

	if ((p->has_exit && p->started) || p->timed_out || p->cancelled || p->out_of_cpu || p->over_output ||
	    p->over_disk || p->over_memory)
		return;
	cordon_fail(&err, CORDON_SYSTEM, 0, "%s ended %s", p->has_exit ? "the payload's child" : "init",
		    p->started ? "while the payload ran" : "before the payload was started");
	(void)fail_hint(&err, "it was killed from outside; see the kernel log for an OOM kill");
	(void)fail_step(&err, "init");
	keeper_note(k, &err);
}

static void keeper_watch(struct keeper *k)
{
	k->deadline_us = clock_us() + SETUP_MS * 1000ULL;
	while (!k->done && keeper_turn(k))
		keeper_sweep(k);
	/* What init said last may still be on its way. */
	while (!k->done && k->link >= 0)
		keeper_hear(k);
	keeper_miss_init(k);
	keeper_account(k);
	keeper_collect(k);
}

/* Rights and fds down to what a keeper needs; the caller's terminal, handlers and files are not its business. */
static int keeper_begin(const struct cordon_plan *plan, const struct keeper_fds *fds, struct cordon_error *err)
{
	auto_free int *keep = calloc(9 + plan->mount_count + plan->in_count, sizeof(*keep));
	struct sigaction ignore = { .sa_handler = SIG_IGN };
	size_t n = 0;
	int r;

	if (!keep)
		return fail_memory(err);
	process_reset_signals();
	(void)sigaction(SIGPIPE, &ignore, NULL);
	(void)setpgid(0,
		      0); /* the terminal's signals are for the front; a session of its own would cost an autogroup */
	process_reset_oom();
	limits_raise_files();
	process_set_name("cordon-keeper");
	for (int i = 0; i < 3; i++) /* what is opened from here on must not be what the payload's stdio goes over */
		if (fcntl(i, F_GETFD) < 0 && open("/dev/null", O_RDWR | O_CLOEXEC) < 0)
			return cordon_fail(err, CORDON_SYSTEM, errno, "open /dev/null");
	keep[n++] = fds->front;
	keep[n++] = fds->events;
	keep[n++] = fds->control;
	for (int i = 0; i < 3; i++)
		keep[n++] = fds->stdio[i];
	keep[n++] = plan->root_fd;
	for (size_t i = 0; i < plan->mount_count; i++)
		keep[n++] = plan->mounts[i].fd;
	for (size_t i = 0; i < plan->in_count; i++)
		keep[n++] = plan->ins[i].fd;
	r = process_close_others(keep, n);
	if (r == 0)
		return 0;
	cordon_fail(err, CORDON_SYSTEM, -r, "close the caller's files"); /* a payload would have them */
	return fail_step(err, "keeper");
}

/* Between two jobs of a box that lives nobody waits for a report: the next caller is told why the box has ended. */
static void keeper_report(struct keeper *k)
{
	struct link_message m = { .type = LINK_ERROR };

	k->report.is_last = true;
	if (!k->report.is_idle) {
		(void)link_send_report(k->fds->front, &k->report);
		return;
	}
	m.error = k->report.error;
	if (m.error.code == CORDON_OK)
		cordon_fail(&m.error, CORDON_SYSTEM, 0, "the box has ended");
	(void)link_send_now(k->fds->front, &m);
}

_Noreturn void keeper_main(struct cordon_plan *plan, const struct keeper_fds *fds)
{
	struct keeper k = { .plan = plan,
			    .fds = fds,
			    .cgroup = CGROUP_INIT,
			    .link = -1,
			    .init = -1,
			    .listener = -1,
			    .egress = EGRESS_INIT,
			    .prepared = PREPARED_INIT,
			    .deadline_us = UINT64_MAX,
			    .later_us = UINT64_MAX,
			    .egress_us = UINT64_MAX,
			    .wall_time_ms = plan->limits.wall_time_ms };
	int begun = keeper_begin(plan, fds, &k.report.error), r;
	bool has_egress;

	if (plan->level == LEVEL_PROCESS)
		(void)prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
	r = owner_name(k.owner);
	if (r < 0)
		_exit(1);
	memcpy(fds->owner, k.owner,
	       sizeof(k.owner)); /* before anything is made; no message, which would wake the front for nothing */
	keeper_forget_secrets(&plan->network.config);
	if (begun == 0 && plan->engine->driver)
		foreign_run(plan, fds, k.owner, &k.report);
	else if (begun == 0 && keeper_build(&k, &k.report.error) == 0)
		plan->lives ? keeper_live(&k) : keeper_watch(&k);
	fd_close(&k.link); /* its lifeline: init would go even where it cannot be killed */
	if (!k.report.has_exit || plan->level == LEVEL_PROCESS)
		process_end(&k.init);
	fd_close(&k.listener);
	/* After the box: it carried to the end, and goes while we clean up. Without it nothing changes the report any more: the front makes its
	 * result of it meanwhile, and then waits for our end. */
	has_egress = egress_leave(&k.egress, plan, fds->events);
	if (!has_egress)
		keeper_report(&k);
	if (k.has_cgroup && plan->level == LEVEL_PROCESS)
		(void)cgroup_kill(&k.cgroup);
	/* After LINK_EXITED nobody is in it any more, and init's namespaces go meanwhile. */
	if (k.has_cgroup && cgroup_destroy(&k.cgroup) == 0)
		plan->layers &= ~LAYER_BIT(CGROUP); /* gone: not to be looked for again */
	process_end(&k.init);
	if (plan->level == LEVEL_PROCESS)
		(void)descend_end(
			DESCEND_MS); /* what init could not end, because it was killed itself, has come to us */
	prepare_done(&k.prepared);
	lasting_undo(plan, k.owner, plan->keep);
	egress_end(&k.egress);
	if (has_egress)
		keeper_report(&k);
	_exit(0);
}
