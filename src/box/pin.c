/*
 * Protected paths inside the box. Each is mounted read-only over itself, so it can be neither written, renamed, removed nor linked
 * to. Every directory on the way is mounted over itself as well: a mount point cannot be renamed or removed, so no parent can be swapped
 * for one without the protected path. Missing ones have a placeholder by now (box/protect.c). Runs in init, before the payload exists.
 */
#include "box/root.h"

#include "base/error.h"
#include "base/fd.h"
#include "base/path.h"
#include "os/mount.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define WALK (RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS)

static int fail(struct root *r, int errnum, const char *path)
{
	return cordon_fail(r->err, CORDON_SYSTEM, errnum, "protect '%s'", path);
}

/* Lays path over itself; read-only for the protected thing, as it is for a directory on the way. */
static int pin(struct root *r, const char *path, bool read_only)
{
	auto_close int place = fd_openat2(r->fd, path + 1, O_PATH | O_NOFOLLOW, 0, WALK), fd = -1;
	struct stat st;
	int n;

	if (place < 0)
		return fail(r, -place, path);
	if (fstat(place, &st) < 0 || S_ISLNK(st.st_mode))
		return fail(r, ELOOP, path);
	fd = mount_clone(place, "", true);
	if (fd < 0)
		return fail(r, -fd, path);
	n = mount_restrict(fd, read_only ? MOUNT_ATTR_RDONLY : 0, 0, true);
	n = n < 0 ? n : mount_attach(fd, place, "");
	return n < 0 ? fail(r, -n, path) : 0;
}

static char *full_path(const struct root *r, const struct plan_protect *p)
{
	return str_printf("%s/%s", r->plan->mounts[p->mount].dest, p->below);
}

static bool exists(struct root *r, const char *path)
{
	auto_close int fd = fd_openat2(r->fd, path + 1, O_PATH | O_NOFOLLOW, 0, WALK);

	return fd >= 0;
}

/* The deepest existing part of a protected path: itself, or the placeholder in its stead. */
static int held_part(struct root *r, const struct plan_protect *p, char **ret)
{
	char *path = full_path(r, p);
	size_t floor = strlen(r->plan->mounts[p->mount].dest);

	while (path && !exists(r, path)) {
		char *slash = strrchr(path, '/');

		if (!slash || (size_t)(slash - path) <= floor) {
			free(path);
			return cordon_fail(r->err, CORDON_DENIED, 0,
					   "protected path '%s' vanished while the box was being built", p->below);
		}
		*slash = '\0';
	}
	*ret = path;
	return path ? 0 : fail_memory(r->err);
}

static int collect(struct root *r, struct strv *held)
{
	for (size_t i = 0; i < r->plan->protect_count; i++) {
		char *path = NULL;

		if (held_part(r, &r->plan->protects[i], &path) < 0)
			return -1;
		if (strv_add_take(held, path) < 0)
			return fail_memory(r->err);
	}
	return 0;
}

static bool within_held(const struct strv *held, const char *path, size_t self)
{
	for (size_t i = 0; i < held->n; i++)
		if (i != self && path_is_within(path, held->v[i]) && (strcmp(path, held->v[i]) != 0 || i < self))
			return true;
	return false;
}

/* The directories between the mount and each held path, once each, outer before inner. */
static int pin_parents(struct root *r, const struct strv *held)
{
	struct strv done = { 0 };
	int status = 0;

	for (size_t i = 0; status == 0 && i < held->n; i++) {
		const char *dest = r->plan->mounts[r->plan->protects[i].mount].dest;
		auto_free char *path = strdup(held->v[i]);

		if (!path) {
			status = fail_memory(r->err);
			break;
		}
		for (char *p = path + strlen(dest) + 1; status == 0 && (p = strchr(p, '/')); p++) {
			*p = '\0';
			if (!strv_has(&done, path) && !within_held(held, path, SIZE_MAX))
				status = strv_add(&done, path) < 0 ? fail_memory(r->err) : pin(r, path, false);
			*p = '/';
		}
	}
	strv_done(&done);
	return status;
}

int root_protect(struct root *r)
{
	struct strv held = { 0 };
	int status = r->plan->protect_count ? collect(r, &held) : 0;

	/* Parents first: laid over later, they would hide what lies below them. */
	if (status == 0)
		status = pin_parents(r, &held);
	for (size_t i = 0; status == 0 && i < held.n; i++)
		if (!within_held(&held, held.v[i], i))
			status = pin(r, held.v[i], true);
	strv_done(&held);
	return status;
}
