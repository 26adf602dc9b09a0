/*
 * The keeper: owns one box from before anything of it exists until nothing of it is left.
 *
 * Forked by the front, with the caller's rights. Has the box built by its engine (engine.h), then sits in one poll loop: deadline, CPU time,
 * watched limits, the front, egress, and whatever the engine waits for. It parses no byte of a native payload's. If the front dies it ends the
 * box; if it dies itself, init ends with its lifeline and the front (or a later start) undoes what lasts.
 */
#include "engine/keeper_state.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "box/lasting.h"
#include "box/watch.h"
#include "os/limits.h"
#include "os/process.h"
#include "plan/engine.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	END_MS = 3000,       /* for the last numbers */
	COLLECT_MS = 120000, /* copying out */
	EGRESS_US = 2000,    /* a run that lasts this long gets its egress, if it did not want it before */
	WATCH_US = 50000,    /* between two looks where limits are watched */
	GUARD_US = 10000,    /* a payload can make events in a watched directory as fast as it likes */
	OWN_FDS = 4,
};

void keeper_note(struct keeper *k, const struct cordon_error *err)
{
	if (k->report.error.code == CORDON_OK)
		k->report.error = *err;
}

/* ---- ending ---- */

void keeper_end(struct keeper *k)
{
	if (k->ending)
		return;
	k->ending = true;
	k->ended_us = clock_us();
	keeper_thaw(k);
	k->ops->end(k);
}

static void leave(struct keeper *k)
{
	keeper_thaw(k);
	k->stage = KEEPER_LEAVES;
	k->ops->leave(k);
}

/* ---- what engines tell ---- */

void keeper_failed(struct keeper *k, const struct cordon_error *err)
{
	struct cordon_error said;

	if (!k->report.started && egress_said(&k->egress, &said))
		keeper_note(k, &said); /* it went first: what failed in the box failed because of that */
	keeper_note(k, err);
}

static bool is_watched(const struct keeper *k)
{
	return k->plan->storage != PLAN_STORAGE_MEMORY && k->report.started && !k->ending && !k->report.has_exit;
}

/* No payload uses up its CPU time sooner than this. Where the keeper also watches, it looks more often. */
static uint64_t cpu_time_at_least_us(const struct keeper *k, uint64_t rest_us)
{
	uint64_t milli = k->plan->limits.cpu_milli, wait = rest_us * 1000 / (milli ? milli : 1000);

	return k->plan->limits_by_watch && wait > WATCH_US ? WATCH_US : wait;
}

/* For the payload: once it is there, as long as it is there. */
static void pass_signal(struct keeper *k, int sig)
{
	if (k->report.has_exit || sig < 1 || sig > 64)
		return;
	if (k->report.started)
		k->ops->signal(k, sig);
	else
		k->early_signals |= 1ULL << (sig - 1);
}

void keeper_started(struct keeper *k, unsigned layers)
{
	const uint64_t limit_us = k->plan->limits.cpu_time_ms * 1000;

	k->report.started = true;
	k->report.layers = layers;
	k->started_us = clock_us();
	if (!k->ending)
		k->deadline_us = k->started_us + k->wall_time_ms * 1000;
	k->watch_us = k->started_us + WATCH_US;
	/* Without numbers to begin with these are asked for now. */
	k->cpu_check_us = k->started_us + (k->has_base ? cpu_time_at_least_us(k, limit_us) : 0);
	if (k->egress.wanted >= 0)
		k->egress_us = k->started_us + EGRESS_US;
	for (int sig = 1; k->early_signals && sig <= 64; sig++)
		if (k->early_signals & 1ULL << (sig - 1))
			pass_signal(k, sig);
}

void keeper_exited(struct keeper *k, const struct link_exit *exit)
{
	uint64_t end;

	k->report.exit = *exit;
	k->report.has_exit = true;
	/* Resumed, it may end before we have heard that it was; paused, before we had heard that it runs. Ended by us, its end comes behind all it
	 * had said, which waits for its reader. */
	end = k->paused_us ? k->paused_us : k->ending ? k->ended_us : clock_us();
	k->report.wall_us = k->started_us && end > k->started_us ? end - k->started_us : 0;
}

