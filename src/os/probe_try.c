/*
 * The tries: see probe_try.h. A layer counts as there when it was seen to hold: a host name set in a new
 * namespace, a file refused under Landlock, a process killed through its group. What merely exists proves
 * little: AppArmor, for one, lets ordinary users make a user namespace and takes the rights out of it.
 *
 * Each runs in a forked child with the caller's rights, which it never raises; the child ends with
 * everything it made.
 */
#include "os/probe_try.h"

#include "base/fd.h"
#include "base/owner.h"
#include "base/str.h"
#include "os/cgroup.h"
#include "os/gateway.h"
#include "os/landlock.h"
#include "os/mount.h"
#include "os/process.h"
#include "os/scope.h"
#include "os/userns.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef CLONE_NEWTIME
#define CLONE_NEWTIME 0x80
#endif

enum { ATTEMPT_MS = 10000, SCOPE_MS = 3000 };

static int wait_result(pid_t pid, int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	int r = -EIO, ready;

	do
		ready = poll(&p, 1, ATTEMPT_MS);
	while (ready < 0 && errno == EINTR);
	if (ready <= 0) {
		kill(pid, SIGKILL);
		r = -ETIMEDOUT;
	} else if (fd_read_full(fd, &r, sizeof(r)) != sizeof(r)) {
		r = -EIO;
	}
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	return r;
}

int probe_attempt(int (*fn)(void))
{
	int ends[2], r;
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	pid = fork();
	if (pid == 0) {
		process_reset_signals();
		r = fn();
		_exit(fd_write_all(ends[1], &r, sizeof(r)) < 0);
	}
	r = pid < 0 ? -errno : 0;
	fd_close(&ends[1]);
	if (pid > 0)
		r = wait_result(pid, ends[0]);
	fd_close(&ends[0]);
	return r;
}

/* A user namespace and others with it, ourselves mapped to root inside. */
static int enter(int flags)
{
	struct id_range uid = { .outside = geteuid(), .count = 1 }, gid = { .outside = getegid(), .count = 1 };

	if (unshare(CLONE_NEWUSER | flags) < 0)
		return -errno;
	return userns_write_maps(getpid(), &uid, 1, &gid, 1, true);
}

int try_userns(void)
{
	int r = enter(0);

	if (r < 0)
		return r;
	/* The namespace is there; whether it gives rights is another matter. */
	return unshare(CLONE_NEWUTS) < 0 || sethostname("probe", 5) < 0 ? -errno : 0;
}

int try_utsns(void)
{
	int r = enter(CLONE_NEWUTS);

	if (r < 0)
		return r;
	return sethostname("probe", 5) < 0 ? -errno : 0;
}

/* As a box does it: a tmpfs of its own becomes the root, with something of the host's in it. */
int try_mountns(void)
{
	auto_close int fd = -1;
	int r = enter(CLONE_NEWNS);

	if (r < 0)
		return r;
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return -errno;
	fd = mount_new_tmpfs(1 << 20, 16, "755", 0);
	if (fd < 0)
		return fd;
	r = mount_attach(fd, AT_FDCWD, "/");
	if (r < 0)
		return r;
	if (fchdir(fd) < 0 || mkdir("usr", 0755) < 0)
		return -errno;
	r = mount_bind("/usr", "usr");
	return r < 0 ? r : mount_pivot();
}

static int is_first(void)
{
	return getpid() == 1 ? 0 : -ESRCH;
}

int try_pidns(void)
{
	int r = enter(CLONE_NEWPID);

	return r < 0 ? r : probe_attempt(is_first); /* the next child is the first inside */
}

static int mount_proc(void)
{
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return -errno;
	return mount_fs("proc", "hidepid=invisible", MS_NOSUID | MS_NODEV | MS_NOEXEC, "/proc");
}

int try_proc_mount(void)
{
	int r = enter(CLONE_NEWPID | CLONE_NEWNS);

	return r < 0 ? r : probe_attempt(mount_proc);
}

int try_netns(void)
{
	struct ifreq request = { .ifr_name = "lo" };
	auto_close int fd = -1;
	int r = enter(CLONE_NEWNET);

	if (r < 0)
		return r;
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	request.ifr_flags = IFF_UP | IFF_RUNNING;
	return ioctl(fd, SIOCSIFFLAGS, &request) < 0 ? -errno : 0;
}

/* A network by name: a second namespace behind a link. */
int try_gateway(void)
{
	const struct gateway_options o = { .gateway_address = "198.19.255.1",
					   .box_address = "198.19.255.2",
					   .link_bits = 30,
					   .settings = -1,
					   .elsewhere = -1,
					   .lazy = true };
	struct gateway gateway;
	int r = enter(CLONE_NEWNET);

	if (r < 0)
		return r;
	gateway_init(&gateway);
	r = gateway_open(&o, &gateway, NULL);
	gateway_close(&gateway);
	return r;
}

int try_ipcns(void)
{
	return enter(CLONE_NEWIPC);
}

int try_cgroupns(void)
{
	return enter(CLONE_NEWCGROUP);
}

int try_timens(void)
{
	return enter(CLONE_NEWTIME);
}

int try_overlay(void)
{
	static const char *const dirs[] = { "/lower", "/upper", "/work", "/merged" };
	int r = try_mountns();

	for (size_t i = 0; r == 0 && i < ARRAY_LEN(dirs); i++)
		r = mkdir(dirs[i], 0755) < 0 ? -errno : 0;
	if (r < 0)
		return r;
	return mount("overlay", "/merged", "overlay", 0, "lowerdir=/lower,upperdir=/upper,workdir=/work") < 0 ? -errno
													      : 0;
}

