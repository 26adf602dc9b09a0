/* The keeper's state: what is the same for every box, and what engines tell it. */
#ifndef ENGINE_KEEPER_STATE_H
#define ENGINE_KEEPER_STATE_H

#include "base/owner.h"
#include "box/egress.h"
#include "box/prepare.h"
#include "engine/engine.h"
#include "engine/keeper.h"
#include "stream/engine.h"

enum keeper_stage {
	KEEPER_RUNS,     /* up to the payload's end */
	KEEPER_COUNTS,   /* what it used is asked for */
	KEEPER_COLLECTS, /* files go out */
	KEEPER_IDLE,     /* a box that lives, between two jobs */
	KEEPER_LEAVES,   /* it has been told to go */
};

struct keeper {
	struct cordon_plan *plan;
	const struct keeper_fds *fds;
	const struct engine_ops *ops;
	void *engine; /* the engine's own */
	char owner[OWNER_NAME_MAX];
	struct prepared prepared;
	struct egress_process egress;
	struct cordon_error lost; /* egress is gone: every later job is told */
	struct link_report report;
	enum keeper_stage stage;
	uint64_t started_us, ended_us, deadline_us, cpu_check_us, watch_us, guard_us, egress_us;
	uint64_t early_signals; /* bit n-1: signal n, which came before there was a payload */
	bool ending, in_grace, front_gone, collected, cut_short, swept, has_told, has_egress;
	bool is_deaf;    /* nobody is there yet who could hear a signal, and that may take its time */
	bool is_over;    /* whoever made it is gone: no deadline of a payload's counts any more */
	unsigned groups; /* control groups of this box that a sweep need not look at */
	pid_t init_pid;  /* whose descendants the payload's processes are; 0: another engine knows */
	/* the job */
	uint64_t wall_time_ms;
	uint32_t out_count;
	bool runs; /* it has a command */
	/* numbers: the last; those when the job began */
	struct engine_exited numbers, then;
	uint64_t cpu_base_us;
	bool has_base;
	unsigned awaited; /* answers of the engine that are still to come */
	/* a box that lives: keeper_live.c */
	bool is_open, control_gone;
	uint64_t paused_us;     /* since when; 0: it is not */
	unsigned asked, before; /* LINK_STAT and the like, 0: nothing; how many answers come before this one's */
};

/* ---- for engines (keeper.c) ---- */

/* k->owner, before anything is made that lasts. The front knows it from then on. */
int keeper_take_name(struct keeper *k, struct cordon_error *err);
void keeper_note(struct keeper *k, const struct cordon_error *err);   /* the first one counts */
void keeper_failed(struct keeper *k, const struct cordon_error *err); /* in the box: egress may know better why */
void keeper_started(struct keeper *k, unsigned layers);
void keeper_exited(struct keeper *k, const struct link_exit *exit);
void keeper_numbers(struct keeper *k, const struct engine_exited *numbers);
void keeper_end(struct keeper *k);
void keeper_tell(struct keeper *k);
uint64_t keeper_cpu_used_us(const struct keeper *k);

/* ---- keeper_live.c ---- */

void keeper_opened(struct keeper *k);                                 /* it stands, and takes jobs */
void keeper_answer(struct keeper *k, const struct cordon_error *err); /* to what was asked; NULL: by the numbers */
void keeper_take_job(struct keeper *k, const struct link_message *m, int fds[LINK_JOB_FDS], size_t n);
void keeper_finish_job(struct keeper *k);
void keeper_asked(struct keeper *k); /* something, over fds->control */
void keeper_thaw(struct keeper *k);

/* ---- keeper.c, for it ---- */

void keeper_account(struct keeper *k);
void keeper_miss_init(struct keeper *k);

#endif
