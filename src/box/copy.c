/*
 * Files in and out of a box, init's side.
 *
 * In: before the payload exists, from trees that the keeper opened; what is made belongs to the payload's user. Out: after the
 * payload and everything it started are gone. Only regular files and directories pass; a FIFO, a device or a symlink is left behind and told.
 * The contents of files are never read here: an open fd is handed to the front.
 */
#include "box/copy.h"

#include "base/error.h"
#include "base/fd.h"
#include "base/path.h"
#include "box/link.h"
#include "box/root.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#define WALK (RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS)
enum { COPY_DEPTH = 64 };

/* With its leading slash: "/home/agent/a" is "/a" of the home. NULL where it lies elsewhere. */
static const char *copy_below_home(const char *box, const char *home)
{
	const char *below = path_below(box, home);

	return below && *below ? below - 1 : NULL;
}

/* ---- in ---- */

static int fail_in(struct root *r, int errnum, const char *what, const char *name)
{
	return cordon_fail(r->err, CORDON_SYSTEM, errnum, "copy in: %s '%s'", what, name);
}

/* A place of the payload's own has a share of limits.inodes: it may be full before the number is reached. */
static int fail_make(struct root *r, int errnum, const char *what, const char *name)
{
	fail_in(r, errnum, what, name);
	return errnum == ENOSPC ? fail_hint(r->err, "it does not fit into limits.inodes; raise --inodes") : -1;
}

static int reopen(int fd, int flags)
{
	char path[32];
	int again;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	again = open(path, flags | O_CLOEXEC);
	return again < 0 ? -errno : again;
}

/* Not every private place has a size of its own: what is copied in counts against the limits from the start. */
static int copy_bytes(struct root *r, int from, int to)
{
	for (;;) {
		ssize_t n = sendfile(to, from, NULL, 1 << 20);

		if (n < 0)
			return -errno;
		if (n == 0)
			return 0;
		r->copied_bytes += (uint64_t)n;
		if (r->copied_bytes > r->plan->limits.disk_bytes)
			return -ENOSPC;
	}
}

static int in_file(struct root *r, int from, const struct stat *st, int dir, const char *name)
{
	auto_close int in = reopen(from, O_RDONLY | O_NONBLOCK), out = -1;
	int n;

	if (in < 0)
		return fail_in(r, -in, "open", name);
	out = fd_openat2(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600, WALK);
	if (out < 0)
		return fail_make(r, -out, "create", name);
	n = copy_bytes(r, in, out);
	if (n < 0) {
		fail_in(r, -n, "write", name);
		return n == -ENOSPC || n == -EDQUOT
			       ? fail_hint(r->err, "it does not fit into limits.disk; raise --disk")
			       : -1;
	}
	if (fchown(out, r->uid, r->gid) < 0 || fchmod(out, st->st_mode & 0777) < 0)
		return fail_in(r, errno, "own", name);
	return 0;
}

static int in_entry(struct root *r, int from, int dir, const char *name, unsigned depth);

