/* Starting a keeper and waiting for its end. In the front, with the caller's rights. */
#ifndef BOX_SPAWN_H
#define BOX_SPAWN_H

#include "engine/keeper.h"

struct spawned {
	pid_t pid;
	char *owner; /* OWNER_NAME_MAX, shared with the keeper; empty until it has a name */
};

int spawn_init(struct spawned *s); /* 0 or -ENOMEM */
/* `fds` without an owner. The keeper has its own copies of them. 0 or -errno. */
int spawn_keeper(struct spawned *s, const struct cordon_plan *plan, struct keeper_fds *fds);
/* Its end is the end of the box: nothing of it is left on the host. Where it was killed on the way there, that is ours to do. */
void spawn_wait(struct spawned *s, const struct cordon_plan *plan, bool reported);
void spawn_done(struct spawned *s);

#endif
