/*
 * Every layer and the means to them as one table: what is tried, what it is good for, which levels stand on
 * it. A failed try is explained by who refused it (probe.c). Any process, the caller's rights; the tries
 * run in children (probe_try.c).
 */
#include "os/probe.h"

#include "base/fd.h"
#include "base/str.h"
#include "os/cgroup.h"
#include "os/probe_try.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/xattr.h>
#include <unistd.h>

enum { BOTH = PROBE_FOR_CONTAINER | PROBE_FOR_PROCESS, CONTAINER = PROBE_FOR_CONTAINER, NONE = 0 };

struct check {
	const char *name;
	unsigned levels;
	int (*attempt)(void); /* or NULL */
	unsigned long flags; /* CLONE_NEW* that a failure is explained by; without CLONE_NEWUSER it does not need one */
	const char *good;    /* what it gives */
	void (*explain)(struct probe_finding *f, int r); /* after the attempt, instead of the common words */
};

__attribute__((format(printf, 3, 4))) static void find(struct probe_finding *f, enum probe_state state, const char *fmt,
						       ...)
{
	va_list ap;

	f->state = state;
	va_start(ap, fmt);
	vsnprintf(f->detail, sizeof(f->detail), fmt, ap);
	va_end(ap);
}

__attribute__((format(printf, 2, 3))) static void advise(struct probe_finding *f, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(f->remedy, sizeof(f->remedy), fmt, ap);
	va_end(ap);
}

static void explain_kernel(struct probe_finding *f, int r)
{
	struct utsname u;

	if (uname(&u) < 0)
		return;
	if (r == 0) {
		find(f, PROBE_AVAILABLE, "%s", u.release);
		return;
	}
	find(f, PROBE_MISSING, "%s lacks system calls that every box is made with (%s)", u.release,
	     strerrordesc_np(-r));
	advise(f, probe_kernel_at_least(5, 12) ? "a seccomp filter hides them: update the container engine, or start "
						 "with --security-opt seccomp=unconfined"
					       : "boot a kernel of at least 5.12");
}

static void explain_mountns(struct probe_finding *f, int r)
{
	f->state = r < 0 ? PROBE_MISSING : PROBE_AVAILABLE;
	if (r == 0) {
		find(f, PROBE_AVAILABLE, "a private root on tmpfs, by pivot_root");
	} else if (r == -EINVAL) { /* the only thing that pivot_root has against a new mount namespace's own mounts */
		find(f, PROBE_MISSING, "the root is the initial ramfs, which pivot_root cannot leave");
		advise(f, "switch to a real root first: switch_root in the initramfs, or a root on tmpfs");
	} else {
		probe_explain_clone(-r, CLONE_NEWUSER | CLONE_NEWNS, f->detail, sizeof(f->detail), f->remedy,
				    sizeof(f->remedy));
	}
}

static void explain_proc(struct probe_finding *f, int r)
{
	f->state = r < 0 ? PROBE_MISSING : PROBE_AVAILABLE;
	if (r < 0)
		probe_explain_proc(-r, f->detail, sizeof(f->detail), f->remedy, sizeof(f->remedy));
	else
		find(f, PROBE_AVAILABLE, "a fresh /proc that shows the box alone");
}

static void explain_landlock(struct probe_finding *f, int r)
{
	static const char *const gives[] = { "files",     "renames",       "truncation",
					     "TCP ports", "device ioctls", "abstract sockets and signals" };
	long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, 1);
	size_t len;

	if (r < 0) {
		f->state = PROBE_MISSING;
		probe_explain_landlock(-r, f->detail, sizeof(f->detail), f->remedy, sizeof(f->remedy));
		return;
	}
	find(f, abi >= (long)ARRAY_LEN(gives) ? PROBE_AVAILABLE : PROBE_LIMITED, "ABI %ld:", abi);
	for (size_t i = 0; i < ARRAY_LEN(gives) && i < (size_t)abi; i++) {
		len = strlen(f->detail);
		snprintf(f->detail + len, sizeof(f->detail) - len, "%s %s", i ? "," : "", gives[i]);
	}
	if (f->state == PROBE_LIMITED)
		advise(f, "newer kernels add: %s%s%s%s6.12 abstract sockets and signals",
		       abi < 2 ? "5.19 renames, " : "", abi < 3 ? "6.2 truncation, " : "",
		       abi < 4 ? "6.7 TCP ports, " : "", abi < 5 ? "6.10 device ioctls, " : "");
}

