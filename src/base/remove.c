/* Removing a tree by fd: see remove.h. */
#include "base/remove.h"

#include "base/fd.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

/* Each level holds an fd open. What lies deeper is moved up to the top first, so that no depth is too deep. */
enum { REMOVE_DEPTH = 32 };

struct removal {
	int top;
	unsigned moved; /* how often */
};

static int move_up(struct removal *w, int at, const char *name)
{
	char up[40];
	uint64_t random = 0;

	(void)!getrandom(&random, sizeof(random), 0);
	snprintf(up, sizeof(up), ".removed-%016llx", (unsigned long long)random);
	if (renameat(at, name, w->top, up) < 0)
		return -errno;
	w->moved++;
	return 0;
}

/* By fd: what is at the name by now may be a symlink. */
static int make_listable(int at, const char *name)
{
	auto_close int fd = openat(at, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	char path[32];

	if (fd < 0)
		return -errno;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return chmod(path, 0700) < 0 ? -errno : 0;
}

/* Its owner may list it and change it, whatever the mode was. */
static int open_for_removal(int at, const char *name)
{
	const uint64_t resolve = RESOLVE_BENEATH | RESOLVE_NO_XDEV;
	int fd = fd_openat2(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0, resolve);

	if (fd == -EACCES && make_listable(at, name) == 0)
		fd = fd_openat2(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0, resolve);
	if (fd >= 0)
		(void)fchmod(fd, 0700);
	return fd;
}

static int remove_at(struct removal *w, int at, const char *name, unsigned depth);

static int remove_entries(struct removal *w, DIR *d, unsigned depth)
{
	struct dirent *e;
	int status = 0;

	while ((e = readdir(d))) {
		int r = strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0
				? 0
				: remove_at(w, dirfd(d), e->d_name, depth + 1);

		status = status < 0 ? status : r;
	}
	return status;
}

static int remove_at(struct removal *w, int at, const char *name, unsigned depth)
{
	auto_close int fd = -1;
	unsigned before;
	int status;
	DIR *d;

	if (unlinkat(at, name, 0) == 0 || errno == ENOENT)
		return 0;
	if (errno != EISDIR && errno != EPERM)
		return -errno;
	fd = open_for_removal(at, name);
	if (fd < 0)
		return fd;
	if (depth > REMOVE_DEPTH)
		return move_up(w, at, name);
	d = fdopendir(fd);
	if (!d)
		return -errno;
	if (depth == 0)
		w->top = fd;
	fd = -1;
	do {
		before = w->moved;
		status = remove_entries(w, d, depth);
		rewinddir(d);
	} while (depth == 0 && w->moved != before);
	closedir(d);
	if (unlinkat(at, name, AT_REMOVEDIR) < 0 && errno != ENOENT)
		status = status < 0 ? status : -errno;
	return status;
}

int remove_tree(int dirfd, const char *name)
{
	struct removal w = { .top = -1 };

	return remove_at(&w, dirfd, name, 0);
}
