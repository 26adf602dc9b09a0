/*
 * The directory of a container of an OCI runtime, and its root file system: see oci.h.
 *
 * TOP is ours alone: /run/cordon-engine for root, else below the runtime directory. TOP/OWNER/ENGINE is the runtime's own state, so a
 * sweep knows from names alone whom to ask for the removal of what a killed driver left. Overlays are mounted in the driver's own mount namespace
 * and vanish with it.
 */
#include "driver/oci.h"

#include "base/fd.h"
#include "base/owner.h"
#include "base/path.h"
#include "base/remove.h"
#include "base/str.h"
#include "os/process.h"
#include "os/userns.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SWEEP_MAX = 64, SWEEP_MS = 1000, REMOVE_FDS = 16 };

static int fail(struct cordon_error *err, int errnum, const char *what, const char *path)
{
	return cordon_fail(err, CORDON_SYSTEM, errnum, "%s '%s'", what, path);
}

static void find_top(const struct driver *d, char *buf, size_t size)
{
	const char *runtime = getenv("XDG_RUNTIME_DIR");

	if (d->spec.dir && strlen(d->spec.dir) < size)
		snprintf(buf, size, "%s", d->spec.dir);
	else if (geteuid() == 0)
		snprintf(buf, size, "/run/cordon-engine");
	else if (runtime && runtime[0] == '/' && strlen(runtime) < size / 2)
		snprintf(buf, size, "%s/cordon-engine", runtime);
	else
		snprintf(buf, size, "/tmp/cordon-engine-%u", (unsigned)geteuid());
}

static int make_top(const char *path)
{
	struct stat st;

	/* Those of the id map must reach the root file system below, and nothing else is readable. */
	if (mkdir(path, 0711) < 0 && errno != EEXIST)
		return -errno;
	if (lstat(path, &st) < 0)
		return -errno;
	if (!S_ISDIR(st.st_mode) || st.st_uid != geteuid() || (st.st_mode & 022))
		return -EPERM;
	return chmod(path, 0711) < 0 ? -errno : 0;
}

int oci_dir_make(struct oci_dir *dir, const struct driver *d, struct cordon_error *err)
{
	char sub[512];
	int r;

	find_top(d, dir->top, sizeof(dir->top));
	r = make_top(dir->top);
	if (r < 0)
		return fail(err, -r, "make", dir->top);
	snprintf(dir->path, sizeof(dir->path), "%s/%s", dir->top, d->spec.owner);
	if (mkdir(dir->path, 0711) < 0 || chmod(dir->path, 0711) < 0) {
		r = errno;
		if (r == EEXIST)
			dir->path[0] = '\0'; /* another one's */
		return cordon_fail(err, CORDON_SYSTEM, r, "make the directory of container %s", d->spec.owner);
	}
	snprintf(sub, sizeof(sub), "%s/%s", dir->path, d->engine);
	return mkdir(sub, 0700) < 0 ? fail(err, errno, "make", sub) : 0;
}

/* ---- the root file system ---- */

/* Whether one of the directories has something at dest, as the container will see it. */
static bool has_place(const json_t *rootfs, const char *dest)
{
	size_t i;
	json_t *entry;

	json_array_foreach(rootfs, i, entry)
	{
		auto_close int root = open(json_string_value(entry), O_PATH | O_DIRECTORY | O_CLOEXEC);
		auto_close int fd = root < 0 ? -1 : fd_openat2(root, dest, O_PATH, 0, RESOLVE_IN_ROOT);

		if (fd >= 0)
			return true;
	}
	return false;
}

/* dest below the skeleton, with its parents; an empty file where a file is laid. */
static int make_place(const char *skeleton, const char *dest, bool is_file)
{
	auto_free char *path = str_printf("%s%s", skeleton, dest);
	size_t base = strlen(skeleton);
	char *p;

	if (!path)
		return -ENOMEM;
	if (mkdir(skeleton, 0755) < 0 && errno != EEXIST)
		return -errno;
	for (p = path + base + 1; (p = strchr(p, '/')); p++) {
		*p = '\0';
		if (mkdir(path, 0755) < 0 && errno != EEXIST)
			return -errno;
		*p = '/';
	}
	if (is_file ? mknod(path, S_IFREG | 0444, 0) < 0 : mkdir(path, 0755) < 0)
		return errno == EEXIST ? 0 : -errno;
	return 0;
}

struct places {
	const json_t *rootfs;
	const char *skeleton;
	unsigned made;
};

