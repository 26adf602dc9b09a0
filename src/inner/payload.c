/*
 * Becoming the payload: the steps of the child of cordon-init, in the order they run. The engine has made the namespaces and the root;
 * what is put on here is what a native box has besides, in the same order: Landlock after every open, seccomp last.
 */
#include "inner/inner.h"

#include "base/error.h"
#include "base/fd.h"
#include "os/caps.h"
#include "os/landlock.h"
#include "os/limits.h"
#include "os/process.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

struct child {
	const struct stream_job *job;
	const int *stdio;
	int said, listener;
	uint32_t applied;
	struct cordon_error *err;
};

static int fail(struct child *c, int errnum, const char *what)
{
	return cordon_fail(c->err, CORDON_SYSTEM, errnum, "%s", what);
}

/* The keyring and the scheduler are the engine's business, and it may refuse us both. */
static int child_session(struct child *c)
{
	process_restore_signals();
	(void)process_reset_scheduling();
	if (setsid() < 0)
		return fail(c, errno, "setsid");
	(void)process_new_keyring();
	return 0;
}

/* When memory runs out, the payload goes before init, which has to tell. Only one's own, and only while dumpable: nobody else is here yet. */
static int child_oom(struct child *c)
{
	(void)c;
	(void)prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
	(void)fd_write_file_at(AT_FDCWD, "/proc/self/oom_score_adj", "500");
	(void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	return 0;
}

static int child_limits(struct child *c)
{
	const struct process_limits limits = {
		.file_size_bytes = c->job->file_size_bytes,
		.cpu_seconds = c->job->cpu_seconds,
		.processes = c->job->processes,
	};
	int r = limits_apply(&limits);

	c->applied |= FRAME_HAS_RLIMITS;
	return r < 0 ? fail(c, -r, "set resource limits") : 0;
}

static int child_stdio(struct child *c)
{
	for (int i = 0; i < 3; i++)
		if (dup2(c->stdio[i], i) < 0)
			return fail(c, errno, "set up stdio");
	if ((c->job->flags & STREAM_TTY) && ioctl(0, TIOCSCTTY, 0) < 0)
		return fail(c, errno, "take the terminal");
	umask(022);
	return 0;
}

static int child_identity(struct child *c)
{
	int r = 0;

	if (c->job->uid) {
		r = caps_bound(0);
		r = r < 0 ? r : caps_set_ids(c->job->uid, c->job->gid, true);
	}
	return r < 0 ? fail(c, -r, "become the payload's user") : 0;
}

static int child_workdir(struct child *c)
{
	const char *dir = c->job->workdir;

	if (chdir(dir) == 0)
		return 0;
	cordon_fail(c->err, errno == ENOENT ? CORDON_INVALID : CORDON_SYSTEM, errno, "working directory '%s'", dir);
	return fail_hint(c->err, "the box sees its root, its home, /tmp and what is mounted with --ro and --rw");
}

static int child_rights(struct child *c)
{
	int r = caps_set(0);

	r = r < 0 ? r : process_no_new_privs();
	c->applied |= FRAME_HAS_NO_NEW_PRIVS;
	return r < 0 ? fail(c, -r, "give rights up") : 0;
}

/* "rx /usr" */
static int grant(struct child *c, int ruleset, int abi, const char *text)
{
	static const struct {
		char letter;
		unsigned access;
	} rows[] = {
		{ 'r', LANDLOCK_READ }, { 'x', LANDLOCK_EXEC }, { 'w', LANDLOCK_WRITE }, { 'd', LANDLOCK_DEVICE }
	};
	const char *path = strchr(text, ' ');
	unsigned access = 0;
	int r;

	if (!path)
		return fail(c, EINVAL, "read a Landlock rule");
	for (; text < path; text++)
		for (size_t i = 0; i < ARRAY_LEN(rows); i++)
			access |= rows[i].letter == *text ? rows[i].access : 0;
	r = landlock_allow_path(ruleset, abi, path + 1, access);
	return r < 0 ? cordon_fail(c->err, CORDON_SYSTEM, -r, "Landlock rule for '%s'", path + 1) : 0;
}

static int child_landlock(struct child *c)
{
	int abi = landlock_abi(), r;
	auto_close int ruleset = abi > 0 ? landlock_new(abi, false) : -ENOSYS;

	if (ruleset < 0 && !(c->job->flags & STREAM_LANDLOCK))
		return 0;
	if (ruleset < 0)
		return cordon_fail(c->err, CORDON_UNAVAILABLE, -ruleset, "there is no Landlock in this container");
	for (size_t i = 0; i < c->job->grants.n; i++)
		if (grant(c, ruleset, abi, c->job->grants.v[i]) < 0)
			return -1;
	r = landlock_restrict(ruleset);
	if (r < 0)
		return fail(c, -r, "apply Landlock");
	c->applied |= FRAME_HAS_LANDLOCK;
	return 0;
}

struct seccomp_options inner_filter(const struct stream_job *job, bool notify)
{
	return (struct seccomp_options){ .strict = job->flags & STREAM_STRICT,
					 .no_sockets = job->flags & STREAM_NO_SOCKETS,
					 .notify = notify };
}

static int install(struct child *c, bool notify)
{
	const struct seccomp_options options = inner_filter(c->job, notify);
	const struct seccomp_filter filter = seccomp_choose(&options);

	return seccomp_install(&filter, notify);
}

/* Where the kernel has no listener to give (gVisor; an engine's own), calls are refused all the same, and not told. */
static int child_seccomp(struct child *c)
{
	int r = install(c, true);

	if (r >= 0) {
		c->listener = r;
		c->applied |= FRAME_HAS_SECCOMP | FRAME_HAS_LISTENER;
		return 0;
	}
	if (!(c->job->flags & STREAM_NOTIFY_NEEDED))
		r = install(c, false);
	if (r < 0)
		return cordon_fail(c->err, CORDON_UNAVAILABLE, -r, "install the seccomp filter");
	c->applied |= FRAME_HAS_SECCOMP;
	return 0;
}

static int child_started(struct child *c)
{
	struct inner_said said = { .applied = c->applied };
	int r = fd_send(c->said, &said, sizeof(said), &c->listener, c->listener >= 0);

	fd_close(&c->listener);
	if (r < 0)
		return fail(c, -r, "report the start");
	r = limits_open_files(c->job->open_files);
	return r < 0 ? fail(c, -r, "set resource limits") : 0;
}

static int child_exec(struct child *c)
{
	char *const *argv = c->job->argv.v, *none = NULL, *const *env = c->job->env.n ? c->job->env.v : &none;
	const char *name = argv[0];
	int seen = -process_exec(c->job->path, argv, env);

	if (seen == ENOENT && strchr(name, '/') && access(name, F_OK) == 0)
		return cordon_fail(c->err, CORDON_NOT_FOUND, 0,
				   "'%s' is there, but the interpreter of its first line, or its loader, is not", name);
	if (seen == ENOENT) {
		cordon_fail(c->err, CORDON_NOT_FOUND, 0, "'%s' was not found in the box", name);
		return fail_hint(c->err, "the box sees its root and what is mounted with --ro and --rw; PATH is %s",
				 c->job->path);
	}
	return cordon_fail(c->err, CORDON_NOT_EXECUTABLE, seen, "'%s' cannot be executed", name);
}

int inner_become_payload(const struct stream_job *job, const int stdio[3], int said, struct cordon_error *err)
{
	static const struct {
		const char *name;
		int (*run)(struct child *c);
	} steps[] = {
		{ "payload session", child_session },
		{ "memory", child_oom },
		{ "limits", child_limits },
		{ "stdio", child_stdio },
		{ "payload identity", child_identity },
		{ "workdir", child_workdir },
		{ "no_new_privs", child_rights },
		{ "landlock", child_landlock }, /* after every open */
		{ "seccomp", child_seccomp },   /* last: what comes before needs its syscalls */
		{ "started", child_started },
		{ "exec", child_exec },
	};
	struct child c = { .job = job, .stdio = stdio, .said = said, .listener = -1, .err = err };

	for (size_t i = 0; i < ARRAY_LEN(steps); i++)
		if (steps[i].run(&c) < 0)
			return fail_step(err, steps[i].name);
	return 0;
}
