/*
 * Places in a box's root, and what is laid there: see root.h.
 *
 * What comes from somewhere that a caller can change goes by fd: a place is walked component by component without symlinks, and only made on mounts
 * of the box's own. The host's own system and what is the box's own go by name, below the current directory, which is the skeleton that nobody
 * else can reach yet: one call instead of five, and half of what a detached copy costs.
 *
 * Runs in init (for a runtime: in the keeper), before the payload exists.
 */
#include "base/error.h"
#include "base/fd.h"
#include "box/root.h"
#include "os/mount.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int root_fail(struct root *r, int errnum, const char *what, const char *path)
{
	return cordon_fail(r->err, CORDON_SYSTEM, errnum, "%s '%s'", what, path);
}

unsigned root_noexec(const struct root *r)
{
	return r->plan->exec_lock ? MOUNT_ATTR_NOEXEC : 0;
}

/* ---- by fd ---- */

int root_own(struct root *r, int fd, const char *rel)
{
	int n;

	if (r->own_count == ARRAY_LEN(r->own))
		return root_fail(r, ENOSPC, "too many private directories at", rel);
	n = mount_id(fd, rel, &r->own[r->own_count++]);
	return n < 0 ? root_fail(r, -n, "identify", rel) : 0;
}

static int make_component(struct root *r, int dir, const char *name, bool is_dir)
{
	bool own = false;
	uint64_t id = 0;
	int n = mount_id(dir, "", &id);

	for (size_t i = 0; n == 0 && i < r->own_count; i++)
		own = own || r->own[i] == id;
	if (!own)
		return -EROFS; /* never make anything on the host's file systems */
	if (is_dir)
		return mkdirat(dir, name, 0755) < 0 ? -errno : 0;
	return mknodat(dir, name, S_IFREG | 0644, 0) < 0 ? -errno : 0;
}

static int step_into(struct root *r, int dir, const char *name, bool is_dir)
{
	int flags = O_PATH | O_NOFOLLOW | (is_dir ? O_DIRECTORY : 0);
	int fd = fd_openat2(dir, name, flags, 0, ROOT_WALK);
	struct stat st;

	if (fd == -ENOENT) {
		int made = make_component(r, dir, name, is_dir);

		if (made < 0)
			return made;
		fd = fd_openat2(dir, name, flags, 0, ROOT_WALK);
	}
	/* O_PATH opens a link at the end as itself, where no directory is asked for. */
	if (fd >= 0 && !is_dir && (fstat(fd, &st) < 0 || S_ISLNK(st.st_mode))) {
		fd_close(&fd);
		return -ELOOP;
	}
	return fd;
}

int root_place(struct root *r, const char *path, bool is_dir)
{
	auto_close int at = fd_openat2(r->fd, ".", O_PATH | O_DIRECTORY, 0, 0);
	const char *p = path + 1;

	while (at >= 0 && *p) {
		size_t n = strcspn(p, "/");
		auto_free char *name = strndup(p, n);
		int next;

		if (!name)
			return fail_memory(r->err);
		next = step_into(r, at, name, p[n] ? true : is_dir);
		if (next < 0) {
			cordon_fail(r->err, CORDON_SYSTEM, -next, "no place for a mount at '%s' ('%s')", path, name);
			return next == -EROFS
				       ? fail_hint(r->err, "make '%s' in the directory that is mounted above it first",
						   path)
			       : next == -ELOOP || next == -ENOTDIR
				       ? fail_hint(r->err, "'%s' is a symbolic link or not a directory there", name)
				       : -1;
		}
		fd_close(&at);
		at = next;
		p += n + (p[n] == '/');
	}
	return at < 0 ? root_fail(r, -at, "open", path) : STEAL_FD(at);
}

int root_attach(struct root *r, int *mount_fd, const char *path, bool is_dir)
{
	auto_close int fd = STEAL_FD(*mount_fd);
	auto_close int place = root_place(r, path, is_dir);
	int n;

	if (place < 0)
		return -1;
	n = mount_attach(fd, place, "");
	return n < 0 ? root_fail(r, -n, "mount at", path) : 0;
}

int root_take_source(struct root *r, const char *path, int checked)
{
	auto_close int fd =
		fd_openat2(AT_FDCWD, path, O_PATH | O_NOFOLLOW, 0, RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS);
	struct stat now, then;
	int tree;

	if (fd < 0)
		return root_fail(r, -fd, "open", path);
	if (fstat(fd, &now) < 0 || fstat(checked, &then) < 0)
		return root_fail(r, errno, "stat", path);
	if (now.st_dev != then.st_dev || now.st_ino != then.st_ino)
		return cordon_fail(r->err, CORDON_DENIED, 0, "'%s' was replaced while the box was being built", path);
	tree = mount_clone(fd, "", true);
	return tree < 0 ? root_fail(r, -tree, "take", path) : tree;
}

/* ---- on the skeleton ---- */

/* Files lie over one and the same empty one: another name costs half of what another file does. */
int root_make(struct root *r, const char *rel, bool is_dir)
{
	int n;

	if (is_dir)
		n = mkdirat(r->fd, rel, 0755);
	else if (r->for_runtime)
		n = mknodat(r->fd, rel, S_IFREG | 0644, 0);
	else
		n = linkat(r->fd, ROOT_EMPTY_FILE, r->fd, rel, 0);
	return n < 0 ? root_fail(r, errno, "make", rel) : 0;
}

int root_lay(struct root *r, int tree, const char *rel, bool is_dir)
{
	int n;

	if (root_make(r, rel, is_dir) < 0)
		return -1;
	n = mount_attach(tree, r->fd, rel);
	return n < 0 ? root_fail(r, -n, "mount at", rel) : 0;
}

int root_bind(struct root *r, const char *source, const char *rel, bool is_dir)
{
	int n;

	if (root_make(r, rel, is_dir) < 0)
		return -1;
	n = mount_bind(source, rel);
	return n < 0 ? root_fail(r, -n, "take", source) : 0;
}

/* Everything laid so far is read-only, without set-user-id programs and devices, and hears of no mount of the host. */
int root_restrict(struct root *r)
{
	int n = mount_restrict(r->fd, ROOT_RO | root_noexec(r), 0, true);

	n = n < 0 ? n
		  : mount_restrict(r->fd, 0, MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOEXEC,
				   false); /* the skeleton is still being made */
	return n < 0 ? root_fail(r, -n, "restrict", "the system") : 0;
}