static int want_place(struct places *p, const char *dest, bool is_file, struct cordon_error *err)
{
	int r;

	if (has_place(p->rootfs, dest))
		return 0;
	r = make_place(p->skeleton, dest, is_file);
	if (r < 0)
		return fail(err, -r, "make a place for", dest);
	p->made++;
	return 0;
}

static bool is_file(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && !S_ISDIR(st.st_mode);
}

static int want_places(struct places *p, const struct spec *s, struct cordon_error *err)
{
	static const char *const always[] = { "/proc", "/dev" };
	const json_t *const binds[] = { s->mounts, s->files };
	struct spec_mount m;
	struct spec_tmpfs t;
	json_t *entry;
	size_t i;

	for (i = 0; i < ARRAY_LEN(always); i++)
		if (want_place(p, always[i], false, err) < 0)
			return -1;
	json_array_foreach(s->tmpfs, i, entry)
	{
		if (spec_tmpfs(entry, &t) && want_place(p, t.dest, false, err) < 0)
			return -1;
	}
	for (size_t n = 0; n < ARRAY_LEN(binds); n++)
		json_array_foreach(binds[n], i, entry)
		{
			if (spec_mount(entry, &m) && want_place(p, m.dest, is_file(m.source), err) < 0)
				return -1;
		}
	return want_place(p, ENGINE_INIT_PATH, true, err);
}

/* Lower directories only: nothing can be written to it, whatever the runtime does. */
static int mount_overlay(struct oci_dir *dir, const struct driver *d, const char *skeleton, struct cordon_error *err)
{
	/* runsc remounts it from a user namespace, where what is more than read-only cannot be taken away, and forgets to keep it. */
	const unsigned long flags = strcmp(d->engine, "runsc") == 0 ? MS_RDONLY : MS_RDONLY | MS_NOSUID | MS_NODEV;
	auto_str struct str options = { 0 };
	json_t *entry;
	size_t i;

	str_addf(&options, "lowerdir=%s", skeleton);
	json_array_foreach(d->spec.rootfs, i, entry)
	{
		str_addf(&options, ":%s", json_string_value(entry));
	}
	snprintf(dir->root, sizeof(dir->root), "%s/root", dir->path);
	if (options.failed)
		return fail_memory(err);
	if (mkdir(skeleton, 0755) < 0 && errno != EEXIST)
		return fail(err, errno, "make", skeleton);
	if (mkdir(dir->root, 0755) < 0)
		return fail(err, errno, "make", dir->root);
	if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) < 0)
		return cordon_fail(err, CORDON_SYSTEM, errno, "make a mount namespace");
	if (mount("overlay", dir->root, "overlay", flags, options.data) < 0)
		return cordon_fail(err, CORDON_SYSTEM, errno, "mount an overlay of the root file system");
	dir->has_overlay = true;
	return 0;
}

int oci_dir_root(struct oci_dir *dir, const struct driver *d, struct cordon_error *err)
{
	char skeleton[512];
	struct places p = { .rootfs = d->spec.rootfs, .skeleton = skeleton };
	json_t *entry;
	size_t i;

	if (!json_array_size(d->spec.rootfs))
		return cordon_fail(err, CORDON_INVALID, 0, "%s needs a root file system", d->engine);
	json_array_foreach(d->spec.rootfs, i, entry)
	{
		struct stat st;

		if (stat(json_string_value(entry), &st) < 0 || !S_ISDIR(st.st_mode))
			return cordon_fail(err, CORDON_NOT_FOUND, errno, "the root file system '%s'",
					   json_string_value(entry));
	}
	snprintf(skeleton, sizeof(skeleton), "%s/places", dir->path);
	if (want_places(&p, &d->spec, err) < 0)
		return -1;
	if (!p.made && json_array_size(d->spec.rootfs) == 1) {
		snprintf(dir->root, sizeof(dir->root), "%s", json_string_value(json_array_get(d->spec.rootfs, 0)));
		return 0;
	}
	if (geteuid() == 0)
		return mount_overlay(dir, d, skeleton, err);
	cordon_fail(err, CORDON_UNAVAILABLE, 0,
		    "the root file system has no place for what is mounted in it, and only root can give it one");
	return fail_hint(err, "make the directories %s, /proc, /dev and the working directory in it", "/.cordon");
}

/* ---- writing and removing ---- */

