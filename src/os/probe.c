/*
 * Why a namespace, a mount or Landlock was refused, from what the host says of itself. Cheap enough for the
 * error path of a run: a few small files are read, nothing is tried. Any process, the caller's rights.
 */
#include "os/probe.h"

#include "base/fd.h"
#include "base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

/* Where the words go. */
struct answer {
	char *why, *remedy;
	size_t why_size, remedy_size;
};

__attribute__((format(printf, 2, 3))) static void say_why(const struct answer *a, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(a->why, a->why_size, fmt, ap);
	va_end(ap);
}

__attribute__((format(printf, 2, 3))) static void say_remedy(const struct answer *a, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(a->remedy, a->remedy_size, fmt, ap);
	va_end(ap);
}

static const struct {
	unsigned long flag;
	const char *name;   /* /proc/self/ns/NAME */
	const char *sysctl; /* user/max_NAME_namespaces */
	const char *kernel; /* since */
} spaces[] = {
	{ CLONE_NEWUSER, "user", "user", "3.8 with CONFIG_USER_NS" },
	{ CLONE_NEWNS, "mnt", "mnt", "2.4.19" },
	{ CLONE_NEWPID, "pid", "pid", "2.6.24 with CONFIG_PID_NS" },
	{ CLONE_NEWNET, "net", "net", "2.6.29 with CONFIG_NET_NS" },
	{ CLONE_NEWIPC, "ipc", "ipc", "2.6.19 with CONFIG_IPC_NS" },
	{ CLONE_NEWUTS, "uts", "uts", "2.6.19 with CONFIG_UTS_NS" },
	{ CLONE_NEWCGROUP, "cgroup", "cgroup", "4.6 with CONFIG_CGROUPS" },
	{ 0x80 /* CLONE_NEWTIME */, "time", "time", "5.6 with CONFIG_TIME_NS" },
};

long probe_sysctl(const char *name)
{
	char path[128], text[32];

	snprintf(path, sizeof(path), "/proc/sys/%s", name);
	return fd_read_file_at(AT_FDCWD, path, text, sizeof(text)) <= 0 ? -1 : strtol(text, NULL, 10);
}

bool probe_kernel_at_least(unsigned major, unsigned minor)
{
	struct utsname u;
	unsigned long maj, min;
	char *end;

	if (uname(&u) < 0)
		return false;
	maj = strtoul(u.release, &end, 10);
	min = *end == '.' ? strtoul(end + 1, NULL, 10) : 0;
	return maj > major || (maj == major && min >= minor);
}

/* What pid 1 was told by whoever started it; readable only for root. */
static const char *container_by_environ(void)
{
	static const char *const known[] = { "docker", "podman", "lxc", "systemd-nspawn", "oci", "wsl" };
	char text[8192];
	ssize_t n = fd_read_file_at(AT_FDCWD, "/proc/1/environ", text, sizeof(text));

	for (const char *p = text; n > 0 && p < text + n; p += strlen(p) + 1)
		if (str_starts(p, "container="))
			for (size_t i = 0; i < ARRAY_LEN(known); i++)
				if (strcmp(p + strlen("container="), known[i]) == 0)
					return known[i];
	return NULL;
}

const char *probe_container(void)
{
	if (getenv("KUBERNETES_SERVICE_HOST"))
		return "kubernetes";
	if (access("/.dockerenv", F_OK) == 0)
		return "docker";
	if (access("/run/.containerenv", F_OK) == 0)
		return "podman";
	if (access("/proc/sys/fs/binfmt_misc/WSLInterop", F_OK) == 0)
		return "wsl";
	return container_by_environ();
}

/* The number after "NAME:" in /proc/self/status; hexadecimal for capabilities; -1 where it is missing. */
static long long status_field(const char *name, int base)
{
	char text[4096], *p = text;
	size_t len = strlen(name);

	if (fd_read_file_at(AT_FDCWD, "/proc/self/status", text, sizeof(text)) < 0)
		return -1;
	while (p) {
		if (strncmp(p, name, len) == 0 && p[len] == ':')
			return strtoll(p + len + 1, NULL, base);
		p = strchr(p, '\n');
		p = p ? p + 1 : NULL;
	}
	return -1;
}

static bool has_sys_admin(void)
{
	long long caps = status_field("CapEff", 16);

	return caps >= 0 && caps >> 21 & 1;
}

