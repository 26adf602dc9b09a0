/*
 * chmod and utime for a payload at process level.
 *
 * Without mounts of its own a payload that has the caller's uid could change the mode and the times of every file that the caller
 * owns: Landlock has no right for either. So the filter stops these calls, and the keeper does them, but only on what lies in the
 * private directory or in a writable mount.
 *
 * Theory of operation. The path is copied from the payload's memory and opened with O_PATH as the payload's own lookup would have:
 * from its working directory or its fd, without magic links. Everything after that is about this one fd: which directory it lies
 * in, whose it is, and the change itself. A payload that swaps memory, links or directories meanwhile gets another fd checked, or the
 * check fails; it cannot have one file checked and another one changed. Nothing can be moved or linked from outside to inside: Landlock forbids both.
 *
 * Runs in the keeper, with the payload's file system ids where the keeper is root: neither the lookup nor the change can do more than
 * the payload's user could, and the answer tells no more.
 */
#include "box/mediate.h"

#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <unistd.h>

enum { PAGE = 4096, DEPTH_MAX = PATH_MAX / 2, TRIES = 3, MODE_BITS = 01777, MODE_SETID = 06000 };
enum { NONE = -1 };
enum form { MODE, SECONDS, TIMEVALS, TIMESPECS };

#ifndef SYS_fchmodat2
#define SYS_fchmodat2 452
#endif

/* Which argument is what. */
struct call {
	int nr;
	enum form form;
	int dir, path, value, flags;
};

static const struct call calls[] = {
#ifdef SYS_chmod
	{ SYS_chmod, MODE, NONE, 0, 1, NONE },      { SYS_utime, SECONDS, NONE, 0, 1, NONE },
	{ SYS_utimes, TIMEVALS, NONE, 0, 1, NONE }, { SYS_futimesat, TIMEVALS, 0, 1, 2, NONE },
#endif
	{ SYS_fchmod, MODE, 0, NONE, 1, NONE },     { SYS_fchmodat, MODE, 0, 1, 2, NONE },
	{ SYS_fchmodat2, MODE, 0, 1, 2, 3 },        { SYS_utimensat, TIMESPECS, 0, 1, 2, 3 },
};

struct request {
	const struct call *call;
	const struct seccomp_event *event;
	int dir, flags;
	char path[PATH_MAX];
	bool has_path;
	mode_t mode;
	struct timespec times[2];
	bool now; /* no times given: whoever may write may do that */
};

static const struct call *call_of(int nr)
{
	for (size_t i = 0; i < ARRAY_LEN(calls); i++)
		if (calls[i].nr == nr)
			return &calls[i];
	return NULL;
}

/* ---- what is asked for ---- */

static int read_memory(const struct request *q, uint64_t address, void *buf, size_t size)
{
	struct iovec local = { buf, size }, remote = { (void *)(uintptr_t)address, size };
	ssize_t n = process_vm_readv(q->event->pid, &local, 1, &remote, 1, 0);

	if (n == (ssize_t)size)
		return 0;
	return n < 0 && errno != EFAULT ? EPERM : EFAULT;
}

/* Up to its NUL, a page at a time: what follows it may not be there. */
static int read_path(struct request *q, uint64_t address)
{
	size_t have = 0;

	while (have < sizeof(q->path)) {
		size_t want = PAGE - (address + have) % PAGE;
		int r;

		want = want < sizeof(q->path) - have ? want : sizeof(q->path) - have;
		r = read_memory(q, address + have, q->path + have, want);
		if (r)
			return r;
		if (memchr(q->path + have, '\0', want))
			return 0;
		have += want;
	}
	return ENAMETOOLONG;
}

static int from_timevals(struct request *q, const struct timeval *tv)
{
	for (int i = 0; i < 2; i++) {
		if (tv[i].tv_usec < 0 || tv[i].tv_usec >= 1000000)
			return EINVAL;
		q->times[i] = (struct timespec){ tv[i].tv_sec, tv[i].tv_usec * 1000 };
	}
	return 0;
}

