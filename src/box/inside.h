/*
 * Becoming a box: the steps of init and of the payload's child, in the order they run. A step that fails names itself in the
 * error. A layer counts as applied when its step is done.
 */
#ifndef BOX_INSIDE_H
#define BOX_INSIDE_H

#include "plan/plan.h"

struct inside {
	const struct cordon_plan *plan;
	const struct cgroup *cgroup;       /* NULL: none (yet) */
	bool awaits_cgroup;                /* the keeper sends it while we set up */
	int link;                          /* to the keeper */
	int stdio[3];                      /* the payload's pipes; unused with a terminal */
	int tty_slave;                     /* -1: none */
	const int *prepared, *prepared_in; /* see box/root.h */
	int scratch;
	const char *scratch_path;
	unsigned applied;    /* LAYER_BIT */
	unsigned namespaces; /* layers that came with the clone */
	uid_t uid;           /* the payload's ids as seen from inside */
	gid_t gid;
	int root;     /* the new root directory, for Landlock; -1 at process level */
	int gate[2];  /* the payload's child waits here until init has left the host's tree */
	int listener; /* seccomp's, on its way to the keeper; -1: none */
	char *work;   /* process level: the private directory on the host */
	struct cordon_error *err;
};

/* init: everything that needs rights. */
int inside_setup(struct inside *in);
/* init, while the payload's child gets ready: what takes time. Then the gate is opened. */
int inside_finish(struct inside *in);
/* The payload's child: takes its rights away one by one and executes. Returns only on failure. */
int inside_become_payload(struct inside *in);

#endif
