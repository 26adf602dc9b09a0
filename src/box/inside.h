/*
 * Becoming a box: the steps of init and of the payload's child, in the order they run. A step that fails names itself in the
 * error. A layer counts as applied when its step is done.
 */
#ifndef BOX_INSIDE_H
#define BOX_INSIDE_H

#include "plan/plan.h"

struct root;

struct inside {
	const struct cordon_plan *plan;
	const struct cgroup *cgroup;       /* NULL: none (yet) */
	bool awaits_cgroup;                /* the keeper sends it while init begins */
	bool born_there;                   /* the payload's child need not join */
	struct cgroup *group;              /* what `cgroup` is, once there is one */
	struct root *root;                 /* while it is being built */
	int link;                          /* to the keeper */
	int stdio[3];                      /* the payload's pipes; unused with a terminal */
	int tty_slave;                     /* -1: none; the child gets it at the gate */
	const int *prepared, *prepared_in; /* see box/root.h */
	int *sources; /* fds of the host's that only building the root needs; NULL: none that init has to give up */
	size_t source_count;
	int image; /* see box/root.h */
	int scratch;
	const char *scratch_path;
	unsigned applied;    /* LAYER_BIT */
	unsigned namespaces; /* layers that came with the clone */
	uid_t uid;           /* the payload's ids as seen from inside */
	gid_t gid;
	int gate;        /* between init and the payload's child */
	int netns;       /* a socket in the network namespace, which the child makes and init goes to; -1: none */
	int rules;       /* Landlock's, on their way to the child; -1: none yet */
	int capture;     /* to egress, for the sockets of the gateway; -1: no network */
	int wanted;      /* the same, for what wakes it; -1: nobody waits */
	int authority;   /* from egress: certificates for the box; -1: none */
	int proc_net;    /* /proc/sys/net, while there is one that can be written; -1: not needed */
	bool no_sockets; /* the network namespace was given up: sockets go with it */
	int listener;    /* seccomp's, on its way to the keeper; -1: none */
	char *work;      /* process level: the private directory on the host */
	/* a job in a box that lives */
	int files;                /* what goes in: box/feed.h; -1: nothing */
	const struct strv *paths; /* where it goes */
	struct cordon_error *err;
};

/* init, before the payload's child is forked: who it is. */
int inside_begin(struct inside *in);
/* init, while the child gets ready beside it: everything else that needs rights; then the gate is opened. */
int inside_setup(struct inside *in);
/* The payload's child: its network and its limits, takes its rights away one by one, waits at the gate, executes. Returns only on
 * failure. */
int inside_become_payload(struct inside *in);
/* A box that lives: `plan` is the job's. As above, in a box that stands, from what init has left of its rights. */
int inside_become_job(struct inside *in);
/* Steps of theirs: makes what can be made before the gate; applies it. */
int inside_rules(struct inside *in);
int inside_landlock(struct inside *in);

#endif