static int read_times(struct request *q, uint64_t address)
{
	struct timeval tv[2] = { 0 };
	int64_t seconds[2] = { 0 };
	int r;

	if (!address) {
		q->now = true;
		q->times[0].tv_nsec = q->times[1].tv_nsec = UTIME_NOW;
		return 0;
	}
	switch (q->call->form) {
	case SECONDS:
		r = read_memory(q, address, seconds, sizeof(seconds));
		q->times[0].tv_sec = seconds[0];
		q->times[1].tv_sec = seconds[1];
		return r;
	case TIMEVALS:
		r = read_memory(q, address, tv, sizeof(tv));
		return r ? r : from_timevals(q, tv);
	case TIMESPECS:
		return read_memory(q, address, q->times, sizeof(q->times));
	case MODE:
		break;
	}
	return EINVAL;
}

static int read_request(struct request *q)
{
	const struct call *c = q->call;
	const uint64_t *args = q->event->args;
	int r = 0;

	q->dir = c->dir == NONE ? AT_FDCWD : (int)args[c->dir];
	q->flags = c->flags == NONE ? 0 : (int)args[c->flags];
	if (q->flags & ~(AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH))
		return EINVAL;
	q->has_path = c->path != NONE && (args[c->path] || c->form == MODE); /* for times, no path means the fd */
	if (q->has_path)
		r = read_path(q, args[c->path]);
	if (r == 0 && c->form != MODE)
		r = read_times(q, args[c->value]);
	if (c->form == MODE)
		q->mode = (mode_t)args[c->value] & (MODE_BITS | MODE_SETID);
	return r;
}

/* ---- which file ---- */

static int open_theirs(const struct request *q, int fd)
{
	char link[48];
	int r;

	if (fd == AT_FDCWD)
		snprintf(link, sizeof(link), "/proc/%d/cwd", q->event->pid);
	else
		snprintf(link, sizeof(link), "/proc/%d/fd/%d", q->event->pid, fd);
	r = open(link, O_PATH | O_CLOEXEC);
	if (r >= 0)
		return r;
	return errno == ENOENT ? -EBADF : -errno;
}

/* "/proc/self/fd/N", by which libc changes what it has open as O_PATH: the payload's fd, not ours. -1: it is not. */
static int fd_in_path(const char *path)
{
	static const char prefix[] = "/proc/self/fd/";
	const char *digits = path + sizeof(prefix) - 1;
	size_t n;

	if (strncmp(path, prefix, sizeof(prefix) - 1) != 0)
		return -1;
	n = strspn(digits, "0123456789");
	return n > 0 && n < 8 && !digits[n] ? (int)strtol(digits, NULL, 10) : -1;
}

static int open_object(const struct request *q)
{
	bool follow = !(q->flags & AT_SYMLINK_NOFOLLOW);
	auto_close int dir = -1;
	int fd = q->has_path && follow ? fd_in_path(q->path) : -1;

	if (fd >= 0)
		return open_theirs(q, fd);
	if (!q->has_path || (!*q->path && (q->flags & AT_EMPTY_PATH)))
		return open_theirs(q, q->dir);
	if (*q->path != '/') {
		dir = open_theirs(q, q->dir);
		if (dir < 0)
			return dir;
	}
	return fd_openat2(dir, q->path, O_PATH | (follow ? 0 : O_NOFOLLOW), 0, RESOLVE_NO_MAGICLINKS);
}

/* ---- whether it lies inside ---- */

