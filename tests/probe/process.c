/* Processes: signals, tracing, programs, identity, open files. */
#include "probe.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

static int act_kill(char **argv)
{
	return check(kill((pid_t)strtol(argv[0], NULL, 10), (int)number(argv[1])));
}
static int act_tgkill(char **argv)
{
	return check(syscall(SYS_tgkill, number(argv[0]), number(argv[0]), number(argv[1])));
}
static int act_sigqueue(char **argv)
{
	union sigval v = { .sival_int = 0 };

	return check(sigqueue((pid_t)number(argv[0]), (int)number(argv[1]), v));
}
static int act_pidfd_kill(char **argv)
{
	int fd = (int)syscall(SYS_pidfd_open, number(argv[0]), 0);

	return fd < 0 ? -errno : check(syscall(SYS_pidfd_send_signal, fd, number(argv[1]), NULL, 0));
}
static int act_setpriority(char **argv)
{
	return check(setpriority(PRIO_PROCESS, (id_t)number(argv[0]), 19));
}
static int act_setaffinity(char **argv)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(0, &set);
	return check(sched_setaffinity((pid_t)number(argv[0]), sizeof(set), &set));
}
static int act_prlimit(char **argv)
{
	struct rlimit limit;

	return check(syscall(SYS_prlimit64, number(argv[0]), RLIMIT_NOFILE, NULL, &limit));
}
/* prlimit-set PID: what it has, set again. */
static int act_prlimit_set(char **argv)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return -errno;
	return check(syscall(SYS_prlimit64, number(argv[0]), RLIMIT_NOFILE, &limit, NULL));
}
/* Of a user that has no process: the kernel says ESRCH. */
static int act_setpriority_user(char **argv)
{
	return check(setpriority(PRIO_USER, (id_t)number(argv[0]), 19));
}
static int act_ioprio_user(char **argv)
{
	return check(syscall(SYS_ioprio_set, 3, number(argv[0]), 3 << 13));
}
static int act_ioprio(char **argv)
{
	return check(syscall(SYS_ioprio_set, 1, number(argv[0]), 3 << 13 /* idle */));
}
static int act_setscheduler(char **argv)
{
	const struct sched_param param = { 0 };

	return check(sched_setscheduler((pid_t)number(argv[0]), SCHED_IDLE, &param));
}

static int act_attach(char **argv)
{
	return check(ptrace(PTRACE_SEIZE, (pid_t)number(argv[0]), NULL, NULL));
}

/* A child of its own: whether it can be traced, and its memory read. */
static pid_t sleeper(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
	return pid;
}
static int act_trace_child(char **argv)
{
	pid_t pid = sleeper();
	int r = pid < 0 ? -errno : check(ptrace(PTRACE_SEIZE, pid, NULL, NULL));

	(void)argv;
	if (pid > 0)
		kill(pid, SIGKILL);
	return r;
}
static int act_read_child(char **argv)
{
	pid_t pid = sleeper();
	char buf[8];
	struct iovec local = { buf, sizeof(buf) }, remote = { (void *)(uintptr_t)argv, sizeof(buf) };
	int r = pid < 0 ? -errno : check(process_vm_readv(pid, &local, 1, &remote, 1, 0));

	if (pid > 0)
		kill(pid, SIGKILL);
	return r;
}

/* ---- programs ---- */

/* exec PATH ARG…: what the program says, or the errno. */
static int act_exec(char **argv)
{
	execv(argv[0], argv);
	return -errno;
}
static int act_fexec(char **argv)
{
	int fd = open(argv[0], O_RDONLY | O_CLOEXEC);
	char *env[] = { NULL };

	if (fd < 0)
		return -errno;
	fexecve(fd, argv, env);
	return -errno;
}
/* memfd-exec PATH: a copy in memory, executed. */
static int act_memfd_exec(char **argv)
{
	char *env[] = { NULL }, buf[65536];
	int from = open(argv[0], O_RDONLY), fd = (int)syscall(SYS_memfd_create, "x", 0);
	ssize_t n;

	if (from < 0 || fd < 0)
		return -errno;
	while ((n = read(from, buf, sizeof(buf))) > 0)
		if (write(fd, buf, (size_t)n) != n)
			return -errno;
	fexecve(fd, argv, env);
	return -errno;
}

