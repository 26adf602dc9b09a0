/*
 * What a box's root has of the kernel's own: /dev from six devices and a devpts, a fresh /proc with what tells about the host covered, and
 * of /sys what programs need to count processors. Runs in init, before the payload exists.
 */
#include "box/root.h"

#include "base/error.h"
#include "base/fd.h"
#include "os/mount.h"
#include "os/probe.h"
#include "os/userns.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static int device(struct root *r, const char *path)
{
	const char *rel = path + 1;
	int n;

	if (root_make(r, rel, false) < 0)
		return -1;
	n = mount_bind(path, rel);
	if (n == -ENOENT)
		return unlinkat(r->fd, rel, 0) < 0 ? root_fail(r, errno, "remove", rel) : 0;
	/* A shared mapping of /dev/zero is memory: executable here, written through a second mapping. */
	if (n == 0 && root_noexec(r))
		n = mount_restrict_at(r->fd, rel, root_noexec(r), 0, false);
	return n < 0 ? root_fail(r, -n, "take", path) : 0;
}

int root_dev(struct root *r)
{
	static const char *const devices[] = { "/dev/null",   "/dev/zero",    "/dev/full",
					       "/dev/random", "/dev/urandom", "/dev/tty" };
	static const char *const links[][2] = {
		{ "/proc/self/fd", "dev/fd" }, { "fd/0", "dev/stdin" },    { "fd/1", "dev/stdout" },
		{ "fd/2", "dev/stderr" },      { "pts/ptmx", "dev/ptmx" },
	};
	int n;

	if (root_make(r, "dev", true) < 0)
		return -1;
	for (size_t i = 0; i < ARRAY_LEN(devices); i++)
		if (device(r, devices[i]) < 0)
			return -1;
	for (size_t i = 0; i < ARRAY_LEN(links); i++)
		if (symlinkat(links[i][0], r->fd, links[i][1]) < 0)
			return root_fail(r, errno, "link", links[i][1]);
	if (root_make(r, "dev/pts", true) < 0)
		return -1;
	n = mount_fs("devpts", "mode=0620,ptmxmode=0666,max=64", MS_NOSUID | MS_NOEXEC, "dev/pts");
	return n < 0 ? root_fail(r, -n, "mount", "devpts") : 0;
}

/* Of /proc, what anybody may read and tells about the host is covered by an empty file or directory. What only the host's root may
 * read or write (kcore, kmsg, sysrq-trigger …) is out of reach: no id of a box is the host's root. */
static const struct {
	const char *rel;
	bool is_dir;
} proc_masked[] = {
	{ "proc/acpi", true },  { "proc/asound", true },     { "proc/interrupts", false },
	{ "proc/keys", false }, { "proc/key-users", false }, { "proc/latency_stats", false },
	{ "proc/scsi", true },
};

/* What tells about the host is covered. /proc/sys, laid over itself, turns read-only with the rest: it has been written to by uid tricks elsewhere. What
 * this kernel has not need not be. */
static int cover(struct root *r)
{
	int n = mkdirat(r->fd, ".empty", 0555) < 0 ? -errno : 0;

	if (n < 0)
		return root_fail(r, -n, "make", ".empty");
	for (size_t i = 0; i < ARRAY_LEN(proc_masked); i++) {
		n = mount_bind(proc_masked[i].is_dir ? ".empty" : ROOT_EMPTY_FILE, proc_masked[i].rel);
		if (n < 0 && (n != -ENOENT || faccessat(r->fd, proc_masked[i].rel, F_OK, AT_SYMLINK_NOFOLLOW) == 0))
			return root_fail(r, -n, "cover", proc_masked[i].rel);
	}
	n = mount_bind("proc/sys", "proc/sys");
	return n < 0 && n != -ENOENT ? root_fail(r, -n, "lock", "proc/sys") : 0;
}

static int limit_inotify(struct root *r, int proc)
{
	int n;

	if (!(r->plan->layers & LAYER_BIT(USERNS)))
		return 0; /* it would be the host's */
	n = userns_share_inotify(proc);
	return n < 0 && n != -ENOENT ? root_fail(r, -n, "limit", "inotify instances") : 0;
}

/* /proc itself stays writable: what a process may say of itself there, it says by writing. */
int root_proc(struct root *r)
{
	auto_close int fd = -1;
	char why[256], remedy[256];
	int n;

	if (root_make(r, "proc", true) < 0)
		return -1;
	n = mount_fs("proc", "hidepid=invisible", MS_NOSUID | MS_NODEV | MS_NOEXEC, "proc");
	if (n < 0) {
		probe_explain_proc(-n, why, sizeof(why), remedy, sizeof(remedy));
		cordon_fail(r->err, CORDON_UNAVAILABLE, -n, "a fresh /proc is refused (%s)", why);
		return fail_hint(r->err, "%s", remedy);
	}
	fd = openat(r->fd, "proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return root_fail(r, errno, "open", "/proc");
	if (cover(r) < 0 || limit_inotify(r, fd) < 0 || root_restrict(r) < 0)
		return -1;
	n = mount_restrict(fd, 0, MOUNT_ATTR_RDONLY, false);
	return n < 0 ? root_fail(r, -n, "restrict", "/proc") : 0;
}

/* What programs need to count processors. */
int root_sys(struct root *r)
{
	static const char *const dirs[] = { "sys", "sys/devices", "sys/devices/system", "sys/devices/system/cpu" };
	int n;

	for (size_t i = 0; i < ARRAY_LEN(dirs); i++)
		if (root_make(r, dirs[i], true) < 0)
			return -1;
	n = mount_bind("/sys/devices/system/cpu", "sys/devices/system/cpu");
	return n < 0 && n != -ENOENT ? root_fail(r, -n, "take", "/sys/devices/system/cpu") : 0;
}
