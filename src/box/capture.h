/* The box's side of egress: the gateway behind its link, and its sockets on their way to the egress process. */
#ifndef BOX_CAPTURE_H
#define BOX_CAPTURE_H

#include "box/inside.h"

/* In the box's network namespace, fresh, with all rights over it (os/gateway.h, also for settings and elsewhere). The sockets go to egress, over
 * `to`, and are closed here. */
struct capture_options {
	const struct net_rules *rules;
	int settings, elsewhere, to;
	int wanted;                                /* learns of every socket: see box/egress.h; -1: nobody waits */
	int (*link)(void *arg, int gateway_netns); /* NULL where there are rights over the box's */
	void *arg;
};
int capture_make(const struct capture_options *with, struct cordon_error *err);

/* In init, once the child is there: a network namespace is most of what the gateway costs, so that init makes this one while the child makes
 * the box's own. init is left in it until it meets the child. */
int capture_make_namespace(struct inside *in);
/* In the payload's child. */
int capture_open(struct inside *in);

#endif
