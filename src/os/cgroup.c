/*
 * A box's group: made, joined, removed, swept. The directory has the same owner name in every tree, so
 * whoever comes later can tell an orphan. The parent "cordon" is made on first use and never removed: two
 * runs that start and end at the same time need no lock between them.
 *
 * The common path does no more than it must: mkdir finds a missing parent by its own ENOENT, writing a
 * limit finds a controller that is not enabled yet. Runs in the keeper with the caller's rights;
 * cgroup_join() in the payload's process.
 */
#include "os/cgroup_tree.h"

#include "base/clock.h"
#include "base/fd.h"
#include "base/owner.h"
#include "base/str.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
	PATH_SIZE = 256 + OWNER_NAME_MAX + 1,
	REMOVE_US = 1000000,
	PROCS_MAX = 1 << 20,
	MOVE_PASSES = 64, /* of which so many at once, the others after a nap */
	MOVE_QUICKLY = 16,
	MOVE_NAP_US = 2000,
};

static void group_path(char buf[PATH_SIZE], const struct cgroup_host *host, int tree, const char *name)
{
	snprintf(buf, PATH_SIZE, "%s/%s", host->parent[tree], name);
}

/* Controllers that are mounted together share one directory. */
static bool same_as_earlier(const struct cgroup *cg, int tree)
{
	for (int t = 0; t < tree; t++)
		if (cg->dir[t] >= 0 && strcmp(cg->host->parent[t], cg->host->parent[tree]) == 0)
			return true;
	return false;
}

static int make_directory(const struct cgroup_host *host, int tree, const char *path)
{
	if (mkdir(path, 0755) == 0)
		return 0;
	if (errno != ENOENT)
		return -errno;
	if (mkdir(host->parent[tree], 0755) < 0 && errno != EEXIST)
		return -errno;
	return mkdir(path, 0755) < 0 ? -errno : 0;
}

