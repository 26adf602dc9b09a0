/*
 * Scratch directories on disk: see scratch.h. SCRATCH/cordon-… belongs to the keeper; below it lies what the payload writes.
 *
 * storage: disk as root: a directory with a project quota where the file system has that. Else an ext4 image of the right size on a loop device; the
 * image has no name any more once it is attached and the device clears itself, so a killed keeper leaves nothing. Otherwise a plain directory that the
 * keeper watches. Process level: a plain directory that is the payload's home. Runs in the keeper, with the caller's rights.
 */
#include "box/scratch.h"

#include "base/error.h"
#include "base/fd.h"
#include "base/owner.h"
#include "base/remove.h"
#include "os/loop.h"
#include "os/quota.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SWEEP_MAX = 64 };

#define FILES "files"

static int fail(struct cordon_error *err, int errnum, const char *what, const char *path)
{
	cordon_fail(err, CORDON_SYSTEM, errnum, "%s '%s'", what, path);
	return fail_hint(err, "scratch directories are made where the configuration key scratch_dir says");
}

/* Ours alone below a directory that may be everybody's, so that looking for orphans is looking into one small directory. */
static char *base_path(const char *scratch_dir)
{
	return str_printf("%s/cordon-%u", scratch_dir, (unsigned)geteuid());
}

static int open_base(const char *scratch_dir)
{
	auto_free char *path = base_path(scratch_dir);
	auto_close int fd = path ? open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : -1;
	struct stat st;

	if (!path)
		return -ENOMEM;
	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	return st.st_uid != geteuid() || (st.st_mode & 022) ? -EPERM : STEAL_FD(fd);
}

/* BASE/OWNER, searchable by the payload's user only as far as what it is given. */
static int make_top(const struct cordon_plan *plan, const char *owner, char **ret_path, struct cordon_error *err)
{
	auto_free char *base = base_path(plan->scratch_dir), *path = base ? str_printf("%s/%s", base, owner) : NULL;
	auto_close int dir = -1;
	int fd;

	if (!path)
		return fail_memory(err);
	if (mkdir(base, 0711) < 0 && errno != EEXIST)
		return fail(err, errno, "make", base);
	dir = open_base(plan->scratch_dir);
	if (dir < 0)
		return fail(err, -dir, "use", base);
	if (fchmod(dir, 0711) < 0) /* the caller's umask may have closed it to the payload's user */
		return fail(err, errno, "open up", base);
	if (mkdirat(dir, owner, 0711) < 0 || chmod(path, 0711) < 0)
		return fail(err, errno, "make", path);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return fail(err, errno, "open", path);
	*ret_path = STEAL(path);
	return fd;
}

static int make_inner(int top, const char *name, uid_t uid, gid_t gid, const char *path, struct cordon_error *err)
{
	int fd;

	if (mkdirat(top, name, 0700) < 0)
		return fail(err, errno, "make", path);
	fd = openat(top, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || (geteuid() == 0 && fchown(fd, uid, gid) < 0)) {
		fd_close(&fd);
		return fail(err, errno, "own", path);
	}
	return fd;
}

static int make_loop(const struct cordon_plan *plan, int top, struct prepared *p, struct cordon_error *err)
{
	int tree = loop_new_ext4(top, plan->limits.disk_bytes, plan->limits.inodes);

	if (tree < 0) {
		cordon_fail(err, CORDON_SYSTEM, -tree, "make a disk image of the size of limits.disk");
		return fail_hint(err, "needs mkfs.ext4 and loop devices; --storage memory needs neither");
	}
	p->scratch = tree;
	return fchown(tree, p->uid + 1, p->gid + 1) < 0 && fchownat(tree, "", p->uid + 1, p->gid + 1, AT_EMPTY_PATH) < 0
		       ? fail(err, errno, "own", "the disk image")
		       : 0;
}

/* Before anything is in it. */
static int hold(const struct cordon_plan *plan, int top, struct cordon_error *err)
{
	int r = quota_hold(top, getpid(), plan->limits.disk_bytes, plan->limits.inodes);

	if (r == 0)
		return 0;
	cordon_fail(err, CORDON_SYSTEM, -r, "set a project quota of the size of limits.disk below '%s'",
		    plan->scratch_dir);
	return fail_hint(
		err, "without project quota on that file system a disk image is used; --storage memory needs neither");
}

/* ---- process level ---- */