/* ---- numbers ---- */

uint64_t keeper_cpu_used_us(const struct keeper *k)
{
	return k->numbers.cpu_us > k->cpu_base_us ? k->numbers.cpu_us - k->cpu_base_us : 0;
}

/* An engine forgets some with the last process. */
static void take_numbers(struct keeper *k, const struct engine_exited *now)
{
	const struct engine_exited before = k->numbers;

	k->numbers = *now;
	if (!k->numbers.cpu_us)
		k->numbers.cpu_us = before.cpu_us;
	if (before.memory_peak_bytes > k->numbers.memory_peak_bytes)
		k->numbers.memory_peak_bytes = before.memory_peak_bytes;
	if (before.oom > k->numbers.oom)
		k->numbers.oom = before.oom;
	if (before.process_refusals > k->numbers.process_refusals)
		k->numbers.process_refusals = before.process_refusals;
	if (!k->has_base) { /* of who built it and init, before the payload did anything to speak of */
		k->has_base = true;
		k->cpu_base_us = k->numbers.cpu_us;
	}
}

/* CPU time in all: the next look is when it could be used up at the earliest. */
static void hold_limits(struct keeper *k)
{
	const uint64_t limit_us = k->plan->limits.cpu_time_ms * 1000, used_us = keeper_cpu_used_us(k);
	const bool by_watch = k->plan->limits_by_watch;
	uint64_t wait;

	if (by_watch && k->numbers.memory_bytes > k->report.memory_peak_bytes)
		k->report.memory_peak_bytes = k->numbers.memory_bytes;
	k->report.over_memory = by_watch && k->numbers.memory_bytes > k->plan->limits.memory_bytes;
	k->report.out_of_cpu = !k->report.over_memory && used_us >= limit_us;
	if (k->report.over_memory || k->report.out_of_cpu) {
		keeper_end(k);
		return;
	}
	wait = cpu_time_at_least_us(k, limit_us - used_us);
	if (!k->paused_us) /* else when it goes on */
		k->cpu_check_us = clock_us() + (wait > k->ops->look_us ? wait : k->ops->look_us);
}

void keeper_numbers(struct keeper *k, const struct engine_exited *numbers)
{
	take_numbers(k, numbers);
	if (k->stage == KEEPER_RUNS && k->report.started && !k->ending && !k->report.has_exit && !numbers->exited)
		hold_limits(k);
	keeper_answer(k, NULL);
}

