/*
 * Layers become a root: see merge.h.
 *
 * One directory for the whole image, instead of an overlay for every box: it needs no privilege and no kernel's idea of whiteouts, is the
 * same as root and as an ordinary user on any kernel, and a box starts from it as from any directory. Files are hard links into the
 * layers, so that images which share layers share their bytes; where the file system has no more links for a file, it is copied.
 *
 * Names come from archives, but this is a directory of our own that nobody else can reach: each step is one component, and no symlink is
 * followed.
 */
#include "image/merge.h"

#include "base/fd.h"
#include "base/remove.h"
#include "base/str.h"
#include "image/budget.h"
#include "image/unpack.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int fail_at(struct cordon_error *err, int errnum, const char *what, const char *name)
{
	return cordon_fail(err, CORDON_SYSTEM, errnum, "%s '%s' of the root", what, name);
}

static int enter(int at, const char *name)
{
	return openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/* A stream over fd, which stays the caller's. */
static DIR *list(int fd)
{
	int copy = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = copy < 0 ? NULL : fdopendir(copy);

	if (!d)
		fd_close(&copy);
	return d;
}

static bool is_dots(const char *name)
{
	return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

static int empty(int dir, struct cordon_error *err)
{
	DIR *d = list(dir);
	int r = d ? 0 : -errno;

	for (struct dirent *e; r == 0 && (e = readdir(d));)
		r = is_dots(e->d_name) ? 0 : remove_tree(dir, e->d_name);
	if (d)
		closedir(d);
	return r < 0 ? fail_at(err, -r, "empty a directory", "") : 0;
}

/* What the layer takes away from those below, before it adds anything. */
static int apply_whiteouts(DIR *layer, int root, struct cordon_error *err)
{
	for (struct dirent *e; (e = readdir(layer));) {
		const char *gone = unpack_whiteout(e->d_name);
		int r;

		if (!gone)
			continue;
		if (!*gone) {
			if (empty(root, err) < 0)
				return -1;
			continue;
		}
		r = remove_tree(root, gone);
		if (r < 0)
			return fail_at(err, -r, "remove", gone);
	}
	rewinddir(layer);
	return 0;
}

static int copy_file(int from, int to, const char *name)
{
	auto_close int in = openat(from, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC), out = -1;
	struct stat st;
	ssize_t n;

	if (in < 0 || fstat(in, &st) < 0)
		return -errno;
	out = openat(to, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, st.st_mode & 0777);
	if (out < 0)
		return -errno;
	do
		n = copy_file_range(in, NULL, out, NULL, 1 << 30, 0);
	while (n > 0);
	return n < 0 || futimens(out, (struct timespec[2]){ st.st_atim, st.st_mtim }) < 0 ? -errno : 0;
}

static int copy_link(int from, int to, const char *name)
{
	char target[PATH_MAX];
	ssize_t n = readlinkat(from, name, target, sizeof(target) - 1);

	if (n < 0)
		return -errno;
	target[n] = '\0';
	return symlinkat(target, to, name) < 0 ? -errno : 0;
}

static int link_or_copy(int from, int to, const char *name, bool is_link)
{
	if (linkat(from, name, to, name, 0) == 0)
		return 0;
	if (errno != EMLINK && errno != EPERM && errno != EOPNOTSUPP)
		return -errno;
	return is_link ? copy_link(from, to, name) : copy_file(from, to, name);
}

static int put_file(int layer, int root, const char *name, bool is_link, struct cordon_error *err)
{
	int r = link_or_copy(layer, root, name, is_link);

	if (r == -EEXIST) {
		r = remove_tree(root, name);
		r = r < 0 ? r : link_or_copy(layer, root, name, is_link);
	}
	return r < 0 ? fail_at(err, -r, "make", name) : 0;
}

static int merge_dir(int layer, int root, unsigned depth, struct cordon_error *err);

/* A directory stays where both have one, with the mode of the layer above. */
static int put_dir(int layer, int root, const char *name, unsigned depth, struct cordon_error *err)
{
	auto_close int from = enter(layer, name), to = -1;
	struct stat st;

	if (from < 0 || fstat(from, &st) < 0)
		return fail_at(err, errno, "read", name);
	to = enter(root, name);
	if (to < 0 && (errno == ENOTDIR || errno == ELOOP) && unlinkat(root, name, 0) < 0)
		return fail_at(err, errno, "replace", name);
	if (to < 0) {
		if (mkdirat(root, name, 0700) < 0)
			return fail_at(err, errno, "make", name);
		to = enter(root, name);
	}
	if (to < 0 || fchmod(to, st.st_mode & 01777) < 0)
		return fail_at(err, errno, "make", name);
	return merge_dir(from, to, depth + 1, err);
}

static int put(int layer, int root, const char *name, unsigned depth, struct cordon_error *err)
{
	struct stat st;

	if (is_dots(name) || unpack_whiteout(name))
		return 0;
	if (fstatat(layer, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return fail_at(err, errno, "look at", name);
	if (S_ISDIR(st.st_mode))
		return put_dir(layer, root, name, depth, err);
	return put_file(layer, root, name, S_ISLNK(st.st_mode), err);
}

static int merge_dir(int layer, int root, unsigned depth, struct cordon_error *err)
{
	DIR *d = list(layer);
	int status;

	if (!d || depth > BUDGET_DEPTH) {
		if (d)
			closedir(d);
		return fail_at(err, d ? ELOOP : errno, "list", "a directory");
	}
	status = apply_whiteouts(d, root, err);
	for (struct dirent *e; status == 0 && (e = readdir(d));)
		status = put(layer, root, e->d_name, depth, err);
	closedir(d);
	return status;
}

int merge_layer(int layer, int root, struct cordon_error *err)
{
	return merge_dir(layer, root, 0, err);
}

/* ---- places ---- */

/* An ordinary file, empty where there was none or a link to somewhere that a box does not have. */
static int make_file(int etc, const char *name)
{
	struct stat st;
	auto_close int fd = -1;

	if (fstatat(etc, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && !S_ISLNK(st.st_mode))
		return 0;
	if (unlinkat(etc, name, 0) < 0 && errno != ENOENT)
		return -errno;
	fd = openat(etc, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
	return fd < 0 ? -errno : 0;
}

int merge_places(int root, struct cordon_error *err)
{
	static const char *const files[] = { "passwd", "group", "hosts", "hostname", "resolv.conf", "nsswitch.conf" };
	auto_close int etc = -1;
	int r = 0;

	if (mkdirat(root, "etc", 0755) < 0 && errno != EEXIST)
		return fail_at(err, errno, "make", "etc");
	etc = enter(root, "etc");
	if (etc < 0)
		return 0; /* a link: a box lays nothing over it */
	for (size_t i = 0; r == 0 && i < ARRAY_LEN(files); i++)
		r = make_file(etc, files[i]);
	if (r == 0 && mkdirat(etc, "cordon", 0755) < 0 && errno != EEXIST)
		r = -errno;
	return r < 0 ? fail_at(err, -r, "make a place in", "etc") : 0;
}

/* ---- size ---- */

static int size_of(int dir, unsigned depth, uint64_t *bytes)
{
	DIR *d = depth > BUDGET_DEPTH + 1 ? NULL : list(dir);
	int r = d ? 0 : -ELOOP;

	for (struct dirent *e; r == 0 && (e = readdir(d));) {
		auto_close int below = -1;
		struct stat st;

		if (is_dots(e->d_name) || fstatat(dir, e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		if (S_ISREG(st.st_mode))
			*bytes += (uint64_t)st.st_size;
		if (!S_ISDIR(st.st_mode))
			continue;
		below = enter(dir, e->d_name);
		r = below < 0 ? -errno : size_of(below, depth + 1, bytes);
	}
	if (d)
		closedir(d);
	return r;
}

int merge_size(int root, uint64_t *ret_bytes)
{
	*ret_bytes = 0;
	return size_of(root, 0, ret_bytes);
}
