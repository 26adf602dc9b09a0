/*
 * Placeholders for protected paths that do not exist yet: see protect.h. Runs in the keeper (and, undoing, in the front or a
 * later start), with the caller's rights.
 *
 * A record is one file per owner in STATE/protect, a line for each placeholder: "DEV INO PATH". It is written before the
 * placeholder is made (INO 0) and again after it. All of it happens under one lock, so that two boxes on the same
 * directory never take each other's placeholder away.
 */
#include "box/protect.h"

#include "base/error.h"
#include "base/fd.h"
#include "base/owner.h"
#include "box/state.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define WALK (RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS)
enum { RECORD_MAX = 1 << 20, LOCK_TRIES = 2000 };

struct store {
	int dir, lock;
};

static int store_open(struct store *s, const char *state_dir, bool make)
{
	s->lock = -1;
	s->dir = make ? state_open(state_dir, "protect") : state_open_existing(state_dir, "protect");
	if (s->dir < 0)
		return s->dir;
	s->lock = openat(s->dir, "lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (s->lock < 0)
		return -errno;
	/* Held for moments only; whoever was stopped while holding it must not stop everybody else. */
	for (int i = 0; i < LOCK_TRIES; i++) {
		if (flock(s->lock, LOCK_EX | LOCK_NB) == 0)
			return 0;
		if (errno != EWOULDBLOCK && errno != EINTR)
			return -errno;
		usleep(5000);
	}
	return -ETIMEDOUT;
}

static void store_close(struct store *s)
{
	fd_close(&s->lock);
	fd_close(&s->dir);
}

static int append(const struct store *s, const char *owner, const struct stat *st, const char *path)
{
	auto_close int fd = openat(s->dir, owner, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
	auto_free char *line = str_printf("%" PRIu64 " %" PRIu64 " %s\n", st ? (uint64_t)st->st_dev : 0,
					  st ? (uint64_t)st->st_ino : 0, path);

	if (!line)
		return -ENOMEM;
	return fd < 0 ? -errno : fd_write_all(fd, line, strlen(line));
}

/* "DEV INO PATH": whether it is of this path, and of this very file (INO 0: it was about to be made). */
static bool is_line_of(const char *line, const char *path, const struct stat *st)
{
	uint64_t dev, ino;
	int skip = 0;

	if (sscanf(line, "%" SCNu64 " %" SCNu64 " %n", &dev, &ino, &skip) != 2 || strcmp(line + skip, path) != 0)
		return false;
	return !st || !ino || (dev == st->st_dev && ino == st->st_ino);
}

/* Whether a living box other than `owner` has a placeholder at path; -errno where that cannot be told. With `st` dead ones count, too, whose
 * placeholder this is: it is in use again, and whoever uses it last must know. */
static int others_need(const struct store *s, const char *owner, const char *path, const struct stat *st)
{
	int copy = openat(s->dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = copy < 0 ? NULL : fdopendir(copy);
	int found = 0;
	struct dirent *e;

	if (!d) {
		found = -errno;
		fd_close(&copy);
		return found;
	}
	while (!found && (errno = 0, e = readdir(d))) {
		auto_free char *text = NULL;
		char *save = NULL;
		ssize_t n;
		bool dead;

		if (!str_starts(e->d_name, "cordon-") || strcmp(e->d_name, owner) == 0)
			continue;
		dead = owner_is_orphan(e->d_name);
		if (dead && !st)
			continue;
		n = fd_load_at(s->dir, e->d_name, RECORD_MAX, &text);
		if (n < 0 && n != -ENOENT)
			found = (int)n;
		if (n < 0)
			continue;
		for (char *line = strtok_r(text, "\n", &save); line && !found; line = strtok_r(NULL, "\n", &save))
			found = is_line_of(line, path, dead ? st : NULL);
	}
	if (!e && errno)
		found = -errno;
	closedir(d);
	return found;
}

/* ---- making ---- */

static int fail_path(struct cordon_error *err, int errnum, const char *source, const char *below)
{
	cordon_fail(err, errnum == ELOOP ? CORDON_DENIED : CORDON_SYSTEM, errnum, "files.protect: '%s/%s'", source,
		    below);
	if (errnum == ELOOP)
		(void)fail_hint(
			err,
			"a symbolic link on the way cannot be held; protect the place it leads to and remove the link");
	return -1;
}

/* git refuses an empty one; this one leads to where git is anyway. */
static const char here[] = ".\n";

static int make_commondir(int dir)
{
	auto_close int fd = openat(dir, PROTECT_COMMONDIR, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0444);

	return fd >= 0 && write(fd, here, sizeof(here) - 1) == sizeof(here) - 1 ? 0 : -1;
}

static bool is_as_made(int dir, const char *name, const struct stat *st)
{
	char text[8] = "";

	if (!S_ISREG(st->st_mode))
		return false;
	if (st->st_size == 0)
		return true;
	return strcmp(name, PROTECT_COMMONDIR) == 0 && st->st_size == sizeof(here) - 1 &&
	       fd_read_file_at(dir, name, text, sizeof(text)) == sizeof(here) - 1 && strcmp(text, here) == 0;
}

static int make_one(const struct store *s, const struct plan_mount *m, const char *owner, int dir, const char *name,
		    const char *path, bool is_dir, struct cordon_error *err)
{
	struct stat st;
	int r = append(s, owner, NULL, path);

	if (r < 0)
		return cordon_fail(err, CORDON_SYSTEM, -r, "record the placeholder '%s'", path);
	r = is_dir                                 ? mkdirat(dir, name, 0755)
	    : strcmp(name, PROTECT_COMMONDIR) == 0 ? make_commondir(dir)
						   : mknodat(dir, name, S_IFREG | 0444, 0);
	if (r < 0)
		return cordon_fail(err, CORDON_SYSTEM, errno, "make the placeholder '%s'", path);
	if (geteuid() == 0 && fchownat(dir, name, m->owner_uid, m->owner_gid, AT_SYMLINK_NOFOLLOW) < 0)
		return cordon_fail(err, CORDON_SYSTEM, errno, "own the placeholder '%s'", path);
	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return cordon_fail(err, CORDON_SYSTEM, errno, "stat the placeholder '%s'", path);
	r = append(s, owner, &st, path);
	return r < 0 ? cordon_fail(err, CORDON_SYSTEM, -r, "record the placeholder '%s'", path) : 0;
}

/* Walks one protected path on the host; what is missing first gets a placeholder. */
static int hold(const struct store *s, const struct plan_mount *m, const struct plan_protect *p, const char *owner,
		struct cordon_error *err)
{
	auto_close int at = fcntl(m->fd, F_DUPFD_CLOEXEC, 3);
	const char *c = p->below;

	while (at >= 0 && *c) {
		size_t n = strcspn(c, "/");
		bool last = !c[n];
		auto_free char *name = strndup(c, n);
		auto_free char *path = str_printf("%s/%.*s", m->source, (int)(c + n - p->below), p->below);
		struct stat st;
		int next, r;

		if (!name || !path)
			return fail_memory(err);
		if (strchr(path, '\n'))
			return fail_path(err, EINVAL, m->source, p->below); /* a record is a line */
		next = fd_openat2(at, name, O_PATH | O_NOFOLLOW, 0, WALK);
		if (next == -ENOENT)
			return make_one(s, m, owner, at, name, path, !last || p->is_dir, err);
		if (next < 0)
			return fail_path(err, -next, m->source, p->below);
		fd_close(&at);
		at = next;
		if (fstat(at, &st) < 0 || S_ISLNK(st.st_mode))
			return fail_path(err, ELOOP, m->source, p->below);
		r = others_need(s, owner, path, &st);
		r = r > 0 ? append(s, owner, &st, path) : r;
		if (r < 0)
			return cordon_fail(err, CORDON_SYSTEM, -r, "record the placeholder '%s'", path);
		if (!last && !S_ISDIR(st.st_mode))
			return 0; /* another box's placeholder for the whole */
		c += n + !last;
	}
	return 0;
}

int placeholder_make(const struct cordon_plan *plan, const char *owner, struct cordon_error *err)
{
	struct store s;
	int r = store_open(&s, plan->state_dir, true), status = 0;

	if (r < 0) {
		store_close(&s);
		cordon_fail(err, CORDON_SYSTEM, -r, "open the state directory '%s'", plan->state_dir);
		return fail_hint(err, "it must be a directory of this user that nobody else can write to "
				      "(configuration key state_dir)");
	}
	for (size_t i = 0; status == 0 && i < plan->protect_count; i++)
		status = hold(&s, &plan->mounts[plan->protects[i].mount], &plan->protects[i], owner, err);
	store_close(&s);
	return status;
}

/* ---- undoing ---- */

/* `known`: paths whose inode a later line told; their first line, from before they were made, says nothing more. */
/* False where it is still there and ought not to be: a later start tries again. */
static bool remove_one(const struct store *s, const char *owner, char *line, struct strv *known)
{
	uint64_t dev, ino;
	char *path, *slash;
	auto_close int dir = -1;
	struct stat st;
	int skip = 0, needed;

	if (sscanf(line, "%" SCNu64 " %" SCNu64 " %n", &dev, &ino, &skip) != 2 || line[skip] != '/')
		return true;
	path = line + skip;
	if (!ino && strv_has(known, path))
		return true;
	if (ino)
		(void)strv_add(known, path);
	needed = others_need(s, owner, path, NULL);
	if (needed)
		return needed > 0;
	slash = strrchr(path, '/');
	*slash = '\0';
	dir = fd_openat2(AT_FDCWD, *path ? path : "/", O_PATH | O_DIRECTORY, 0, RESOLVE_NO_SYMLINKS);
	*slash = '/';
	if (dir < 0)
		return dir == -ENOENT || dir == -ENOTDIR || dir == -ELOOP;
	if (fstatat(dir, slash + 1, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT;
	if (ino && (st.st_ino != ino || st.st_dev != dev))
		return true; /* somebody put something else there: not ours */
	if (S_ISDIR(st.st_mode))
		return unlinkat(dir, slash + 1, AT_REMOVEDIR) == 0 || errno == ENOENT ||
		       errno == ENOTEMPTY; /* then it is in use */
	if (is_as_made(dir, slash + 1, &st))
		return unlinkat(dir, slash + 1, 0) == 0 || errno == ENOENT;
	return true;
}

/* The last first: a placeholder may lie in another one. */
static int undo_locked(const struct store *s, const char *owner)
{
	auto_free char *text = NULL;
	ssize_t n = fd_load_at(s->dir, owner, RECORD_MAX, &text);
	struct strv known = { 0 };
	bool gone = true;

	if (n < 0)
		return n == -ENOENT ? 0 : (int)n;
	while (n > 0) {
		char *end = text + n, *line;

		if (end[-1] == '\n')
			*--end = '\0';
		line = memrchr(text, '\n', (size_t)(end - text));
		line = line ? line + 1 : text;
		gone = remove_one(s, owner, line, &known) && gone;
		n = line - text;
	}
	strv_done(&known);
	if (!gone)
		return -EAGAIN;
	return unlinkat(s->dir, owner, 0) < 0 && errno != ENOENT ? -errno : 0;
}

int placeholder_undo(const char *state_dir, const char *owner)
{
	struct store s;
	int r = store_open(&s, state_dir, false);

	if (r == 0)
		r = undo_locked(&s, owner);
	store_close(&s);
	return r == -ENOENT ? 0 : r; /* nobody ever made one */
}

void placeholder_sweep(const char *state_dir)
{
	int dir = state_open_existing(state_dir, "protect");
	DIR *d = dir < 0 ? NULL : fdopendir(dir);
	struct dirent *e;

	if (!d) {
		fd_close(&dir);
		return;
	}
	while ((e = readdir(d)))
		if (owner_is_orphan(e->d_name))
			(void)placeholder_undo(state_dir, e->d_name);
	closedir(d);
}
