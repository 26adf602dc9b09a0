/*
 * Files in and out of a container, init's side: one component at a time, and no symlink is ever followed. In: before the payload exists.
 * Out: after it and everything it started are gone. Only regular files and directories go out.
 */
#include "inner/inner.h"

#include "base/error.h"
#include "base/fd.h"
#include "base/path.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { COPY_DEPTH = 64, CHUNK = 65536 };

static int fail_in(struct cordon_error *err, int errnum, const char *what, const char *name)
{
	cordon_fail(err, CORDON_SYSTEM, errnum, "copy in: %s '%s'", what, name);
	if (errnum == ENOSPC)
		(void)fail_hint(err, "it does not fit into limits.disk or limits.inodes; raise --disk or --inodes");
	return fail_step(err, "copy in");
}

/* The directory of `path`, component by component; `make`: missing ones are made. -errno. */
static int open_parent(const char *path, bool make)
{
	auto_close int at = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	const char *name = path_name(path);

	for (const char *p = path + 1; at >= 0 && p < name;) {
		size_t len = strcspn(p, "/");
		auto_free char *part = strndup(p, len);
		struct stat st;
		int next;

		if (!part)
			return -ENOMEM;
		if (make && mkdirat(at, part, 0755) < 0 && errno != EEXIST && errno != EROFS && errno != EACCES)
			return -errno;
		/* Asked as well, for kernels that follow it all the same: nothing of the payload's runs, and can swap it. */
		if (fstatat(at, part, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(st.st_mode))
			return -ELOOP;
		next = openat(at, part, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (next < 0)
			return -errno;
		fd_close(&at);
		at = next;
		p += len + 1;
	}
	return at < 0 ? -errno : STEAL_FD(at);
}

/* ---- in ---- */

static int finish_file(struct inner_copy *c)
{
	int r = c->file >= 0 && fchmod(c->file, c->mode & 0777) < 0 ? -errno : 0;

	fd_close(&c->file);
	c->is_link = false;
	return r;
}

/* Directories get their modes when nothing more goes into them. */
static int close_below(struct inner_copy *c, size_t depth)
{
	int r = finish_file(c);

	while (c->depth > depth) {
		c->depth--;
		if (c->depth && fchmod(c->dirs[c->depth], c->modes[c->depth] & 0777) < 0)
			r = -errno;
		fd_close(&c->dirs[c->depth]);
	}
	return r;
}

static int make_entry(struct inner_copy *c, int dir, const char *name, const struct frame_entry *e)
{
	int fd;

	if (S_ISLNK(e->mode)) {
		c->is_link = true;
		snprintf(c->name, sizeof(c->name), "%s", name);
		return 0;
	}
	if (S_ISREG(e->mode)) {
		c->mode = e->mode;
		c->file = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
		return c->file < 0 ? -errno : 0;
	}
	if (!S_ISDIR(e->mode) || c->depth >= INNER_DEPTH)
		return -EINVAL;
	if (mkdirat(dir, name, 0700) < 0)
		return -errno;
	fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	c->modes[c->depth] = e->mode;
	c->dirs[c->depth++] = fd;
	return 0;
}

int inner_copy_entry(struct inner *n, const struct frame_entry *e, struct cordon_error *err)
{
	struct inner_copy *c = &n->copy;
	const char *name = e->name;
	int r;

	if (e->index >= n->job.ins.n || (e->depth && e->depth >= c->depth))
		return fail_in(err, EPROTO, "place", e->name);
	if (++c->files > n->job.copy_files)
		return fail_in(err, ENOSPC, "more files than limits.inodes, at", e->name);
	r = close_below(c, e->depth ? e->depth + 1 : 0);
	if (r == 0 && e->depth == 0) {
		const char *path = n->job.ins.v[e->index];

		name = path_name(path);
		r = open_parent(path, true);
		if (r < 0)
			return fail_in(err, -r, "place", path);
		c->dirs[0] = r;
		c->depth = 1;
	}
	/* In a box that lives something may be there: a file gives way, a directory does not. */
	if (r >= 0 && e->depth == 0 && !S_ISDIR(e->mode))
		(void)unlinkat(c->dirs[0], name, 0);
	r = r < 0 ? r : make_entry(c, c->dirs[c->depth - 1], name, e);
	return r < 0 ? fail_in(err, -r, "create", name) : 0;
}

int inner_copy_data(struct inner *n, const void *data, size_t len, struct cordon_error *err)
{
	struct inner_copy *c = &n->copy;
	int r = 0;

	c->bytes += len;
	if (c->bytes > n->job.copy_bytes) {
		r = -ENOSPC;
	} else if (c->is_link) {
		auto_free char *target = strndup(data, len);

		if (!target || symlinkat(target, c->dirs[c->depth - 1], c->name) < 0)
			r = -errno;
		c->is_link = false;
	} else {
		r = c->file < 0 ? -EPROTO : fd_write_all(c->file, data, len);
	}
	return r < 0 ? fail_in(err, -r, "write", n->job.workdir) : 0;
}

int inner_copy_done(struct inner *n, struct cordon_error *err)
{
	int r = close_below(&n->copy, 0);

	return r < 0 ? fail_in(err, -r, "own", "what was copied in") : 0;
}

/* ---- out ---- */

static void out_error(struct inner *n, enum cordon_code code, int errnum, const char *path, const char *what)
{
	struct cordon_error err = { 0 };

	cordon_fail(&err, code, errnum, "copy out of '%s': %s", path, what);
	(void)fail_step(&err, "copy out");
	frame_put_error(&n->queue, &err);
	inner_flush(n, true);
}

/* Beyond the bound a byte is enough for the keeper to see that there is more: a sparse file may be endless. */
static void out_file(struct inner *n, int fd, const char *path)
{
	static char buffer[CHUNK];
	ssize_t got;
	bool over;

	do {
		over = n->out_bytes > n->job.out_bytes;
		got = read(fd, buffer, over ? 1 : sizeof(buffer));
		if (got <= 0)
			break;
		n->out_bytes += (uint64_t)got;
		frame_put(&n->queue, FRAME_DATA, buffer, (size_t)got);
		inner_flush(n, true);
	} while (!over);
	if (got < 0)
		out_error(n, CORDON_SYSTEM, errno, path, "read");
}

static void out_entry(struct inner *n, int dir, const char *name, struct frame_entry *e);

static void out_directory(struct inner *n, int fd, const struct frame_entry *e)
{
	int copy = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	DIR *d = copy < 0 ? NULL : fdopendir(copy);
	struct dirent *at;

	if (!d) {
		out_error(n, CORDON_SYSTEM, errno, e->name, "list a directory");
		fd_close(&copy);
		return;
	}
	while ((at = readdir(d))) {
		struct frame_entry sub = { .index = e->index, .depth = e->depth + 1 };

		if (strcmp(at->d_name, ".") == 0 || strcmp(at->d_name, "..") == 0)
			continue;
		snprintf(sub.name, sizeof(sub.name), "%s", at->d_name);
		out_entry(n, dirfd(d), at->d_name, &sub);
	}
	closedir(d);
}

/* The payload's user owns what is here, and so does init: what it shut is opened. */
static int open_shut(int dir, const char *name, const struct stat *st)
{
	const int flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
	int fd = openat(dir, name, flags);

	if (fd < 0 && errno == EACCES && fchmodat(dir, name, (st->st_mode & 0777) | S_IRUSR | S_IXUSR, 0) == 0)
		fd = openat(dir, name, flags);
	return fd < 0 ? -errno : fd;
}

static void out_entry(struct inner *n, int dir, const char *name, struct frame_entry *e)
{
	auto_close int fd = -1;
	struct stat st;

	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0) {
		out_error(n, errno == ENOENT ? CORDON_NOT_FOUND : CORDON_DENIED, errno, n->job.outs.v[e->index],
			  "open");
		return;
	}
	if ((!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode)) || e->depth > COPY_DEPTH) {
		out_error(n, CORDON_DENIED, 0, name, "left behind: only files and directories are copied, no links");
		return;
	}
	fd = open_shut(dir, name, &st);
	if (fd < 0) {
		out_error(n, CORDON_DENIED, -fd, name, "open");
		return;
	}
	e->mode = st.st_mode & (S_IFMT | 0777);
	e->size = (uint64_t)st.st_size;
	frame_put_entry(&n->queue, e);
	inner_flush(n, true);
	if (S_ISDIR(st.st_mode))
		out_directory(n, fd, e);
	else
		out_file(n, fd, name);
}

void inner_collect(struct inner *n)
{
	for (size_t i = 0; i < n->job.outs.n; i++) {
		struct frame_entry e = { .index = (uint32_t)i };
		const char *path = n->job.outs.v[i];
		auto_close int dir = open_parent(path, false);

		if (dir < 0)
			out_error(n, dir == -ENOENT ? CORDON_NOT_FOUND : CORDON_DENIED, -dir, path, "open");
		else
			out_entry(n, dir, path_name(path), &e);
	}
	frame_put(&n->queue, FRAME_COLLECTED, NULL, 0);
	inner_flush(n, true);
}
