/* Processes: see process.h. Front, keeper and init. */
#include "os/process.h"

#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <linux/keyctl.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <sys/wait.h>
#include <unistd.h>

pid_t process_clone_into(uint64_t flags, int group, int *ret_pidfd)
{
	int pidfd = -1;
	struct clone_args args = {
		.flags = flags | (uint64_t)CLONE_INTO_CGROUP | (ret_pidfd ? (uint64_t)CLONE_PIDFD : 0U),
		.pidfd = (uint64_t)(uintptr_t)&pidfd,
		.exit_signal = SIGCHLD,
		.cgroup = (uint64_t)(unsigned)group,
	};
	long pid = syscall(SYS_clone3, &args, sizeof(args));

	if (pid < 0)
		return -errno;
	if (pid > 0 && ret_pidfd)
		*ret_pidfd = pidfd;
	return (pid_t)pid;
}

pid_t process_clone(uint64_t flags, int *ret_pidfd)
{
	int pidfd = -1;
	struct clone_args args = {
		.flags = flags | CLONE_PIDFD,
		.pidfd = (uint64_t)(uintptr_t)&pidfd,
		.exit_signal = SIGCHLD,
	};
	long pid = syscall(SYS_clone3, &args, sizeof(args));

	/* Container runtimes answer ENOSYS, since the flags lie behind a pointer, and let clone() pass. The pidfd comes back where
	 * the parent's tid would; both architectures have flags, stack and that as the first three arguments. */
	if (pid < 0 && errno == ENOSYS)
		pid = syscall(SYS_clone, (unsigned long)(flags | CLONE_PIDFD | SIGCHLD), 0UL, &pidfd, 0UL, 0UL);
	if (pid < 0)
		return -errno;
	if (pid > 0)
		*ret_pidfd = pidfd;
	return (pid_t)pid;
}

/* By the last minute: how many would run at this moment is mostly ourselves. */
static bool is_busy(int processors)
{
	struct sysinfo info;

	return sysinfo(&info) == 0 && info.loads[0] >> SI_LOAD_SHIFT > (unsigned long)processors;
}

void process_spread(pid_t pid)
{
	cpu_set_t all, others;
	unsigned here;

	if (sched_getaffinity(0, sizeof(all), &all) < 0 || CPU_COUNT(&all) < 2 || getcpu(&here, NULL) < 0 ||
	    is_busy(CPU_COUNT(&all)))
		return;
	others = all;
	CPU_CLR(here, &others);
	if (sched_setaffinity(pid, sizeof(others), &others) == 0)
		(void)sched_setaffinity(pid, sizeof(all), &all);
}

int process_open(pid_t child)
{
	int fd = (int)syscall(SYS_pidfd_open, child, 0);

	return fd < 0 ? -errno : fd;
}

int process_signal(int pidfd, int sig)
{
	return syscall(SYS_pidfd_send_signal, pidfd, sig, NULL, 0) < 0 ? -errno : 0;
}

int process_wait(int pidfd, int *ret_status)
{
	siginfo_t info = { 0 };
	int r;

	do
		r = waitid(P_PIDFD, (id_t)pidfd, &info, WEXITED);
	while (r < 0 && errno == EINTR);
	if (r < 0)
		return -errno;
	*ret_status = info.si_code == CLD_EXITED ? (info.si_status & 0xff) << 8 : info.si_status;
	return 0;
}

void process_end(int *pidfd)
{
	int status;

	if (*pidfd < 0)
		return;
	(void)process_signal(*pidfd, SIGKILL);
	(void)process_wait(*pidfd, &status);
	fd_close(pidfd);
}

/* By the call itself: libc keeps its hands off its own two signals, which GNU make leaves ignored in its children. */
void process_reset_signals(void)
{
	const unsigned long dfl[4] = { 0 }; /* the kernel's struct sigaction: SIG_DFL, no flags, an empty mask */
	sigset_t none;

	for (int sig = 1; sig < NSIG; sig++)
		(void)syscall(SYS_rt_sigaction, sig, dfl, NULL, 8UL);
	sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
}

void process_restore_signals(void)
{
	const struct sigaction dfl = { .sa_handler = SIG_DFL };
	sigset_t none;

	(void)sigaction(SIGPIPE, &dfl, NULL);
	sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
}

static int compare_ints(const void *a, const void *b)
{
	int x = *(const int *)a, y = *(const int *)b;

	return x < y ? -1 : x > y;
}

int process_close_others(int *keep, size_t n)
{
	unsigned from = 3;

	qsort(keep, n, sizeof(*keep), compare_ints);
	for (size_t i = 0; i < n; i++) {
		unsigned fd = (unsigned)keep[i];

		if (keep[i] < 0 || fd < from)
			continue;
		if (fd > from && syscall(SYS_close_range, from, fd - 1, 0) < 0)
			return -errno;
		from = fd + 1;
	}
	return syscall(SYS_close_range, from, ~0u, 0) < 0 ? -errno : 0;
}

int process_new_keyring(void)
{
	return syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL) < 0 ? -errno : 0;
}

int process_reset_scheduling(void)
{
	const struct sched_param normal = { 0 };
	int nice;

	/* musl's functions of these names do nothing. */
	if (syscall(SYS_sched_getscheduler, 0) != SCHED_OTHER &&
	    syscall(SYS_sched_setscheduler, 0, SCHED_OTHER, &normal) < 0)
		return -errno;
	errno = 0;
	nice = getpriority(PRIO_PROCESS, 0);
	if (errno == 0 && nice < 0 && setpriority(PRIO_PROCESS, 0, 0) < 0)
		return -errno;
	return personality(PER_LINUX) < 0 ? -errno : 0;
}

void process_leave_batch(void)
{
	const struct sched_param normal = { 0 };

	if (syscall(SYS_sched_getscheduler, 0) == SCHED_BATCH)
		(void)syscall(SYS_sched_setscheduler, 0, SCHED_OTHER, &normal);
}

void process_reset_oom(void)
{
	char text[16];

	if (fd_read_file_at(AT_FDCWD, "/proc/self/oom_score_adj", text, sizeof(text)) > 0 && text[0] == '-')
		(void)fd_write_file_at(AT_FDCWD, "/proc/self/oom_score_adj", "0");
}

void process_set_name(const char *name)
{
	(void)prctl(PR_SET_NAME, name);
}

int process_no_new_privs(void)
{
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ? -errno : 0;
}

int process_exec(const char *search, char *const *argv, char *const *env)
{
	const char *name = argv[0], *at = search;
	int seen = ENOENT;

	if (strchr(name, '/')) {
		execve(name, argv, env);
		seen = errno;
		at = "";
	}
	while (*at) {
		size_t n = strcspn(at, ":");
		char path[4096];

		if ((size_t)snprintf(path, sizeof(path), "%.*s/%s", (int)n, at, name) < sizeof(path))
			execve(path, argv, env);
		if (errno != ENOENT && errno != ENOTDIR)
			seen = errno;
		at += n + (at[n] == ':');
	}
	return -seen;
}
