/* Limits without cgroups: looking at what a box uses. Runs in the keeper. */
#ifndef BOX_WATCH_H
#define BOX_WATCH_H

#include <stdint.h>
#include <sys/types.h>

struct watch_usage {
	uint64_t cpu_us, memory_bytes, processes; /* of all descendants of a process */
	uint64_t disk_bytes, inodes;              /* of a directory */
};
void watch_read(pid_t root, struct watch_usage *ret);
/* 0 or -errno; bounded: a tree that is too large to count counts as over. */
int watch_tree(int dirfd, struct watch_usage *ret);
/* Adds files without a name that descendants of the process have open: on the file system of `dirfd`, and in one of these directories (NULL-terminated) as they
 * see them. Not seen is what is only mapped, or on its way through a socket. */
void watch_unlinked(pid_t root, int dirfd, const char *const *places, struct watch_usage *ret);

#endif