static int replace(char **slot, const char *from, const char *to)
{
	const char *at = strstr(*slot, from);
	char *text;

	if (!at)
		return 0;
	text = str_printf("%.*s%s%s", (int)(at - *slot), *slot, to, at + strlen(from));
	if (!text)
		return -ENOMEM;
	free(*slot); /* the keeper's own copy of the plan */
	*slot = text;
	return 0;
}

/* What speaks of the home of a box speaks of the private directory instead. */
static int rename_home(struct cordon_plan *plan, const char *work)
{
	char **code = plan->code.path ? plan->argv.v : NULL;
	auto_free char *home = str_printf("HOME=%s", plan->home), *real = str_printf("HOME=%s", work);
	char *tmpdir = str_printf("TMPDIR=%s", work);

	if (!home || !real || strv_add_take(&plan->env, tmpdir) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < plan->env.n; i++)
		if (strcmp(plan->env.v[i], home) == 0 && replace(&plan->env.v[i], home, real) < 0)
			return -ENOMEM;
	for (; code && *code; code++)
		if (strcmp(*code, plan->code.path) == 0 && replace(code, plan->home, work) < 0)
			return -ENOMEM;
	return 0;
}

int scratch_make(struct cordon_plan *plan, const char *owner, struct prepared *p, struct cordon_error *err)
{
	bool process = plan->level == LEVEL_PROCESS;
	auto_free char *path = NULL;
	auto_close int top = -1;
	uid_t uid = plan->as_root && !process ? p->uid + 1 : p->uid;
	gid_t gid = plan->as_root && !process ? p->gid + 1 : p->gid;

	if (plan->storage == PLAN_STORAGE_MEMORY && !process)
		return 0;
	top = make_top(plan, owner, &path, err);
	if (top < 0)
		return -1;
	if (plan->storage == PLAN_STORAGE_LOOP && !process)
		return make_loop(plan, top, p, err);
	if (plan->storage == PLAN_STORAGE_QUOTA && hold(plan, top, err) < 0)
		return -1;
	p->scratch = make_inner(top, FILES, uid, gid, path, err);
	if (p->scratch < 0)
		return -1;
	p->scratch_path = str_printf("%s/" FILES, path);
	if (!p->scratch_path)
		return fail_memory(err);
	if (!process)
		return 0;
	p->work = strdup(p->scratch_path);
	return !p->work || rename_home(plan, p->work) < 0 ? fail_memory(err) : 0;
}

/* ---- the end ---- */

static int open_top(int base, const char *name)
{
	return openat(base, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/* Limits hold as long as there are files, and the name, by which they are found, goes after them. */
static int remove_top(int base, const char *name)
{
	auto_close int top = open_top(base, name);

	if (top >= 0) {
		(void)remove_tree(top, FILES);
		quota_release(top);
	}
	return remove_tree(base, name);
}

int scratch_undo(const char *scratch_dir, const char *owner)
{
	auto_close int dir = open_base(scratch_dir);

	if (dir == -ENOENT)
		return 0;
	return dir < 0 ? dir : remove_top(dir, owner);
}

char *scratch_keep(const char *scratch_dir, const char *owner)
{
	auto_close int dir = open_base(scratch_dir), top = dir < 0 ? -1 : open_top(dir, owner);
	auto_free char *name = str_printf("kept-%s", owner), *base = base_path(scratch_dir);

	if (top < 0 || !name || !base)
		return NULL;
	quota_release(top); /* while the old name finds it */
	return renameat(dir, owner, dir, name) < 0 ? NULL : str_printf("%s/%s/" FILES, base, name);
}

void scratch_sweep(const char *scratch_dir)
{
	int fd = open_base(scratch_dir);
	struct dirent *e;
	struct stat st;
	int seen = 0;
	DIR *d;

	/* Two links are the directory alone; some file systems do not count, and say one. */
	if (fd >= 0 && fstat(fd, &st) == 0 && st.st_nlink == 2)
		fd_close(&fd);
	d = fd < 0 ? NULL : fdopendir(fd);

	if (!d) {
		fd_close(&fd);
		return;
	}
	while (seen < SWEEP_MAX && (e = readdir(d)))
		if (str_starts(e->d_name, "cordon-") && ++seen && owner_is_orphan(e->d_name))
			(void)remove_top(dirfd(d), e->d_name);
	closedir(d);
}
