/*
 * The control group of a container that a daemon on this host made: what the daemon does not tell, or only after a second, is read where the
 * kernel tells it. Nothing is changed; what a daemon forgets of it is removed. Readable by anybody on usual hosts.
 */
#include "driver/docker_group.h"

#include "base/fd.h"
#include "base/str.h"
#include "stream/engine.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MEMSW "memory.memsw.limit_in_bytes"
#define SWAP "memory.swap.max"

static bool lists(const char *controllers, const char *name)
{
	size_t len = strlen(name);

	for (const char *p = controllers; p; p = strchr(p, ',')) {
		p += *p == ',';
		if (strncmp(p, name, len) == 0 && (!p[len] || p[len] == ','))
			return true;
	}
	return false;
}

static int open_group(const char *mount, const char *path)
{
	char full[1024];
	int n = snprintf(full, sizeof(full), "/sys/fs/cgroup%s%s", mount, path);

	return n < 0 || (size_t)n >= sizeof(full) ? -1 : open(full, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

/* One line: "NUMBER:CONTROLLERS:PATH". */
static void open_line(struct cgroup *cg, char *line, enum cgroup_mode mode)
{
	static const char *const names[CG_TREES] = {
		[CG_MEMORY] = "memory", [CG_PIDS] = "pids",       [CG_CPU] = "cpu",
		[CG_BLKIO] = "blkio",   [CG_CPUACCT] = "cpuacct",
	};
	char *number = strsep(&line, ":"), *controllers = strsep(&line, ":"), mount[64];

	if (!line || strstr(line, "/.."))
		return;
	if (strcmp(number, "0") == 0 && mode == CGROUP_V2)
		cg->dir[CG_UNIFIED] = open_group("", line);
	for (int t = CG_MEMORY; t < CG_TREES && mode == CGROUP_V1; t++)
		if (cg->dir[t] < 0 && lists(controllers, names[t])) {
			snprintf(mount, sizeof(mount), "/%s", names[t]);
			cg->dir[t] = open_group(mount, line);
		}
}

void docker_group_open(struct docker_group *group, int pid)
{
	char path[64], *rest;
	auto_free char *text = NULL;

	group->cgroup = (struct cgroup)CGROUP_INIT;
	snprintf(path, sizeof(path), "/proc/%d/cgroup", pid);
	if (pid <= 0 || fd_load_at(AT_FDCWD, path, 1 << 16, &text) < 0)
		return;
	group->host.mode = access("/sys/fs/cgroup/cgroup.controllers", F_OK) == 0 ? CGROUP_V2 : CGROUP_V1;
	group->lines = strdup(text);
	rest = text;
	for (char *line; (line = strsep(&rest, "\n"));)
		open_line(&group->cgroup, line, group->host.mode);
	group->is_open = group->cgroup.dir[CG_MEMORY] >= 0 || group->cgroup.dir[CG_UNIFIED] >= 0;
	group->cgroup.host = &group->host;
}

/* The number of a file, "max" and what is not there as none at all. */
static uint64_t read_limit(int dir, const char *name)
{
	char text[64];
	unsigned long long n;

	if (dir < 0 || fd_read_file_at(dir, name, text, sizeof(text)) <= 0 || sscanf(text, "%llu", &n) != 1)
		return UINT64_MAX;
	return n;
}

/* Thousandths of a processor. */
static uint64_t read_cpu_milli(const struct docker_group *g)
{
	unsigned long long quota, period = 0;
	char text[64];

	if (g->host.mode == CGROUP_V1) {
		quota = read_limit(g->cgroup.dir[CG_CPU], "cpu.cfs_quota_us");
		period = read_limit(g->cgroup.dir[CG_CPU], "cpu.cfs_period_us");
	} else if (g->cgroup.dir[CG_UNIFIED] < 0 ||
		   fd_read_file_at(g->cgroup.dir[CG_UNIFIED], "cpu.max", text, sizeof(text)) <= 0 ||
		   sscanf(text, "%llu %llu", &quota, &period) != 2) {
		return UINT64_MAX;
	}
	return !period || quota > UINT64_MAX / 1000 ? UINT64_MAX : quota * 1000 / period;
}

/*
 * Whether there is anything to hold: a kernel that counts swap can be given a limit, also where none is in use yet; one that does not is no
 * worse than one that does as long as the host has none. The first line of the list is its head.
 */
bool docker_group_can_swap(const struct docker_group *g)
{
	const int *dir = g->cgroup.dir;
	auto_free char *swaps = NULL;
	const char *line;
	ssize_t n;

	if (g->host.mode == CGROUP_V1 ? dir[CG_MEMORY] >= 0 && faccessat(dir[CG_MEMORY], MEMSW, F_OK, 0) == 0
				      : dir[CG_UNIFIED] >= 0 && faccessat(dir[CG_UNIFIED], SWAP, F_OK, 0) == 0)
		return true;
	n = fd_load_at(AT_FDCWD, "/proc/swaps", 1 << 16, &swaps);
	if (n < 0)
		return n != -ENOENT; /* a kernel without swap has no list */
	line = strchr(swaps, '\n');
	return line && line[1];
}

/* memsw counts memory and swap together. What has no file is unlimited. */
static bool is_swapped(const struct docker_group *g, uint64_t memory_bytes)
{
	const int *dir = g->cgroup.dir;

	if (!docker_group_can_swap(g))
		return false;
	return g->host.mode == CGROUP_V1 ? read_limit(dir[CG_MEMORY], MEMSW) > memory_bytes
					 : read_limit(dir[CG_UNIFIED], SWAP) > 0;
}

unsigned docker_group_lacks(const struct docker_group *g, const struct spec_limits *l)
{
	bool is_v1 = g->host.mode == CGROUP_V1;
	const int *dir = g->cgroup.dir;
	uint64_t memory =
		is_v1 ? read_limit(dir[CG_MEMORY], "memory.limit_in_bytes") : read_limit(dir[CG_UNIFIED], "memory.max");
	uint64_t pids = read_limit(dir[is_v1 ? CG_PIDS : CG_UNIFIED], "pids.max");

	return (l->memory_bytes && memory > l->memory_bytes ? ENGINE_LACKS_MEMORY : 0u) |
	       (l->memory_bytes && is_swapped(g, l->memory_bytes) ? ENGINE_LACKS_SWAP : 0u) |
	       (l->processes && pids > l->processes ? ENGINE_LACKS_PROCESSES : 0u) |
	       (l->cpu_milli && read_cpu_milli(g) > l->cpu_milli ? ENGINE_LACKS_CPU : 0u);
}

bool docker_group_read(const struct docker_group *group, struct cgroup_usage *ret_usage)
{
	*ret_usage = (struct cgroup_usage){ 0 };
	return group->is_open && cgroup_read_usage(&group->cgroup, ret_usage) == 0;
}

/* A name that only this container's groups have. */
static bool is_named(const char *path, const char *id)
{
	const char *name = strrchr(path, '/');

	return name && *id && strstr(name, id);
}

bool docker_group_names(int pid, const char *id)
{
	auto_free char *text = NULL;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/cgroup", pid);
	return fd_load_at(AT_FDCWD, path, 1 << 16, &text) >= 0 && *id && strstr(text, id);
}

/* Where a tree is mounted: by the name of its controllers, or of the first of them; v2's in the place of all or beside them. */
static void remove_line(char *line, enum cgroup_mode mode, const char *id)
{
	const char *number = strsep(&line, ":"), *tree = strsep(&line, ":");
	char path[1024];
	int n;

	if (!line || strstr(line, "/..") || !is_named(line, id))
		return;
	if (strcmp(number, "0") == 0)
		tree = mode == CGROUP_V2 ? "" : "unified";
	else if (str_starts(tree, "name="))
		tree += strlen("name=");
	for (; tree; tree = strchr(tree, ',')) {
		tree += *tree == ',';
		n = snprintf(path, sizeof(path), "/sys/fs/cgroup/%.*s%s", (int)strcspn(tree, ","), tree, line);
		if (n > 0 && (size_t)n < sizeof(path) && rmdir(path) == 0)
			break; /* the others are links to it */
	}
}

/* Whose runtime was killed before there was a process to ask: where both engines make them unless they are told otherwise, in every tree. */
static void remove_usual(const char *id)
{
	static const char *const forms[] = { "docker/", "libpod_parent/libpod-" };
	DIR *top = opendir("/sys/fs/cgroup");
	const struct dirent *tree;
	char path[512];

	while (top && (tree = readdir(top)))
		for (size_t i = 0; i < ARRAY_LEN(forms) && strcmp(tree->d_name, "..") != 0; i++) {
			snprintf(path, sizeof(path), "/sys/fs/cgroup/%s/%s%.79s", tree->d_name, forms[i], id);
			(void)rmdir(path);
		}
	if (top)
		closedir(top);
}

void docker_group_remove(const struct docker_group *group, const char *id)
{
	auto_free char *text = group && group->lines ? strdup(group->lines) : NULL;
	char *rest = text;

	for (char *line; rest && (line = strsep(&rest, "\n"));)
		remove_line(line, group->host.mode, id);
	if (!text && *id)
		remove_usual(id);
}

void docker_group_close(struct docker_group *group)
{
	free(group->lines);
	group->lines = NULL;
	if (group->is_open)
		cgroup_close(&group->cgroup);
	group->is_open = false;
}
