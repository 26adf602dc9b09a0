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

#define PRIVATE (MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV)

int root_dev(struct root *r)
{
	static const char *const devices[] = { "null", "zero", "full", "random", "urandom", "tty" };
	static const char *const links[][2] = {
		{ "/proc/self/fd", "dev/fd" }, { "fd/0", "dev/stdin" },    { "fd/1", "dev/stdout" },
		{ "fd/2", "dev/stderr" },      { "pts/ptmx", "dev/ptmx" },
	};
	static const char *const pts[] = { "mode", "0620", "ptmxmode", "0666", "max", "64", NULL };
	auto_close int host = open("/dev", O_PATH | O_DIRECTORY | O_CLOEXEC), fd = -1;

	if (host < 0 || mkdirat(r->fd, "dev", 0755) < 0)
		return root_fail(r, errno, "make", "/dev");
	for (size_t i = 0; i < ARRAY_LEN(devices); i++) {
		auto_close int device = mount_clone(host, devices[i], false);
		char rel[32];
		int n;

		if (device == -ENOENT)
			continue;
		/* A shared mapping of /dev/zero is memory: executable here, written through a second mapping. */
		n = device < 0
			    ? device
			    : mount_restrict(device, MOUNT_ATTR_NOSUID | (r->plan->exec_lock ? MOUNT_ATTR_NOEXEC : 0),
					     0, false);
		if (n < 0)
			return root_fail(r, -n, "take", devices[i]);
		snprintf(rel, sizeof(rel), "dev/%s", devices[i]);
		if (root_lay(r, device, rel) < 0)
			return -1;
	}
	for (size_t i = 0; i < ARRAY_LEN(links); i++)
		if (symlinkat(links[i][0], r->fd, links[i][1]) < 0)
			return root_fail(r, errno, "link", links[i][1]);
	fd = mount_new("devpts", pts, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC);
	if (fd < 0)
		return root_fail(r, -fd, "mount", "devpts");
	return root_lay(r, fd, "dev/pts");
}

/* Of /proc, what anybody may read and tells about the host is covered by an empty file or directory. What only the host's root may
 * read or write (kcore, kmsg, sysrq-trigger …) is out of reach: no id of a box is the host's root. */
static const char *const proc_masked[] = {
	"acpi", "asound", "interrupts", "keys", "key-users", "latency_stats", "scsi"
};
/* Read-only all the same: this one has been written to by uid tricks elsewhere. */
static const char *const proc_read_only[] = { "sys" };

static int proc_cover(struct root *r, int proc, const char *name, int empty_dir, int empty_file)
{
	auto_close int fd = -1;
	struct stat st;
	int n;

	if (fstatat(proc, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : root_fail(r, errno, "stat /proc entry", name);
	fd = mount_clone(S_ISDIR(st.st_mode) ? empty_dir : empty_file, "", false);
	n = fd < 0 ? fd : mount_attach(fd, proc, name);
	return n < 0 ? root_fail(r, -n, "cover /proc entry", name) : 0;
}

/* Laid over itself, it turns read-only with the rest. */
static int proc_lock(struct root *r, int proc, const char *name)
{
	auto_close int fd = mount_clone(proc, name, true);
	int n;

	if (fd == -ENOENT)
		return 0;
	n = fd < 0 ? fd : mount_attach(fd, proc, name);
	return n < 0 ? root_fail(r, -n, "lock /proc entry", name) : 0;
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
	static const char *const hide[] = { "hidepid", "invisible", NULL };
	auto_close int fd = mount_new("proc", hide, PRIVATE | MOUNT_ATTR_NOEXEC), dir = -1, file = -1;
	char why[256], remedy[256];
	int n;

	if (fd < 0) {
		probe_explain_proc(-fd, why, sizeof(why), remedy, sizeof(remedy));
		cordon_fail(r->err, CORDON_UNAVAILABLE, -fd, "a fresh /proc is refused (%s)", why);
		return fail_hint(r->err, "%s", remedy);
	}
	if (root_lay(r, fd, "proc") < 0)
		return -1;
	if (mkdirat(r->fd, ".empty", 0555) < 0 || mknodat(r->fd, ".empty-file", S_IFREG | 0444, 0) < 0)
		return root_fail(r, errno, "make", ".empty");
	dir = openat(r->fd, ".empty", O_PATH | O_CLOEXEC);
	file = openat(r->fd, ".empty-file", O_PATH | O_CLOEXEC);
	for (size_t i = 0; i < ARRAY_LEN(proc_masked); i++)
		if (proc_cover(r, fd, proc_masked[i], dir, file) < 0)
			return -1;
	for (size_t i = 0; i < ARRAY_LEN(proc_read_only); i++)
		if (proc_lock(r, fd, proc_read_only[i]) < 0)
			return -1;
	if (limit_inotify(r, fd) < 0 || root_restrict(r) < 0)
		return -1;
	n = mount_restrict(fd, 0, MOUNT_ATTR_RDONLY, false);
	return n < 0 ? root_fail(r, -n, "restrict", "/proc") : 0;
}

/* What programs need to count processors. */
int root_sys(struct root *r)
{
	if (mkdirat(r->fd, "sys", 0755) < 0 || mkdirat(r->fd, "sys/devices", 0755) < 0 ||
	    mkdirat(r->fd, "sys/devices/system", 0755) < 0)
		return root_fail(r, errno, "make", "/sys");
	return root_lay_host(r, AT_FDCWD, "/sys/devices/system/cpu", "sys/devices/system/cpu");
}
