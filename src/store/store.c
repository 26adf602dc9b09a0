/* Finding images: see store.h. */
#include "store/store.h"

#include "base/fd.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define WALK (RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS)

/* ---- names ---- */

static bool components_are_valid(const char *name, size_t len)
{
	for (const char *p = name, *end = name + len; p < end;) {
		size_t n = 0;

		while (p + n < end && p[n] != '/')
			n++;
		if (n == 0 || p[0] == '.' || p + n + 1 == end)
			return false;
		p += n + 1;
	}
	return true;
}

bool store_name_is_valid(const char *name, bool may_pin)
{
	size_t len = strcspn(name, "@");

	if (name[len] && (!may_pin || strncmp(name + len, "@sha256:", 8) != 0 || !store_hex_is_valid(name + len + 8)))
		return false;
	if (!len || len > STORE_NAME_MAX || !isalnum((unsigned char)name[0]))
		return false;
	for (size_t i = 0; i < len; i++)
		if (!isalnum((unsigned char)name[i]) && !strchr("._:/+-", name[i]))
			return false;
	return components_are_valid(name, len);
}

char *store_record_file(const char *name)
{
	char *file = strdup(name);

	for (char *p = file; p && *p; p++)
		if (*p == '/')
			*p = '%';
	return file;
}

/* ---- looking ---- */

int store_enter(const char *dir, int *ret_fd, struct cordon_error *err)
{
	auto_close int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct stat st;

	if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
		return -ENOENT;
	if (fd < 0 || fstat(fd, &st) < 0)
		return cordon_fail(err, CORDON_SYSTEM, errno, "open the image store '%s'", dir);
	if (st.st_uid != geteuid() || (st.st_mode & 077)) {
		cordon_fail(err, CORDON_DENIED, 0, "the image store '%s' is not the caller's own, or open to others",
			    dir);
		return fail_hint(err, "it must belong to who runs cordon and have mode 0700");
	}
	*ret_fd = STEAL_FD(fd);
	return 0;
}

static ssize_t load_record(int store, const char *name, const char *suffix, char **ret)
{
	auto_free char *file = store_record_file(name), *path = str_printf("names/%s%s", file ? file : "", suffix);
	auto_close int fd = -1;

	if (!file || !path)
		return -ENOMEM;
	fd = fd_openat2(store, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0, WALK);
	return fd < 0 ? fd : fd_load(fd, STORE_RECORD_MAX, ret);
}

static int not_found(const char *name, struct cordon_error *err)
{
	cordon_fail(err, CORDON_NOT_FOUND, 0, "there is no image '%s'", name);
	return fail_hint(err, "`cordon image ls` lists them; those of Docker and Podman are not among them");
}

int store_find(int store, const char *name, struct store_image *ret, struct cordon_error *err)
{
	auto_free char *bare = strndup(name, strcspn(name, "@")), *text = NULL;
	const char *pin = strchr(name, '@'), *slash;
	ssize_t len;

	if (!bare)
		return fail_memory(err);
	if (!store_name_is_valid(name, true))
		return cordon_fail(err, CORDON_INVALID, 0, "'%.200s' is not an image's name", name);
	slash = strrchr(bare, '/');
	len = load_record(store, bare, "", &text);
	if (len == -ENOENT && !strchr(slash ? slash : bare, ':'))
		len = load_record(store, bare, ":latest", &text);
	if (len == -ENOENT)
		return not_found(bare, err);
	if (len < 0)
		return cordon_fail(err, CORDON_SYSTEM, (int)-len, "read the record of image '%s'", bare);
	if (store_record_parse(text, (size_t)len, ret, err) < 0)
		return -1;
	if (!pin || strcmp(pin + 1, ret->id) == 0)
		return 0;
	cordon_fail(err, CORDON_DENIED, 0, "image '%s' is %s, not %s", bare, ret->id, pin + 1);
	store_image_done(ret);
	return fail_hint(err, "import the one that was meant, or change the name behind image:");
}

int store_open_root(int store, const struct store_image *image)
{
	auto_free char *path = str_printf("roots/%s", image->root);
	auto_close int fd = -1;
	struct stat here, there;

	if (!path)
		return -ENOMEM;
	fd = fd_openat2(store, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0, WALK);
	if (fd == -ENOENT)
		return -ESTALE;
	if (fd < 0)
		return fd;
	/* Whoever collects takes the lock before it removes: either it is still there under its name, or it never will be again. */
	if (flock(fd, LOCK_SH | LOCK_NB) < 0)
		return errno == EWOULDBLOCK ? -ESTALE : -errno;
	if (fstat(fd, &here) < 0)
		return -errno;
	if (fstatat(store, path, &there, AT_SYMLINK_NOFOLLOW) < 0 || here.st_dev != there.st_dev ||
	    here.st_ino != there.st_ino)
		return -ESTALE;
	return STEAL_FD(fd);
}
