/*
 * A file system of a fixed size in a file: see loop.h. The image is unlinked once it is attached and the loop device clears itself
 * with its last user, so nothing is left whenever this process dies. Runs in the keeper, as root.
 */
#include "os/loop.h"

#include "base/fd.h"
#include "os/mount.h"
#include "os/process.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/loop.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	LOOP_TRIES = 16,
	GROUP_BYTES = 128 << 20, /* of blocks of 4096 */
	SMALL_BYTES = 1 << 20,   /* below, blocks are of 1024 */
	INODE_BYTES = 256,
	BLOCK_INODES = 16,
};

/*
 * mkfs.ext4 gives every group of blocks the same number of inodes, and rounds up: to what fills a block, eight or sixteen, so that a large image could
 * have thousands more than it should. Down instead, though at least one block's worth each. No more than fit into a quarter of the image.
 */
static uint64_t inodes_of(uint64_t size_bytes, uint64_t inodes)
{
	const uint64_t groups = (size_bytes + GROUP_BYTES - 1) / GROUP_BYTES, fit = size_bytes / INODE_BYTES / 4;
	const uint64_t each = (inodes < fit ? inodes : fit) / groups / BLOCK_INODES * BLOCK_INODES;

	return (each ? each : BLOCK_INODES) * groups;
}

static int format(int image, uint64_t size_bytes, uint64_t inodes)
{
	char file[32], count[32];
	const char *const argv[] = { "mkfs.ext4",
				     "-q",
				     "-F",
				     "-m",
				     "0",
				     "-O",
				     "^has_journal,^resize_inode",
				     "-E",
				     "lazy_itable_init=1,nodiscard",
				     "-b",
				     size_bytes < SMALL_BYTES ? "1024" : "4096",
				     "-N",
				     count,
				     file,
				     NULL };
	const char *const env[] = { "PATH=/usr/sbin:/sbin:/usr/bin:/bin", NULL };
	int pidfd = -1, status = 0, r;
	pid_t pid;

	snprintf(file, sizeof(file), "/proc/self/fd/%d", image);
	snprintf(count, sizeof(count), "%" PRIu64, inodes_of(size_bytes, inodes));
	pid = process_clone(0, &pidfd);
	if (pid < 0)
		return pid;
	if (pid == 0) {
		int null = open("/dev/null", O_RDWR | O_CLOEXEC);

		for (int i = 0; i < 3; i++)
			(void)dup2(null, i);
		(void)fcntl(image, F_SETFD, 0);
		execve("/sbin/mkfs.ext4", (char *const *)argv, (char *const *)env);
		_exit(127);
	}
	r = process_wait(pidfd, &status);
	fd_close(&pidfd);
	return r < 0 ? r : WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -EIO;
}

static int attach_device(int image)
{
	auto_close int control = open("/dev/loop-control", O_RDWR | O_CLOEXEC);
	struct loop_config config = { .fd = (uint32_t)image, .info.lo_flags = LO_FLAGS_AUTOCLEAR };

	if (control < 0)
		return -errno;
	/* Between asking for a free device and taking it, somebody else may have. */
	for (int i = 0; i < LOOP_TRIES; i++) {
		auto_close int device = -1;
		char path[32];
		int number = ioctl(control, LOOP_CTL_GET_FREE);

		if (number < 0)
			return -errno;
		snprintf(path, sizeof(path), "/dev/loop%d", number);
		device = open(path, O_RDWR | O_CLOEXEC);
		if (device < 0)
			return -errno;
		if (ioctl(device, LOOP_CONFIGURE, &config) == 0)
			return STEAL_FD(device);
		if (errno != EBUSY)
			return -errno;
	}
	return -EBUSY;
}

int loop_new_ext4(int dir, uint64_t size_bytes, uint64_t inodes)
{
	auto_close int image = openat(dir, "image", O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600), device = -1;
	char path[32], name[64];
	const char *options[] = { "source", name, NULL };
	ssize_t n;
	int r;

	if (image < 0 || ftruncate(image, (off_t)size_bytes) < 0)
		return -errno;
	r = format(image, size_bytes, inodes);
	device = r < 0 ? r : attach_device(image);
	if (device < 0)
		return device;
	if (unlinkat(dir, "image", 0) < 0)
		return -errno;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", device);
	n = readlink(path, name, sizeof(name) - 1);
	if (n < 0)
		return -errno;
	name[n] = '\0';
	return mount_new("ext4", options, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
}