static void explain_seccomp(struct probe_finding *f, int r)
{
	if (r == 0) {
		find(f, PROBE_AVAILABLE, "filters hold");
		return;
	}
	find(f, PROBE_MISSING, "no filter can be installed: %s", strerrordesc_np(-r));
	advise(f, "boot a kernel with CONFIG_SECCOMP_FILTER=y; in a container, allow the seccomp system call");
}

static void explain_notify(struct probe_finding *f, int r)
{
	if (r == 0) {
		find(f, PROBE_AVAILABLE, "refused system calls are reported as they happen");
		return;
	}
	find(f, PROBE_LIMITED, "refused system calls fail, but are not reported: %s", strerrordesc_np(-r));
	advise(f, r == -EBUSY ? "another supervisor already listens (EBUSY): start cordon outside of it"
			      : "boot a kernel of at least 5.5");
}

static void explain_simple(struct probe_finding *f, int r)
{
	find(f, r < 0 ? PROBE_MISSING : PROBE_AVAILABLE, "%s", r < 0 ? strerrordesc_np(-r) : "holds");
}

static void explain_timens(struct probe_finding *f, int r)
{
	if (r == 0)
		find(f, PROBE_AVAILABLE, "the kernel has it; boxes do without, so that the host's boot time shows");
	else
		find(f, PROBE_LIMITED, "the host's boot time shows: %s", strerrordesc_np(-r));
	if (r == -EINVAL && !probe_kernel_at_least(5, 6))
		advise(f, "boot a kernel of at least 5.6");
}

static void explain_overlay(struct probe_finding *f, int r)
{
	if (r == 0) {
		find(f, PROBE_AVAILABLE, "in a user namespace");
		return;
	}
	find(f, PROBE_LIMITED, "not in a user namespace: %s; nothing here needs it yet", strerrordesc_np(-r));
	advise(f, probe_kernel_at_least(5, 11) ? "as root: modprobe overlay" : "boot a kernel of at least 5.11");
}

static void explain_idmap(struct probe_finding *f, int r)
{
	if (r == 0)
		find(f, PROBE_AVAILABLE, "files in writable host directories keep their owner");
	else if (geteuid() != 0)
		find(f, PROBE_LIMITED, "root's alone; an ordinary user's box has the user itself as owner instead");
	else
		find(f, PROBE_LIMITED, "writable host directories cannot be mapped to the box's user: %s",
		     strerrordesc_np(-r));
	if (r < 0 && geteuid() == 0)
		advise(f, probe_kernel_at_least(5, 12) ? "keep writable directories on ext4, xfs, btrfs or tmpfs"
						       : "boot a kernel of at least 5.12");
}

static void explain_cgroup(struct probe_finding *f, int r)
{
	static const char *const modes[] = { "none", "v2", "v1" };
	struct cgroup_host host;
	unsigned both = CGROUP_CAN_MEMORY | CGROUP_CAN_PIDS;

	cgroup_probe(&host);
	if (host.mode == CGROUP_NONE) {
		find(f, PROBE_LIMITED, "%s; limits come from rlimits and polling (watch)", host.why);
		advise(f, "%s", host.remedy);
	} else if (r < 0) {
		find(f, PROBE_LIMITED, "%s: a group was promised, but could not be used: %s", modes[host.mode],
		     strerrordesc_np(-r));
		advise(f, "%s", host.needs_scope ? CGROUP_SCOPE_REMEDY : host.remedy);
	} else {
		find(f, (host.can & both) == both ? PROBE_AVAILABLE : PROBE_LIMITED, "%s%s%s%s", modes[host.mode],
		     host.mode == CGROUP_V1 && host.parent[CG_UNIFIED][0] ? " with the unified tree" : "",
		     host.needs_scope ? ", through a scope from systemd" : ", in ",
		     host.needs_scope ? "" : host.parent[host.mode == CGROUP_V1 ? CG_MEMORY : CG_UNIFIED]);
		advise(f, "%s", (host.can & both) == both ? "" : host.remedy);
	}
}

