/*
 * Files out of a box, the front's side. Names come from the box and are hostile: each must be one plain component, and is only ever
 * used relative to a directory fd that was made here. What an fd really is, the kernel says (fstat), not the message. With the caller's rights.
 */
#include "box/collect.h"

#include "base/error.h"
#include "base/fd.h"
#include "base/owner.h"
#include "base/path.h"
#include "base/remove.h"
#include "base/str.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define UNFINISHED ".cordon-out-"
enum { UNFINISHED_SECONDS = 3600 }; /* copying out takes minutes at most */

void collect_init(struct collect *c, const struct cordon_plan *plan, struct cordon_error *err)
{
	*c = (struct collect){ .plan = plan, .current = -1, .err = err };
	for (size_t i = 0; i < COLLECT_DEPTH; i++)
		c->dirs[i] = -1;
}

static void fail(struct collect *c, enum cordon_code code, int errnum, const char *what)
{
	const char *host = c->current >= 0 ? c->plan->outs[c->current].host : "";

	c->failed = true;
	if (c->err->code != CORDON_OK)
		return;
	cordon_fail(c->err, code, errnum, "copy out to '%s': %s", host, what);
	(void)fail_step(c->err, "copy out");
}

/* Directories get their modes when nothing more goes into them: one that may not be written could not be filled. */
static void close_below(struct collect *c, size_t depth)
{
	while (c->depth > depth) {
		c->depth--;
		if (c->depth && !c->failed && fchmod(c->dirs[c->depth], c->modes[c->depth]) < 0)
			fail(c, CORDON_SYSTEM, errno, "set the mode of a directory");
		fd_close(&c->dirs[c->depth]);
	}
}

/* A device, a FIFO or a link, as of /dev/stdout: a file in its place is not what anybody means. */
static bool is_taken(int dir, const char *name)
{
	struct stat st;

	return fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode);
}

/* The one under way is complete: give it its name, or remove it. */
static void finish(struct collect *c)
{
	const char *name;

	if (c->current < 0)
		return;
	close_below(c, 1);
	name = path_name(c->plan->outs[c->current].host);
	if (!c->failed && c->temporary[0] && is_taken(c->dirs[0], name))
		fail(c, CORDON_DENIED, 0, "what is there already is no plain file; it was left alone");
	if (!c->failed && c->temporary[0] && renameat(c->dirs[0], c->temporary, c->dirs[0], name) < 0)
		fail(c, CORDON_SYSTEM, errno,
		     errno == ENOTEMPTY || errno == EEXIST || errno == EISDIR || errno == ENOTDIR
			     ? "something else is there already; it was left alone"
			     : "rename into place");
	if (c->failed && c->temporary[0])
		remove_tree(c->dirs[0], c->temporary);
	close_below(c, 0);
	c->temporary[0] = '\0';
	c->current = -1;
}

/* Of another boot may be of another machine, which has the same directory: then only what nobody can be at work on any more. */
static bool is_left(int dir, const char *name, const char *owner)
{
	struct stat st;

	if (!owner_is_orphan(owner))
		return false;
	return owner_is_of_this_boot(owner) ||
	       (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && time(NULL) - st.st_mtime > UNFINISHED_SECONDS);
}

/* A front that was killed in the middle left what it had: nobody else knows the place. */
static void sweep(int dir)
{
	int copy = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = copy < 0 ? NULL : fdopendir(copy);
	struct dirent *e;

	if (!d) {
		fd_close(&copy);
		return;
	}
	while ((e = readdir(d))) {
		const char *owner = str_starts(e->d_name, UNFINISHED) ? strstr(e->d_name, "-cordon-") : NULL;

		if (owner && is_left(dir, e->d_name, owner + 1))
			(void)remove_tree(dir, e->d_name);
	}
	closedir(d);
}

/* Ours, not the keeper's, which may be gone before all is in place; and one for each run of a process that has several. */
static int name_unfinished(char *buf, size_t size)
{
	static atomic_uint count;
	char owner[OWNER_NAME_MAX];
	int r = owner_name(owner);

	if (r == 0)
		snprintf(buf, size, UNFINISHED "%u-%s", atomic_fetch_add(&count, 1), owner);
	return r;
}

static void begin(struct collect *c, const struct link_file *file)
{
	int r;

	finish(c);
	c->failed = false;
	c->current = (int)file->index;
	c->dirs[0] = openat(c->plan->outs[file->index].fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (c->dirs[0] < 0) {
		fail(c, CORDON_SYSTEM, errno, "open its directory");
		return;
	}
	c->depth = 1;
	sweep(c->dirs[0]);
	r = name_unfinished(c->temporary, sizeof(c->temporary));
	if (r < 0)
		fail(c, CORDON_SYSTEM, -r, "read the boot id");
}

static void take_file(struct collect *c, int dir, const char *name, uint32_t mode, int fd)
{
	auto_close int out = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	auto_free char *buf = malloc(1 << 16);
	struct stat st;

	if (out < 0 || !buf) {
		fail(c, CORDON_SYSTEM, errno, "create");
		return;
	}
	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
		fail(c, CORDON_DENIED, 0, "not a regular file");
		return;
	}
	for (;;) {
		ssize_t n = read(fd, buf, 1 << 16);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			if (n < 0 || fchmod(out, mode & 0777) < 0)
				fail(c, CORDON_SYSTEM, errno, "copy");
			return;
		}
		c->bytes += (uint64_t)n;
		if (c->bytes > c->plan->out_max_bytes) {
			fail(c, CORDON_DENIED, EFBIG, "more than may be copied out");
			return;
		}
		n = fd_write_all(out, buf, (size_t)n);
		if (n < 0) {
			fail(c, CORDON_SYSTEM, (int)-n, "write");
			return;
		}
	}
}

static void take_directory(struct collect *c, int dir, const char *name, uint32_t mode)
{
	int fd;

	if (c->depth >= COLLECT_DEPTH || mkdirat(dir, name, 0700) < 0) {
		fail(c, CORDON_SYSTEM, errno, "make a directory");
		return;
	}
	fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0) {
		fail(c, CORDON_SYSTEM, errno, "open a directory");
		return;
	}
	c->modes[c->depth] = mode & 0777 & ~022u;
	c->dirs[c->depth++] = fd;
}

static bool is_plain(const char *name, size_t size)
{
	size_t n = strnlen(name, size);

	return n && n < size && !memchr(name, '/', n) && strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
}

void collect_file(struct collect *c, const struct link_file *file, int fd)
{
	const char *name = file->name;

	if (file->index >= c->plan->out_count)
		return;
	if (file->depth == 0) {
		begin(c, file);
		name = c->temporary;
	}
	if (c->failed || c->current != (int)file->index)
		return;
	if (file->depth && (!is_plain(file->name, sizeof(file->name)) || file->depth >= c->depth)) {
		fail(c, CORDON_DENIED, 0, "a name that is not one");
		return;
	}
	close_below(c, file->depth + 1);
	if (c->failed)
		return;
	if (S_ISDIR(file->mode))
		take_directory(c, c->dirs[c->depth - 1], name, file->mode);
	else
		take_file(c, c->dirs[c->depth - 1], name, file->mode, fd);
}

void collect_done(struct collect *c, bool complete)
{
	if (!complete)
		fail(c, CORDON_SYSTEM, 0, "the box ended before everything was handed out");
	finish(c);
	close_below(c, 0);
}