/* A chroot's root is not the root of a mount: no line has "/" as its mount point. */
static bool in_chroot(void)
{
	auto_free char *text = NULL;
	ssize_t n = fd_load_at(AT_FDCWD, "/proc/self/mountinfo", 16 << 20, &text);
	char *rest = text;

	if (n < 0)
		return false;
	for (char *line; (line = strsep(&rest, "\n"));) {
		for (int field = 0; field < 4; field++)
			strsep(&line, " ");
		if (line && str_starts(line, "/ "))
			return false;
	}
	return true;
}

static void own_path(char *buf, size_t size)
{
	ssize_t n = readlink("/proc/self/exe", buf, size - 1);

	snprintf(buf + (n > 0 ? n : 0), n > 0 ? size - (size_t)n : size, "%s", n > 0 ? "" : "/usr/bin/cordon");
}

static bool by_apparmor(const struct answer *a)
{
	char exe[128];

	if (has_sys_admin() || probe_sysctl("kernel/apparmor_restrict_unprivileged_userns") != 1)
		return false;
	own_path(exe, sizeof(exe));
	say_why(a, "AppArmor takes the rights out of user namespaces that ordinary users make "
		   "(kernel.apparmor_restrict_unprivileged_userns is 1)");
	say_remedy(a,
		   "as root, for cordon alone: printf 'abi <abi/4.0>,\\ninclude <tunables/global>\\nprofile cordon %s "
		   "flags=(unconfined) {\\n  userns,\\n}\\n' >/etc/apparmor.d/cordon && apparmor_parser -r "
		   "/etc/apparmor.d/cordon; or for every program: sysctl -w "
		   "kernel.apparmor_restrict_unprivileged_userns=0",
		   exe);
	return true;
}

static bool by_debian_sysctl(const struct answer *a)
{
	if (has_sys_admin() || probe_sysctl("kernel/unprivileged_userns_clone") != 0)
		return false;
	say_why(a, "this kernel keeps user namespaces from ordinary users (kernel.unprivileged_userns_clone is 0)");
	say_remedy(a, "as root: sysctl -w kernel.unprivileged_userns_clone=1; to keep it: echo "
		      "kernel.unprivileged_userns_clone=1 >/etc/sysctl.d/60-cordon.conf");
	return true;
}

static bool by_seccomp(const struct answer *a)
{
	const char *container = probe_container();

	if (status_field("Seccomp", 10) != 2)
		return false;
	say_why(a, "a seccomp filter is already on this process%s%s, and such filters refuse new namespaces",
		container ? ", put there by " : "", container ? container : "");
	say_remedy(a,
		   "use --level process here; or start the container with --security-opt seccomp=unconfined "
		   "--security-opt apparmor=unconfined (Kubernetes: securityContext.seccompProfile.type: Unconfined)");
	return true;
}

static bool by_chroot(const struct answer *a)
{
	if (!in_chroot())
		return false;
	say_why(a, "this process is in a chroot, where the kernel gives no user namespaces");
	say_remedy(
		a,
		"enter the directory with pivot_root (systemd-nspawn, bwrap) instead of chroot, or run cordon outside");
	return true;
}

static bool by_count(const struct answer *a, unsigned long flags)
{
	char sysctl[64];

	for (size_t i = 0; i < ARRAY_LEN(spaces); i++) {
		long max;

		if (!(flags & spaces[i].flag))
			continue;
		snprintf(sysctl, sizeof(sysctl), "user/max_%s_namespaces", spaces[i].sysctl);
		max = probe_sysctl(sysctl);
		if (max < 0 || max > 64)
			continue;
		say_why(a, "user.max_%s_namespaces is %ld%s", spaces[i].sysctl, max, max ? ", and all are in use" : "");
		say_remedy(a,
			   "as root: sysctl -w user.max_%s_namespaces=15000; to keep it: echo "
			   "user.max_%s_namespaces=15000 >/etc/sysctl.d/60-cordon.conf",
			   spaces[i].sysctl, spaces[i].sysctl);
		return true;
	}
	return false;
}

/* A limit above our own user namespace cannot be read from here, but it has a name. */
static const char *only_kind(unsigned long flags)
{
	for (size_t i = 0; i < ARRAY_LEN(spaces); i++)
		if (flags == spaces[i].flag)
			return spaces[i].sysctl;
	return "*";
}

static bool by_kernel(const struct answer *a, unsigned long flags)
{
	char path[32];

	for (size_t i = 0; i < ARRAY_LEN(spaces); i++) {
		snprintf(path, sizeof(path), "/proc/self/ns/%s", spaces[i].name);
		if (!(flags & spaces[i].flag) || access(path, F_OK) == 0)
			continue;
		say_why(a, "this kernel has no %s namespaces", spaces[i].name);
		say_remedy(a, "boot a kernel of at least %s", spaces[i].kernel);
		return true;
	}
	return false;
}