/* The controllers in turn, by the finding's name. */
static void explain_controller(struct probe_finding *f, int r)
{
	static const struct {
		const char *name;
		unsigned can;
		const char *good, *without;
	} controllers[] = {
		{ "cgroup.memory", CGROUP_CAN_MEMORY, "memory of every kind is bounded, with the peak",
		  "RLIMIT_DATA per process, tmpfs sizes and polling instead" },
		{ "cgroup.pids", CGROUP_CAN_PIDS, "processes are counted by the kernel",
		  "RLIMIT_NPROC in the box's own user namespace instead" },
		{ "cgroup.cpu", CGROUP_CAN_CPU, "a share of CPU", "no share of CPU; CPU time is still bounded" },
		{ "cgroup.io", CGROUP_CAN_IO, "disk bandwidth", "no bound on disk bandwidth" },
		{ "cgroup.kill", CGROUP_CAN_KILL, "everything in a box dies at once",
		  "the pid namespace's end kills instead" },
	};
	struct cgroup_host host;

	cgroup_probe(&host);
	for (size_t i = 0; i < ARRAY_LEN(controllers); i++) {
		if (strcmp(f->name, controllers[i].name) != 0)
			continue;
		if (host.can & controllers[i].can && r == 0) {
			find(f, PROBE_AVAILABLE, "%s", controllers[i].good);
			return;
		}
		find(f, PROBE_LIMITED, "%s", controllers[i].without);
		if (r == -EOPNOTSUPP)
			advise(f, "systemctl --user daemon-reexec, so that the manager knows what it was given");
		else if (host.mode != CGROUP_NONE && r == 0) /* else said of the whole */
			advise(f, "%s", host.remedy);
	}
}

/* Like a shell would, and in the directories that ordinary users' PATH leaves out. */
static bool find_program(const char *name, char *buf, size_t size)
{
	static const char *const dirs[] = { "/usr/sbin", "/sbin",           "/usr/bin",
					    "/bin",      "/usr/local/sbin", "/usr/local/bin" };

	for (size_t i = 0; i < ARRAY_LEN(dirs); i++) {
		snprintf(buf, size, "%s/%s", dirs[i], name);
		if (access(buf, X_OK) == 0)
			return true;
	}
	return false;
}

static void explain_mkfs(struct probe_finding *f, int r)
{
	char path[64];

	(void)r;
	if (find_program("mkfs.ext4", path, sizeof(path))) {
		find(f, PROBE_AVAILABLE, "%s", path);
		return;
	}
	find(f, PROBE_LIMITED, "`storage: disk` cannot make a sized image");
	advise(f, "apt install e2fsprogs");
}

static void explain_loop(struct probe_finding *f, int r)
{
	auto_close int fd = open("/dev/loop-control", O_RDWR | O_CLOEXEC);

	(void)r;
	if (fd >= 0) {
		find(f, PROBE_AVAILABLE, "`storage: disk` can be bounded by a sized image");
		return;
	}
	find(f, PROBE_LIMITED, "no loop devices: %s; `storage: disk` is watched instead", strerrordesc_np(errno));
	if (geteuid() == 0)
		advise(f, "modprobe loop; in a container: --device /dev/loop-control");
}

/* The user's line "NAME:START:COUNT" in /etc/subuid; the name from /etc/passwd, without the libraries
 * behind getpwuid(). */
static bool has_subids(void)
{
	auto_free char *passwd = NULL, *subuid = NULL;
	char number[16], *rest, *name = number;

	snprintf(number, sizeof(number), "%u", (unsigned)geteuid());
	if (fd_load_at(AT_FDCWD, "/etc/subuid", 1 << 20, &subuid) < 0)
		return false;
	rest = fd_load_at(AT_FDCWD, "/etc/passwd", 1 << 20, &passwd) < 0 ? NULL : passwd;
	for (char *line; (line = strsep(&rest, "\n"));) {
		char *who = strsep(&line, ":"), *uid;

		strsep(&line, ":");
		uid = strsep(&line, ":");
		if (uid && strcmp(uid, number) == 0) {
			name = who;
			break;
		}
	}
	rest = subuid;
	for (char *line; (line = strsep(&rest, "\n"));) {
		char *who = strsep(&line, ":");

		if (line && (strcmp(who, name) == 0 || strcmp(who, number) == 0))
			return true;
	}
	return false;
}

static bool may_raise(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && (st.st_mode & S_ISUID || getxattr(path, "security.capability", NULL, 0) > 0);
}

static void explain_subuid(struct probe_finding *f, int r)
{
	char path[64];

	(void)r;
	if (geteuid() == 0) {
		find(f, PROBE_AVAILABLE, "root maps a range of its own for each box");
		return;
	}
	if (!find_program("newuidmap", path, sizeof(path)) || !may_raise(path)) {
		find(f, PROBE_LIMITED, "no newuidmap with its rights: a box has one user, the caller");
		advise(f, "apt install uidmap");
	} else if (!has_subids()) {
		find(f, PROBE_LIMITED, "no line in /etc/subuid: a box has one user, the caller");
		advise(f, "as root: usermod --add-subuids 100000-165535 --add-subgids 100000-165535 USER");
	} else {
		find(f, PROBE_AVAILABLE, "a range in /etc/subuid, and newuidmap");
	}
}

