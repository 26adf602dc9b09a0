/*
 * The front of one job: its input, output, signals and result, in the caller's process. cordon_run() has one of them and a keeper for it;
 * a box that lives has one for each job. With the caller's rights.
 */
#ifndef BOX_FRONT_H
#define BOX_FRONT_H

#include "base/str.h"
#include "box/collect.h"
#include "box/link.h"
#include "box/traffic.h"
#include "plan/plan.h"

struct front_stream {
	int fd;
	struct str data;
	uint64_t taken;
	bool truncated;
};

struct front {
	const struct cordon_plan *plan;
	struct cordon_io io;
	int keeper;         /* link */
	int keeper_process; /* pidfd */
	int stdin_to;       /* write end of the payload's stdin, or -1 */
	int tty;            /* the terminal's master, or -1 */
	char *pending;      /* read from stdin, not yet written */
	size_t pending_len, pending_at;
	bool in_line; /* what was read last did not end one */
	struct front_stream streams[2];
	struct collect collect;
	struct traffic *traffic;
	struct cordon_error collect_error;
	char *owner;    /* OWNER_NAME_MAX, shared with the keeper; empty until it has a name */
	bool collected; /* LINK_COLLECTED has come */
	int link_error; /* errno of the link to the keeper, or 0 */
	int read_error; /* the same of the payload's output */
	bool ended, end_waits, reported,
		refused; /* end_waits: no room for LINK_END yet; refused: the caller wants no more output */
	enum link_reason end_reason;
	struct link_report report;
	struct cordon_error gone; /* the box that was to run this is not there any more */
	char *buffer;             /* CHUNK */
};

struct pipes {
	int in[2], out[2], err[2];
};

/* 0 or -ENOMEM; front_done() either way. `io` may be NULL. What is not asked for here is the caller's: keeper, owner, traffic. */
int front_init(struct front *f, const struct cordon_plan *plan, const struct cordon_io *io, struct traffic *traffic);
void front_done(struct front *f);
/* The payload's stdio. 0 or -errno; front_close_pipes() either way, or what is left of them after front_take_pipes(). */
int front_open_pipes(struct front *f, struct pipes *p);
void front_close_theirs(struct pipes *p);
void front_close_pipes(struct pipes *p);
void front_take_pipes(struct front *f, struct pipes *p);
/* None of a pair as 0, 1 or 2, which the payload's own become: a copy there would outlive them in keeper and init. 0 or -errno. */
int front_above_stdio(int pair[2]);
/* Until the keeper has reported, or is gone. */
void front_serve(struct front *f);
/* The job is gone: what it wrote before is still in the pipes, and nobody can add to it. */
void front_drain(struct front *f);
int front_result(struct front *f, struct cordon_result **ret_result, struct cordon_error *err);

#endif
