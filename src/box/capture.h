/* The box's side of egress: the gateway behind its link, and its sockets on their way to the egress process. */
#ifndef BOX_CAPTURE_H
#define BOX_CAPTURE_H

#include "box/inside.h"

/* In init, once the child is there: a network namespace is most of what the gateway costs, so that init makes this one while the child makes
 * the box's own. init is left in it until it meets the child. */
int capture_make_namespace(struct inside *in);
/* In the payload's child, in a fresh network namespace, with all rights over it. The sockets go to egress and are closed here. */
int capture_open(struct inside *in);

#endif
