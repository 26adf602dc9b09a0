/* Files into a box that lives: see feed.h. */
#include "box/feed.h"

#include "base/error.h"
#include "base/fd.h"
#include "base/path.h"
#include "box/link.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FEED_DEPTH = 64 };

/* ---- the front ---- */

struct sender {
	int sock;
	bool is_deaf; /* nobody takes it any more */
	struct link_message m;
	struct cordon_error *err;
};

static int fail_send(struct sender *s, enum cordon_code code, int errnum, const char *what, const char *name)
{
	cordon_fail(s->err, code, errnum, "copy in: %s '%s'", what, name);
	return fail_step(s->err, "copy in");
}

static int reopen(int fd, int flags)
{
	char path[32];
	int again;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	again = open(path, flags | O_CLOEXEC);
	return again < 0 ? -errno : again;
}

static int put(struct sender *s, const struct stat *st, unsigned depth, const char *name, int fd)
{
	struct link_file *f = &s->m.file;
	int r;

	f->depth = depth;
	f->mode = st->st_mode & (S_IFMT | 0777);
	f->size = (uint64_t)st->st_size;
	snprintf(f->name, sizeof(f->name), "%s", depth ? name : "");
	r = link_send(s->sock, &s->m, fd);
	s->is_deaf = r == -EPIPE || r == -ECONNRESET;
	return r < 0 && !s->is_deaf ? fail_send(s, CORDON_SYSTEM, -r, "send", name) : 0;
}

static int send_entry(struct sender *s, int from, const char *name, unsigned depth);