/* Refused, not exhausted: by whom? The order is from the certain to the likely. */
static void explain_refused(const struct answer *a, unsigned long flags, int errnum)
{
	if (!(flags & CLONE_NEWUSER) && !has_sys_admin()) {
		say_why(a, "new namespaces without a user namespace need CAP_SYS_ADMIN");
		say_remedy(a, "run as root, or keep the user namespace");
		return;
	}
	if (by_count(a, flags) || by_debian_sysctl(a) || by_apparmor(a) || by_seccomp(a) || by_chroot(a))
		return;
	say_why(a, "the kernel or a security module refuses new namespaces: %s", strerrordesc_np(errnum));
	say_remedy(a, "look at `journalctl -k | grep -i -e denied -e audit` for the module that did; `cordon doctor` "
		      "tries each layer; --level process needs no namespaces");
}

void probe_explain_clone(int errnum, unsigned long flags, char *why, size_t why_size, char *remedy, size_t remedy_size)
{
	struct answer a = { why, remedy, why_size, remedy_size };

	say_remedy(&a, "%s", "");
	switch (errnum) {
	case EPERM:
	case EACCES:
		explain_refused(&a, flags, errnum);
		return;
	case ENOSPC:
	case EUSERS:
		if (by_count(&a, flags))
			return;
		say_why(&a, "the limit on namespaces is reached, or they are nested 32 deep");
		say_remedy(&a, "as root: raise user.max_%s_namespaces with sysctl -w; see `lsns` for who holds them",
			   only_kind(flags));
		return;
	case EINVAL:
		if (by_kernel(&a, flags))
			return;
		break;
	case ENOSYS:
		if (by_seccomp(&a))
			return;
		break;
	case EAGAIN:
		say_why(&a, "no more processes: the limit of the user (RLIMIT_NPROC) or of the cgroup (pids.max) is "
			    "reached");
		say_remedy(&a, "raise `ulimit -u`, or pids.max of the surrounding cgroup (systemd: TasksMax=)");
		return;
	default:
		break;
	}
	say_why(&a, "%s", strerrordesc_np(errnum));
}

void probe_explain_proc(int errnum, char *why, size_t why_size, char *remedy, size_t remedy_size)
{
	struct answer a = { why, remedy, why_size, remedy_size };
	const char *container = probe_container();

	say_remedy(&a, "%s", "");
	if (errnum != EPERM && errnum != EACCES) {
		say_why(&a, "%s", strerrordesc_np(errnum));
		return;
	}
	if (by_apparmor(&a))
		return;
	say_why(&a,
		"the kernel gives a new /proc only where the old one is fully visible, and here parts of it are "
		"covered%s%s",
		container ? " by " : "", container ? container : "");
	say_remedy(&a, "use --level process here; or start the container with an uncovered /proc: docker run "
		       "--security-opt systempaths=unconfined (podman: unmask=ALL; Kubernetes: procMount: Unmasked)");
}

void probe_explain_landlock(int errnum, char *why, size_t why_size, char *remedy, size_t remedy_size)
{
	struct answer a = { why, remedy, why_size, remedy_size };
	char lsm[256] = "";

	say_remedy(&a, "%s", "");
	if (errnum == EOPNOTSUPP) {
		if (fd_read_file_at(AT_FDCWD, "/sys/kernel/security/lsm", lsm, sizeof(lsm)) < 0)
			snprintf(lsm, sizeof(lsm), "$(cat /sys/kernel/security/lsm)");
		say_why(&a, "Landlock is built in but not enabled at boot");
		say_remedy(&a,
			   "add lsm=landlock,%s to the kernel's command line (GRUB_CMDLINE_LINUX in /etc/default/grub, "
			   "then update-grub) and reboot",
			   lsm);
	} else if (errnum == ENOSYS && !probe_kernel_at_least(5, 13)) {
		say_why(&a, "this kernel has no Landlock");
		say_remedy(&a, "boot a kernel of at least 5.13; 6.7 adds TCP ports, 6.12 abstract sockets and signals");
	} else if (errnum == ENOSYS) {
		say_why(&a, "this kernel was built without Landlock, or a seccomp filter hides it");
		say_remedy(&a, "boot a kernel with CONFIG_SECURITY_LANDLOCK=y; in a container, update the engine: its "
			       "filter must allow landlock_create_ruleset");
	} else {
		say_why(&a, "%s", strerrordesc_np(errnum));
	}
}
