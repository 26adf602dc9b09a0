/*
 * Real calls, made in a child: each is refused with its errno under the filter, and (the control) answered differently
 * without it. Runs as any user; where only root's control tells, an ordinary user's is left out.
 */
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/sched.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/personality.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/stat.h>

#include "seccomp_child.h"
#include "tap.h"

#ifndef PR_SCHED_CORE
#define PR_SCHED_CORE 62
#endif
#define HIGH 0xdeadbeef00000000ul
#define NOBODY 0x3ffffff0 /* no process has this uid: nobody is slowed by the control */

static const struct seccomp_options normal, strict = { .strict = true }, host = { .no_sockets = true, .on_host = true },
					    lock = { .exec_lock = true };
static char dir[64];

/* ---- calls: 0 or an errno ------------------------------------------------------------------------------- */

static int result(long ret)
{
	return ret < 0 ? errno : 0;
}

static int call_chmod(void *mode)
{
	return result(chmod(dir, (mode_t)(uintptr_t)mode));
}

static int call_fchmodat2(void *mode)
{
	return result(syscall(452, AT_FDCWD, dir, (mode_t)(uintptr_t)mode, 0));
}

static int call_open_mode(void *mode)
{
	char path[96];
	int fd;

	snprintf(path, sizeof(path), "%s/new", dir);
	unlink(path);
	fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_CREAT | O_WRONLY | O_CLOEXEC, (mode_t)(uintptr_t)mode);
	return result(fd);
}

static int call_tmpfile(void *mode)
{
	return result(open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, (mode_t)(uintptr_t)mode));
}

/* A mode that means nothing, since nothing is created. */
static int call_open_junk_mode(void *arg)
{
	(void)arg;
	return result(syscall(SYS_openat, AT_FDCWD, dir, O_RDONLY | O_CLOEXEC, 06777));
}

/* Of an existing file, which these flags would empty. */
static int call_open_truncating(void *flags)
{
	char path[96];
	int fd;

	snprintf(path, sizeof(path), "%s/cut", dir);
	fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	if (fd < 0)
		return 98;
	return result(open(path, (int)(uintptr_t)flags | O_TRUNC | O_CLOEXEC));
}

static int call_truncate(void *arg)
{
	(void)arg;
	if (call_open_truncating((void *)(uintptr_t)O_WRONLY) != 0)
		return 98;
	return result(truncate(dir, 0)) == EPERM ? EPERM : 0; /* a directory: EISDIR where it may be tried */
}

static int call_mknod(void *mode)
{
	char path[96];

	snprintf(path, sizeof(path), "%s/node", dir);
	unlink(path);
	return result(mknod(path, (mode_t)(uintptr_t)mode, 0));
}

static int call_openat2(void *arg)
{
	uint64_t how[3] = { O_RDONLY, 0, 0 };

	(void)arg;
	return result(syscall(SYS_openat2, AT_FDCWD, dir, how, sizeof(how)));
}

/* On a terminal of its own, of which it is the session's leader; with high bits set where asked. */
static int call_tiocsti(void *high_bits)
{
	int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC), terminal;

	setsid();
	if (master < 0 || grantpt(master) < 0 || unlockpt(master) < 0)
		return 98;
	terminal = open(ptsname(master), O_RDWR | O_CLOEXEC);
	if (terminal < 0)
		return 98;
	return result(syscall(SYS_ioctl, terminal, TIOCSTI | (uintptr_t)high_bits, "x"));
}

static int call_setflags(void *arg)
{
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC), flags = FS_NODUMP_FL;

	(void)arg;
	return result(ioctl(fd, FS_IOC_SETFLAGS, &flags));
}

static int call_clone(void *flags)
{
	long pid = syscall(SYS_clone, (uintptr_t)flags | SIGCHLD, NULL, NULL, NULL, NULL);

	if (pid == 0)
		_exit(0);
	return result(pid);
}

static int call_clone3(void *arg)
{
	struct clone_args args = { .exit_signal = SIGCHLD };
	long pid = syscall(SYS_clone3, &args, sizeof(args));

	(void)arg;
	if (pid == 0)
		_exit(0);
	return result(pid);
}

