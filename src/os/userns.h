/* User namespaces and their id maps. Runs in the keeper. Helpers return -errno. */
#ifndef OS_USERNS_H
#define OS_USERNS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct id_range {
	unsigned inside, outside, count;
};
/* Writes the maps of process pid. With deny_setgroups (an ordinary user must), groups cannot be changed inside. */
int userns_write_maps(pid_t pid, const struct id_range *uids, size_t uid_count, const struct id_range *gids,
		      size_t gid_count, bool deny_setgroups);
/* This process is in one that is not the host's: its root has rights over what is mapped, and nothing else. */
bool userns_is_own(void);
/* A namespace fd that serves only as the map of an idmapped mount; as many ranges of groups as of users. */
int userns_for_idmap(const struct id_range *uids, const struct id_range *gids, size_t count);
/* inotify counts against the caller's own on the host: a box gets a share, so many instances and half of the watches. The numbers belong to its
 * user namespace: this process's own, by way of `proc`, a /proc. -ENOENT: the kernel has no such numbers. */
int userns_share_inotify(int proc);
/* The same, from a process that goes in, for the namespace of the process behind pidfd, which must not be the caller's. Needs: CAP_SYS_ADMIN over
 * the namespace. */
int userns_limit_inotify(int pidfd);

#endif
