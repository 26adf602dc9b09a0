/*
 * The box's root file system.
 *
 * A tmpfs is the skeleton; it also holds the home and /dev/shm, so that one size bounds what is written there. The host's
 * /usr (or the directories of files.root) are laid into it read-only, /etc is made from a short list plus files of our own, /dev
 * from six devices. Then the skeleton turns read-only and becomes the root; nothing else of the host is left.
 *
 * What a caller can change is walked by fd without symlinks, and mount points are only ever made on the skeleton (root_place.c): a hostile root or
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
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define IMAGE_PLACE ".image"

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
	n = fd < 0 ? fd : mount_restrict(fd, ROOT_RO, 0, true);
	return n < 0 ? root_fail(r, -n, "take", name) : root_lay(r, fd, name, is_dir);
}

/* A symlink is made again. */
static int copy_link(struct root *r, int from, const char *name, const char *rel)
{
	char target[4096];
	ssize_t n = readlinkat(from, name, target, sizeof(target) - 1);

	if (n < 0)
		return root_fail(r, errno, "read link", rel);
	target[n] = '\0';
	return symlinkat(target, r->fd, rel) < 0 ? root_fail(r, errno, "link", rel) : 0;
}

/* One entry of the host's. Missing is fine. */
static int host_entry(struct root *r, const char *path)
{
	struct stat st;

	if (fstatat(AT_FDCWD, path, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : root_fail(r, errno, "stat", path);
	if (S_ISLNK(st.st_mode))
		return copy_link(r, AT_FDCWD, path, path + 1);
	if (!S_ISDIR(st.st_mode) && !S_ISREG(st.st_mode))
		return 0;
	return root_bind(r, path, path + 1, S_ISDIR(st.st_mode));
}

static int host_system(struct root *r)
{
	static const char *const paths[] = { "/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32" };

	for (size_t i = 0; i < ARRAY_LEN(paths); i++)
		if (host_entry(r, paths[i]) < 0)
			return -1;
	return 0;
}

/* One entry of a root of its own: a directory or file is laid over. */
static int other_entry(struct root *r, int from, const char *name)
{
	struct stat st;

	if (fstatat(from, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : root_fail(r, errno, "stat", name);
	if (S_ISLNK(st.st_mode))
		return copy_link(r, from, name, name);
	if (!S_ISDIR(st.st_mode) && !S_ISREG(st.st_mode))
		return 0;
	return lay_other(r, from, name, S_ISDIR(st.st_mode));
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
		status = skip ? 0 : other_entry(r, from, e->d_name);
	}
	closedir(d);
	return status;
}

static int root_system(struct root *r)
{
	return r->plan->root ? other_system(r) : host_system(r);
}

/* ---- /etc ---- */

/* localtime is mostly a symlink into /usr. Of /etc/ssl what is public: a caller's groups, which an ordinary user cannot lay down, may
 * read the keys in /etc/ssl/private. */
static const char *const etc_from_host[] = {
	"/etc/alternatives",      "/etc/ssl/certs",   "/etc/ssl/openssl.cnf", "/etc/ssl/cert.pem",
	"/etc/ssl/ca-bundle.pem", "/etc/ld.so.cache", "/etc/localtime",       "/etc/services",
	"/etc/protocols",         "/etc/fonts",       "/etc/java-17-openjdk", "/etc/java-21-openjdk",
};

int root_write_file(struct root *r, const char *path, const void *data, size_t len, unsigned mode)
{
	auto_close int fd = fd_openat2(r->fd, path + 1, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, mode, ROOT_WALK);
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
	place = fd_openat2(r->fd, path + 1, O_PATH | O_NOFOLLOW, 0, ROOT_WALK);
	if (place < 0 || fstat(place, &st) < 0 || !S_ISREG(st.st_mode))
		return 0;
	if (root_write_file(r, made, text, strlen(text), 0644) < 0)
		return -1;
	fd = mount_clone(r->fd, made + 1, false);
	n = fd < 0 ? fd : mount_restrict(fd, ROOT_RO, 0, false);
	n = n < 0 ? n : mount_attach(fd, place, "");
	if (n < 0)
		return root_fail(r, -n, "lay over", path);
	return unlinkat(r->fd, made + 1, 0) < 0 && errno != EBUSY ? root_fail(r, errno, "remove", made) : 0;
}

static int etc_system(struct root *r)
{
	if (mkdirat(r->fd, "etc", 0755) < 0)
		return root_fail(r, errno, "make", "/etc");
	if (mkdirat(r->fd, "etc/ssl", 0755) < 0)
		return root_fail(r, errno, "make", "/etc/ssl");
	for (size_t i = 0; i < ARRAY_LEN(etc_from_host); i++)
		if (host_entry(r, etc_from_host[i]) < 0)
			return -1;
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

/* ---- host mounts ---- */

static int host_mount(struct root *r, const struct plan_mount *m, int prepared)
{
	auto_close int fd = prepared >= 0 ? fcntl(prepared, F_DUPFD_CLOEXEC, 3) : root_take_source(r, m->source, m->fd);
	int n;

	if (fd < 0)
		return -1;
	n = mount_restrict(fd, (m->writable ? ROOT_PRIVATE : ROOT_RO) | root_noexec(r), 0, true);
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
	fd = fd_openat2(r->fd, c->path + 1, O_PATH | O_NOFOLLOW, 0, ROOT_WALK);
	if (fd < 0)
		return root_fail(r, -fd, "open", c->path);
	return fchownat(fd, "", r->uid, r->gid, AT_EMPTY_PATH) < 0 ? root_fail(r, errno, "give", c->path) : 0;
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
	uint64_t n = root_inode_share(plan) + (plan->root ? 256 : for_runtime ? 30 : 42);

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
	fd = mount_new_tmpfs(rest - privates, skeleton_inodes(r->plan, r->for_runtime), "0755", ROOT_PRIVATE);
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
	if (root_own(r, fd, "") < 0)
		return -1;
	r->fd = STEAL_FD(fd);
	return fchdir(r->fd) < 0 ? root_fail(r, errno, "enter", "the root") : 0;
}

/*
 * The skeleton is attached over a directory that every host has; in this namespace only, and for a moment. What lies below it
 * cannot be opened by its path from then on, so it is one that is forbidden as a source of mounts.
 */
static int root_skeleton(struct root *r)
{
	static const char *const places[] = { "/run", "/root", "/boot", NULL };
	const char *place;

	if (make_skeleton(r, places, &place) < 0)
		return -1;
	return mknodat(r->fd, ROOT_EMPTY_FILE, S_IFREG | 0444, 0) < 0 ? root_fail(r, errno, "make", ROOT_EMPTY_FILE)
								      : 0;
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

	if (r->scratch >= 0 && umount2(".scratch", MNT_DETACH | UMOUNT_NOFOLLOW) < 0)
		return root_fail(r, errno, "detach", "the scratch directory");
	if (r->image >= 0 &&
	    (umount2(IMAGE_PLACE, MNT_DETACH | UMOUNT_NOFOLLOW) < 0 || unlinkat(r->fd, IMAGE_PLACE, AT_REMOVEDIR) < 0))
		return root_fail(r, errno, "detach", r->plan->root);
	n = mount_restrict(r->fd, MOUNT_ATTR_NOSUID, 0, true); /* devices, which came by name */
	n = n < 0 ? n : mount_restrict(r->fd, ROOT_RO | root_noexec(r), 0, false);
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
