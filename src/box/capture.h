/* The box's side of egress: the gateway behind its link, and its sockets on their way to the egress process. */
#ifndef BOX_CAPTURE_H
#define BOX_CAPTURE_H

#include "box/inside.h"

/* In the payload's child, in a fresh network namespace, with all rights over it. The sockets go to egress and are closed here. */
int capture_open(struct inside *in);

#endif
