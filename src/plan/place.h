/*
 * Where a file really lies: its file system, and its path in that. A bind mount shows the same place under another name; two
 * names are compared by their places. Reads /proc/self/mountinfo, changes nothing.
 */
#ifndef PLAN_PLACE_H
#define PLAN_PLACE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct place {
	dev_t dev;  /* as mountinfo tells it, which is not always st_dev */
	char *path; /* from the file system's own root */
};

struct place_mount {
	unsigned long id;
	struct place place;
	char *point; /* where it is mounted */
};

struct place_table {
	struct place_mount *mounts;
	size_t count;
};

int place_load(struct place_table *ret);
void place_done(struct place_table *table);
/* The place of fd, whose real path is given. *ret_path is malloc'd. -ENOENT where mountinfo does not know it. */
int place_of(const struct place_table *table, int fd, const char *real, struct place *ret);
/* One is the other or lies in it. */
bool place_related(const struct place *a, const struct place *b);

#endif
