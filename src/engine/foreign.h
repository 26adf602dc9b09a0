/*
 * A box that another engine builds: the keeper's part. The driver (cordon-engine, cordon-engine-docker) makes the container, cordon-init in it starts the
 * payload; the keeper speaks with both, carries input and output, watches the limits that are its own, and fills the same report as for a
 * native box, so that the front does not know the difference.
 */
#ifndef BOX_FOREIGN_H
#define BOX_FOREIGN_H

#include "engine/keeper.h"
#include "box/link.h"

/* From nothing to nothing: when it returns, the container is gone. Runs in the keeper, with the caller's rights. */
void foreign_run(struct cordon_plan *plan, const struct keeper_fds *fds, const char *owner, struct link_report *report);

#endif