/* ---- itself ---- */

/* Which fds are open, asked of the kernel and not of /proc. */
static int act_fds(char **argv)
{
	(void)argv;
	printf("ok");
	for (int fd = 0; fd < 4096; fd++)
		if (fcntl(fd, F_GETFD) >= 0)
			printf(" %d", fd);
	puts("");
	return ANSWERED;
}

static int act_identity(char **argv)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = { 0 };
	unsigned bounding = 0, ambient = 0;

	(void)argv;
	if (syscall(SYS_capget, &head, data) < 0)
		return -errno;
	for (int i = 0; i < 64; i++) {
		bounding += prctl(PR_CAPBSET_READ, i, 0, 0, 0) == 1;
		ambient += prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_IS_SET, i, 0, 0) == 1;
	}
	printf("permitted %x%08x\n", data[1].permitted, data[0].permitted);
	printf("effective %x%08x\n", data[1].effective, data[0].effective);
	printf("inheritable %x%08x\n", data[1].inheritable, data[0].inheritable);
	printf("bounding %u\nambient %u\n", bounding, ambient);
	printf("securebits %x\n", (unsigned)prctl(PR_GET_SECUREBITS, 0, 0, 0, 0));
	printf("no_new_privs %d\n", prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0));
	printf("seccomp %d\n", prctl(PR_GET_SECCOMP, 0, 0, 0, 0));
	printf("uid %d %d\n", (int)getuid(), (int)geteuid());
	printf("groups %d\n", getgroups(0, NULL));
	printf("session %d\n", getsid(0) == getpid());
	printf("umask %o\n", umask(0));
	return ANSWERED;
}

/* setuid UID */
static int act_setuid(char **argv)
{
	return check(syscall(SYS_setresuid, number(argv[0]), number(argv[0]), number(argv[0])));
}
static int act_setgroups(char **argv)
{
	const gid_t groups[] = { 0 };

	(void)argv;
	return check(syscall(SYS_setgroups, 1, groups));
}

/* sleep SECONDS NAME: a process to be found by its name. */
static int act_sleep(char **argv)
{
	prctl(PR_SET_NAME, argv[1] ? argv[1] : "probe-sleep");
	puts("ready");
	sleep((unsigned)number(argv[0]));
	return ANSWERED;
}

const struct act process_acts[] = {
	{ "kill", 2, act_kill },
	{ "tgkill", 2, act_tgkill },
	{ "sigqueue", 2, act_sigqueue },
	{ "pidfd-kill", 2, act_pidfd_kill },
	{ "setpriority", 1, act_setpriority },
	{ "setaffinity", 1, act_setaffinity },
	{ "prlimit", 1, act_prlimit },
	{ "prlimit-set", 1, act_prlimit_set },
	{ "setpriority-user", 1, act_setpriority_user },
	{ "ioprio", 1, act_ioprio },
	{ "ioprio-user", 1, act_ioprio_user },
	{ "setscheduler", 1, act_setscheduler },
	{ "attach", 1, act_attach },
	{ "trace-child", 0, act_trace_child },
	{ "read-child", 0, act_read_child },
	{ "exec", 1, act_exec },
	{ "fexec", 1, act_fexec },
	{ "memfd-exec", 1, act_memfd_exec },
	{ "fds", 0, act_fds },
	{ "identity", 0, act_identity },
	{ "setuid", 1, act_setuid },
	{ "setgroups", 0, act_setgroups },
	{ "sleep", 1, act_sleep },
	{ NULL, 0, NULL },
};
