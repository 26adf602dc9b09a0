/* Removing a tree by fd: see remove.h. */
#include "box/remove.h"

#include "base/fd.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { REMOVE_DEPTH = 4096 };

static int remove_at(int at, const char *name, unsigned depth)
{
	auto_close int fd = -1;
	struct dirent *e;
	int status = 0;
	DIR *d;

	if (unlinkat(at, name, 0) == 0 || errno == ENOENT)
		return 0;
	if (errno != EISDIR && errno != EPERM)
		return -errno;
	fd = fd_openat2(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0, RESOLVE_BENEATH | RESOLVE_NO_XDEV);
	if (fd == -EACCES && fchmodat(at, name, 0700, 0) == 0) /* a directory that its owner may not list */
		fd = fd_openat2(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0, RESOLVE_BENEATH | RESOLVE_NO_XDEV);
	if (fd < 0)
		return fd;
	if (depth > REMOVE_DEPTH)
		return -ELOOP;
	(void)fchmod(fd, 0700);
	d = fdopendir(fd);
	if (!d)
		return -errno;
	fd = -1;
	while ((e = readdir(d))) {
		int r = strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0 ? 0 : remove_at(dirfd(d), e->d_name, depth + 1);

		status = status < 0 ? status : r;
	}
	closedir(d);
	if (unlinkat(at, name, AT_REMOVEDIR) < 0 && errno != ENOENT)
		status = status < 0 ? status : -errno;
	return status;
}

int remove_tree(int dirfd, const char *name)
{
	return remove_at(dirfd, name, 0);
}
