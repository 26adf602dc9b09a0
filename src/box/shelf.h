/*
 * A box's shelf: where the daemon of another engine finds what goes into the container, since it can only be told paths. A directory
 * STATE/shelf/OWNER on the host, in sight of the daemon.
 *
 * As root a file system in memory lies on it, of the size of the box's private files: home and /dev/shm are directories of it, other private
 * directories and idmapped copies of the mounts are attached in it. One unmount takes all of it away, and it goes as soon as the container
 * runs, which has its own hold on what it needs. An ordinary user cannot mount: there it holds small files and places only, and stays
 * as long as the box.
 */
#ifndef BOX_SHELF_H
#define BOX_SHELF_H

#include "box/prepare.h"
#include "plan/plan.h"

struct shelf {
	char *path; /* NULL: none */
	int fd;
};
#define SHELF_INIT       \
	{                \
		.fd = -1 \
	}

/* The names on it. MOUNT and PRIVATE are followed by a number. */
#define SHELF_HOME "home"
#define SHELF_SHM "shm"
#define SHELF_TMP "tmp"
#define SHELF_SYS "sys"
#define SHELF_EMPTY "empty"
#define SHELF_LINK "net"
#define SHELF_ETC "etc"
#define SHELF_MOUNT "mount"
#define SHELF_PRIVATE "private"

/* Runs in the keeper, with the caller's rights. */
int shelf_make(struct shelf *ret, const struct cordon_plan *plan, const struct prepared *prepared, const char *owner,
	       struct cordon_error *err);
void shelf_close(struct shelf *shelf);

/* By the owner's name alone; see lasting.h. */
void shelf_undo(const char *state_dir, const char *owner);
void shelf_sweep(const char *state_dir);

/* limits.inodes in equal parts: the home with /dev/shm, /tmp, and each private directory. */
static inline uint64_t shelf_inodes(const struct cordon_plan *plan)
{
	return plan->limits.inodes / (2 + plan->private_count);
}
/* What is left of limits.disk for the home and /dev/shm. */
uint64_t shelf_rest_bytes(const struct cordon_plan *plan);

#endif
