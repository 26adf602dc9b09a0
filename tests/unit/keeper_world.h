/*
 * A keeper in a process of its own, as in life, and the test in place of everyone it speaks with: the front and who asks beside it, and by way of
 * three sockets whoever the engine speaks with. The engine is one of the tables of engine/engine.h with a `create` of the test's own. Before it waits, the
 * keeper leaves a copy of its state where the test can read it: also how often it went round, which is how a loop that spins is found.
 */
#ifndef TESTS_KEEPER_WORLD_H
#define TESTS_KEEPER_WORLD_H

#include "base/clock.h"
#include "base/fd.h"
#include "box/job.h"
#include "engine/keeper_state.h"
#include "os/process.h"
#include "plan/engine.h"

#include "tap.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	PATIENCE_MS = 10000, /* for what has to come: only a failure takes that long */
	TURNS_FEW = 20,      /* in LOOK_MS; one that spins takes thousands */
	LOOK_MS = 200,
};

/* Shared with the keeper's process. */
static volatile struct seen {
	struct keeper k;
	enum engine_state state;
	uint64_t now_us;
	unsigned turns;
	unsigned calls[16]; /* of a fake engine's functions */
	pid_t child;        /* of world_clone() */
	/* The keeper's next, whichever it is: as it is; has come; does not come, so that it saves nobody. */
	enum { DEADLINE_OWN, DEADLINE_NOW, DEADLINE_NEVER } deadline;
} * seen;

struct world {
	struct engine engine;
	struct engine_ops ops;
	struct cordon_plan plan;
	pid_t pid;
	int front, control, to[3]; /* our ends; the keeper's of the last are fds.stdio */
	struct link_report report; /* the last that was heard */
};

/* ---- in the keeper's process ---- */

static const struct engine_ops *world_real; /* whose functions are wrapped */

static inline uint64_t world_await(struct keeper *k, struct pollfd fds[ENGINE_FDS], uint64_t now)
{
	if (seen->deadline != DEADLINE_OWN)
		k->deadline_us = seen->deadline == DEADLINE_NOW ? now : UINT64_MAX;
	seen->state = k->ops->state(k);
	seen->now_us = now;
	seen->k = *k;
	seen->turns++;
	return world_real->await(k, fds, now);
}

/* A child in the place of init or a driver, as its pidfd: it exits with 0 as soon as the test closes to[2]. */
static inline int world_clone(const struct keeper *k)
{
	int life = k->fds->stdio[2], pidfd = -1;
	pid_t pid = process_clone(0, &pidfd);
	char byte;

	if (pid == 0) {
		(void)process_close_others(&life, 1);
		(void)recv(life, &byte, 1, 0);
		_exit(0);
	}
	seen->child = pid;
	return pidfd;
}

/* ---- from nothing to nothing ---- */

/* With what every box has; a test changes what it is about. */
static inline void world_init(struct world *w, const struct engine_ops *ops, bool lives)
{
	static char nowhere[] = "/nonexistent/cordon", home[] = "/home/agent", path[] = "/bin", driver[] = "/bin/false";

	*w = (struct world){ .engine = { .name = "fake", .makes_root = true },
			     .ops = *ops,
			     .plan = { .root_fd = -1, .lives = lives, .level = LEVEL_CONTAINER } };
	w->plan.limits =
		(struct plan_limits){ .wall_time_ms = 600000, .cpu_time_ms = 600000, .disk_bytes = 1ULL << 30 };
	w->plan.state_dir = w->plan.scratch_dir = nowhere;
	w->plan.home = w->plan.workdir = home;
	w->plan.path = path;
	w->plan.driver = driver;
	if (strv_add(&w->plan.argv, "true") < 0)
		abort();
}

