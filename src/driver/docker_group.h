/* The control group of a container that a daemon on this host made, to be read. Runs in cordon-engine-docker, with the caller's rights. */
#ifndef ENGINE_DOCKER_GROUP_H
#define ENGINE_DOCKER_GROUP_H

#include "driver/spec.h"
#include "os/cgroup.h"

struct docker_group {
	struct cgroup_host host;
	struct cgroup cgroup;
	bool is_open;
};
void docker_group_open(struct docker_group *group, int pid);
/* ENGINE_LACKS_*: which of the limits the kernel does not know of. Daemons leave out what they cannot do, and not all of them say so. */
unsigned docker_group_lacks(const struct docker_group *group, const struct spec_limits *limits);
bool docker_group_read(const struct docker_group *group, struct cgroup_usage *ret_usage);
void docker_group_close(struct docker_group *group);

#endif