static int in_directory(struct root *r, int from, const struct stat *st, int dir, const char *name, unsigned depth)
{
	auto_close int in = reopen(from, O_RDONLY | O_DIRECTORY), to = -1;
	struct dirent *e;
	int status = 0;
	DIR *d;

	if (depth > COPY_DEPTH)
		return fail_in(r, ELOOP, "descend into", name);
	if (mkdirat(dir, name, 0700) < 0)
		return fail_make(r, errno, "make", name);
	to = fd_openat2(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0, WALK);
	d = in < 0 || to < 0 ? NULL : fdopendir(in);
	if (!d)
		return fail_in(r, errno, "open", name);
	in = -1;
	while (status == 0 && (e = readdir(d))) {
		auto_close int sub = -1;

		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
			continue;
		sub = openat(dirfd(d), e->d_name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
		status = sub < 0 ? fail_in(r, errno, "open", e->d_name) : in_entry(r, sub, to, e->d_name, depth + 1);
	}
	closedir(d);
	if (status == 0 && (fchown(to, r->uid, r->gid) < 0 || fchmod(to, st->st_mode & 0777) < 0))
		return fail_in(r, errno, "own", name);
	return status;
}

static int in_link(struct root *r, int from, int dir, const char *name)
{
	char target[4096];
	ssize_t n = readlinkat(from, "", target, sizeof(target) - 1);

	if (n < 0)
		return fail_in(r, errno, "read link", name);
	target[n] = '\0';
	if (symlinkat(target, dir, name) < 0 || fchownat(dir, name, r->uid, r->gid, AT_SYMLINK_NOFOLLOW) < 0)
		return fail_in(r, errno, "link", name);
	return 0;
}

static int in_entry(struct root *r, int from, int dir, const char *name, unsigned depth)
{
	struct stat st;

	if (fstat(from, &st) < 0)
		return fail_in(r, errno, "stat", name);
	if (++r->copied_files > r->plan->limits.inodes)
		return fail_make(r, ENOSPC, "more files than limits.inodes, at", name);
	if (S_ISREG(st.st_mode))
		return in_file(r, from, &st, dir, name);
	if (S_ISDIR(st.st_mode))
		return in_directory(r, from, &st, dir, name, depth);
	if (S_ISLNK(st.st_mode))
		return in_link(r, from, dir, name);
	return cordon_fail(r->err, CORDON_DENIED, 0, "copy in: '%s' is neither a file, a directory nor a link", name);
}

/* The directory that will hold `path`; what is missing is made for the payload's user. */
static int in_parent(struct root *r, const char *path)
{
	auto_free char *parent = strdup(path);
	auto_close int at = -1;
	char *slash = parent ? strrchr(parent, '/') : NULL;

	if (!slash)
		return fail_memory(r->err);
	*slash = '\0';
	at = openat(r->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	for (char *p = parent + 1, *next; at >= 0 && p < slash; p = next) {
		int sub;

		next = strchrnul(p, '/');
		if (*next)
			*next++ = '\0';
		if (mkdirat(at, p, 0755) == 0 && fchownat(at, p, r->uid, r->gid, AT_SYMLINK_NOFOLLOW) < 0)
			return fail_in(r, errno, "own", p);
		sub = fd_openat2(at, p, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0, WALK);
		if (sub < 0)
			return fail_in(r, -sub, "open", path);
		fd_close(&at);
		at = sub;
	}
	return at < 0 ? fail_in(r, errno, "open", path) : STEAL_FD(at);
}

int root_copy_in(struct root *r)
{
	for (size_t i = 0; i < r->plan->in_count; i++) {
		const struct plan_copy *c = &r->plan->ins[i];
		int from = r->prepared_in && r->prepared_in[i] >= 0 ? r->prepared_in[i] : c->fd;
		const char *box = r->home ? copy_below_home(c->box, r->home) : c->box;
		auto_close int dir = box ? in_parent(r, box) : fail_in(r, EXDEV, "place outside of the home", c->box);

		if (dir < 0 || in_entry(r, from, dir, path_name(c->box), 0) < 0)
			return -1;
	}
	return 0;
}

int copy_code(struct root *r)
{
	const struct plan_code *c = &r->plan->code;
	auto_close int fd = -1;
	int n;

	if (!c->path)
		return 0;
	fd = fd_openat2(r->fd, path_name(c->path), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0644, WALK);
	n = fd < 0 ? fd : fd_write_all(fd, c->data, c->len);
	if (n < 0)
		return fail_in(r, -n, "write", c->path);
	return fchown(fd, r->uid, r->gid) < 0 ? fail_in(r, errno, "own", c->path) : 0;
}

/* ---- out ---- */

#define LEFT_BEHIND "left behind: only files and directories are copied, no links"

static void out_error(int link, enum cordon_code code, int errnum, const char *path, const char *what)
{
	struct link_message m = { .type = LINK_ERROR };

	cordon_fail(&m.error, code, errnum, "copy out of '%s': %s", path, what);
	(void)fail_step(&m.error, "copy out");
	(void)link_send(link, &m, -1);
}

/* What the kernel says of a link and of a socket would be read as a fault. */
static void out_unopened(int link, int errnum, const char *path)
{
	if (errnum == ELOOP || errnum == ENXIO)
		out_error(link, CORDON_DENIED, 0, path, LEFT_BEHIND);
	else
		out_error(link, errnum == ENOENT ? CORDON_NOT_FOUND : CORDON_DENIED, errnum, path, "open");
}

static void out_entry(const struct plan_copy *c, int link, int fd, struct link_file *file);

static void out_directory(const struct plan_copy *c, int link, int fd, const struct link_file *file)
{
	int dup_fd = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	DIR *d = dup_fd < 0 ? NULL : fdopendir(dup_fd);
	struct dirent *e;

	if (!d) {
		out_error(link, CORDON_SYSTEM, errno, c->box, "list a directory");
		fd_close(&dup_fd);
		return;
	}
	while ((e = readdir(d))) {
		struct link_file sub = { .index = file->index, .depth = file->depth + 1 };
		auto_close int at = -1;

		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
			continue;
		snprintf(sub.name, sizeof(sub.name), "%s", e->d_name);
		at = openat(dirfd(d), e->d_name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
		if (at < 0)
			out_unopened(link, errno, e->d_name);
		else
			out_entry(c, link, at, &sub);
	}
	closedir(d);
}

static void out_entry(const struct plan_copy *c, int link, int fd, struct link_file *file)
{
	struct link_message m = { .type = LINK_FILE };
	struct stat st;

	if (fstat(fd, &st) < 0 || (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode)) || file->depth > COPY_DEPTH) {
		out_error(link, CORDON_DENIED, 0, file->name[0] ? file->name : c->box, LEFT_BEHIND);
		return;
	}
	file->mode = st.st_mode & (S_IFMT | 0777);
	file->size = (uint64_t)st.st_size;
	m.file = *file;
	if (link_send(link, &m, S_ISREG(st.st_mode) ? fd : -1) == 0 && S_ISDIR(st.st_mode))
		out_directory(c, link, fd, file);
}

void copy_out_send(const struct cordon_plan *plan, const char *work, int link)
{
	struct link_message m = { .type = LINK_COLLECTED };

	for (size_t i = 0; i < plan->out_count; i++) {
		const struct plan_copy *c = &plan->outs[i];
		struct link_file file = { .index = (uint32_t)i };
		const char *box = work ? copy_below_home(c->box, plan->home) : c->box;
		auto_close int root = open(work ? work : "/", O_PATH | O_DIRECTORY | O_CLOEXEC), fd = -EXDEV;

		if (box)
			fd = fd_openat2(root, box + 1, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0,
					RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_SYMLINKS);
		if (fd < 0)
			out_unopened(link, -fd, c->box);
		else
			out_entry(c, link, fd, &file);
	}
	(void)link_send(link, &m, -1);
}