int oci_dir_write(const struct oci_dir *dir, const json_t *config, struct cordon_error *err)
{
	auto_free char *text = config ? json_dumps(config, JSON_COMPACT) : NULL;
	auto_free char *path = str_printf("%s/config.json", dir->path);
	auto_close int fd = -1;
	int r;

	if (!text || !path)
		return fail_memory(err);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	r = fd < 0 ? -errno : fd_write_all(fd, text, strlen(text));
	return r < 0 ? fail(err, -r, "write", path) : 0;
}

/* Only what runtimes and drivers write is in there; no payload reaches it. */
static void remove_owned(const char *path)
{
	auto_free char *top = strndup(path, (size_t)(path_name(path) - path));
	auto_close int fd = top ? open(top, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;

	if (fd >= 0)
		(void)remove_tree(fd, path_name(path));
}

void oci_dir_slim(const struct oci_dir *dir)
{
	static const char *const read_once[] = { "pid", "config.json" };
	char path[512];

	for (size_t i = 0; i < ARRAY_LEN(read_once); i++) {
		snprintf(path, sizeof(path), "%s/%s", dir->path, read_once[i]);
		(void)unlink(path);
	}
}

void oci_dir_remove(struct oci_dir *dir)
{
	if (dir->has_overlay)
		(void)umount2(dir->root, MNT_DETACH);
	dir->has_overlay = false;
	if (dir->path[0])
		remove_owned(dir->path);
	dir->path[0] = '\0';
}

/* The runtime removes what it has made elsewhere: processes, groups. */
static void sweep_one(const struct driver *d, const char *top, const char *owner)
{
	static const char *const runtimes[] = { "crun", "runc", "runsc" };
	char path[512], state[640], program[512];

	snprintf(path, sizeof(path), "%s/%s", top, owner);
	for (size_t i = 0; i < ARRAY_LEN(runtimes); i++) {
		const char *const argv[] = { runtimes[i], "--root", state, "delete", "--force", owner, NULL };
		struct oci_call call = {
			.program = program, .argv = argv, .stdio = -1, .hide_unified = i == 0 && geteuid() == 0
		};

		snprintf(state, sizeof(state), "%s/%s", path, runtimes[i]);
		if (access(state, F_OK) == 0 && oci_find(d, runtimes[i], program, sizeof(program), NULL) == 0)
			(void)oci_call(&call);
	}
	/* Where the runtime was killed, too, it knows nothing of the groups it has made. */
	snprintf(state, sizeof(state), "/cordon/%s", owner);
	(void)oci_remove_groups(state);
	if (userns_is_own())
		oci_remove_below(owner);
	remove_owned(path);
}

/* True where there are any, if only that is asked. */
static bool sweep_all(const struct driver *d, const char *top, bool only_look)
{
	DIR *dir = opendir(top);
	bool found = false;
	struct dirent *e;
	int seen = 0;

	while (dir && seen < SWEEP_MAX && !(found && only_look) && (e = readdir(dir)))
		if (str_starts(e->d_name, "cordon-") && ++seen && owner_is_orphan(e->d_name)) {
			found = true;
			if (!only_look)
				sweep_one(d, top, e->d_name);
		}
	if (dir)
		closedir(dir);
	return found;
}

int oci_dir_sweep(const struct driver *d)
{
	char top[256];
	int sweeper = -1;
	pid_t pid;

	find_top(d, top, sizeof(top));
	if (make_top(top) < 0 || !sweep_all(d, top, true))
		return -1;
	pid = process_clone(0, &sweeper);
	if (pid != 0)
		return pid > 0 ? sweeper : -1;
	close(d->control);
	if (d->stream >= 0)
		close(d->stream);
	(void)sweep_all(d, top, false);
	_exit(0);
}

/* False: there is nothing of ours, or it is not ours. */
static bool has_top(const struct driver *d, char *top, size_t size)
{
	find_top(d, top, size);
	return access(top, F_OK) == 0 && make_top(top) == 0;
}

int oci_dir_remove_of(struct driver *d, const char *owner, struct cordon_error *err)
{
	char top[256];

	(void)err;
	if (has_top(d, top, sizeof(top)))
		sweep_one(d, top, owner);
	return 0;
}

int oci_dir_sweep_now(struct driver *d, struct cordon_error *err)
{
	char top[256];

	(void)err;
	if (has_top(d, top, sizeof(top)))
		(void)sweep_all(d, top, false);
	return 0;
}

void oci_dir_swept(int *sweeper)
{
	struct pollfd p = { .fd = *sweeper, .events = POLLIN };

	if (*sweeper >= 0)
		(void)poll(&p, 1, SWEEP_MS);
	process_end(sweeper);
}
