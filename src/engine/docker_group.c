/*
 * The control group of a container that a daemon on this host made: what the daemon does not tell, or only after a second, is read where the
 * kernel tells it. Nothing is changed. Readable by anybody on usual hosts.
 */
#include "engine/docker_group.h"

#include "base/fd.h"
#include "base/str.h"

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
