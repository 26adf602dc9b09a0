/*
 * Project quota: see quota.h.
 *
 * A project is a number that files carry and that new ones take over from their directory (PROJINHERIT); the file system counts blocks and inodes for
 * each number. The directory itself says which number it is, so that whoever finds the directory can undo. It is marked before the limits are set, and
 * they go before it does: a process that is killed in between leaves no limit that nothing points to.
 *
 * What holds a payload to it: in a user namespace the kernel refuses to change number and PROJINHERIT, by FS_IOC_FSSETXATTR and FS_IOC_SETFLAGS (5.13),
 * names do not move between projects, and only CAP_SYS_RESOURCE of the host exceeds a limit. In the host's own user namespace whoever owns a file could
 * change its number.
 *
 * ext4 has EDQUOT for what does not fit, xfs ENOSPC. statfs() of such a directory tells limits and usage of the project, with both.
 * Runs in the front (quota_probe), in the keeper and in whoever undoes, as root.
 */
#include "os/quota.h"

#include "base/fd.h"

#include <errno.h>
#include <linux/dqblk_xfs.h>
#include <linux/fs.h>
#include <linux/quota.h>
#include <stdbool.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SYS_quotactl_fd
#define SYS_quotactl_fd 443
#endif

/*
 * Numbers that no project of an administrator has, like those of the boxes' users. A pid is below 1 << PID_BITS; where the number for it is taken, by
 * files that were kept or by a keeper of another pid namespace, the next range has another one.
 */
enum { PROJECT_BASE = 0x60000000, PID_BITS = 22, RANGES = 64 };

static int control(int dir, unsigned command, uint32_t id, void *data)
{
	return syscall(SYS_quotactl_fd, dir, QCMD(command, PRJQUOTA), id, data) < 0 ? -errno : 0;
}

static int get_mark(int dir, struct fsxattr *ret)
{
	return ioctl(dir, FS_IOC_FSGETXATTR, ret) < 0 ? -errno : 0;
}

int quota_probe(int dir)
{
	struct fs_quota_statv state = { .qs_version = FS_QSTATV_VERSION1 };
	struct if_dqblk none;
	struct fsxattr mark;
	int r = control(dir, Q_XGETQSTATV, 0, &state);

	if (r == 0 && !(state.qs_flags & FS_QUOTA_PDQ_ENFD)) /* counted perhaps, but not held */
		r = -ESRCH;
	if (r == 0)
		r = get_mark(dir, &mark);
	if (r == 0 && mark.fsx_projid != 0)
		r = -EEXIST; /* what is written here counts there */
	/* Of a project, for which CAP_SYS_ADMIN of the host is asked as for setting one. This one always is. */
	return r < 0 ? r : control(dir, Q_GETQUOTA, 0, &none);
}

static int set_limits(int dir, uint32_t id, uint64_t blocks, uint64_t inodes)
{
	struct if_dqblk limits = { .dqb_bhardlimit = blocks, .dqb_ihardlimit = inodes, .dqb_valid = QIF_LIMITS };

	return control(dir, Q_SETQUOTA, id, &limits);
}

/* First the mark, then the look: of two that take the same number at once, at least one sees the other. */
static int take_number(int dir, uint32_t id, struct fsxattr *mark)
{
	struct if_dqblk now = { 0 };
	int r;

	mark->fsx_projid = id;
	mark->fsx_xflags |= FS_XFLAG_PROJINHERIT;
	if (ioctl(dir, FS_IOC_FSSETXATTR, mark) < 0)
		return errno == EDQUOT || errno == ENOSPC ? -EBUSY : -errno;
	r = control(dir, Q_GETQUOTA, id, &now);
	if (r < 0)
		return r;
	return now.dqb_curinodes > 1 || now.dqb_bhardlimit || now.dqb_ihardlimit || now.dqb_bsoftlimit ||
			       now.dqb_isoftlimit
		       ? -EBUSY
		       : 0;
}

int quota_hold(int dir, pid_t owner, uint64_t bytes, uint64_t inodes)
{
	const uint64_t blocks = bytes / QIF_DQBLKSIZE;
	struct fsxattr mark;
	uint32_t id = 0;
	int r = get_mark(dir, &mark);

	if (r < 0)
		return r;
	if (!blocks || !inodes) /* for the kernel that is no limit at all */
		return -EINVAL;
	r = -EBUSY;
	for (uint32_t i = 0; r == -EBUSY && i < RANGES; i++) {
		id = PROJECT_BASE + (i << PID_BITS) + (uint32_t)owner;
		r = take_number(dir, id, &mark);
	}
	return r < 0 ? r : set_limits(dir, id, blocks, inodes);
}

void quota_release(int dir)
{
	struct fsxattr mark;

	if (get_mark(dir, &mark) == 0 && mark.fsx_xflags & FS_XFLAG_PROJINHERIT && mark.fsx_projid >= PROJECT_BASE &&
	    mark.fsx_projid - PROJECT_BASE < (uint32_t)RANGES << PID_BITS)
		(void)set_limits(dir, mark.fsx_projid, 0, 0);
}
