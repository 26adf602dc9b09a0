/*
 * The box's root file system.
 *
 * A tmpfs is the skeleton; it also holds the home and /dev/shm, so that one size bounds what is written there. The host's
 * /usr (or the directories of files.root) are laid into it read-only, /etc is made from a short list plus files of our own, /dev
 * from six devices. Then the skeleton turns read-only and becomes the root; nothing else of the host is left.
 *
 * Every place for a mount is walked by fd without symlinks, and mount points are only ever made on the skeleton: a hostile root or
 * a directory that somebody swaps while we work leads to an error, never elsewhere.
 *
 * Runs in init with all capabilities of the box's own user namespace, before the payload exists.
 */
#include "box/root.h"

#include "base/error.h"
#include "base/fd.h"
#include "base/path.h"
#include "box/etc.h"
#include "os/mount.h"
#include "os/probe.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#define WALK (RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS)
#define RO (MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV)
#define IMAGE_PLACE ".image"
#define PRIVATE (MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV)

int root_fail(struct root *r, int errnum, const char *what, const char *path)
{
	return cordon_fail(r->err, CORDON_SYSTEM, errnum, "%s '%s'", what, path);
}

static unsigned noexec(const struct root *r)
{
	return r->plan->exec_lock ? MOUNT_ATTR_NOEXEC : 0;
}

/* ---- places ---- */

