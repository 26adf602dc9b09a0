/* The keeper: the process outside that owns one box. */
#ifndef BOX_KEEPER_H
#define BOX_KEEPER_H

#include "plan/plan.h"

struct keeper_fds {
	int front;    /* link to the front */
	int stdio[3]; /* the payload's ends */
	int events;   /* for egress: what it tells goes straight to the front; -1: no network */
	int control;  /* a box that lives: what is asked beside jobs; -1: none */
	char *owner;  /* shared with the front, OWNER_NAME_MAX: the name that everything lasting will carry */
};

/* Builds the box, watches over it, takes it down and reports. Runs in a process of its own, forked for it. */
_Noreturn void keeper_main(struct cordon_plan *plan, const struct keeper_fds *fds);

#endif
