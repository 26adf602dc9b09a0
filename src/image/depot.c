/* The writing side of the store: see depot.h. */
#include "image/depot.h"

#include "base/fd.h"
#include "base/remove.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static int fail_store(struct cordon_error *err, int errnum, const char *what, const char *name)
{
	return cordon_fail(err, CORDON_SYSTEM, errnum, "the image store: %s '%s'", what, name);
}

static int enter(int at, const char *name)
{
	return openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/* ---- opening ---- */

/* Work of the dead. At the beginning: in the jail nobody can tell who is alive. */
static void sweep_tmp(struct depot *d)
{
	int tmp = enter(d->dir, "tmp");
	DIR *dir = tmp < 0 ? NULL : fdopendir(tmp);

	for (struct dirent *e; dir && (e = readdir(dir));)
		if (owner_is_orphan(e->d_name))
			(void)remove_tree(tmp, e->d_name);
	if (dir)
		closedir(dir);
}

/* Parents as anybody would make them, the store itself for its owner alone. */
static int make_store(const char *dir, struct cordon_error *err)
{
	auto_free char *path = strdup(dir);

	if (!path)
		return fail_memory(err);
	for (char *p = path + 1; *p; p++) {
		if (*p != '/')
			continue;
		*p = '\0';
		if (mkdir(path, 0755) < 0 && errno != EEXIST)
			return fail_store(err, errno, "make", path);
		*p = '/';
	}
	return mkdir(path, 0700) < 0 && errno != EEXIST ? fail_store(err, errno, "make", path) : 0;
}

static int make_places(struct depot *d, struct cordon_error *err)
{
	static const char *const places[] = { "names", "roots", "layers", "tmp" };
	auto_close int tmp = -1;

	for (size_t i = 0; i < ARRAY_LEN(places); i++)
		if (mkdirat(d->dir, places[i], 0700) < 0 && errno != EEXIST)
			return fail_store(err, errno, "make", places[i]);
	d->lock = openat(d->dir, "lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (d->lock < 0 || flock(d->lock, LOCK_SH) < 0)
		return fail_store(err, errno, "lock", "lock");
	if (owner_name(d->owner) < 0)
		return fail_store(err, EIO, "name", "its owner");
	tmp = enter(d->dir, "tmp");
	if (tmp < 0 || mkdirat(tmp, d->owner, 0700) < 0)
		return fail_store(err, errno, "make", d->owner);
	d->tmp = enter(tmp, d->owner);
	return d->tmp < 0 ? fail_store(err, errno, "open", d->owner) : 0;
}

int depot_open(struct depot *d, const char *dir, struct cordon_error *err)
{
	int r = make_store(dir, err);

	r = r < 0 ? r : store_enter(dir, &d->dir, err);
	if (r == -ENOENT)
		return fail_store(err, ENOENT, "open", dir);
	if (r < 0 || make_places(d, err) < 0)
		return -1;
	sweep_tmp(d);
	return 0;
}

/* ---- making ---- */

int depot_make(struct depot *d, const char *name, struct cordon_error *err)
{
	int fd = mkdirat(d->tmp, name, 0755) < 0 ? -1 : enter(d->tmp, name);

	return fd < 0 ? fail_store(err, errno, "make", name) : fd;
}

int depot_sync(struct depot *d, struct cordon_error *err)
{
	return syncfs(d->dir) < 0 ? fail_store(err, errno, "write to the disk", "all of it") : 0;
}

bool depot_has(const struct depot *d, const char *kind, const char *hex)
{
	auto_free char *path = str_printf("%s/%s", kind, hex);
	struct stat st;

	return path && fstatat(d->dir, path, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

int depot_publish(struct depot *d, const char *name, const char *kind, const char *hex, struct cordon_error *err)
{
	auto_close int to = enter(d->dir, kind);

	if (to < 0)
		return fail_store(err, errno, "open", kind);
	if (renameat2(d->tmp, name, to, hex, RENAME_NOREPLACE) < 0 && errno != EEXIST && errno != ENOTEMPTY)
		return fail_store(err, errno, "publish", hex);
	return fsync(to) < 0 ? fail_store(err, errno, "write to the disk", kind) : 0;
}

int depot_name(struct depot *d, const struct store_image *image, struct cordon_error *err)
{
	auto_free char *text = store_record_text(image), *file = store_record_file(image->name);
	auto_close int fd = -1, names = enter(d->dir, "names");
	int r;

	if (!text || !file)
		return fail_memory(err);
	if (strlen(text) > STORE_RECORD_MAX)
		return cordon_fail(err, CORDON_INVALID, 0, "the configuration of image '%s' is too large", image->name);
	fd = openat(d->tmp, "record", O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	r = fd < 0 || names < 0 ? -errno : fd_write_all(fd, text, strlen(text));
	if (r == 0 && (fsync(fd) < 0 || renameat(d->tmp, "record", names, file) < 0 || fsync(names) < 0))
		r = -errno;
	return r < 0 ? fail_store(err, -r, "write the record of", image->name) : 0;
}

int depot_unname(struct depot *d, const char *name, struct cordon_error *err)
{
	auto_free char *file = store_record_file(name);
	auto_close int names = enter(d->dir, "names");

	if (!file)
		return fail_memory(err);
	if (names < 0 || unlinkat(names, file, 0) < 0 || fsync(names) < 0)
		return fail_store(err, errno, "remove the name", name);
	return 0;
}

/* ---- listing ---- */

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct store_image *)a)->name, ((const struct store_image *)b)->name);
}

static int add_record(int names, const char *file, struct store_image **list, size_t *count, struct cordon_error *err)
{
	auto_free char *text = NULL;
	struct store_image *bigger = realloc(*list, (*count + 1) * sizeof(**list));
	ssize_t len;

	if (!bigger)
		return fail_memory(err);
	*list = bigger;
	len = fd_load_at(names, file, STORE_RECORD_MAX, &text);
	if (len == -ENOENT)
		return 0; /* removed since */
	if (len < 0)
		return fail_store(err, (int)-len, "read the record", file);
	bigger[*count] = (struct store_image){ 0 };
	if (store_record_parse(text, (size_t)len, &bigger[*count], err) < 0)
		return fail_hint(err, "remove names/%s in the store, and import it again", file);
	(*count)++;
	return 0;
}

int depot_list(int store, struct store_image **ret, size_t *ret_count, struct cordon_error *err)
{
	struct store_image *list = NULL;
	size_t count = 0;
	int names = enter(store, "names"), status = 0;
	DIR *dir = names < 0 ? NULL : fdopendir(names);

	for (struct dirent *e; dir && status == 0 && (e = readdir(dir));)
		if (e->d_name[0] != '.')
			status = add_record(names, e->d_name, &list, &count, err);
	if (dir)
		closedir(dir);
	if (count)
		qsort(list, count, sizeof(*list), by_name);
	*ret = list;
	*ret_count = count;
	if (status == 0)
		return 0;
	while (count)
		store_image_done(&list[--count]);
	free(list);
	*ret = NULL;
	*ret_count = 0;
	return -1;
}

/* ---- collecting ---- */

static bool is_used(const struct store_image *list, size_t count, const char *hex, bool is_root)
{
	for (size_t i = 0; i < count; i++)
		if (is_root ? strcmp(list[i].root, hex) == 0 : strv_has(&list[i].layers, hex))
			return true;
	return false;
}

/* Out of sight first, so that a crash leaves no half of it under its name. */
static void discard(struct depot *d, int at, const char *hex)
{
	if (renameat(at, hex, d->tmp, hex) == 0)
		(void)remove_tree(d->tmp, hex);
}

/* What no name leads to. A root in which a box lives has a lock on it, and is left for the next time. */
static void collect(struct depot *d, const char *kind, const struct store_image *list, size_t count)
{
	bool is_root = strcmp(kind, "roots") == 0;
	int at = enter(d->dir, kind);
	DIR *dir = at < 0 ? NULL : fdopendir(at);

	for (struct dirent *e; dir && (e = readdir(dir));) {
		auto_close int fd = -1;

		if (!store_hex_is_valid(e->d_name) || is_used(list, count, e->d_name, is_root))
			continue;
		fd = enter(at, e->d_name);
		if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0)
			discard(d, at, e->d_name);
	}
	if (dir)
		closedir(dir);
}

void depot_close(struct depot *d)
{
	struct store_image *list = NULL;
	size_t count = 0;

	if (d->tmp >= 0 && flock(d->lock, LOCK_EX | LOCK_NB) == 0 && depot_list(d->dir, &list, &count, NULL) == 0) {
		collect(d, "roots", list, count);
		collect(d, "layers", list, count);
		while (count)
			store_image_done(&list[--count]);
		free(list);
	}
	if (d->tmp >= 0) {
		auto_close int tmp = enter(d->dir, "tmp");

		if (tmp >= 0)
			(void)remove_tree(tmp, d->owner);
	}
	fd_close(&d->tmp);
	fd_close(&d->lock);
	fd_close(&d->dir);
}