static int send_directory(struct sender *s, int from, const char *name, unsigned depth)
{
	int in = reopen(from, O_RDONLY | O_DIRECTORY), status = 0;
	DIR *d = in < 0 ? NULL : fdopendir(in);
	struct dirent *e;

	if (!d) {
		fail_send(s, CORDON_SYSTEM, in < 0 ? -in : errno, "open", name);
		fd_close(&in);
		return -1;
	}
	while (status == 0 && !s->is_deaf && (e = readdir(d))) {
		auto_close int sub = -1;

		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
			continue;
		sub = openat(dirfd(d), e->d_name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
		status = sub < 0 ? fail_send(s, CORDON_SYSTEM, errno, "open", e->d_name)
				 : send_entry(s, sub, e->d_name, depth + 1);
	}
	closedir(d);
	return status;
}

static int send_entry(struct sender *s, int from, const char *name, unsigned depth)
{
	auto_close int fd = -1;
	struct stat st;

	if (fstat(from, &st) < 0)
		return fail_send(s, CORDON_SYSTEM, errno, "look at", name);
	if (depth > FEED_DEPTH)
		return fail_send(s, CORDON_DENIED, ELOOP, "descend into", name);
	if (S_ISLNK(st.st_mode))
		return put(s, &st, depth, name, from);
	if (S_ISDIR(st.st_mode))
		return put(s, &st, depth, name, -1) < 0 || send_directory(s, from, name, depth) < 0 ? -1 : 0;
	if (!S_ISREG(st.st_mode))
		return fail_send(s, CORDON_DENIED, 0, "neither a file, a directory nor a link:", name);
	fd = reopen(from, O_RDONLY | O_NONBLOCK);
	return fd < 0 ? fail_send(s, CORDON_SYSTEM, -fd, "open", name) : put(s, &st, depth, name, fd);
}

static int send_code(struct sender *s, const struct plan_code *code)
{
	const struct stat st = { .st_mode = S_IFREG | 0644, .st_size = (off_t)code->len };
	auto_close int fd = memfd_create("cordon-code", MFD_CLOEXEC);
	int r = fd < 0 ? -errno : fd_write_all(fd, code->data, code->len);

	if (r == 0 && lseek(fd, 0, SEEK_SET) < 0)
		r = -errno;
	return r < 0 ? fail_send(s, CORDON_SYSTEM, -r, "keep", code->path) : put(s, &st, 0, code->path, fd);
}

int feed_send(const struct cordon_plan *plan, int sock, struct cordon_error *err)
{
	struct sender s = { .sock = sock, .m = { .type = LINK_FILE }, .err = err };
	struct link_message whole = { .type = LINK_COLLECTED };
	int r = 0;

	for (size_t i = 0; r == 0 && !s.is_deaf && i < plan->in_count; i++) {
		s.m.file.index = (uint32_t)i;
		r = send_entry(&s, plan->ins[i].fd, plan->ins[i].host, 0);
	}
	s.m.file.index = (uint32_t)plan->in_count;
	if (r == 0 && !s.is_deaf && plan->code.path)
		r = send_code(&s, &plan->code);
	if (r == 0 && !s.is_deaf)
		(void)link_send(sock, &whole, -1);
	return r;
}

/* ---- the payload's child ---- */

struct taker {
	const struct cordon_plan *plan;
	const struct strv *paths;
	int dirs[FEED_DEPTH + 2]; /* dirs[0]: where the named path goes; dirs[n + 1]: the directory at depth n */
	uint32_t modes[FEED_DEPTH + 2];
	size_t depth; /* how many of dirs are open */
	uint64_t bytes, files;
	struct cordon_error *err;
};

static int fail_take(struct taker *t, int errnum, const char *what, const char *name)
{
	cordon_fail(t->err, CORDON_SYSTEM, errnum, "copy in: %s '%s'", what, name);
	if (errnum == ENOSPC || errnum == EDQUOT)
		(void)fail_hint(t->err, "it does not fit into limits.disk or limits.inodes; raise --disk or --inodes");
	return fail_step(t->err, "copy in");
}

/* Directories get their modes when nothing more goes into them. */
static int close_below(struct taker *t, size_t depth)
{
	int r = 0;

	while (t->depth > depth) {
		t->depth--;
		if (t->depth && fchmod(t->dirs[t->depth], t->modes[t->depth] & 0777) < 0)
			r = -errno;
		fd_close(&t->dirs[t->depth]);
	}
	return r;
}

/* The directory of `path`, component by component and never through a link; missing ones are made. -errno. */
static int open_parent(const char *path)
{
	auto_close int at = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	const char *name = path_name(path);

	for (const char *p = path + 1; at >= 0 && p < name;) {
		size_t len = strcspn(p, "/");
		auto_free char *part = strndup(p, len);
		int next;

		if (!part)
			return -ENOMEM;
		(void)mkdirat(at, part, 0755);
		next = openat(at, part, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (next < 0)
			return -errno;
		fd_close(&at);
		at = next;
		p += len + 1;
	}
	return at < 0 ? -errno : STEAL_FD(at);
}

static int take_link(int dir, const char *name, int fd)
{
	char target[4096];
	ssize_t n = readlinkat(fd, "", target, sizeof(target) - 1);

	if (n < 0)
		return -errno;
	target[n] = '\0';
	return symlinkat(target, dir, name) < 0 ? -errno : 0;
}

static int take_file(struct taker *t, int dir, const char *name, uint32_t mode, int fd)
{
	auto_close int out = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (out < 0)
		return -errno;
	for (;;) {
		ssize_t n = sendfile(out, fd, NULL, 1 << 20);

		if (n < 0)
			return -errno;
		if (n == 0)
			return fchmod(out, mode & 0777) < 0 ? -errno : 0;
		t->bytes += (uint64_t)n;
		if (t->bytes > t->plan->limits.disk_bytes)
			return -ENOSPC;
	}
}

static int take_directory(struct taker *t, int dir, const char *name, uint32_t mode)
{
	int fd;

	if (t->depth >= ARRAY_LEN(t->dirs))
		return -ELOOP;
	if (mkdirat(dir, name, 0700) < 0)
		return -errno;
	fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	t->modes[t->depth] = mode;
	t->dirs[t->depth++] = fd;
	return 0;
}

static int take_entry(struct taker *t, const struct link_file *f, int fd)
{
	const char *name = f->name;
	int r, dir;

	if (f->index >= t->paths->n || (f->depth && f->depth >= t->depth))
		return fail_take(t, EPROTO, "place", f->name);
	if (++t->files > t->plan->limits.inodes)
		return fail_take(t, ENOSPC, "more files than limits.inodes, at", f->name);
	r = close_below(t, f->depth ? f->depth + 1 : 0);
	if (r < 0)
		return fail_take(t, -r, "own", "a directory");
	if (f->depth == 0) {
		name = path_name(t->paths->v[f->index]);
		dir = open_parent(t->paths->v[f->index]);
		if (dir < 0)
			return fail_take(t, -dir, "place", t->paths->v[f->index]);
		t->dirs[0] = dir;
		t->depth = 1;
		if (!S_ISDIR(f->mode))
			(void)unlinkat(dir, name, 0); /* a file gives way, a directory does not */
	}
	dir = t->dirs[t->depth - 1];
	if (S_ISDIR(f->mode))
		r = take_directory(t, dir, name, f->mode);
	else
		r = S_ISLNK(f->mode) ? take_link(dir, name, fd) : take_file(t, dir, name, f->mode, fd);
	return r < 0 ? fail_take(t, -r, "create", name) : 0;
}

int feed_take(const struct cordon_plan *plan, const struct strv *paths, int sock, struct cordon_error *err)
{
	struct taker t = { .plan = plan, .paths = paths, .err = err };
	struct link_message m;
	int fd = -1, r = 0;

	while (r == 0 && link_receive(sock, &m, &fd) > 0) {
		if (m.type == LINK_COLLECTED) {
			r = close_below(&t, 0);
			return r < 0 ? fail_take(&t, -r, "own", "what was copied in") : 0;
		}
		r = m.type == LINK_FILE ? take_entry(&t, &m.file, fd) : fail_take(&t, EPROTO, "hear of", "it");
		fd_close(&fd);
	}
	return r < 0 ? r : fail_take(&t, 0, "not all came of", "it");
}