int try_idmap(void)
{
	struct id_range range = { .inside = 0, .outside = 100000, .count = 1 };
	auto_close int tree = mount_clone(AT_FDCWD, "/usr", false), map = -1;

	if (tree < 0)
		return tree;
	map = userns_for_idmap(&range, &range, 1);
	return map < 0 ? map : mount_idmap(tree, map, false);
}

static void sleep_in(const struct cgroup *cg)
{
	int r = prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 ? -errno : cgroup_join(cg);

	if (r == 0)
		pause();
	_exit(-r);
}

/* A process joins, is killed through the group, and the group goes. */
static int use_group(const struct cgroup_host *host, const char *name)
{
	struct cgroup_limits limits = {
		.memory_bytes = host->can & CGROUP_CAN_MEMORY ? 64 << 20 : 0,
		.processes = host->can & CGROUP_CAN_PIDS ? 8 : 0,
		.cpu_milli = host->can & CGROUP_CAN_CPU ? 500 : 0,
		.read_bps = host->can & CGROUP_CAN_IO ? 100 << 20 : 0,
	};
	struct cgroup cg;
	int r = cgroup_create(&cg, host, name, &limits), status = 0;
	bool gone = false;
	pid_t pid;

	if (r < 0)
		return r;
	pid = fork();
	if (pid == 0)
		sleep_in(&cg);
	r = pid < 0 ? -errno : 0;
	/* It joins in its own time; a kill before that would find an empty group. */
	for (int i = 0; r == 0 && i < 1000 && !gone; i++) {
		r = cgroup_kill(&cg);
		gone = waitpid(pid, &status, WNOHANG) == pid;
		if (!gone)
			usleep(1000);
	}
	if (gone)
		r = WIFEXITED(status) ? -WEXITSTATUS(status) : 0;
	else if (r == 0)
		r = -ESRCH;
	if (pid > 0 && !gone) {
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
	}
	status = cgroup_destroy(&cg);
	return r < 0 ? r : status;
}

static int enter_scope(struct cgroup_host *host, const char *name)
{
	int r = scope_request(name, getpid(), SCOPE_MS);

	if (r == 0)
		cgroup_probe(host);
	return r;
}

int try_cgroup(void)
{
	struct cgroup_host host;
	char name[OWNER_NAME_MAX];
	int r = owner_name(name);

	cgroup_probe(&host);
	if (r == 0 && host.needs_scope)
		r = enter_scope(&host, name);
	return r < 0 ? r : use_group(&host, name);
}

static int try_scope(unsigned controller)
{
	struct cgroup_host host;
	char name[OWNER_NAME_MAX];
	int r = owner_name(name);

	cgroup_probe(&host);
	if (r < 0 || !host.needs_scope || !(host.can & controller))
		return r;
	r = enter_scope(&host, name);
	return r < 0 || host.can & controller ? r : -EOPNOTSUPP;
}

int try_scope_cpu(void)
{
	return try_scope(CGROUP_CAN_CPU);
}

int try_scope_io(void)
{
	return try_scope(CGROUP_CAN_IO);
}

int try_rlimits(void)
{
	struct rlimit want = { 16, 16 }, got = { 0 };

	if (setrlimit(RLIMIT_NOFILE, &want) < 0 || getrlimit(RLIMIT_NOFILE, &got) < 0)
		return -errno;
	return got.rlim_max == 16 ? 0 : -ERANGE;
}

int try_no_new_privs(void)
{
	int r = process_no_new_privs();

	if (r < 0)
		return r;
	return prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 ? 0 : -EINVAL;
}

/* Everything but /usr is closed, and then it is. */
int try_landlock(void)
{
	long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, 1 /* version */);
	auto_close int ruleset = -1, inside = -1, outside = -1;
	int r;

	if (abi < 0)
		return -errno;
	ruleset = landlock_new((int)abi, true);
	if (ruleset < 0)
		return ruleset;
	r = landlock_allow_path(ruleset, (int)abi, "/usr", LANDLOCK_READ);
	if (r == 0)
		r = process_no_new_privs();
	if (r == 0)
		r = landlock_restrict(ruleset);
	if (r < 0)
		return r;
	inside = open("/usr", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	outside = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return inside >= 0 && outside < 0 ? 0 : -EBADE;
}

/* A filter that refuses one harmless call with an errno that it never has. */
static long install_filter(unsigned flags, unsigned action)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (unsigned)offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)SYS_getppid, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, action),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { .len = ARRAY_LEN(code), .filter = code };
	int r = process_no_new_privs();
	long fd;

	if (r < 0)
		return r;
	fd = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
	return fd < 0 ? -errno : fd;
}

int try_seccomp(void)
{
	long r = install_filter(0, SECCOMP_RET_ERRNO | ENOTNAM);

	if (r < 0)
		return (int)r;
	return syscall(SYS_getppid) < 0 && errno == ENOTNAM ? 0 : -EBADE;
}

int try_seccomp_notify(void)
{
	struct seccomp_notif_sizes sizes;
	long fd = install_filter(SECCOMP_FILTER_FLAG_NEW_LISTENER, SECCOMP_RET_USER_NOTIF);

	if (fd < 0)
		return (int)fd;
	return syscall(SYS_seccomp, SECCOMP_GET_NOTIF_SIZES, 0, &sizes) < 0 ? -errno : 0;
}

/* Bad arguments make each of them fail, with ENOSYS only where it does not exist. */
int try_syscalls(void)
{
	static const long numbers[] = { SYS_openat2,    SYS_close_range, SYS_clone3,
					SYS_pidfd_open, SYS_fsopen,      SYS_mount_setattr };

	for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
		if (syscall(numbers[i], -1, 0, -1, 0, 0, 0) < 0 && errno == ENOSYS)
			return -ENOSYS;
	return 0;
}
