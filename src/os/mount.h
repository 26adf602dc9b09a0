/*
 * Mounts, mostly by fd: the new mount API, so that what was checked is what is mounted and nothing is resolved twice. Every function
 * returns an fd or 0, or -errno. Needs CAP_SYS_ADMIN over the mount namespace.
 */
#ifndef OS_MOUNT_H
#define OS_MOUNT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/mount.h>

/* A detached file system: "tmpfs", "proc", "devpts" with NULL-terminated key, value pairs; attr is MOUNT_ATTR_*. */
int mount_new(const char *type, const char *const *options, unsigned attr);
int mount_new_tmpfs(uint64_t size_bytes, uint64_t inodes, const char *mode, unsigned attr);
/* A detached copy of the tree at dirfd/path ("" for dirfd itself). */
int mount_clone(int dirfd, const char *path, bool recursive);
/* Adds and removes MOUNT_ATTR_* on a tree and cuts it off from the host's mount events. */
int mount_restrict(int fd, unsigned set, unsigned clear, bool recursive);
int mount_restrict_at(int dirfd, const char *path, unsigned set, unsigned clear, bool recursive);
/* The kernel's number of the mount that the path ends on; fd and path as for openat(), "" for fd itself. -ENOSYS: it tells none. */
int mount_id(int fd, const char *path, uint64_t *ret_id);
int mount_idmap(int fd, int userns_fd, bool recursive);
/* Attaches a detached tree at dirfd/path; a symlink at the end is not followed. */
int mount_attach(int fd, int dirfd, const char *path);

/* By name, and at once: for places that nobody else can change. Symlinks are followed; flags are MS_*. A file system is "tmpfs", "proc" or "devpts" with
 * its options, comma-separated; a bind comes with everything mounted below it. */
int mount_fs(const char *type, const char *options, unsigned long flags, const char *path);
int mount_tmpfs(uint64_t size_bytes, uint64_t inodes, const char *mode, unsigned long flags, const char *path);
int mount_bind(const char *source, const char *path);
/* What is mounted in this namespace from now on stays in it. The kernel sees to that only where a user namespace came with it. */
int mount_keep_to_ourselves(void);

/* The current directory's mount becomes the root. The old one lies on top of it, where no path from "/" leads, until
 * mount_drop_old_root(), which must be called with the same current directory. */
int mount_pivot(void);
int mount_drop_old_root(void);

#endif