static bool same(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* 1: a place that may be written; 0: one that may only be read; -1: neither. */
static int place_of(const struct cordon_plan *plan, const struct mediate_scope *scope, const struct stat *st)
{
	struct stat at;

	if (fstat(scope->work, &at) == 0 && same(st, &at))
		return 1;
	for (size_t i = 0; i < plan->mount_count; i++)
		if (fstat(plan->mounts[i].fd, &at) == 0 && same(st, &at))
			return plan->mounts[i].writable;
	return -1;
}

/* The directory that holds what `fd` is: its name is looked up again and must lead to the same file. */
static int open_parent(int fd, const struct stat *st)
{
	for (int i = 0; i < TRIES; i++) { /* someone may be renaming it */
		char path[PATH_MAX], *slash;
		auto_close int dir = -1;
		struct stat at;

		if (fd_real_path(fd, path, sizeof(path)) < 0 || *path != '/')
			return -EPERM;
		slash = strrchr(path, '/');
		*slash = '\0';
		dir = fd_openat2(AT_FDCWD, *path ? path : "/", O_PATH | O_DIRECTORY, 0,
				 RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS);
		if (dir >= 0 && fstatat(dir, slash + 1, &at, AT_SYMLINK_NOFOLLOW) == 0 && same(&at, st))
			return STEAL_FD(dir);
	}
	return -EPERM;
}

/* Upwards from the file: the first place that the plan knows decides. */
static bool is_inside(const struct cordon_plan *plan, const struct mediate_scope *scope, int fd, const struct stat *st)
{
	auto_close int dir = -1;
	struct stat at, above;
	int place = place_of(plan, scope, st);

	if (place >= 0)
		return place;
	dir = S_ISDIR(st->st_mode) ? openat(fd, "..", O_PATH | O_DIRECTORY | O_CLOEXEC) : open_parent(fd, st);
	for (int depth = 0; dir >= 0 && depth < DEPTH_MAX; depth++) {
		int up;

		if (fstat(dir, &at) < 0)
			return false;
		place = place_of(plan, scope, &at);
		if (place >= 0)
			return place;
		up = openat(dir, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
		fd_close(&dir);
		dir = up;
		if (dir < 0 || fstat(dir, &above) < 0 || same(&above, &at))
			return false; /* the root */
	}
	return false;
}

/* ---- doing it ---- */

static int change(const struct request *q, int fd, const struct stat *st)
{
	char link[32];

	if (q->call->form != MODE)
		return utimensat(fd, "", q->times, AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW) < 0 ? errno : 0;
	if (S_ISLNK(st->st_mode))
		return EOPNOTSUPP;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	return chmod(link, q->mode & MODE_BITS) < 0 ? errno : 0;
}

static int deny(bool *ret_denied)
{
	*ret_denied = true;
	return EPERM;
}

static int serve(const struct cordon_plan *plan, const struct mediate_scope *scope, int listener, struct request *q,
		 bool *ret_denied)
{
	auto_close int fd = -1;
	struct stat st;
	int r;

	r = read_request(q);
	if (r)
		return r;
	fd = open_object(q);
	if (!seccomp_still_valid(listener, q->event->id))
		return ESRCH; /* the pid may be another's by now; nobody hears this */
	if (fd == -ELOOP)
		return deny(ret_denied); /* a magic link, mostly: what it leads to here is not what it leads to there */
	if (fd < 0)
		return -fd;
	if (fstat(fd, &st) < 0)
		return errno;
	if ((q->mode & MODE_SETID) || S_ISCHR(st.st_mode) || S_ISBLK(st.st_mode))
		return deny(ret_denied);
	if ((st.st_uid != scope->uid && !q->now) || !is_inside(plan, scope, fd, &st))
		return deny(ret_denied);
	return change(q, fd, &st);
}

int mediate(const struct cordon_plan *plan, const struct mediate_scope *scope, int listener,
	    const struct seccomp_event *e, bool *ret_denied)
{
	struct request q = { .call = call_of(e->nr), .event = e };
	int r;

	if (!q.call || scope->work < 0)
		return deny(ret_denied);
	if (!plan->as_root)
		return serve(plan, scope, listener, &q, ret_denied);
	/* The file system ids take root's rights over files along; they are back before anything else happens. */
	if (getgroups(0, NULL) > 0 && setgroups(0, NULL) < 0)
		return deny(ret_denied);
	setfsgid(scope->gid);
	setfsuid(scope->uid);
	r = (uid_t)setfsuid((uid_t)-1) == scope->uid ? serve(plan, scope, listener, &q, ret_denied) : deny(ret_denied);
	setfsuid(geteuid());
	setfsgid(getegid());
	return r;
}