static int call_unshare(void *flags)
{
	return result(unshare((int)(uintptr_t)flags));
}

static int call_socket(void *kind)
{
	const int *k = kind;

	return result(socket(k[0], k[1], k[2]));
}

static int call_socketpair(void *type)
{
	int fds[2];

	return result(socketpair(AF_UNIX, (int)(uintptr_t)type, 0, fds));
}

/* On what is no socket: the kernel's own answer is ENOTSOCK. */
static int call_socket_number(void *nr)
{
	return result(syscall((long)(uintptr_t)nr, STDIN_FILENO, 0, 0, 0, 0, 0));
}

static int call_setpriority(void *kind)
{
	const int *k = kind;

	return result(setpriority(k[0], (id_t)(k[1] < 0 ? getpid() : k[1]), getpriority(PRIO_PROCESS, 0)));
}

static int call_ioprio(void *kind)
{
	const int *k = kind;

	return result(syscall(SYS_ioprio_set, k[0], k[1] < 0 ? getpid() : k[1], 0));
}

static int call_setaffinity(void *pid)
{
	cpu_set_t set;

	sched_getaffinity(0, sizeof(set), &set);
	return result(sched_setaffinity(pid ? getpid() : 0, sizeof(set), &set));
}

static int call_setscheduler(void *pid)
{
	const struct sched_param param = { 0 };

	return result(sched_setscheduler((pid_t)(uintptr_t)pid, SCHED_OTHER, &param));
}

static int call_personality(void *persona)
{
	return result(personality((unsigned long)(uintptr_t)persona));
}

static int call_memfd(void *arg)
{
	(void)arg;
	return result(memfd_create("x", MFD_CLOEXEC));
}

static int call_mmap_anonymous(void *prot)
{
	return mmap(NULL, 4096, (int)(uintptr_t)prot, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED ? errno : 0;
}

static int call_mmap_library(void *prot)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	return mmap(NULL, 4096, (int)(uintptr_t)prot, MAP_PRIVATE, fd, 0) == MAP_FAILED ? errno : 0;
}

static int call_mprotect(void *prot)
{
	void *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return result(mprotect(p, 4096, (int)(uintptr_t)prot));
}

static int call_pkey_mprotect(void *prot)
{
	void *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return result(syscall(SYS_pkey_mprotect, p, 4096, (int)(uintptr_t)prot, -1));
}

static int call_shm(void *flags)
{
	int id = shmget(IPC_PRIVATE, 4096, 0600), ret;

	if (id < 0)
		return errno;
	ret = shmat(id, NULL, (int)(uintptr_t)flags) == (void *)-1 ? errno : 0;
	shmctl(id, IPC_RMID, NULL);
	return ret;
}

static int call_prlimit_parent(void *arg)
{
	struct rlimit r;

	(void)arg;
	return result(prlimit(getppid(), RLIMIT_NOFILE, NULL, &r));
}

static int call_ptrace(void *arg)
{
	(void)arg;
	return result(ptrace(PTRACE_TRACEME, 0, NULL, NULL));
}

static int call_keyctl(void *arg)
{
	(void)arg;
	return result(syscall(SYS_keyctl, 0 /* KEYCTL_GET_KEYRING_ID */, -5 /* user session */, 1));
}

static int call_number(void *nr)
{
	return result(syscall((long)(uintptr_t)nr, 0, 0, 0, 0, 0, 0));
}

static int call_sched_core(void *arg)
{
	(void)arg;
	return result(prctl(PR_SCHED_CORE, 0 /* GET */, 0, 0, 0));
}

static int call_fork(void *arg)
{
	pid_t pid = fork();

	(void)arg;
	if (pid == 0)
		_exit(0);
	return result(pid);
}

/* ---- the table ------------------------------------------------------------------------------------------ */

enum who { ANYONE, ROOT }; /* whose control tells anything: without the filter the errno must be another */

#define N(x) ((void *)(uintptr_t)(x))
#define KIND(...) ((void *)(int[]){ __VA_ARGS__ })

