/*
 * Files into a box that lives. The front walks what it was told to copy and sends an entry after the other, each regular file as an open
 * fd, over a socket of the job's own: so that nobody else has to read the host's files. Who takes them needs no rights but the payload's.
 */
#ifndef BOX_FEED_H
#define BOX_FEED_H

#include "plan/plan.h"

/* Front: all of plan->ins and the program text; waits for who takes them. Nobody takes them any more: 0, since that one tells why. */
int feed_send(const struct cordon_plan *plan, int sock, struct cordon_error *err);
/* The payload's child of a native box, with the payload's rights: `paths` are where they go. */
int feed_take(const struct cordon_plan *plan, const struct strv *paths, int sock, struct cordon_error *err);

#endif
