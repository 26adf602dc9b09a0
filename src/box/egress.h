/*
 * The keeper's hold on the egress process: started when the box first wants something of the network or has run for a
 * moment (beside init where TLS is looked into, and beside other engines), fed
 * with the box's sockets by the payload's child, ended with the box. The capture socket is its lifeline: keeper, init and the child hold one
 * end, and when the last is closed egress goes. Until it is started the sockets wait in `theirs`; the keeper learns from `wanted` that there is
 * something in one of them, and reads none.
 */
#ifndef BOX_EGRESS_H
#define BOX_EGRESS_H

#include "plan/plan.h"

struct egress_process {
	int process;      /* pidfd; -1: none */
	int capture;      /* our end */
	int theirs;       /* egress's, until it is started */
	int authority;    /* init's end: the box's certificates come this way; -1: none */
	int certificates; /* egress's, until it is started */
	int config;       /* what it is told */
	int wanted; /* an epoll instance of the box's sockets: readable when it is time to start; -1: it has been, or was at once */
};
#define EGRESS_INIT                                                                                            \
	{                                                                                                      \
		.process = -1, .capture = -1, .theirs = -1, .authority = -1, .certificates = -1, .config = -1, \
		.wanted = -1                                                                                   \
	}

/* Before init is cloned: the sockets between them. Nothing where the plan has no network. */
int egress_prepare(struct egress_process *e, const struct cordon_plan *plan, struct cordon_error *err);
/* For poll(), until it is time to call egress_start() (is_started false) or it has ended (true). */
int egress_fd(const struct egress_process *e);
bool egress_is_started(const struct egress_process *e);
/* After: the process itself. `events` goes to the front, and is taken. As root it becomes an id that nobody else has. */
int egress_start(struct egress_process *e, const struct cordon_plan *plan, int events, struct cordon_error *err);
/* What it said before it went, if it did; once. */
bool egress_said(const struct egress_process *e, struct cordon_error *ret);
/* It has ended although the box has not: why. False: it never served, so there was no network at all. */
bool egress_failed(struct egress_process *e, struct cordon_error *err);
/* The box is gone: egress tells the rest and goes; what the box wanted at the very last is a reason to start it still. False: there is none. */
bool egress_leave(struct egress_process *e, const struct cordon_plan *plan, int events);
/* Waits until it has; killed where it does not. */
void egress_end(struct egress_process *e);

#endif