static const struct {
	const char *what;
	int (*call)(void *arg);
	void *arg;
	const struct seccomp_options *options;
	int want; /* errno under the filter */
	enum who control;
} calls[] = {
	{ "chmod u+s", call_chmod, N(04755), &normal, EPERM, ANYONE },
	{ "chmod g+s", call_chmod, N(02755), &normal, EPERM, ANYONE },
	{ "chmod u+s in strict", call_chmod, N(04755), &strict, EPERM, ANYONE },
	{ "fchmodat2 u+s", call_fchmodat2, N(04755), &normal, EPERM, ANYONE },
	{ "a new setuid file", call_open_mode, N(04755), &normal, EPERM, ANYONE },
	{ "a new setgid file without a name", call_tmpfile, N(02755), &normal, EPERM, ANYONE },
	{ "mknod of a setuid file", call_mknod, N(S_IFREG | 04755), &normal, EPERM, ANYONE },
	{ "mknod of a device", call_mknod, N(S_IFCHR | 0600), &normal, EPERM, ROOT },
	{ "openat2", call_openat2, NULL, &normal, ENOSYS, ANYONE },
	{ "TIOCSTI", call_tiocsti, N(0), &normal, EPERM, ANYONE },
	{ "TIOCSTI with high bits", call_tiocsti, N(HIGH), &normal, EPERM, ANYONE },
	{ "FS_IOC_SETFLAGS", call_setflags, NULL, &normal, EPERM, ANYONE },
	{ "clone of a user namespace", call_clone, N(CLONE_NEWUSER), &normal, EPERM, ROOT },
	{ "clone of a mount namespace, high bits set", call_clone, N(HIGH | CLONE_NEWNS), &normal, EPERM, ROOT },
	{ "clone3", call_clone3, NULL, &normal, ENOSYS, ANYONE },
	{ "unshare of a network namespace", call_unshare, N(CLONE_NEWNET), &normal, EPERM, ROOT },
	{ "unshare of a time namespace", call_unshare, N(0x80), &normal, EPERM, ROOT },
	{ "a raw socket", call_socket, KIND(AF_INET, SOCK_RAW, 6), &normal, EAFNOSUPPORT, ANYONE },
	{ "a packet socket", call_socket, KIND(AF_PACKET, SOCK_DGRAM, 0), &normal, EAFNOSUPPORT, ROOT },
	{ "a packet socket the old way", call_socket, KIND(AF_INET, SOCK_PACKET, 0), &normal, EAFNOSUPPORT, ROOT },
	{ "a netlink socket for netfilter", call_socket, KIND(AF_NETLINK, SOCK_RAW, 12), &normal, EAFNOSUPPORT, ROOT },
	{ "a unix socket at process level", call_socket, KIND(AF_UNIX, SOCK_STREAM, 0), &host, EAFNOSUPPORT, ANYONE },
	{ "an internet socket at process level", call_socket, KIND(AF_INET, SOCK_STREAM, 0), &host, EAFNOSUPPORT,
	  ANYONE },
	{ "an MPTCP socket at process level", call_socket, KIND(AF_INET, SOCK_STREAM, 262), &host, EAFNOSUPPORT,
	  ANYONE },
	{ "a socket in strict", call_socket, KIND(AF_UNIX, SOCK_STREAM, 0), &strict, EAFNOSUPPORT, ANYONE },
	{ "a socketpair in strict", call_socketpair, N(SOCK_STREAM), &strict, EAFNOSUPPORT, ANYONE },
	{ "a pair for datagrams at process level", call_socketpair, N(SOCK_DGRAM), &host, EAFNOSUPPORT, ANYONE },
	{ "a raw pair at process level", call_socketpair, N(SOCK_RAW | SOCK_CLOEXEC), &host, EAFNOSUPPORT, ANYONE },
	{ "bind at process level", call_socket_number, N(SYS_bind), &host, EPERM, ANYONE },
	{ "connect at process level", call_socket_number, N(SYS_connect), &host, EPERM, ANYONE },
	{ "listen at process level", call_socket_number, N(SYS_listen), &host, EPERM, ANYONE },
	{ "accept at process level", call_socket_number, N(SYS_accept), &host, EPERM, ANYONE },
	{ "accept4 at process level", call_socket_number, N(SYS_accept4), &host, EPERM, ANYONE },
	{ "personality(READ_IMPLIES_EXEC)", call_personality, N(READ_IMPLIES_EXEC), &normal, EPERM, ANYONE },
	{ "memfd_create with an exec lock", call_memfd, NULL, &lock, EPERM, ANYONE },
	{ "a writable and executable mapping", call_mmap_anonymous, N(PROT_WRITE | PROT_EXEC), &lock, EPERM, ANYONE },
	{ "an executable mapping without a file", call_mmap_anonymous, N(PROT_READ | PROT_EXEC), &lock, EPERM, ANYONE },
	{ "a file mapped writable and executable", call_mmap_library, N(PROT_WRITE | PROT_EXEC), &lock, EPERM, ANYONE },
	{ "memory made executable", call_mprotect, N(PROT_READ | PROT_EXEC), &lock, EPERM, ANYONE },
	{ "the same with a key", call_pkey_mprotect, N(PROT_READ | PROT_EXEC), &lock, EPERM, ANYONE },
	{ "executable shared memory", call_shm, N(SHM_EXEC), &lock, EPERM, ANYONE },
	{ "System V IPC at process level", call_shm, N(0), &host, EPERM, ANYONE },
	{ "truncate by name at process level", call_truncate, NULL, &host, EPERM, ANYONE },
	{ "O_TRUNC to read at process level", call_open_truncating, N(O_RDONLY), &host, EPERM, ANYONE },
	{ "O_TRUNC with neither at process level", call_open_truncating, N(O_ACCMODE), &host, EPERM, ANYONE },
	{ "another's limits at process level", call_prlimit_parent, NULL, &host, EPERM, ANYONE },
	{ "another's limits", call_prlimit_parent, NULL, &normal, EPERM, ANYONE },
	{ "another's limits in strict", call_prlimit_parent, NULL, &strict, EPERM, ANYONE },
	{ "the priority of a user", call_setpriority, KIND(PRIO_USER, NOBODY), &normal, EPERM, ANYONE },
	{ "the I/O priority of a user", call_ioprio, KIND(3, NOBODY), &normal, EPERM, ANYONE },
	{ "a priority by pid at process level", call_setpriority, KIND(PRIO_PROCESS, -1), &host, EPERM, ANYONE },
	{ "an I/O priority by pid at process level", call_ioprio, KIND(1, -1), &host, EPERM, ANYONE },
	{ "an affinity by pid at process level", call_setaffinity, N(1), &host, EPERM, ANYONE },
	{ "init's scheduling", call_setscheduler, N(1), &normal, EPERM, ROOT },
	{ "io_setup", call_number, N(SYS_io_setup), &normal, ENOSYS, ANYONE },
	{ "ptrace", call_ptrace, NULL, &normal, EPERM, ANYONE },
	{ "keyctl", call_keyctl, NULL, &normal, EPERM, ANYONE },
	{ "mount", call_number, N(SYS_mount), &normal, EPERM, ROOT },
	{ "chroot", call_number, N(SYS_chroot), &normal, EPERM, ANYONE },
	{ "setns", call_number, N(SYS_setns), &normal, EPERM, ANYONE },
	{ "fsmount", call_number, N(SYS_fsmount), &normal, EPERM, ROOT },
	{ "bpf", call_number, N(SYS_bpf), &normal, EPERM, ROOT },
	{ "perf_event_open", call_number, N(SYS_perf_event_open), &normal, EPERM, ANYONE },
	{ "userfaultfd", call_number, N(SYS_userfaultfd), &normal, EPERM, ROOT },
	{ "io_uring_setup", call_number, N(SYS_io_uring_setup), &normal, ENOSYS, ANYONE },
	{ "open_by_handle_at", call_number, N(SYS_open_by_handle_at), &normal, EPERM, ROOT },
	{ "process_vm_readv", call_number, N(SYS_process_vm_readv), &normal, EPERM, ANYONE },
	{ "fork in strict", call_fork, NULL, &strict, EPERM, ANYONE },
	{ "core scheduling", call_sched_core, NULL, &normal, EPERM, ANYONE },
	/* and what must work */
	{ "chmod a-w", call_chmod, N(0700), &normal, 0, ANYONE },
	{ "a new file", call_open_mode, N(0644), &normal, 0, ANYONE },
	{ "an open that creates nothing, with junk as its mode", call_open_junk_mode, NULL, &normal, 0, ANYONE },
	{ "O_TRUNC to write at process level", call_open_truncating, N(O_WRONLY), &host, 0, ANYONE },
	{ "O_TRUNC to read and write at process level", call_open_truncating, N(O_RDWR), &host, 0, ANYONE },
	{ "truncate by name", call_truncate, NULL, &normal, 0, ANYONE },
	{ "a FIFO", call_mknod, N(S_IFIFO | 0600), &normal, 0, ANYONE },
	{ "fork", call_fork, NULL, &normal, 0, ANYONE },
	{ "unshare of the file table", call_unshare, N(CLONE_FILES), &normal, 0, ANYONE },
	{ "a unix socket", call_socket, KIND(AF_UNIX, SOCK_STREAM, 0), &normal, 0, ANYONE },
	{ "a TCP socket", call_socket, KIND(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 6), &normal, 0, ANYONE },
	{ "a route socket", call_socket, KIND(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, 0), &normal, 0, ANYONE },
	{ "a socketpair at process level", call_socketpair, N(SOCK_STREAM | SOCK_CLOEXEC), &host, 0, ANYONE },
	{ "a pair for packets in order at process level", call_socketpair, N(SOCK_SEQPACKET), &host, 0, ANYONE },
	{ "a pair for datagrams", call_socketpair, N(SOCK_DGRAM), &normal, 0, ANYONE },
	{ "one's own priority at process level", call_setpriority, KIND(PRIO_PROCESS, 0), &host, 0, ANYONE },
	{ "one's group's priority at process level", call_setpriority, KIND(PRIO_PGRP, 0), &host, 0, ANYONE },
	{ "a priority by pid", call_setpriority, KIND(PRIO_PROCESS, -1), &normal, 0, ANYONE },
	{ "one's own affinity at process level", call_setaffinity, N(0), &host, 0, ANYONE },
	{ "an affinity by pid", call_setaffinity, N(1), &normal, 0, ANYONE },
	{ "personality query", call_personality, N(0xffffffff), &normal, 0, ANYONE },
	{ "memfd_create", call_memfd, NULL, &normal, 0, ANYONE },
	{ "a JIT's mapping", call_mmap_anonymous, N(PROT_READ | PROT_WRITE | PROT_EXEC), &normal, 0, ANYONE },
	{ "a library's mapping with an exec lock", call_mmap_library, N(PROT_READ | PROT_EXEC), &lock, 0, ANYONE },
	{ "memory made read-only with an exec lock", call_mprotect, N(PROT_READ), &lock, 0, ANYONE },
	{ "shared memory", call_shm, N(0), &normal, 0, ANYONE },
};

/* The errno, or 128 + signal. */
static int outcome(int status)
{
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static void test_call(size_t i)
{
	int got = outcome(child_run(calls[i].options, calls[i].call, calls[i].arg)), bare;

	ok(got == calls[i].want, "%s is %s (%d)", calls[i].what, calls[i].want ? "refused" : "allowed", got);
	if (!calls[i].want || (calls[i].control == ROOT && geteuid() != 0))
		return;
	bare = outcome(child_run(NULL, calls[i].call, calls[i].arg));
	if (bare == calls[i].want)
		skip("control: %s fails in the same way on this host without a filter (%d)", calls[i].what, bare);
	else
		ok(true, "control: without the filter it is not (%d)", bare);
}

int main(void)
{
	char command[96];

	snprintf(dir, sizeof(dir), "/tmp/cordon-seccomp-%d", getpid());
	if (mkdir(dir, 0700) < 0)
		abort();
	for (size_t i = 0; i < ARRAY_LEN(calls); i++)
		test_call(i);
	snprintf(command, sizeof(command), "rm -rf '%s'", dir);
	ok(system(command) == 0, "nothing is left");
	return done_testing();
}