static void explain_gateway(struct probe_finding *f, int r)
{
	if (r == 0) {
		find(f, PROBE_AVAILABLE, "a network by name (--allow), in containers");
		return;
	}
	find(f, PROBE_LIMITED, "only --net none: the link to the egress process is refused (%s)", strerror(-r));
	advise(f, r == -EROFS ? "/proc/sys is read-only here: run cordon outside of this container"
			      : "load the veth module (as root: modprobe veth)");
}

static const struct check checks[] = {
	{ "kernel", BOTH, try_syscalls, 0, "", explain_kernel },
	{ "userns", CONTAINER, try_userns, CLONE_NEWUSER, "rights inside are rights over the box alone", NULL },
	{ "mountns", CONTAINER, try_mountns, CLONE_NEWUSER | CLONE_NEWNS, "", explain_mountns },
	{ "pidns", CONTAINER, try_pidns, CLONE_NEWUSER | CLONE_NEWPID, "processes see and outlive nobody else's",
	  NULL },
	{ "netns", CONTAINER, try_netns, CLONE_NEWUSER | CLONE_NEWNET, "loopback and nothing else", NULL },
	{ "gateway", NONE, try_gateway, CLONE_NEWUSER | CLONE_NEWNET, "", explain_gateway },
	{ "ipcns", CONTAINER, try_ipcns, CLONE_NEWUSER | CLONE_NEWIPC, "System V and POSIX queues of its own", NULL },
	{ "utsns", CONTAINER, try_utsns, CLONE_NEWUSER | CLONE_NEWUTS, "a host name of its own", NULL },
	{ "cgroupns", CONTAINER, try_cgroupns, CLONE_NEWUSER | CLONE_NEWCGROUP, "the host's groups do not show", NULL },
	{ "proc_mount", CONTAINER, try_proc_mount, CLONE_NEWUSER, "", explain_proc },
	{ "timens", NONE, try_timens, CLONE_NEWUSER, "", explain_timens },
	{ "cgroup", NONE, try_cgroup, 0, "", explain_cgroup },
	{ "cgroup.memory", NONE, NULL, 0, "", explain_controller },
	{ "cgroup.pids", NONE, NULL, 0, "", explain_controller },
	{ "cgroup.cpu", NONE, try_scope_cpu, 0, "", explain_controller },
	{ "cgroup.io", NONE, try_scope_io, 0, "", explain_controller },
	{ "cgroup.kill", NONE, NULL, 0, "", explain_controller },
	{ "rlimits", BOTH, try_rlimits, 0, "", explain_simple },
	{ "no_new_privs", BOTH, try_no_new_privs, 0, "", explain_simple },
	{ "landlock", BOTH, try_landlock, 0, "", explain_landlock },
	{ "seccomp", BOTH, try_seccomp, 0, "", explain_seccomp },
	{ "seccomp_notify", NONE, try_seccomp_notify, 0, "", explain_notify },
	{ "idmapped_mounts", NONE, try_idmap, 0, "", explain_idmap },
	{ "overlay", NONE, try_overlay, CLONE_NEWUSER, "", explain_overlay },
	{ "subuid", NONE, NULL, 0, "", explain_subuid },
	{ "loop", NONE, NULL, 0, "", explain_loop },
	{ "mkfs.ext4", NONE, NULL, 0, "", explain_mkfs },
};
_Static_assert(ARRAY_LEN(checks) <= PROBE_FINDINGS_MAX, "findings fit");

/* Without a user namespace nothing that lives in one can be had, and the reason is always the same. */
static void blame_userns(struct probe_finding *f, const struct probe_finding *userns)
{
	find(f, f->levels ? PROBE_MISSING : PROBE_LIMITED, "needs %s", userns->name);
}

size_t probe_all(struct probe_finding findings[PROBE_FINDINGS_MAX])
{
	const struct probe_finding *userns = NULL;

	for (size_t i = 0; i < ARRAY_LEN(checks); i++) {
		const struct check *c = &checks[i];
		struct probe_finding *f = &findings[i];
		int r = c->attempt ? probe_attempt(c->attempt) : 0;

		*f = (struct probe_finding){ .name = c->name, .levels = c->levels };
		if (r < 0 && userns && c->flags & CLONE_NEWUSER) {
			blame_userns(f, userns);
		} else if (c->explain) {
			c->explain(f, r);
		} else if (r == 0) {
			find(f, PROBE_AVAILABLE, "%s", c->good);
		} else {
			f->state = PROBE_MISSING;
			probe_explain_clone(-r, c->flags, f->detail, sizeof(f->detail), f->remedy, sizeof(f->remedy));
		}
		if (c->attempt == try_userns && r < 0)
			userns = f;
	}
	return ARRAY_LEN(checks);
}