static inline void world_start(struct world *w)
{
	static char owner[OWNER_NAME_MAX];
	int front[2], control[2], to[3][2];
	struct keeper_fds fds = { .events = -1, .owner = owner };

	if (!seen)
		seen = mmap(NULL, sizeof(*seen), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	*seen = (struct seen){ 0 };
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, front) < 0 ||
	    socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, control) < 0)
		abort();
	for (int i = 0; i < 3; i++)
		if (socketpair(AF_UNIX, (i == 1 ? SOCK_STREAM : SOCK_SEQPACKET) | SOCK_CLOEXEC, 0, to[i]) < 0)
			abort();
	w->pid = fork();
	if (w->pid == 0) {
		static struct engine_ops real;

		real = w->ops;
		world_real = &real;
		w->ops.await = world_await;
		w->engine.ops = &w->ops;
		w->plan.engine = &w->engine;
		fds.front = front[1];
		fds.control = control[1];
		for (int i = 0; i < 3; i++)
			fds.stdio[i] = to[i][1];
		keeper_main(&w->plan, &fds);
	}
	fd_close(&front[1]);
	fd_close(&control[1]);
	w->front = front[0];
	w->control = control[0];
	for (int i = 0; i < 3; i++) {
		fd_close(&to[i][1]);
		w->to[i] = to[i][0];
	}
}

/* Every keeper goes when nobody is left: also where its test failed. */
static inline void world_end(struct world *w)
{
	int pidfd = process_open(w->pid), status = -1;
	struct pollfd p = { .fd = pidfd, .events = POLLIN };

	fd_close(&w->front);
	fd_close(&w->control);
	for (int i = 0; i < 3; i++)
		fd_close(&w->to[i]);
	if (poll(&p, 1, PATIENCE_MS) != 1)
		kill(w->pid, SIGKILL);
	fd_close(&pidfd);
	waitpid(w->pid, &status, 0);
	ok(status == 0, "and the keeper goes");
	strv_done(&w->plan.argv);
}

/* ---- the test's side ---- */

static inline void nap(unsigned ms)
{
	struct timespec t = { .tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000 };

	nanosleep(&t, NULL);
}

#define eventually(cond)                                                    \
	({                                                                  \
		bool is_;                                                   \
		for (int i_ = 0; !(is_ = (cond)) && i_ < PATIENCE_MS; i_++) \
			nap(1);                                             \
		is_;                                                        \
	})

static inline bool is_readable(int fd, int timeout_ms)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return poll(&p, 1, timeout_ms) == 1;
}

/* It waits, and for something that does not come. */
static inline void rests(const char *when)
{
	unsigned before = seen->turns;

	nap(LOOK_MS);
	ok(seen->turns - before < TURNS_FEW, "the keeper does not spin %s: %u turns", when, seen->turns - before);
}

/* What the front hears next; 0: nothing, or the keeper is gone. */
static inline enum link_type hear(struct world *w, struct link_message *m)
{
	int fd = -1;

	*m = (struct link_message){ 0 };
	if (!is_readable(w->front, PATIENCE_MS) || link_receive(w->front, m, &fd) <= 0)
		return 0;
	fd_close(&fd);
	if (m->type == LINK_REPORT && link_receive_report(w->front, &w->report) < 0)
		return 0;
	return m->type;
}

static inline void send_end(struct world *w, enum link_reason reason)
{
	(void)link_send(w->front, &(struct link_message){ .type = LINK_END, .reason = reason }, -1);
}

/* Beside jobs; its answer is another thing. */
static inline void ask(struct world *w, enum link_type type)
{
	(void)link_send(w->control, &(struct link_message){ .type = type }, -1);
}

static inline struct link_message answer(struct world *w)
{
	struct link_message m = { 0 };
	int fd = -1;

	if (!is_readable(w->control, PATIENCE_MS) || link_receive(w->control, &m, &fd) <= 0)
		m.type = 0;
	fd_close(&fd);
	return m;
}

/* For a box that lives; its output goes to `out`, which is taken. */
static inline void send_job(struct world *w, size_t outs, int out)
{
	static char result[] = "/tmp/result";
	struct plan_copy copy = { .box = result };
	struct link_message m = { .type = LINK_JOB };
	int fds[JOB_FD_FILES];

	w->plan.outs = &copy;
	w->plan.out_count = outs;
	fds[JOB_FD_TEXT] = job_write(&w->plan, &m.job);
	fds[JOB_FD_STDIN] = open("/dev/null", O_RDONLY | O_CLOEXEC);
	fds[JOB_FD_STDOUT] = out >= 0 ? out : open("/dev/null", O_WRONLY | O_CLOEXEC);
	fds[JOB_FD_STDERR] = open("/dev/null", O_WRONLY | O_CLOEXEC);
	if (link_send_fds(w->front, &m, fds, JOB_FD_FILES) < 0)
		abort();
	for (int i = 0; i < JOB_FD_FILES; i++)
		fd_close(&fds[i]);
}

#endif