/* The mount at fd is private to the box. */
static int remember_own(struct root *r, int fd, const char *path)
{
	int n;

	if (r->own_count == ARRAY_LEN(r->own))
		return root_fail(r, ENOSPC, "too many private directories at", path);
	n = mount_id(fd, "", &r->own[r->own_count++]);
	return n < 0 ? root_fail(r, -n, "identify", path) : 0;
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
	int fd = fd_openat2(dir, name, flags, 0, WALK);
	struct stat st;

	if (fd == -ENOENT) {
		int made = make_component(r, dir, name, is_dir);

		if (made < 0)
			return made;
		fd = fd_openat2(dir, name, flags, 0, WALK);
	}
	if (fd >= 0 && (fstat(fd, &st) < 0 || S_ISLNK(st.st_mode))) { /* O_PATH opens a link at the end as itself */
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

/* On the skeleton, which nobody else can reach yet, a place is simply made: rel is relative and its parent exists. */
int root_lay(struct root *r, int tree, const char *rel)
{
	struct stat st;
	int n;

	if (fstat(tree, &st) < 0)
		return root_fail(r, errno, "stat", rel);
	n = S_ISDIR(st.st_mode) ? mkdirat(r->fd, rel, 0755) : mknodat(r->fd, rel, S_IFREG | 0644, 0);
	if (n < 0)
		return root_fail(r, errno, "make", rel);
	n = mount_attach(tree, r->fd, rel);
	return n < 0 ? root_fail(r, -n, "mount at", rel) : 0;
}

/* A copy of the host's path on the skeleton; root_restrict() takes its rights away. A missing one is fine. */
int root_lay_host(struct root *r, int dirfd, const char *source, const char *rel)
{
	auto_close int fd = mount_clone(dirfd, source, true);

	if (fd == -ENOENT)
		return 0;
	return fd < 0 ? root_fail(r, -fd, "take", source) : root_lay(r, fd, rel);
}

/* Everything laid so far is read-only, without set-user-id programs and devices, and hears of no mount of the host. */
int root_restrict(struct root *r)
{
	int n = mount_restrict(r->fd, RO | noexec(r), 0, true);

	n = n < 0 ? n
		  : mount_restrict(r->fd, 0, MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOEXEC,
				   false); /* the skeleton is still being made */
	return n < 0 ? root_fail(r, -n, "restrict", "the system") : 0;
}

/* ---- system directories ---- */

static bool is_empty(int at, const char *name)
{
	int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	size_t n = 0;

	while (d && n < 3 && readdir(d))
		n++;
	if (d)
		closedir(d);
	else
		fd_close(&fd);
	return d && n == 2; /* "." and ".." */
}

/* Of a root of its own nothing can be changed from the moment it is laid, also by us: it may be the caller's own. An empty directory is made
 * on the skeleton instead, so that something can be mounted below it. */
static int lay_other(struct root *r, int from, const char *name, bool is_dir)
{
	auto_close int fd = -1;
	int n;

	if (is_dir && is_empty(from, name))
		return mkdirat(r->fd, name, 0755) < 0 ? root_fail(r, errno, "make", name) : 0;
	fd = mount_clone(from, name, true);
	n = fd < 0 ? fd : mount_restrict(fd, RO, 0, true);
	return n < 0 ? root_fail(r, -n, "take", name) : root_lay(r, fd, name);
}

/* One entry of a root: a symlink is made again, a directory or file is laid over. Missing is fine. */
static int system_entry(struct root *r, int from, const char *name)
{
	auto_free char *dest = str_printf("/%s", name);
	char target[4096];
	struct stat st;
	ssize_t n;

	if (!dest)
		return fail_memory(r->err);
	if (fstatat(from, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : root_fail(r, errno, "stat", dest);
	if (S_ISLNK(st.st_mode)) {
		n = readlinkat(from, name, target, sizeof(target) - 1);
		if (n < 0)
			return root_fail(r, errno, "read link", dest);
		target[n] = '\0';
		return symlinkat(target, r->fd, name) < 0 ? root_fail(r, errno, "link", dest) : 0;
	}
	if (!S_ISDIR(st.st_mode) && !S_ISREG(st.st_mode))
		return 0;
	return r->plan->root ? lay_other(r, from, name, S_ISDIR(st.st_mode)) : root_lay_host(r, from, name, name);
}

static int host_system(struct root *r)
{
	static const char *const names[] = { "usr", "bin", "sbin", "lib", "lib32", "lib64", "libx32" };
	auto_close int from = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (from < 0)
		return root_fail(r, errno, "open", "/");
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (system_entry(r, from, names[i]) < 0)
			return -1;
	return 0;
}

/* The directory of files.root: the keeper's tree, attached here for the while, or what the plan looked at. */
static int open_other(struct root *r)
{
	auto_close int from = -1;
	struct stat now, then;
	int n;

	if (r->image >= 0) {
		n = mkdirat(r->fd, IMAGE_PLACE, 0700) < 0 ? -errno : mount_attach(r->image, r->fd, IMAGE_PLACE);
		if (n < 0)
			return root_fail(r, -n, "attach", r->plan->root);
		from = openat(r->fd, IMAGE_PLACE, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	} else {
		from = open(r->plan->root, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	}
	if (from < 0 || fstat(from, &now) < 0 || fstat(r->plan->root_fd, &then) < 0)
		return root_fail(r, errno, "open", r->plan->root);
	if (now.st_dev != then.st_dev || now.st_ino != then.st_ino)
		return cordon_fail(r->err, CORDON_DENIED, 0, "'%s' was replaced while the box was being built",
				   r->plan->root);
	return STEAL_FD(from);
}

/* Everything at the top of files.root but what the box has of its own. */
static int other_system(struct root *r)
{
	static const char *const own[] = { ".", "..", "proc", "sys", "dev", "tmp", "home", "run" };
	auto_close int from = open_other(r);
	struct dirent *e;
	int status = 0;
	DIR *d;

	if (from < 0)
		return -1;
	d = fdopendir(dup(from));
	if (!d)
		return root_fail(r, errno, "list", r->plan->root);
	while (status == 0 && (e = readdir(d))) {
		bool skip = false;

		for (size_t i = 0; i < ARRAY_LEN(own); i++)
			skip = skip || strcmp(e->d_name, own[i]) == 0;
		status = skip ? 0 : system_entry(r, from, e->d_name);
	}
	closedir(d);
	return status;
}

static int root_system(struct root *r)
{
	return r->plan->root ? other_system(r) : host_system(r);
}

/* ---- /etc ---- */

static const char *const etc_from_host[] = {
	"alternatives", "ssl",   "ld.so.cache",     "localtime",       "services",
	"protocols",    "fonts", "java-17-openjdk", "java-21-openjdk",
};

int root_write_file(struct root *r, const char *path, const void *data, size_t len, unsigned mode)
{
	auto_close int fd = fd_openat2(r->fd, path + 1, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, mode, WALK);
	int n;

	if (fd < 0)
		return root_fail(r, -fd, "create", path);
	n = fd_write_all(fd, data, len);
	return n < 0 ? root_fail(r, -n, "write", path) : 0;
}

/* On a root of its own /etc is that root's; ours lies over what exists there as an ordinary file. */
static int etc_file(struct root *r, const char *name, const char *text)
{
	auto_free char *path = str_printf("/etc/%s", name), *made = str_printf("/.etc-%s", name);
	auto_close int place = -1, fd = -1;
	struct stat st;
	int n;

	if (!path || !made)
		return fail_memory(r->err);
	if (!r->plan->root)
		return root_write_file(r, path, text, strlen(text), 0644);
	place = fd_openat2(r->fd, path + 1, O_PATH | O_NOFOLLOW, 0, WALK);
	if (place < 0 || fstat(place, &st) < 0 || !S_ISREG(st.st_mode))
		return 0;
	if (root_write_file(r, made, text, strlen(text), 0644) < 0)
		return -1;
	fd = mount_clone(r->fd, made + 1, false);
	n = fd < 0 ? fd : mount_restrict(fd, RO, 0, false);
	n = n < 0 ? n : mount_attach(fd, place, "");
	if (n < 0)
		return root_fail(r, -n, "lay over", path);
	return unlinkat(r->fd, made + 1, 0) < 0 && errno != EBUSY ? root_fail(r, errno, "remove", made) : 0;
}

static int etc_entry(struct root *r, int etc, const char *name, const char *rel)
{
	char target[512];
	ssize_t n = readlinkat(etc, name, target, sizeof(target) - 1);

	if (n < 0)
		return root_lay_host(r, etc, name, rel);
	target[n] = '\0';
	return symlinkat(target, r->fd, rel) < 0 ? root_fail(r, errno, "link", rel) : 0;
}

static int etc_system(struct root *r)
{
	auto_close int etc = -1;

	if (mkdirat(r->fd, "etc", 0755) < 0)
		return root_fail(r, errno, "make", "/etc");
	etc = open("/etc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	for (size_t i = 0; etc >= 0 && i < ARRAY_LEN(etc_from_host); i++) {
		char rel[64];

		/* localtime is mostly a symlink into /usr, and then made again. */
		snprintf(rel, sizeof(rel), "etc/%s", etc_from_host[i]);
		if (etc_entry(r, etc, etc_from_host[i], rel) < 0)
			return -1;
	}
	return 0;
}

static int root_etc(struct root *r)
{
	struct etc_file files[ETC_FILES];
	int status = r->plan->root ? 0 : etc_system(r);

	if (status < 0)
		return -1;
	status = etc_make(r->plan, PLAN_UID, PLAN_GID, files) < 0 ? fail_memory(r->err) : 0;
	for (size_t i = 0; status == 0 && i < ETC_FILES; i++)
		status = etc_file(r, files[i].name, files[i].text);
	etc_done(files);
	return status;
}

/* What the plan checked was the inode behind its fd: the path must still lead there. */
static int take_source(struct root *r, const char *path, int checked)
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

/* ---- private writable directories ---- */

static int give(struct root *r, int fd, const char *path)
{
	return fchownat(fd, "", r->uid, r->gid, AT_EMPTY_PATH) < 0 ? root_fail(r, errno, "give", path) : 0;
}

/* Where private directories are taken from: the skeleton itself, or the scratch directory, attached here for the while. */
static int private_base(struct root *r)
{
	auto_close int tree = -1;

	if (r->scratch < 0)
		return openat(r->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	tree = r->scratch_path ? take_source(r, r->scratch_path, r->scratch) : fcntl(r->scratch, F_DUPFD_CLOEXEC, 3);
	if (tree < 0 || mount_restrict(tree, PRIVATE, 0, true) < 0 || root_attach(r, &tree, "/.scratch", true) < 0)
		return -1;
	return openat(r->fd, ".scratch", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/* A directory of `base` that stays writable when the rest turns read-only. */
static int private_dir(struct root *r, int base, const char *path, mode_t mode)
{
	auto_close int place = root_place(r, path, true), dir = -1, fd = -1;
	const char *name = r->scratch >= 0 ? path_name(path) : path + 1;
	int n;

	if (place < 0)
		return -1;
	if (r->scratch >= 0 && mkdirat(base, name, 0755) < 0 && errno != EEXIST)
		return root_fail(r, errno, "make", path);
	dir = openat(base, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (dir < 0 || give(r, dir, path) < 0)
		return dir < 0 ? root_fail(r, errno, "open", path) : -1;
	if (fchmodat(base, name, mode, 0) < 0)
		return root_fail(r, errno, "chmod", path);
	fd = mount_clone(dir, "", false);
	n = fd < 0 ? fd : mount_restrict(fd, PRIVATE | noexec(r), 0, false);
	n = n < 0 ? n : mount_attach(fd, place, "");
	return n < 0 ? root_fail(r, -n, "mount", path) : remember_own(r, fd, path);
}

static int private_tmpfs(struct root *r, const char *path, uint64_t size, uint64_t inodes)
{
	auto_close int fd = mount_new_tmpfs(size, inodes, "1777", PRIVATE | noexec(r));

	if (fd < 0)
		return root_fail(r, -fd, "mount", path);
	if (remember_own(r, fd, path) < 0)
		return -1;
	return root_attach(r, &fd, path, true);
}

/* limits.inodes in equal parts: the skeleton with the home and /dev/shm, /tmp, and each private directory. */
static uint64_t inode_share(const struct cordon_plan *plan)
{
	return plan->limits.inodes / (2 + plan->private_count);
}

static int root_private(struct root *r)
{
	const struct plan_limits *l = &r->plan->limits;
	auto_close int base = private_base(r);

	if (base < 0)
		return r->err && r->err->code ? -1 : root_fail(r, errno, "open", "the private files");
	if (private_dir(r, base, r->plan->home, 0755) < 0 || private_dir(r, base, "/dev/shm", 01777) < 0)
		return -1;
	if (r->scratch >= 0 ? private_dir(r, base, "/tmp", 01777) < 0
			    : private_tmpfs(r, "/tmp", l->tmp_bytes, inode_share(r->plan)) < 0)
		return -1;
	for (size_t i = 0; i < r->plan->private_count; i++)
		if (private_tmpfs(r, r->plan->privates[i].dest, r->plan->privates[i].size_bytes, inode_share(r->plan)) <
		    0)
			return -1;
	return 0;
}

/* ---- host mounts ---- */

static int host_mount(struct root *r, const struct plan_mount *m, int prepared)
{
	auto_close int fd = prepared >= 0 ? fcntl(prepared, F_DUPFD_CLOEXEC, 3) : take_source(r, m->source, m->fd);
	int n;

	if (fd < 0)
		return -1;
	n = mount_restrict(fd, (m->writable ? PRIVATE : RO) | noexec(r), 0, true);
	if (n < 0)
		return root_fail(r, -n, "restrict", m->source);
	return root_attach(r, &fd, m->dest, m->is_dir);
}

static int root_mounts(struct root *r)
{
	for (size_t i = 0; i < r->plan->mount_count; i++)
		if (host_mount(r, &r->plan->mounts[i], r->prepared ? r->prepared[i] : -1) < 0)
			return -1;
	return root_protect(r);
}

static int root_code(struct root *r)
{
	const struct plan_code *c = &r->plan->code;
	auto_close int fd = -1;

	if (!c->path)
		return 0;
	if (root_write_file(r, c->path, c->data, c->len, 0644) < 0)
		return -1;
	fd = fd_openat2(r->fd, c->path + 1, O_PATH | O_NOFOLLOW, 0, WALK);
	return fd < 0 ? root_fail(r, -fd, "open", c->path) : give(r, fd, c->path);
}

/* ---- the whole ---- */

static uint64_t count_components(const char *path)
{
	uint64_t n = 0;

	for (; *path; path++)
		n += *path == '/';
	return n;
}

/* The payload's share, and what the skeleton itself is made of: forty-odd entries and the way to each mount. A root of its own has
 * more at its top than can be told here. */
static uint64_t skeleton_inodes(const struct cordon_plan *plan, bool for_runtime)
{
	uint64_t n = inode_share(plan) + (plan->root ? 256 : for_runtime ? 28 : 40);

	for (size_t i = 0; i < plan->mount_count; i++)
		n += count_components(plan->mounts[i].dest);
	for (size_t i = 0; i < plan->private_count; i++)
		n += count_components(plan->privates[i].dest);
	return n;
}

/* A tmpfs of what is left of the disk, attached at the first of the places that is there. */
static int make_skeleton(struct root *r, const char *const *places, const char **ret_place)
{
	const struct plan_limits *l = &r->plan->limits;
	uint64_t rest = l->disk_bytes - l->tmp_bytes, privates = 0;
	auto_close int fd = -1;
	int n = -ENOENT;

	for (size_t i = 0; i < r->plan->private_count; i++)
		privates += r->plan->privates[i].size_bytes;
	fd = mount_new_tmpfs(rest - privates, skeleton_inodes(r->plan, r->for_runtime), "0755", PRIVATE);
	if (fd < 0) {
		root_fail(r, -fd, "mount", "tmpfs");
		return fd == -ENOSYS ? fail_hint(r->err, "the kernel must have the new mount calls (5.12 or later); "
							 "--level process does without")
				     : -1;
	}
	for (; n < 0 && *places; places++) {
		n = mount_attach(fd, AT_FDCWD, *places);
		if (n == 0)
			*ret_place = *places;
	}
	if (n < 0)
		return root_fail(r, -n, "attach", "the root");
	if (remember_own(r, fd, "/") < 0)
		return -1;
	r->fd = STEAL_FD(fd);
	return 0;
}

/*
 * The skeleton is attached over a directory that every host has; in this namespace only, and for a moment. What lies below it
 * cannot be opened by its path from then on, so it is one that is forbidden as a source of mounts.
 */
static int root_skeleton(struct root *r)
{
	static const char *const places[] = { "/run", "/root", "/boot", NULL };
	const char *place;

	return make_skeleton(r, places, &place);
}

/* Where a runtime lays its own, after which what was laid so far is restricted: a runtime without rights over the skeleton could not make them. */
static int root_runtime_places(struct root *r)
{
	static const char *const dirs[] = { "proc", "dev", ".cordon" };

	for (size_t i = 0; i < ARRAY_LEN(dirs); i++) {
		if (mkdirat(r->fd, dirs[i], 0755) == 0)
			continue;
		if (errno != EEXIST)
			return root_fail(r, errno, "make", dirs[i]);
		cordon_fail(r->err, CORDON_DENIED, 0,
			    "the root file system has a '/%s' of its own, where init is to lie", dirs[i]);
		return fail_hint(r->err, "take '%s' out of '%s', or use --engine native", dirs[i], r->plan->root);
	}
	if (mknodat(r->fd, ".cordon/init", S_IFREG | 0444, 0) < 0)
		return root_fail(r, errno, "make", ".cordon/init");
	return root_restrict(r);
}

/* What served for building is taken away, and nothing is built any more. */
static int root_lock(struct root *r)
{
	int n;

	if (fchdir(r->fd) < 0)
		return root_fail(r, errno, "enter", "the root");
	if (r->scratch >= 0 && umount2(".scratch", MNT_DETACH | UMOUNT_NOFOLLOW) < 0)
		return root_fail(r, errno, "detach", "the scratch directory");
	if (r->image >= 0 &&
	    (umount2(IMAGE_PLACE, MNT_DETACH | UMOUNT_NOFOLLOW) < 0 || unlinkat(r->fd, IMAGE_PLACE, AT_REMOVEDIR) < 0))
		return root_fail(r, errno, "detach", r->plan->root);
	n = mount_restrict(r->fd, RO | noexec(r), 0, false);
	return n < 0 ? root_fail(r, -n, "lock", "the root") : 0;
}

static int root_enter(struct root *r)
{
	int n;

	if (root_lock(r) < 0)
		return -1;
	n = mount_pivot();
	return n < 0 ? root_fail(r, -n, "pivot to", "the root") : 0;
}

int root_leave_host(struct cordon_error *err)
{
	int n = mount_drop_old_root();

	return n < 0 ? cordon_fail(err, CORDON_SYSTEM, -n, "leave the host's root") : 0;
}

struct root_step {
	const char *name;
	int (*run)(struct root *r);
};

static int run_steps(struct root *r, const struct root_step *steps, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (steps[i].run(r) < 0)
			return fail_step(r->err, steps[i].name);
	return 0;
}

int root_begin(struct root *r)
{
	static const struct root_step steps[] = {
		{ "root: skeleton", root_skeleton },
		{ "root: system", root_system },
	};

	r->fd = -1;
	return run_steps(r, steps, ARRAY_LEN(steps));
}

int root_build(struct root *r)
{
	static const struct root_step steps[] = {
		{ "root: etc", root_etc },
		{ "root: certificates", root_certificates },
		{ "root: sys", root_sys },
		{ "root: proc", root_proc }, /* restricts what was laid so far */
		{ "root: dev", root_dev },   /* after it: devices must work */
		{ "root: private", root_private },
		{ "root: mounts", root_mounts },
		{ "root: code", root_code },
		{ "root: copy in", root_copy_in },
		{ "root: commands", root_lock_exec },
		{ "root: enter", root_enter }, /* last: what comes before needs the host's files */
	};

	return run_steps(r, steps, ARRAY_LEN(steps));
}

int root_build_at(struct root *r, const char *const *places, const char **ret_place)
{
	static const struct root_step steps[] = {
		{ "root: system", root_system },
		{ "root: etc", root_etc },
		{ "root: certificates", root_certificates },
		{ "root: sys", root_sys },
		{ "root: places", root_runtime_places },
		{ "root: private", root_private },
		{ "root: mounts", root_mounts },
		{ "root: code", root_code },
		{ "root: copy in", root_copy_in },
		{ "root: lock", root_lock },
	};

	r->fd = -1;
	if (make_skeleton(r, places, ret_place) < 0)
		return fail_step(r->err, "root: skeleton");
	return run_steps(r, steps, ARRAY_LEN(steps));
}
