/* The control group of a container that a daemon on this host made, to be read. Runs in cordon-engine-docker, with the caller's rights. */
#ifndef ENGINE_DOCKER_GROUP_H
#define ENGINE_DOCKER_GROUP_H

#include "driver/spec.h"
#include "os/cgroup.h"

struct docker_group {
	struct cgroup_host host;
	struct cgroup cgroup;
	bool is_open;
	char *lines; /* of the process's list of groups */
};
void docker_group_open(struct docker_group *group, int pid);
/* ENGINE_LACKS_*: which of the limits the kernel does not know of. Daemons leave out what they cannot do, and not all of them say so. */
unsigned docker_group_lacks(const struct docker_group *group, const struct spec_limits *limits);
/* Whether swap is something to be limited: the kernel counts it, or the host has some. */
bool docker_group_can_swap(const struct docker_group *group);
bool docker_group_read(const struct docker_group *group, struct cgroup_usage *ret_usage);
/* The process is in groups of the container `id`: a number of another machine's is not. Anybody may look. */
bool docker_group_names(int pid, const char *id);
/* Those that carry the container's id, empty, once the daemon knows of it no more: one whose helper was killed, or that was itself, forgets
 * them. Where the group was never opened, or is NULL, in the usual places. */
void docker_group_remove(const struct docker_group *group, const char *id);
void docker_group_close(struct docker_group *group);

#endif
