/* The keeper's state, for keeper.c and keeper_build.c. */
#ifndef BOX_KEEPER_STATE_H
#define BOX_KEEPER_STATE_H

#include "base/owner.h"
#include "box/egress.h"
#include "box/keeper.h"
#include "box/link.h"
#include "box/prepare.h"

struct keeper {
	struct cordon_plan *plan;
	const struct keeper_fds *fds;
	char owner[OWNER_NAME_MAX];
	struct prepared prepared;
	struct cgroup cgroup;
	struct cgroup_limits cgroup_limits;
	bool has_cgroup;
	struct egress_process egress;
	int link, init, listener; /* link to init; init's pidfd; -1 where not there */
	pid_t init_pid;
	uint64_t started_us, deadline_us, term_us, cpu_check_us, throttle_us, guard_us, later_us, denied, mediated,
		mediated_us;
	bool ending, done, front_gone, swept;
	uint64_t early_signals; /* bit n-1: signal n, which came before there was a payload */
	struct link_report report;
};

/* Values that came with the caller's environment: only the front fetches secrets. */
void keeper_forget_secrets(const struct net_config *config);
/* The cgroup, the prepared things, init in its namespaces with its ids; init has been told to go on. */
int keeper_build(struct keeper *k, struct cordon_error *err);

#endif
