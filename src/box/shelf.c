/* A box's shelf: see shelf.h. Runs in the keeper and, undoing, in the front or a later start, with the caller's rights. */
#include "box/shelf.h"

#include "base/error.h"
#include "base/fd.h"
#include "base/owner.h"
#include "base/path.h"
#include "base/remove.h"
#include "box/etc.h"
#include "box/state.h"
#include "os/mount.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#define RO (MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV)
#define RW (MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV)
enum { OWN_INODES = 20 /* what the shelf itself is made of */ };

struct making {
	struct shelf *shelf;
	const struct cordon_plan *plan;
	const struct prepared *prepared;
	struct cordon_error *err;
};

static int fail(struct making *m, int errnum, const char *what, const char *name)
{
	cordon_fail(m->err, CORDON_SYSTEM, errnum, "%s '%s/%s'", what, m->shelf->path, name);
	return fail_hint(m->err, "what goes into a container is laid out where the configuration key state_dir says");
}

uint64_t shelf_rest_bytes(const struct cordon_plan *plan)
{
	uint64_t rest = plan->limits.disk_bytes - plan->limits.tmp_bytes;

	for (size_t i = 0; i < plan->private_count; i++)
		rest -= plan->privates[i].size_bytes;
	return rest;
}

/* ---- places and files ---- */

static int directory(struct making *m, const char *name, mode_t mode, bool is_payloads)
{
	if (mkdirat(m->shelf->fd, name, 0755) < 0 || fchmodat(m->shelf->fd, name, mode, 0) < 0)
		return fail(m, errno, "make", name);
	if (is_payloads && m->plan->as_root &&
	    fchownat(m->shelf->fd, name, m->prepared->uid, m->prepared->gid, AT_SYMLINK_NOFOLLOW) < 0)
		return fail(m, errno, "own", name);
	return 0;
}

