/* A native box: its state, for native.c and native_build.c. */
#ifndef ENGINE_NATIVE_H
#define ENGINE_NATIVE_H

#include "engine/keeper_state.h"

struct native {
	struct keeper *k;
	struct cgroup cgroup;
	struct cgroup_limits cgroup_limits;
	bool has_cgroup;
	int link, init, listener; /* link to init; init's pidfd; of the seccomp filter; -1 where not there */
	pid_t init_pid;
	uint64_t throttle_us, later_us, denied, mediated, mediated_us;
	bool is_gone;
};

/* The cgroup, the prepared things, init in its namespaces with its ids; init has been told to go on. */
int native_build(struct native *n, struct cordon_error *err);
void native_give_pipes(const struct native *n, const int stdio[3]); /* to the payload's user */

#endif
