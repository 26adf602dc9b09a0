/*
 * The control group of a container that a daemon on this host made: what the daemon does not tell, or only after a second, is read where the
 * kernel tells it. Nothing is changed. Readable by anybody on usual hosts.
 */
#include "driver/docker_group.h"

#include "base/fd.h"
#include "base/str.h"
#include "stream/engine.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

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
	char path[64], *text = NULL, *rest;

	group->cgroup = (struct cgroup)CGROUP_INIT;
	snprintf(path, sizeof(path), "/proc/%d/cgroup", pid);
	if (pid <= 0 || fd_load_at(AT_FDCWD, path, 1 << 16, &text) < 0)
		return;
	group->host.mode = access("/sys/fs/cgroup/cgroup.controllers", F_OK) == 0 ? CGROUP_V2 : CGROUP_V1;
	rest = text;
	for (char *line; (line = strsep(&rest, "\n"));)
		open_line(&group->cgroup, line, group->host.mode);
	str_free_p(&text);
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

unsigned docker_group_lacks(const struct docker_group *g, const struct spec_limits *l)
{
	bool is_v1 = g->host.mode == CGROUP_V1;
	const int *dir = g->cgroup.dir;
	uint64_t memory =
		is_v1 ? read_limit(dir[CG_MEMORY], "memory.limit_in_bytes") : read_limit(dir[CG_UNIFIED], "memory.max");
	uint64_t pids = read_limit(dir[is_v1 ? CG_PIDS : CG_UNIFIED], "pids.max");

	return (l->memory_bytes && memory > l->memory_bytes ? ENGINE_LACKS_MEMORY : 0u) |
	       (l->processes && pids > l->processes ? ENGINE_LACKS_PROCESSES : 0u) |
	       (l->cpu_milli && read_cpu_milli(g) > l->cpu_milli ? ENGINE_LACKS_CPU : 0u);
}

bool docker_group_read(const struct docker_group *group, struct cgroup_usage *ret_usage)
{
	*ret_usage = (struct cgroup_usage){ 0 };
	return group->is_open && cgroup_read_usage(&group->cgroup, ret_usage) == 0;
}

void docker_group_close(struct docker_group *group)
{
	if (group->is_open)
		cgroup_close(&group->cgroup);
	group->is_open = false;
}
