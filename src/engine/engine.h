/*
 * Who makes a box and acts on it: one table of functions for each kind. native.c builds boxes itself and hands their init descriptors;
 * foreign.c has containers built by an engine that people already run, by way of a driver (src/driver), and speaks a byte stream with the init
 * in them. The keeper (keeper.c, keeper_live.c) has no other way to a box, and what it does with one (deadlines, limits, jobs, pausing, what is
 * reported) is the same for all. Which table a box has, and how to ask whether an engine is there at all, is in its row of plan/engine.h.
 */
#ifndef ENGINE_ENGINE_H
#define ENGINE_ENGINE_H

#include "box/link.h"

#include <poll.h>

struct keeper;

enum { ENGINE_FDS = 8 }; /* that an engine may wait for */

enum engine_state {
	ENGINE_GONE,   /* nothing more comes of it */
	ENGINE_LEAVES, /* init cannot be spoken to any more */
	ENGINE_SPEAKS, /* some of the output is still on its way to the front */
	ENGINE_STANDS, /* another job could follow */
};

struct engine_ops {
	/* Builds it, or has that begun: keeper_started() follows, or keeper_opened() where it lives. It has set the deadline for that. */
	int (*create)(struct keeper *k, struct cordon_error *err);
	/* A job for one that lives: takes what it needs of `fds`. And the job is over. */
	int (*exec)(struct keeper *k, const struct link_message *job, int fds[LINK_JOB_FDS], size_t n,
		    struct cordon_error *err);
	void (*rest)(struct keeper *k);
	/* What the job is to hand out goes to the front; then `collected`. */
	void (*files)(struct keeper *k);
	void (*signal)(struct keeper *k, int sig);
	void (*window)(struct keeper *k, uint32_t window); /* NULL: the front has the terminal itself */
	/* Answered by keeper_numbers(), at once or later. Unless `all`, only what limits are held to matters. */
	void (*stats)(struct keeper *k, bool all);
	/* Answered by keeper_numbers() or, where it cannot be had, by keeper_answer(). */
	void (*pause)(struct keeper *k);
	void (*resume)(struct keeper *k);
	/* The job is to end, or a box that has none; a deadline is set. Then, each time the deadline comes, harder. */
	void (*end)(struct keeper *k);
	void (*force)(struct keeper *k);
	/* All is known: the box is to go. */
	void (*leave)(struct keeper *k);
	/* After it is gone, or was never built; calls keeper_tell() as soon as nothing is to be added to the report. */
	void (*destroy)(struct keeper *k);
	/* The loop: what to wait for, and until when at the latest; what has come; where it stands. */
	uint64_t (*await)(struct keeper *k, struct pollfd fds[ENGINE_FDS], uint64_t now);
	void (*turn)(struct keeper *k, const struct pollfd fds[ENGINE_FDS], uint64_t now);
	enum engine_state (*state)(const struct keeper *k);
	/* Why there is no payload: nothing was heard in time (`silent`), or it went without a word. */
	void (*explain)(const struct keeper *k, bool silent, struct cordon_error *err);
	uint64_t look_us; /* between two looks at the numbers, at least */
};
extern const struct engine_ops native_ops, foreign_ops;

#endif
