/*
 * What a payload may write to in its root: its home, /dev/shm and /tmp, and further directories of its own with a size each. In memory the first two are
 * the skeleton's own, so that one size bounds them; on disk all three are directories of the scratch directory. Runs in init (for a
 * runtime: in the keeper), before the payload exists.
 */
#include "base/error.h"
#include "base/fd.h"
#include "base/path.h"
#include "box/root.h"
#include "os/mount.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

/* limits.inodes in equal parts: the skeleton with the home and /dev/shm, /tmp, and each private directory. */
uint64_t root_inode_share(const struct cordon_plan *plan)
{
	return plan->limits.inodes / (2 + plan->private_count);
}

/* ---- in memory ---- */

/* A directory of the skeleton that stays writable when the rest turns read-only. */
static int private_dir(struct root *r, const char *rel, mode_t mode)
{
	int n;

	if (root_make(r, rel, true) < 0)
		return -1;
	if (fchownat(r->fd, rel, r->uid, r->gid, AT_SYMLINK_NOFOLLOW) < 0 ||
	    (mode != 0755 && fchmodat(r->fd, rel, mode, 0) < 0))
		return root_fail(r, errno, "give", rel);
	n = mount_bind(rel, rel); /* as the skeleton is now: writable, and without devices and set-user-id programs */
	if (n == 0 && root_noexec(r))
		n = mount_restrict_at(r->fd, rel, root_noexec(r), 0, false);
	return n < 0 ? root_fail(r, -n, "mount", rel) : root_own(r, r->fd, rel);
}

static int private_tmp(struct root *r)
{
	int n;

	if (root_make(r, "tmp", true) < 0)
		return -1;
	n = mount_tmpfs(r->plan->limits.tmp_bytes, root_inode_share(r->plan), "1777",
			MS_NOSUID | MS_NODEV | (root_noexec(r) ? MS_NOEXEC : 0UL), "tmp");
	return n < 0 ? root_fail(r, -n, "mount", "/tmp") : root_own(r, r->fd, "tmp");
}

static int in_memory(struct root *r)
{
	return private_dir(r, r->plan->home + 1, 0755) < 0 || private_dir(r, "dev/shm", 01777) < 0 || private_tmp(r) < 0
		       ? -1
		       : 0;
}

/* ---- on disk ---- */

/* The scratch directory, attached here for the while. */
static int scratch_base(struct root *r)
{
	auto_close int tree = r->scratch_path ? root_take_source(r, r->scratch_path, r->scratch)
					      : fcntl(r->scratch, F_DUPFD_CLOEXEC, 3);

	if (tree < 0 || mount_restrict(tree, ROOT_PRIVATE, 0, true) < 0 || root_attach(r, &tree, "/.scratch", true) < 0)
		return -1;
	return openat(r->fd, ".scratch", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

static int scratch_dir(struct root *r, int base, const char *path, mode_t mode)
{
	auto_close int place = root_place(r, path, true), dir = -1, fd = -1;
	const char *name = path_name(path);
	int n;

	if (place < 0)
		return -1;
	if (mkdirat(base, name, 0755) < 0 && errno != EEXIST)
		return root_fail(r, errno, "make", path);
	dir = openat(base, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (dir < 0)
		return root_fail(r, errno, "open", path);
	if (fchownat(dir, "", r->uid, r->gid, AT_EMPTY_PATH) < 0 || fchmodat(base, name, mode, 0) < 0)
		return root_fail(r, errno, "give", path);
	fd = mount_clone(dir, "", false);
	n = fd < 0 ? fd : mount_restrict(fd, ROOT_PRIVATE | root_noexec(r), 0, false);
	n = n < 0 ? n : mount_attach(fd, place, "");
	return n < 0 ? root_fail(r, -n, "mount", path) : root_own(r, fd, "");
}

static int on_disk(struct root *r)
{
	auto_close int base = scratch_base(r);

	if (base < 0)
		return r->err && r->err->code ? -1 : root_fail(r, errno, "open", "the private files");
	return scratch_dir(r, base, r->plan->home, 0755) < 0 || scratch_dir(r, base, "/dev/shm", 01777) < 0 ||
			       scratch_dir(r, base, "/tmp", 01777) < 0
		       ? -1
		       : 0;
}

/* ---- the whole ---- */

/* Wherever the policy says, which may be below something of the caller's. */
static int private_tmpfs(struct root *r, const char *path, uint64_t size)
{
	auto_close int fd = mount_new_tmpfs(size, root_inode_share(r->plan), "1777", ROOT_PRIVATE | root_noexec(r));

	if (fd < 0)
		return root_fail(r, -fd, "mount", path);
	if (root_own(r, fd, "") < 0)
		return -1;
	return root_attach(r, &fd, path, true);
}

int root_private(struct root *r)
{
	if (root_make(r, "home", true) < 0 || (r->scratch >= 0 ? on_disk(r) : in_memory(r)) < 0)
		return -1;
	for (size_t i = 0; i < r->plan->private_count; i++)
		if (private_tmpfs(r, r->plan->privates[i].dest, r->plan->privates[i].size_bytes) < 0)
			return -1;
	return 0;
}
