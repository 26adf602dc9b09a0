/* The keeper's state, for keeper.c and keeper_build.c. */
#ifndef BOX_KEEPER_STATE_H
#define BOX_KEEPER_STATE_H

#include "base/owner.h"
#include "box/egress.h"
#include "engine/keeper.h"
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
	uint64_t started_us, deadline_us, term_us, cpu_check_us, throttle_us, guard_us, later_us, egress_us, denied,
		mediated, mediated_us;
	bool ending, done, front_gone, swept;
	uint64_t wall_time_ms;  /* of the job */
	uint64_t early_signals; /* bit n-1: signal n, which came before there was a payload */
	struct link_report report;
	/* a box that lives: keeper_live.c */
	bool is_open, in_job, control_gone;
	uint32_t out_count;       /* of the job */
	bool runs;                /* the job has a command */
	uint64_t paused_us;       /* since when; 0: it is not */
	struct cgroup_usage then; /* what had been used when the job began */
	struct cordon_error lost; /* egress is gone: every later job is told */
};

/* Values that came with the caller's environment: only the front fetches secrets. */
void keeper_forget_secrets(const struct net_config *config);
void keeper_give_pipes(const struct keeper *k, const int stdio[3]); /* to the payload's user */
/* The cgroup, the prepared things, init in its namespaces with its ids; init has been told to go on. */
int keeper_build(struct keeper *k, struct cordon_error *err);

/* keeper.c */
bool keeper_turn(struct keeper *k); /* returns once something happened; false when init is gone */
void keeper_end(struct keeper *k);
void keeper_note(struct keeper *k, const struct cordon_error *err); /* the first one counts */
void keeper_hear(struct keeper *k);                                 /* one message of init's */
void keeper_sweep(struct keeper *k);
void keeper_collect(struct keeper *k);
void keeper_account(struct keeper *k);
void keeper_miss_init(struct keeper *k);

/* keeper_live.c: in place of watching over one job */
void keeper_live(struct keeper *k);
void keeper_opened(struct keeper *k);
void keeper_take_job(struct keeper *k, const struct link_message *m, int fds[LINK_JOB_FDS], size_t n);
void keeper_asked(struct keeper *k); /* something, over fds->control */
void keeper_thaw(struct keeper *k);
void keeper_pause_late(struct keeper *k); /* a job begins in a box that is paused */

#endif