static int open_group(struct cgroup *cg, int tree)
{
	bool shared = same_as_earlier(cg, tree);
	char path[PATH_SIZE];
	int r;

	group_path(path, cg->host, tree, cg->name);
	r = shared ? 0 : make_directory(cg->host, tree, path);
	/* The name is ours since we made it elsewhere: here a runtime was before us, for the same box. */
	if (r < 0 && !(r == -EEXIST && tree == CG_UNIFIED && cg->dir[CG_MEMORY] >= 0))
		return r;
	cg->dir[tree] = open(path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (cg->dir[tree] < 0) {
		r = -errno;
		if (!shared)
			rmdir(path);
		return r;
	}
	if (shared)
		return 0;
	/* v1: for one thread that joins, "tasks" needs no lock over all thread groups, which waits for a grace period. */
	cg->procs[tree] = openat(cg->dir[tree], tree == CG_UNIFIED ? "cgroup.procs" : "tasks", O_WRONLY | O_CLOEXEC);
	return cg->procs[tree] < 0 ? -errno : 0;
}

/* Beside v1, joining the unified tree waits for a grace period (milliseconds after a pause): only for its kill, or where nothing
 * else tells CPU time. */
static bool joins_unified(const struct cgroup_host *host, const struct cgroup_limits *limits)
{
	return host->mode == CGROUP_V2 || limits->kill || !host->has_cpuacct;
}

/* In the order in which directories are made; they are removed the other way round. The first that a host has is where orphans are
 * looked for, and every group is in it: memory is always there, for the peak. */
static const enum cgroup_tree order[CG_TREES] = {
	CG_MEMORY, CG_UNIFIED, CG_PIDS, CG_CPU, CG_BLKIO, CG_CPUACCT,
};

/* v1: what a run that ends at once does not live to need comes with cgroup_add_later(). */
static bool comes_later(int tree)
{
	return tree == CG_CPU || tree == CG_BLKIO || tree == CG_CPUACCT;
}

static bool wants_tree(const struct cgroup_host *host, int tree, const struct cgroup_limits *limits)
{
	if (!host->parent[tree][0])
		return false;
	switch ((enum cgroup_tree)tree) {
	case CG_UNIFIED:
		return joins_unified(host, limits);
	case CG_PIDS:
		return limits->processes;
	case CG_CPU:
		return limits->cpu_milli;
	case CG_BLKIO:
		return limits->read_bps || limits->write_bps;
	case CG_MEMORY:
	case CG_CPUACCT:
	case CG_TREES:
		break;
	}
	return true;
}

static bool can_hold(unsigned can, const struct cgroup_limits *limits)
{
	return (!limits->memory_bytes || can & CGROUP_CAN_MEMORY) && (!limits->processes || can & CGROUP_CAN_PIDS) &&
	       (!limits->cpu_milli || can & CGROUP_CAN_CPU) &&
	       (!(limits->read_bps || limits->write_bps) || can & CGROUP_CAN_IO);
}

static int build(struct cgroup *cg, const struct cgroup_limits *limits)
{
	int r;

	for (int i = 0; i < CG_TREES; i++) {
		if (comes_later(order[i]) || !wants_tree(cg->host, order[i], limits))
			continue;
		r = open_group(cg, order[i]);
		if (r < 0)
			return r;
	}
	r = cgroup_write_limits(cg, limits);
	if (r != -ENOENT || cg->host->mode != CGROUP_V2)
		return r;
	r = cgroup_enable(cg->host);
	return r < 0 ? r : cgroup_write_limits(cg, limits);
}

int cgroup_create(struct cgroup *cg, const struct cgroup_host *host, const char *name,
		  const struct cgroup_limits *limits)
{
	int r;

	*cg = (struct cgroup)CGROUP_INIT;
	if (host->mode == CGROUP_NONE || host->needs_scope || !can_hold(host->can, limits))
		return -EOPNOTSUPP;
	if (strlen(name) >= sizeof(cg->name) || strchr(name, '/'))
		return -EINVAL;
	cg->host = host;
	snprintf(cg->name, sizeof(cg->name), "%s", name);
	r = build(cg, limits);
	if (r < 0)
		cgroup_destroy(cg);
	return r;
}

/* One pass: everybody in `from` goes to `to`. Returns how many were not there yet, or -errno. */
static int move_all(int from, int to)
{
	auto_free char *here = NULL, *there = NULL;
	auto_close int procs = -1;
	int moved = 0;

	if (fd_load_at(from, "cgroup.procs", PROCS_MAX, &here) < 0)
		return errno ? -errno : -EIO;
	if (!*here)
		return 0;
	procs = openat(to, "cgroup.procs", O_WRONLY | O_CLOEXEC);
	if (procs < 0 || fd_load_at(to, "cgroup.procs", PROCS_MAX, &there) < 0)
		return errno ? -errno : -EIO;
	for (char *p = here, *end; *p; p = end + 1) {
		char line[32];

		end = strchrnul(p, '\n');
		snprintf(line, sizeof(line), "%.*s\n", (int)(end - p), p);
		if (strncmp(there, line, strlen(line)) != 0) {
			char inner[40];

			snprintf(inner, sizeof(inner), "\n%s", line);
			if (!strstr(there, inner)) {
				moved++;
				if (write(procs, p, (size_t)(end - p)) < 0 && errno != ESRCH)
					return -errno;
			}
		}
		if (!*end)
			break;
	}
	return moved;
}

/* A child that is forked meanwhile appears where its parent was: the next pass finds it. Who is ending is listed and cannot be moved until it had a
 * processor to end on, which on a busy host takes a while: hence the naps. 0, -errno, or how many the last pass still found. */
static int move_until_still(int from, int to)
{
	int moved = 1;

	for (int pass = 0; moved > 0 && pass < MOVE_PASSES; pass++) {
		if (pass >= MOVE_QUICKLY)
			usleep(MOVE_NAP_US);
		moved = move_all(from, to);
	}
	return moved;
}

/* A process that forks the next one and ends is always gone when it is its turn: then nobody forks for a moment. Only then: to everybody else a
 * fork that fails is a limit. */
static int move_everybody(const struct cgroup *cg, int to)
{
	int moved = move_until_still(cg->dir[CG_MEMORY], to), r;
	char max[32];

	if (moved <= 0 || cg->dir[CG_PIDS] < 0 || fd_read_file_at(cg->dir[CG_PIDS], "pids.max", max, sizeof(max)) <= 0)
		return moved;
	r = fd_write_file_at(cg->dir[CG_PIDS], "pids.max", "0");
	if (r < 0)
		return r;
	moved = move_until_still(cg->dir[CG_MEMORY], to);
	r = fd_write_file_at(cg->dir[CG_PIDS], "pids.max", max);
	return r < 0 ? r : moved;
}

int cgroup_add_later(struct cgroup *cg, const struct cgroup_limits *limits)
{
	int r = 0;

	if (!cg->host || cg->host->mode != CGROUP_V1 || cg->dir[CG_MEMORY] < 0)
		return 0;
	for (int i = 0; r == 0 && i < CG_TREES; i++)
		if (comes_later(order[i]) && cg->dir[order[i]] < 0 && wants_tree(cg->host, order[i], limits))
			r = open_group(cg, order[i]);
	r = r < 0 ? r : cgroup_write_later(cg, limits);
	for (int t = 0; r >= 0 && t < CG_TREES; t++)
		if (comes_later(t) && cg->procs[t] >= 0)
			r = move_everybody(cg, cg->dir[t]);
	return r < 0 ? r : 0;
}

int cgroup_pause(struct cgroup *cg, bool paused)
{
	int r = 0;

	if (!cg->host || cg->host->mode != CGROUP_V1 || cg->procs[CG_UNIFIED] >= 0 || cg->dir[CG_MEMORY] < 0)
		return cgroup_freeze(cg, paused);
	if (cg->dir[CG_UNIFIED] < 0 && !cg->host->parent[CG_UNIFIED][0])
		return -EOPNOTSUPP;
	if (cg->dir[CG_UNIFIED] < 0)
		r = open_group(cg, CG_UNIFIED);
	fd_close(&cg->procs[CG_UNIFIED]); /* who comes later does not join, and CPU time is told where it was */
	r = r < 0 ? r : cgroup_freeze(cg, paused); /* first: who has been moved forks no more */
	if (r == 0 && paused)
		r = move_everybody(cg, cg->dir[CG_UNIFIED]);
	if (r != 0 && paused)
		(void)cgroup_freeze(cg, false); /* all of it or nothing */
	return r > 0 ? -EAGAIN : r;
}

static int join_from(const struct cgroup *cg, int first)
{
	for (int t = first; t < CG_TREES; t++)
		if (cg->procs[t] >= 0 && write(cg->procs[t], "0", 1) < 0)
			return -errno;
	return 0;
}

int cgroup_join(const struct cgroup *cg)
{
	return join_from(cg, CG_UNIFIED);
}

int cgroup_join_rest(const struct cgroup *cg)
{
	return join_from(cg, CG_UNIFIED + 1);
}

static void inits_path(char buf[PATH_SIZE], const struct cgroup_host *host)
{
	group_path(buf, host, CG_UNIFIED, "init");
}

int cgroup_open_inits(const struct cgroup *cg)
{
	const int flags = O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
	char path[PATH_SIZE], procs[PATH_SIZE];
	int fd;

	if (!cg->host || !cg->host->has_inits || cg->dir[CG_UNIFIED] < 0)
		return -EOPNOTSUPP;
	inits_path(path, cg->host);
	fd = open(path, flags);
	if (fd >= 0 || errno != ENOENT)
		return fd < 0 ? -errno : fd;
	if (!cgroup_passes_on(cg->host))
		return -EOPNOTSUPP;
	group_path(procs, cg->host, CG_UNIFIED, "cgroup.procs");
	if (chmod(procs, 0666) < 0 || (mkdir(path, 0755) < 0 && errno != EEXIST))
		return -errno;
	fd = open(path, flags);
	if (fd < 0)
		return -errno;
	(void)fd_write_file_at(fd, "cpu.weight", "10000"); /* where there is such a controller */
	return fd;
}

int cgroup_give(const struct cgroup *cg, uid_t uid)
{
	return fchownat(cg->dir[CG_UNIFIED], "cgroup.procs", uid, (gid_t)-1, AT_SYMLINK_NOFOLLOW) < 0 ? -errno : 0;
}

void cgroup_close(struct cgroup *cg)
{
	for (int t = 0; t < CG_TREES; t++) {
		fd_close(&cg->dir[t]);
		fd_close(&cg->procs[t]);
	}
}

/* A process that has just died still counts for a moment (EBUSY): wait for it, ever longer, a second in
 * all. */
static int remove_directory(const char *path)
{
	uint64_t start = clock_us();
	struct timespec pause = { .tv_nsec = 20000 };

	while (rmdir(path) < 0) {
		if (errno == ENOENT)
			return 0;
		if (errno != EBUSY || clock_us() - start > REMOVE_US)
			return -errno;
		nanosleep(&pause, NULL);
		if (pause.tv_nsec < 10000000)
			pause.tv_nsec *= 2;
	}
	return 0;
}

/* The tree whose directory is made first and removed last: whatever is left in another shows there too. */
static int first_tree(const struct cgroup_host *host)
{
	int i = 0;

	while (i < CG_TREES - 1 && !host->parent[order[i]][0])
		i++;
	return order[i];
}

int cgroup_destroy_named(const struct cgroup_host *host, const char *name)
{
	char path[PATH_SIZE];
	int r = 0, failed;

	if (!*name || strchr(name, '/'))
		return -EINVAL;
	for (int i = CG_TREES - 1; i >= 0; i--) {
		int t = order[i];

		if (!host->parent[t][0])
			continue;
		if (r < 0 && t == first_tree(host)) /* stays, so that the next sweep finds the rest */
			break;
		group_path(path, host, t, name);
		failed = remove_directory(path);
		r = failed < 0 ? failed : r;
	}
	return r;
}

int cgroup_destroy(struct cgroup *cg)
{
	int r = 0, failed;
	char path[PATH_SIZE];

	if (!cg->host)
		return 0;
	for (int i = CG_TREES - 1; i >= 0; i--) {
		int t = order[i];

		if (cg->dir[t] < 0)
			continue;
		if (r < 0 && t == first_tree(cg->host))
			break;
		group_path(path, cg->host, t, cg->name);
		failed = remove_directory(path);
		r = failed < 0 ? failed : r;
	}
	cgroup_close(cg);
	cg->host = NULL;
	return r;
}

void cgroup_end_named(const struct cgroup_host *host, const char *name)
{
	struct cgroup cg = CGROUP_INIT;
	char path[PATH_SIZE];

	if (strlen(name) >= sizeof(cg.name))
		return;
	cg.host = host;
	memcpy(cg.name, name, strlen(name) + 1);
	for (int t = 0; t < CG_TREES; t++) {
		if (!host->parent[t][0])
			continue;
		group_path(path, host, t, name);
		cg.dir[t] = open(path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	}
	cgroup_kill(&cg);
	cgroup_destroy(&cg);
}

void cgroup_sweep(const struct cgroup_host *host, unsigned living)
{
	const char *parent = host->parent[first_tree(host)];
	struct dirent *entry;
	struct stat st;
	DIR *dir;

	/* Two links are the directory alone, one more is each group in it: nothing to read through, the common case. */
	if (host->has_inits) {
		char inits[PATH_SIZE];

		inits_path(inits, host);
		living += access(inits, F_OK) == 0;
	}
	if (!*parent || stat(parent, &st) < 0 || st.st_nlink <= 2 + living)
		return;
	dir = opendir(parent);
	while (dir && (entry = readdir(dir)))
		if (entry->d_type == DT_DIR && owner_is_orphan(entry->d_name))
			cgroup_end_named(host, entry->d_name);
	if (dir)
		closedir(dir);
}
