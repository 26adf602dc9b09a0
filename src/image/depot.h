/*
 * The writing side of the store (store/store.h has its layout). What is made lies in tmp/OWNER until it is whole and on the disk, and is then
 * renamed: a crash at any moment leaves what was there, and a directory whose name says that its owner is gone, which the next one removes.
 * Runs in cordon-image.
 */
#ifndef IMAGE_DEPOT_H
#define IMAGE_DEPOT_H

#include "base/owner.h"
#include "store/store.h"

struct depot {
	int dir;  /* the store */
	int lock; /* its lock file, held shared */
	int tmp;  /* this process's own directory, empty at first */
	char owner[OWNER_NAME_MAX];
};
#define DEPOT_INIT                               \
	{                                        \
		.dir = -1, .lock = -1, .tmp = -1 \
	}

/* Makes the store where there is none, takes its lock (shared) and a directory of one's own, and removes those of the dead. */
int depot_open(struct depot *d, const char *dir, struct cordon_error *err);
/* Removes one's own directory, collects if nobody else imports, and closes. Accepts a half-opened one. */
void depot_close(struct depot *d);

/* A new directory in tmp/OWNER: an fd, or -1. */
int depot_make(struct depot *d, const char *name, struct cordon_error *err);
/* Everything that was written is on the disk. */
int depot_sync(struct depot *d, struct cordon_error *err);
bool depot_has(const struct depot *d, const char *kind, const char *hex); /* kind: "layers" or "roots" */
/* tmp/OWNER/name becomes kind/hex; if somebody else was first, theirs stays, since it is the same. */
int depot_publish(struct depot *d, const char *name, const char *kind, const char *hex, struct cordon_error *err);
/* Writes the record: from here on the name leads to the image. */
int depot_name(struct depot *d, const struct store_image *image, struct cordon_error *err);
/* Takes the name away. */
int depot_unname(struct depot *d, const char *name, struct cordon_error *err);

/* Every image, by name; *ret is malloc'd. Records that cannot be read are -1. */
int depot_list(int store, struct store_image **ret, size_t *ret_count, struct cordon_error *err);

#endif
