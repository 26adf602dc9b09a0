/* Mounts: see mount.h. Runs in init (and, for idmapped sources, in the keeper), before privilege is dropped. */
#include "os/mount.h"

#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static int result(long r)
{
	return r < 0 ? -errno : (int)r;
}

int mount_new(const char *type, const char *const *options, unsigned attr)
{
	auto_close int fs = fsopen(type, FSOPEN_CLOEXEC);

	if (fs < 0)
		return -errno;
	for (; options && *options; options += 2)
		if (fsconfig(fs, FSCONFIG_SET_STRING, options[0], options[1], 0) < 0)
			return -errno;
	if (fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
		return -errno;
	return result(fsmount(fs, FSMOUNT_CLOEXEC, attr));
}

int mount_new_tmpfs(uint64_t size_bytes, uint64_t inodes, const char *mode, unsigned attr)
{
	char size[32], nr[32];
	const char *options[] = { "size", size, "nr_inodes", nr, "mode", mode, NULL };

	snprintf(size, sizeof(size), "%" PRIu64, size_bytes);
	snprintf(nr, sizeof(nr), "%" PRIu64, inodes);
	return mount_new("tmpfs", options, attr);
}

int mount_clone(int dirfd, const char *path, bool recursive)
{
	unsigned flags = OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_NO_AUTOMOUNT | AT_SYMLINK_NOFOLLOW;

	if (!*path)
		flags |= AT_EMPTY_PATH;
	if (recursive)
		flags |= AT_RECURSIVE;
	return result(open_tree(dirfd, path, flags));
}

int mount_restrict_at(int dirfd, const char *path, unsigned set, unsigned clear, bool recursive)
{
	struct mount_attr attr = { .attr_set = set, .attr_clr = clear, .propagation = MS_PRIVATE };
	unsigned flags = (*path ? AT_SYMLINK_NOFOLLOW : AT_EMPTY_PATH) | (recursive ? AT_RECURSIVE : 0);

	return result(mount_setattr(dirfd, path, flags, &attr, sizeof(attr)));
}

int mount_restrict(int fd, unsigned set, unsigned clear, bool recursive)
{
	return mount_restrict_at(fd, "", set, clear, recursive);
}

int mount_id(int fd, const char *path, uint64_t *ret_id)
{
	struct statx st;

	if (statx(fd, path, AT_EMPTY_PATH, STATX_MNT_ID, &st) < 0)
		return -errno;
	*ret_id = st.stx_mnt_id;
	return st.stx_mask & STATX_MNT_ID ? 0 : -ENOSYS;
}

int mount_idmap(int fd, int userns_fd, bool recursive)
{
	struct mount_attr attr = { .attr_set = MOUNT_ATTR_IDMAP, .userns_fd = (uint64_t)(unsigned)userns_fd };

	return result(mount_setattr(fd, "", AT_EMPTY_PATH | (recursive ? AT_RECURSIVE : 0), &attr, sizeof(attr)));
}

int mount_attach(int fd, int dirfd, const char *path)
{
	return result(move_mount(fd, "", dirfd, path, MOVE_MOUNT_F_EMPTY_PATH | (*path ? 0 : MOVE_MOUNT_T_EMPTY_PATH)));
}

int mount_fs(const char *type, const char *options, unsigned long flags, const char *path)
{
	return result(mount("none", path, type, flags, options));
}

int mount_tmpfs(uint64_t size_bytes, uint64_t inodes, const char *mode, unsigned long flags, const char *path)
{
	char options[128];

	snprintf(options, sizeof(options), "size=%" PRIu64 ",nr_inodes=%" PRIu64 ",mode=%s", size_bytes, inodes, mode);
	return mount_fs("tmpfs", options, flags, path);
}

int mount_bind(const char *source, const char *path)
{
	return result(mount(source, path, NULL, MS_BIND | MS_REC, NULL));
}

int mount_keep_to_ourselves(void)
{
	return result(mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL));
}

int mount_pivot(void)
{
	/* Both arguments ".": the old root ends up stacked on the new one, and is the first to be unmounted. */
	return result(syscall(SYS_pivot_root, ".", "."));
}

int mount_drop_old_root(void)
{
	return result(umount2(".", MNT_DETACH));
}
