/*
 * Stopping everything in a group. The unified tree's cgroup.kill (5.14) does it in one write, forks in
 * flight included. Before that: no more forks (pids.max 0) or none running (cgroup.freeze), then SIGKILL to
 * each until the group is empty. The v1 freezer is not used: what it froze ignores SIGKILL. Processes are
 * signalled through pidfds and only while the group still lists them, so a recycled pid is never hit. Runs
 * in the keeper.
 */
#include "os/cgroup_tree.h"

#include "base/clock.h"
#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { KILL_US = 1000000, BATCH = 128 };

/* Reads up to BATCH pids; a count of 0 means that the group is empty. Pids of other pid namespaces read as
 * 0: skipped. */
static int read_pids(int dir, pid_t pids[BATCH], size_t *ret_count)
{
	char text[BATCH * 12], *p = text, *end;
	ssize_t n = fd_read_file_at(dir, "cgroup.procs", text, sizeof(text));
	size_t count = 0;

	if (n < 0)
		return (int)n;
	/* A number that the buffer cut must not count. */
	if ((size_t)n == sizeof(text) - 1 && (end = strrchr(text, '\n')))
		end[1] = '\0';
	for (long pid; count < BATCH && ((pid = strtol(p, &end, 10)), end != p); p = end)
		if (pid > 0)
			pids[count++] = (pid_t)pid;
	*ret_count = count;
	return 0;
}

static bool lists(const pid_t *pids, size_t count, pid_t pid)
{
	for (size_t i = 0; i < count; i++)
		if (pids[i] == pid)
			return true;
	return false;
}

/* One round; *ret_count is how many were there. */
static int kill_listed(int dir, size_t *ret_count)
{
	pid_t pids[BATCH], again[BATCH];
	int fds[BATCH], r;
	size_t count, still = 0;

	r = read_pids(dir, pids, &count);
	if (r < 0)
		return r;
	for (size_t i = 0; i < count; i++)
		fds[i] = (int)syscall(SYS_pidfd_open, pids[i], 0);
	r = count ? read_pids(dir, again, &still) : 0;
	for (size_t i = 0; i < count; i++) {
		if (r == 0 && fds[i] >= 0 && lists(again, still, pids[i]))
			syscall(SYS_pidfd_send_signal, fds[i], SIGKILL, NULL, 0);
		fd_close(&fds[i]);
	}
	*ret_count = count;
	return r;
}

static int kill_each(int dir)
{
	struct timespec pause = { .tv_nsec = 100000 };
	uint64_t start = clock_us();
	size_t count = 1;
	int r;

	for (;;) {
		r = kill_listed(dir, &count);
		if (r < 0)
			return r == -ENOENT || r == -ENODEV ? 0 : r;
		if (!count)
			return 0;
		if (clock_us() - start > KILL_US)
			return -EBUSY;
		nanosleep(&pause, NULL);
		if (pause.tv_nsec < 5000000)
			pause.tv_nsec *= 2;
	}
}

static bool is_populated(int dir)
{
	char text[128];

	return fd_read_file_at(dir, "cgroup.events", text, sizeof(text)) >= 0 && strstr(text, "populated 1");
}

/* Again and again: someone may join right after the first write. -ENOENT where the kernel has no
 * cgroup.kill. */
static int kill_all(int dir)
{
	struct timespec pause = { .tv_nsec = 50000 };
	uint64_t start = clock_us();

	for (;;) {
		int r = fd_write_file_at(dir, "cgroup.kill", "1");

		if (r < 0 || !is_populated(dir))
			return r;
		if (clock_us() - start > KILL_US)
			return -EBUSY;
		nanosleep(&pause, NULL);
		if (pause.tv_nsec < 5000000)
			pause.tv_nsec *= 2;
	}
}

int cgroup_kill(const struct cgroup *cg)
{
	int unified = cg->dir[CG_UNIFIED], result = 0, r;

	/* Who joins does so here first (cgroup_join()), so that nobody is in another tree and not in this
	 * one. */
	r = unified >= 0 ? kill_all(unified) : -ENOENT;
	if (r != -ENOENT && (r < 0 || cg->host->mode == CGROUP_V2 || cg->procs[CG_UNIFIED] >= 0))
		return r;
	if (cg->dir[CG_PIDS] >= 0)
		fd_write_file_at(cg->dir[CG_PIDS], "pids.max", "0");
	else if (unified >= 0)
		cgroup_freeze(cg, true);
	for (int t = CG_UNIFIED; t < CG_TREES; t++) {
		int killed = cg->dir[t] >= 0 ? kill_each(cg->dir[t]) : 0;

		result = killed < 0 ? killed : result;
	}
	return result;
}

int cgroup_freeze(const struct cgroup *cg, bool frozen)
{
	if (cg->dir[CG_UNIFIED] < 0)
		return -EOPNOTSUPP;
	return fd_write_file_at(cg->dir[CG_UNIFIED], "cgroup.freeze", frozen ? "1" : "0");
}
