/* What the cgroup*.c files share among themselves. Others include os/cgroup.h. */
#ifndef OS_CGROUP_TREE_H
#define OS_CGROUP_TREE_H

#include "os/cgroup.h"

/* Who asks, and what systemd offers him: apart, so that tests can be someone else. */
struct cgroup_who {
	pid_t pid, parent;
	uid_t uid;
	bool has_bus; /* a systemd user manager can be asked for a scope */
};
/* The probe over given texts of /proc/self/mountinfo and /proc/self/cgroup, which it cuts up. */
void cgroup_probe_texts(struct cgroup_host *ret_host, char *mountinfo, char *self, const struct cgroup_who *who);
/* v2: where below the mount a group of ours can hold controllers. `mount` is the mount point, `own` our
 * group's directory. */
void cgroup_probe_v2(struct cgroup_host *host, const char *mount, const char *own, const struct cgroup_who *who);

/* The limits into the directories that are open; -ENOENT on v2 where a controller is not enabled yet. */
int cgroup_write_limits(const struct cgroup *cg, const struct cgroup_limits *limits);
int cgroup_write_later(const struct cgroup *cg, const struct cgroup_limits *limits); /* v1: share and rates */
/* v2: enables what can be enabled from the parent's parent down, after emptying it where host->needs_leaf. */
int cgroup_enable(const struct cgroup_host *host);
bool cgroup_passes_on(const struct cgroup_host *host); /* whether the parent does, so that no process can be in it */
/* CGROUP_CAN_* of a list such as cgroup.controllers holds. */
unsigned cgroup_controllers(const char *list);
/* The disks in the text of /proc/partitions, which it cuts up: set `rest`, then ask until false. */
struct cgroup_disks {
	char *rest;
	const char *disk; /* the last whole disk's name */
};
bool cgroup_next_disk(struct cgroup_disks *walk, dev_t *ret_disk);

#endif