/* /tmp has a size of its own. */
static bool is_tmp_over(const struct keeper *k)
{
	auto_close int tmp = k->plan->level == LEVEL_CONTAINER
				     ? openat(k->prepared.scratch, "tmp", O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
				     : -1;
	struct watch_usage usage = { 0 };

	return tmp >= 0 && watch_tree(tmp, &usage) == 0 && usage.disk_bytes > k->plan->limits.tmp_bytes;
}

/* Files in a plain directory on the host's disk: no file system bounds them, so they are counted. In an image it is /tmp alone. */
static void watch_disk(struct keeper *k, uint64_t now)
{
	const bool container = k->plan->level == LEVEL_CONTAINER;
	const char *const places[] = { container ? k->plan->home : k->prepared.work, "/tmp", "/dev/shm", NULL };
	struct watch_usage usage = { 0 };

	k->watch_us = now + WATCH_US;
	if (k->prepared.scratch < 0 ||
	    (k->plan->storage == PLAN_STORAGE_WATCH && watch_tree(k->prepared.scratch, &usage) < 0))
		return;
	if (k->init_pid > 0 && k->plan->storage == PLAN_STORAGE_WATCH)
		watch_unlinked(k->init_pid, k->prepared.scratch, places, &usage);
	k->report.over_disk = usage.disk_bytes > k->plan->limits.disk_bytes || is_tmp_over(k);
	k->report.over_inodes = !k->report.over_disk && usage.inodes > k->plan->limits.inodes;
	if (k->report.over_disk || k->report.over_inodes)
		keeper_end(k);
}

void keeper_account(struct keeper *k)
{
	struct link_report *r = &k->report;
	const uint64_t maxrss = r->exit.maxrss_bytes, used_us = keeper_cpu_used_us(k);

	/* Another kernel's clock goes on while its control group is held back: what it says counts only where nobody else does. */
	r->cpu_us = k->plan->engine->own_kernel && k->has_base ? 0 : r->exit.cpu_us;
	if (used_us > r->cpu_us)
		r->cpu_us = used_us;
	if (k->numbers.memory_peak_bytes)
		r->memory_peak_bytes = k->numbers.memory_peak_bytes;
	else if (maxrss > r->memory_peak_bytes)
		r->memory_peak_bytes = maxrss;
	r->oom_kills = k->numbers.oom > k->then.oom;
	r->process_refusals = k->numbers.process_refusals - k->then.process_refusals;
	if (!r->wall_us && k->started_us)
		r->wall_us = (k->ending && k->ended_us > k->started_us ? k->ended_us : clock_us()) - k->started_us;
	r->degraded = k->plan->degraded;
	r->limits_by_watch = k->plan->limits_by_watch;
}

/* Init, or the payload's child, went without a word: it was killed, or could not even say what failed. */
void keeper_miss_init(struct keeper *k)
{
	const struct link_report *r = &k->report;
	struct cordon_error err = { 0 };

	if ((r->has_exit && r->started) || r->timed_out || r->cancelled || r->out_of_cpu || r->over_output ||
	    r->over_disk || r->over_inodes || r->over_memory)
		return;
	k->ops->explain(k, false, &err);
	keeper_note(k, &err);
}

/* ---- the front ---- */

static bool is_wish_to_end(int sig)
{
	return sig == SIGINT || sig == SIGTERM || sig == SIGHUP || sig == SIGQUIT;
}

static void on_message(struct keeper *k, const struct link_message *m)
{
	if (m->type == LINK_SIGNAL && k->is_deaf && is_wish_to_end(m->signal)) {
		k->report.cancelled = true;
		keeper_end(k);
	} else if (m->type == LINK_SIGNAL) {
		pass_signal(k, m->signal);
	} else if (m->type == LINK_WINDOW && k->ops->window) {
		k->ops->window(k, m->window);
	} else if (m->type == LINK_END && k->stage == KEEPER_IDLE) {
		/* it crossed the report */
	} else if (m->type == LINK_END && k->report.has_exit) {
		/* The copying out, which the front notices. Too much output is no reason to: it was the payload's. */
		k->cut_short = m->reason == LINK_CANCEL && (!k->is_open || k->out_count);
	} else if (m->type == LINK_END) {
		k->report.cancelled = m->reason == LINK_CANCEL;
		k->report.over_output = m->reason == LINK_OUTPUT;
		keeper_end(k);
	}
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
	if (r > 0) {
		on_message(k, &m);
		return;
	}
	k->front_gone = true;
	k->report.cancelled = true;
	keeper_thaw(k); /* also where it is ending already: no deadline runs for who is frozen */
	keeper_end(k);
}

/* ---- the loop ---- */

static void on_deadline(struct keeper *k)
{
	struct cordon_error err = { 0 };

	if (k->ending || k->report.has_exit || k->is_over) {
		k->ops->force(k);
		return;
	}
	if (!k->report.started) {
		k->ops->explain(k, true, &err);
		keeper_note(k, &err);
		keeper_end(k);
		return;
	}
	k->report.timed_out = true;
	if (k->plan->limits.grace_ms && !k->in_grace) {
		k->in_grace = true;
		k->deadline_us = clock_us() + k->plan->limits.grace_ms * 1000;
		pass_signal(k, SIGTERM);
		pass_signal(k, SIGCONT); /* one that is stopped would not hear it */
		return;
	}
	keeper_end(k);
}

static void on_guard(struct keeper *k, uint64_t now)
{
	struct cordon_error err = { 0 };

	k->guard_us = now + GUARD_US;
	if (guard_check(&k->prepared.guard, k->plan, &err) == 0)
		return;
	keeper_note(k, &err);
	k->report.cancelled = true;
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

/* What follows from what has been heard. */
static void advance(struct keeper *k)
{
	const bool keeps = k->plan->engine->keeps_numbers && !k->plan->lives;

	if (k->stage == KEEPER_RUNS && k->report.has_exit) {
		k->stage = KEEPER_COUNTS;
		k->ending = true;
		k->deadline_us = clock_us() + END_MS * 1000ULL;
		if (!keeps)
			k->ops->stats(k, true);
	}
	if (k->stage == KEEPER_COUNTS && (!k->awaited || keeps)) {
		k->stage = KEEPER_COLLECTS;
		k->deadline_us = clock_us() + COLLECT_MS * 1000ULL;
		if (k->out_count && !k->front_gone)
			k->ops->files(k);
	}
	if (k->stage == KEEPER_COLLECTS) {
		const enum engine_state state = k->ops->state(k);
		const bool is_there = state == ENGINE_STANDS || state == ENGINE_SPEAKS;

		if (is_there && !k->collected && !k->cut_short && k->out_count && !k->front_gone)
			return;
		if (!k->is_open || k->front_gone || !is_there || k->cut_short)
			leave(k);
		else if (state == ENGINE_STANDS)
			keeper_finish_job(k);
	}
}

static void on_time(struct keeper *k, uint64_t now)
{
	if (is_watched(k) && now >= k->watch_us)
		watch_disk(k, now);
	if (!k->ending && now >= k->egress_us)
		on_egress(k);
	if (k->paused_us)
		return; /* time stands still */
	if (now >= k->deadline_us)
		on_deadline(k);
	else if (k->report.started && !k->ending && !k->awaited && now >= k->cpu_check_us)
		k->ops->stats(k, false);
}

static int next_timeout_ms(const struct keeper *k, uint64_t at, uint64_t now)
{
	if (!k->paused_us && k->deadline_us < at)
		at = k->deadline_us;
	if (k->report.started && !k->ending && !k->awaited && !k->paused_us && k->cpu_check_us < at)
		at = k->cpu_check_us;
	if (k->guard_us > now && k->guard_us < at)
		at = k->guard_us;
	if (is_watched(k) && k->watch_us < at)
		at = k->watch_us;
	if (!k->ending && k->egress_us < at)
		at = k->egress_us;
	if (at <= now)
		return 0;
	at = (at - now + 999) / 1000;
	return at > 3600000 ? 3600000 : (int)at;
}

static void turn(struct keeper *k)
{
	uint64_t now = clock_us(), at;
	struct pollfd fds[OWN_FDS + ENGINE_FDS] = {
		{ .fd = k->front_gone ? -1 : k->fds->front, .events = POLLIN },
		{ .fd = k->guard_us > now ? -1 : k->prepared.guard.fd, .events = POLLIN },
		{ .fd = egress_fd(&k->egress), .events = POLLIN },
		{ .fd = k->asked || k->control_gone ? -1 : k->fds->control, .events = POLLIN },
	};

	for (size_t i = OWN_FDS; i < ARRAY_LEN(fds); i++)
		fds[i] = (struct pollfd){ .fd = -1, .events = POLLIN };
	at = k->ops->await(k, fds + OWN_FDS, now);
	(void)poll(fds, ARRAY_LEN(fds), next_timeout_ms(k, at, now));
	now = clock_us();
	if (fds[1].revents)
		on_guard(k, now);
	if (fds[2].revents)
		on_egress(k);
	if (fds[3].revents)
		keeper_asked(k);
	k->ops->turn(k, fds + OWN_FDS, now);
	if (fds[0].revents)
		from_front(k);
	advance(k);
	on_time(k, now);
}

static void sweep(struct keeper *k)
{
	if (k->swept || !k->report.started)
		return;
	k->swept = true;
	lasting_sweep(&k->plan->cgroup, k->groups, k->plan->state_dir, k->plan->scratch_dir);
}

static void watch_over(struct keeper *k)
{
	while (k->ops->state(k) != ENGINE_GONE) {
		turn(k);
		sweep(k);
	}
	k->report.is_idle = k->is_open && k->stage == KEEPER_IDLE;
	k->ending = true;
	if (!k->report.has_exit && !k->report.is_idle)
		k->ops->stats(k, true);
	keeper_account(k);
	if (k->runs || k->stage != KEEPER_LEAVES)
		keeper_miss_init(k);
}

/* ---- from nothing to nothing ---- */

/* Rights and fds down to what a keeper needs; the caller's terminal, handlers and files are not its business. */
static int begin(const struct cordon_plan *plan, const struct keeper_fds *fds, struct cordon_error *err)
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
	process_leave_batch(); /* whoever holds the deadline is not behind the payload */
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

/* Values that came with the caller's environment: only the front fetches secrets. */
static void forget_secrets(const struct net_config *config)
{
	for (size_t i = 0; i < config->secret_count; i++) {
		const char *from = config->secrets[i].from;
		char *value = from && str_starts(from, "env:") ? getenv(from + 4) : NULL;

		if (value)
			explicit_bzero(value, strlen(value));
	}
}

/* Between two jobs of a box that lives nobody waits for a report: the next caller is told why the box has ended. */
static void report(struct keeper *k)
{
	struct link_message m = { .type = LINK_ERROR };

	k->has_told = true;
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

/* Egress carried to the end, and goes while we clean up. Without it nothing changes the report any more: the front makes its result of it
 * meanwhile, and then waits for our end. */
void keeper_tell(struct keeper *k)
{
	k->has_egress = egress_leave(&k->egress, k->plan, k->fds->events);
	if (!k->has_egress)
		report(k);
}

int keeper_take_name(struct keeper *k, struct cordon_error *err)
{
	int r = k->owner[0] ? 0 : owner_name(k->owner);

	if (r < 0) {
		cordon_fail(err, CORDON_SYSTEM, -r, "read the boot id");
		return fail_step(err, "keeper");
	}
	memcpy(k->fds->owner, k->owner, sizeof(k->owner)); /* no message, which would wake the front for nothing */
	return 0;
}

static void build(struct keeper *k)
{
	struct cordon_error err = { 0 };

	if (k->ops->create(k, &err) == 0)
		watch_over(k);
	else if (err.code != CORDON_OK)
		keeper_failed(k, &err);
}

_Noreturn void keeper_main(struct cordon_plan *plan, const struct keeper_fds *fds)
{
	struct keeper k = { .plan = plan,
			    .fds = fds,
			    .ops = plan->engine->ops,
			    .egress = EGRESS_INIT,
			    .prepared = PREPARED_INIT,
			    .deadline_us = UINT64_MAX,
			    .cpu_check_us = UINT64_MAX,
			    .egress_us = UINT64_MAX,
			    .wall_time_ms = plan->limits.wall_time_ms,
			    .out_count = (uint32_t)plan->out_count,
			    .runs = true };
	int begun = begin(plan, fds, &k.report.error), undone = 0;

	forget_secrets(&plan->network.config);
	if (begun == 0)
		build(&k);
	k.ops->destroy(&k);
	prepare_done(&k.prepared);
	if (k.owner[0])
		undone = lasting_undo(plan, k.owner, plan->keep);
	egress_end(&k.egress);
	if (!k.has_told)
		report(&k);
	_exit(undone < 0); /* the front tries once more */
}
