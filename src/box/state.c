/* The state directory: see state.h. */
#include "box/state.h"

#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <unistd.h>

static int open_own(int dirfd, const char *path, bool make)
{
	auto_close int fd = -1;
	struct stat st;

	if (make && mkdirat(dirfd, path, 0700) < 0 && errno != EEXIST)
		return -errno;
	fd = openat(dirfd, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	/* In a shared directory such as /tmp somebody may have been there first. */
	if (st.st_uid != geteuid() || (st.st_mode & 022))
		return -EPERM;
	return STEAL_FD(fd);
}

int state_open(const char *state_dir, const char *sub)
{
	auto_close int dir = open_own(AT_FDCWD, state_dir, true);

	return dir < 0 ? dir : open_own(dir, sub, true);
}

int state_open_existing(const char *state_dir, const char *sub)
{
	auto_close int dir = open_own(AT_FDCWD, state_dir, false);

	return dir < 0 ? dir : open_own(dir, sub, false);
}
