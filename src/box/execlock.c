/*
 * The command allowlist: no other file becomes a program. Everything in the box is mounted noexec (box/root.c); here the listed
 * programs and the directories of shared libraries get their right back, and in those directories the programs that live among the
 * libraries lose it again. The kernel then refuses to execute or map-for-execution anything else, whoever asks: execve, a script's
 * interpreter, or the dynamic loader called by hand. Landlock (box/inside.c) says the same of execve. Runs in init.
 */
#include "box/root.h"

#include "base/error.h"
#include "base/fd.h"
#include "os/mount.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>

#define IN_ROOT (RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS)

static int fail(struct root *r, int errnum, const char *path)
{
	return cordon_fail(r->err, CORDON_SYSTEM, errnum, "allow '%s' to be executed", path);
}

/* Lays what `place` is over itself, with other attributes. */
static int relay(struct root *r, int place, const char *path, unsigned set, unsigned clear)
{
	auto_close int fd = mount_clone(place, "", true);
	int n = fd < 0 ? fd : mount_restrict(fd, set, clear, true);

	n = n < 0 ? n : mount_attach(fd, place, "");
	return n < 0 ? fail(r, -n, path) : 0;
}

static bool is_library(const char *name)
{
	return strstr(name, ".so") != NULL;
}

/* Programs among the libraries: executable files whose name is not a library's. */
static int cover_programs(struct root *r, int dir, unsigned depth)
{
	int copy = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = copy < 0 ? NULL : fdopendir(copy);
	struct dirent *e;
	int status = 0;

	if (!d) {
		fd_close(&copy);
		return errno == EACCES ? 0 : fail(r, errno, "a library directory");
	}
	while (status == 0 && (e = readdir(d))) {
		auto_close int fd = -1;
		struct stat st;

		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0 ||
		    (e->d_type != DT_DIR && e->d_type != DT_UNKNOWN && (e->d_type != DT_REG || is_library(e->d_name))))
			continue;
		fd = openat(dirfd(d), e->d_name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
		if (fd < 0 || fstat(fd, &st) < 0) {
			status = errno == ENOENT ? 0 : fail(r, errno, e->d_name);
			continue;
		}
		if (S_ISDIR(st.st_mode) && depth >= 16)
			status = fail(r, ELOOP, e->d_name);
		else if (S_ISDIR(st.st_mode))
			status = cover_programs(r, fd, depth + 1);
		else if (S_ISREG(st.st_mode) && (st.st_mode & 0111) && !is_library(e->d_name))
			status = relay(r, fd, e->d_name, MOUNT_ATTR_NOEXEC, 0);
	}
	closedir(d);
	return status;
}

static int allow_libraries(struct root *r, const char *path)
{
	auto_close int place = fd_openat2(r->fd, path, O_PATH | O_DIRECTORY, 0, IN_ROOT), dir = -1;

	if (place < 0)
		return place == -ENOENT || place == -ENOTDIR ? 0 : fail(r, -place, path);
	if (relay(r, place, path, 0, MOUNT_ATTR_NOEXEC) < 0)
		return -1;
	dir = fd_openat2(r->fd, path, O_PATH | O_DIRECTORY, 0, IN_ROOT); /* again: now the new mount */
	return dir < 0 ? fail(r, -dir, path) : cover_programs(r, dir, 0);
}

/* Below lib: the architecture's directory, and the interpreters' modules. */
static int allow_below(struct root *r, const char *lib)
{
	static const char *const patterns[] = { "*-linux-gnu*", "*-linux-musl*", "python3*" };
	auto_close int dir = fd_openat2(r->fd, lib, O_RDONLY | O_DIRECTORY, 0, IN_ROOT);
	DIR *d = dir < 0 ? NULL : fdopendir(dir);
	struct dirent *e;
	int status = 0;

	if (!d)
		return 0;
	dir = -1;
	while (status == 0 && (e = readdir(d)))
		for (size_t i = 0; status == 0 && i < ARRAY_LEN(patterns); i++)
			if (fnmatch(patterns[i], e->d_name, FNM_PERIOD) == 0) {
				auto_free char *path = str_printf("%s/%s", lib, e->d_name);

				status = path ? allow_libraries(r, path) : fail_memory(r->err);
			}
	closedir(d);
	return status;
}

static bool is_symlink(struct root *r, const char *name)
{
	struct stat st;

	return fstatat(r->fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || S_ISLNK(st.st_mode);
}

/* What was mounted below a library directory is not part of the system's libraries. Nothing else of it changes. */
static int forbid_mount(struct root *r, const char *dest)
{
	auto_close int fd = fd_openat2(r->fd, dest, O_PATH, 0, IN_ROOT);
	int n = fd < 0 ? fd : mount_restrict(fd, MOUNT_ATTR_NOEXEC, 0, true);

	return n < 0 ? fail(r, -n, dest) : 0;
}

static int forbid_mounts(struct root *r)
{
	for (size_t i = 0; i < r->plan->mount_count; i++)
		if (forbid_mount(r, r->plan->mounts[i].dest) < 0)
			return -1;
	for (size_t i = 0; i < r->plan->private_count; i++)
		if (forbid_mount(r, r->plan->privates[i].dest) < 0)
			return -1;
	return 0;
}

int root_lock_exec(struct root *r)
{
	static const char *const parents[] = { "usr/lib", "usr/local/lib", "lib" };
	static const char *const whole[] = { "usr/lib64", "usr/lib32", "lib64", "lib32" };

	if (!r->plan->exec_lock)
		return 0;
	for (size_t i = 0; i < ARRAY_LEN(parents); i++)
		if (!is_symlink(r, parents[i]) && allow_below(r, parents[i]) < 0)
			return -1;
	for (size_t i = 0; i < ARRAY_LEN(whole); i++)
		if (!is_symlink(r, whole[i]) && allow_libraries(r, whole[i]) < 0)
			return -1;
	if (forbid_mounts(r) < 0)
		return -1;
	for (size_t i = 0; i < r->plan->command_paths.n; i++) {
		const char *path = r->plan->command_paths.v[i];
		auto_close int place = fd_openat2(r->fd, path, O_PATH | O_NOFOLLOW, 0, IN_ROOT | RESOLVE_NO_SYMLINKS);

		if (place < 0)
			return fail(r, -place, path);
		/* What can be executed cannot be written. */
		if (relay(r, place, path, MOUNT_ATTR_RDONLY, MOUNT_ATTR_NOEXEC) < 0)
			return -1;
	}
	return 0;
}