static int file(struct making *m, const char *name, const char *text)
{
	auto_close int fd = openat(m->shelf->fd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
	int r = fd < 0 ? -errno : fd_write_all(fd, text, strlen(text));

	if (r == 0 && fchmod(fd, 0644) < 0)
		r = -errno;
	return r < 0 ? fail(m, -r, "write", name) : 0;
}

static int make_etc(struct making *m)
{
	struct etc_file files[ETC_FILES];
	int status = etc_make(m->plan, m->prepared->uid, m->prepared->gid, files) < 0 ? fail_memory(m->err) : 0;
	char name[64];

	status = status < 0 ? status : directory(m, SHELF_ETC, 0755, false);
	for (size_t i = 0; status == 0 && i < ETC_FILES; i++) {
		snprintf(name, sizeof(name), SHELF_ETC "/%s", files[i].name);
		status = file(m, name, files[i].text);
	}
	etc_done(files);
	return status;
}

/* Of /sys, what programs need to count processors; and where engines lay their control groups. */
static int make_places(struct making *m)
{
	static const char *const names[] = {
		SHELF_EMPTY,
		SHELF_SYS,
		SHELF_SYS "/devices",
		SHELF_SYS "/devices/system",
		SHELF_SYS "/devices/system/cpu",
		SHELF_SYS "/fs",
		SHELF_SYS "/fs/cgroup",
		SHELF_HOME,
	};
	auto_free char *home = str_printf(SHELF_HOME "/%s", path_name(m->plan->home));

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (directory(m, names[i], 0755, false) < 0)
			return -1;
	if (!home)
		return fail_memory(m->err);
	if (directory(m, home, 0755, true) < 0 || directory(m, SHELF_SHM, 01777, true) < 0)
		return -1;
	return make_etc(m);
}

/* ---- as root: what can be mounted ---- */

static int attach(struct making *m, int tree, const char *name, bool is_dir)
{
	int r = is_dir ? mkdirat(m->shelf->fd, name, 0755) : mknodat(m->shelf->fd, name, S_IFREG | 0444, 0);

	r = r < 0 ? -errno : mount_attach(tree, m->shelf->fd, name);
	return r < 0 ? fail(m, -r, "attach", name) : 0;
}

/* The whole shelf: what is left of limits.disk, and what it is made of itself. */
static int mount_shelf(struct making *m, int parent, const char *owner)
{
	const struct cordon_plan *p = m->plan;
	auto_close int fd =
		mount_new_tmpfs(shelf_rest_bytes(p), shelf_inodes(p) + OWN_INODES + p->mount_count + p->private_count,
				"0755", RW);
	int r = fd < 0 ? fd : mount_attach(fd, parent, owner);

	if (r < 0)
		return fail(m, -r, "mount", ".");
	fd_close(&m->shelf->fd);
	m->shelf->fd = STEAL_FD(fd);
	return 0;
}

static int attach_tmpfs(struct making *m, const char *name, uint64_t size_bytes)
{
	auto_close int fd = mount_new_tmpfs(size_bytes, shelf_inodes(m->plan), "1777", RW);

	return fd < 0 ? fail(m, -fd, "mount", name) : attach(m, fd, name, true);
}

/* An idmapped copy, or one as it is: readable as far as everyone may read it. Cut off from the host's own, so that its end is not theirs. */
static int attach_mount(struct making *m, size_t i)
{
	const struct plan_mount *mount = &m->plan->mounts[i];
	auto_close int tree = m->prepared->mounts[i] >= 0 ? fcntl(m->prepared->mounts[i], F_DUPFD_CLOEXEC, 3)
							  : mount_clone(mount->fd, "", true);
	char name[32];
	int r = tree < 0 ? tree : mount_restrict(tree, mount->writable ? RW : RO, 0, true);

	snprintf(name, sizeof(name), SHELF_MOUNT "%zu", i);
	return r < 0 ? fail(m, -r, "take", name) : attach(m, tree, name, mount->is_dir);
}

static int attach_all(struct making *m)
{
	char name[32];

	if (attach_tmpfs(m, SHELF_TMP, m->plan->limits.tmp_bytes) < 0)
		return -1;
	for (size_t i = 0; i < m->plan->private_count; i++) {
		snprintf(name, sizeof(name), SHELF_PRIVATE "%zu", i);
		if (attach_tmpfs(m, name, m->plan->privates[i].size_bytes) < 0)
			return -1;
	}
	for (size_t i = 0; i < m->plan->mount_count; i++)
		if (attach_mount(m, i) < 0)
			return -1;
	return 0;
}

/* ---- making ---- */

int shelf_make(struct shelf *ret, const struct cordon_plan *plan, const struct prepared *prepared, const char *owner,
	       struct cordon_error *err)
{
	auto_close int parent = state_open(plan->state_dir, "shelf");
	struct making m = { .shelf = ret, .plan = plan, .prepared = prepared, .err = err };
	int status = -1;

	ret->path = str_printf("%s/shelf/%s", plan->state_dir, owner);
	if (!ret->path)
		return fail_memory(err);
	if (parent < 0 || mkdirat(parent, owner, 0755) < 0)
		return fail(&m, parent < 0 ? -parent : errno, "make", ".");
	ret->fd = openat(parent, owner, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (ret->fd < 0)
		status = fail(&m, errno, "open", ".");
	else if (!plan->as_root || mount_shelf(&m, parent, owner) == 0)
		status = make_places(&m);
	if (status == 0 && plan->as_root)
		status = attach_all(&m);
	return status < 0 ? fail_step(err, "shelf") : 0;
}

void shelf_close(struct shelf *shelf)
{
	fd_close(&shelf->fd);
	free(shelf->path);
	*shelf = (struct shelf)SHELF_INIT;
}

/* ---- undoing ---- */

static void undo(int parent, const char *owner)
{
	auto_close int dir = openat(parent, owner, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	char path[64];

	if (dir < 0)
		return;
	/* What is mounted on it hides what lies below, so that the name leads to the uppermost. */
	while (geteuid() == 0) {
		auto_close int top = openat(parent, owner, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

		snprintf(path, sizeof(path), "/proc/self/fd/%d", top);
		if (top < 0 || umount2(path, MNT_DETACH) < 0)
			break;
	}
	/* Below the mount there is nothing, and nothing is ever removed through one: what could not be unmounted stays as it is. */
	if (geteuid() == 0)
		(void)unlinkat(parent, owner, AT_REMOVEDIR);
	else
		(void)remove_tree(parent, owner);
}

void shelf_undo(const char *state_dir, const char *owner)
{
	auto_close int parent = state_open_existing(state_dir, "shelf");

	if (parent >= 0)
		undo(parent, owner);
}

void shelf_sweep(const char *state_dir)
{
	int parent = state_open_existing(state_dir, "shelf");
	DIR *d = parent < 0 ? NULL : fdopendir(parent);
	struct dirent *e;

	if (!d) {
		fd_close(&parent);
		return;
	}
	while ((e = readdir(d)))
		if (owner_is_orphan(e->d_name))
			undo(dirfd(d), e->d_name);
	closedir(d);
}
