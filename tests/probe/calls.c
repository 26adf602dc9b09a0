/* System calls by name, with arguments that do nothing; other ABIs; namespaces. */
#include "probe.h"

#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define BAD 1L /* a pointer that is none */

static const struct call {
	const char *name;
	long nr, args[6];
} calls[] = {
	{ "mount", SYS_mount, { BAD, BAD, BAD, 0, 0, 0 } },
	{ "umount2", SYS_umount2, { BAD, 0, 0, 0, 0, 0 } },
	{ "pivot_root", SYS_pivot_root, { BAD, BAD, 0, 0, 0, 0 } },
	{ "chroot", SYS_chroot, { BAD, 0, 0, 0, 0, 0 } },
	{ "open_tree", SYS_open_tree, { -1, BAD, 1, 0, 0, 0 } },
	{ "move_mount", SYS_move_mount, { -1, BAD, -1, BAD, 0, 0 } },
	{ "fsopen", SYS_fsopen, { BAD, 0, 0, 0, 0, 0 } },
	{ "fsconfig", SYS_fsconfig, { -1, 0, BAD, BAD, 0, 0 } },
	{ "fsmount", SYS_fsmount, { -1, 0, 0, 0, 0, 0 } },
	{ "fspick", SYS_fspick, { -1, BAD, 0, 0, 0, 0 } },
	{ "mount_setattr", SYS_mount_setattr, { -1, BAD, 0, BAD, 32, 0 } },
	{ "open_tree_attr", 467, { -1, BAD, 1, BAD, 32, 0 } },
	{ "setns", SYS_setns, { -1, 0, 0, 0, 0, 0 } },
	{ "ptrace", SYS_ptrace, { 16 /* ATTACH */, 0x3fffffff, 0, 0, 0, 0 } },
	{ "process_vm_readv", SYS_process_vm_readv, { 0x3fffffff, 0, 0, 0, 0, 0 } },
	{ "process_vm_writev", SYS_process_vm_writev, { 0x3fffffff, 0, 0, 0, 0, 0 } },
	{ "kcmp", SYS_kcmp, { 0x3fffffff, 0x3fffffff, 0, 0, 0, 0 } },
	{ "pidfd_getfd", SYS_pidfd_getfd, { -1, 0, 0, 0, 0, 0 } },
	{ "process_madvise", SYS_process_madvise, { -1, 0, 0, 0, 0, 0 } },
	{ "bpf", SYS_bpf, { 0, BAD, 8, 0, 0, 0 } },
	{ "perf_event_open", SYS_perf_event_open, { BAD, 0, -1, -1, 0, 0 } },
	{ "userfaultfd", SYS_userfaultfd, { 0x7f000001, 0, 0, 0, 0, 0 } },
	{ "io_uring_setup", SYS_io_uring_setup, { 0, BAD, 0, 0, 0, 0 } },
	{ "io_uring_enter", SYS_io_uring_enter, { -1, 0, 0, 0, 0, 0 } },
	{ "io_uring_register", SYS_io_uring_register, { -1, 0, 0, 0, 0, 0 } },
	{ "io_setup", SYS_io_setup, { 0, BAD, 0, 0, 0, 0 } },
	{ "add_key", SYS_add_key, { BAD, BAD, 0, 0, 0, 0 } },
	{ "request_key", SYS_request_key, { BAD, BAD, 0, 0, 0, 0 } },
	{ "keyctl", SYS_keyctl, { 0, -3, 0, 0, 0, 0 } }, /* the session keyring's id */
	{ "kexec_load", SYS_kexec_load, { 0, 1 << 20, BAD, 0, 0, 0 } },
	{ "kexec_file_load", SYS_kexec_file_load, { -1, -1, 0, BAD, 0xff00, 0 } },
	{ "reboot", SYS_reboot, { 1, 2, 3, 0, 0, 0 } },
	{ "init_module", SYS_init_module, { BAD, 0, BAD, 0, 0, 0 } },
	{ "finit_module", SYS_finit_module, { -1, BAD, 0, 0, 0, 0 } },
	{ "delete_module", SYS_delete_module, { BAD, 0, 0, 0, 0, 0 } },
	{ "swapon", SYS_swapon, { BAD, 0, 0, 0, 0, 0 } },
	{ "swapoff", SYS_swapoff, { BAD, 0, 0, 0, 0, 0 } },
	{ "settimeofday", SYS_settimeofday, { BAD, 0, 0, 0, 0, 0 } },
	{ "clock_settime", SYS_clock_settime, { 0, BAD, 0, 0, 0, 0 } },
	{ "clock_adjtime", SYS_clock_adjtime, { 0, BAD, 0, 0, 0, 0 } },
	{ "sethostname", SYS_sethostname, { BAD, -1, 0, 0, 0, 0 } },
	{ "setdomainname", SYS_setdomainname, { BAD, -1, 0, 0, 0, 0 } },
	{ "quotactl", SYS_quotactl, { 0x7fffff00, BAD, 0, 0, 0, 0 } },
	{ "acct", SYS_acct, { BAD, 0, 0, 0, 0, 0 } },
	{ "syslog", SYS_syslog, { 99, 0, 0, 0, 0, 0 } },
	{ "open_by_handle_at", SYS_open_by_handle_at, { -1, BAD, 0, 0, 0, 0 } },
	{ "fanotify_init", SYS_fanotify_init, { 0x7f000000, 0, 0, 0, 0, 0 } },
	{ "fanotify_mark", SYS_fanotify_mark, { -1, 0, 0, -1, BAD, 0 } },
	{ "memfd_secret", SYS_memfd_secret, { 0x7f000001, 0, 0, 0, 0, 0 } },
	{ "clone3", SYS_clone3, { BAD, 88, 0, 0, 0, 0 } },
	{ "openat2", SYS_openat2, { -1, BAD, BAD, 24, 0, 0 } },
#ifdef __x86_64__
	{ "modify_ldt", SYS_modify_ldt, { 99, 0, 0, 0, 0, 0 } },
	{ "iopl", SYS_iopl, { 99, 0, 0, 0, 0, 0 } },
	{ "ioperm", SYS_ioperm, { 0x70000000, 1, 1, 0, 0, 0 } },
#endif
	{ "unknown-600", 600, { 0 } },
	{ "unknown-1000", 1000, { 0 } },
	{ "unknown-max", 0x3fffffff, { 0 } },
};

static int act_calls(char **argv)
{
	for (; *argv; argv++) {
		const struct call *c = NULL;
		long r;

		for (size_t i = 0; i < ARRAY_LEN(calls); i++)
			if (strcmp(calls[i].name, *argv) == 0)
				c = &calls[i];
		if (!c)
			return -EINVAL;
		r = syscall(c->nr, c->args[0], c->args[1], c->args[2], c->args[3], c->args[4], c->args[5]);
		printf("%s %s\n", c->name, r < 0 ? errno_name(errno) : "ok");
	}
	return ANSWERED;
}

static int act_call_names(char **argv)
{
	(void)argv;
	for (size_t i = 0; i < ARRAY_LEN(calls); i++)
		puts(calls[i].name);
	return ANSWERED;
}

/* ---- namespaces ---- */

static const struct {
	const char *name;
	unsigned long flag;
} spaces[] = {
	{ "user", CLONE_NEWUSER }, { "mnt", CLONE_NEWNS },  { "pid", CLONE_NEWPID },       { "net", CLONE_NEWNET },
	{ "ipc", CLONE_NEWIPC },   { "uts", CLONE_NEWUTS }, { "cgroup", CLONE_NEWCGROUP }, { "time", CLONE_NEWTIME },
};

static unsigned long flag_of(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(spaces); i++)
		if (strcmp(spaces[i].name, name) == 0)
			return spaces[i].flag;
	return 0;
}

static int reap(pid_t pid)
{
	int status;

	if (waitpid(pid, &status, 0) < 0)
		return -errno;
	if (WIFSIGNALED(status)) {
		printf("SIG%s\n", sigabbrev_np(WTERMSIG(status)));
		return ANSWERED;
	}
	return 0;
}

/* unshare NAME…: in a child each, so that the next starts afresh. */
static int act_unshare(char **argv)
{
	for (; *argv; argv++) {
		pid_t pid = fork();

		if (pid == 0) {
			printf("%s %s\n", *argv, unshare((int)flag_of(*argv)) < 0 ? errno_name(errno) : "ok");
			_exit(0);
		}
		if (pid < 0 || reap(pid) < 0)
			return -errno;
	}
	return ANSWERED;
}

static int act_clone(char **argv)
{
	for (; *argv; argv++) {
		long pid = syscall(SYS_clone, flag_of(*argv) | SIGCHLD, 0, 0, 0, 0);
		int e = errno;

		if (pid == 0)
			_exit(0);
		if (pid > 0)
			(void)reap((pid_t)pid);
		printf("%s %s\n", *argv, pid < 0 ? errno_name(e) : "ok");
	}
	return ANSWERED;
}

static int act_clone3(char **argv)
{
	for (; *argv; argv++) {
		struct clone_args args = { .flags = flag_of(*argv), .exit_signal = SIGCHLD };
		long pid = syscall(SYS_clone3, &args, sizeof(args));
		int e = errno;

		if (pid == 0)
			_exit(0);
		if (pid > 0)
			(void)reap((pid_t)pid);
		printf("%s %s\n", *argv, pid < 0 ? errno_name(e) : "ok");
	}
	return ANSWERED;
}

/* ---- other ABIs ---- */

#ifdef __x86_64__
/* getpid of x32: the same number with a bit. */
static int act_x32(char **argv)
{
	(void)argv;
	return check(syscall(SYS_getpid | 0x40000000));
}

/* int 0x80: a call of i386. It may end the process, hence the child. NR is i386's number. */
static int act_int80(char **argv)
{
	long nr = number(argv[0]), a = argv[1] ? number(argv[1]) : 0, b = argv[1] && argv[2] ? number(argv[2]) : 0;
	pid_t pid = fork();

	if (pid == 0) {
		long r = nr;

		__asm__ volatile("int $0x80"
				 : "+a"(r)
				 : "b"(a), "c"(b), "d"(0L), "S"(0L), "D"(0L)
				 : "r8", "r9", "r10", "r11", "memory");
		if (r < 0 && r > -4096)
			puts(errno_name((int)-r));
		else
			puts("ok");
		_exit(0);
	}
	if (pid < 0)
		return -errno;
	(void)reap(pid);
	return ANSWERED;
}
#else
static int act_x32(char **argv)
{
	(void)argv;
	return -ENOSYS;
}
#define act_int80 act_x32
#endif

/* A filter of its own with a listener: it could answer calls that the box's filter refuses. */
static int act_listener(char **argv)
{
	struct {
		unsigned short code;
		unsigned char jt, jf;
		unsigned k;
	} allow = { 6 /* RET */, 0, 0, 0x7fff0000 };
	struct {
		unsigned short len;
		void *filter;
	} prog = { 1, &allow };

	(void)argv;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -errno;
	return check(syscall(SYS_seccomp, 1 /* SET_MODE_FILTER */, 8 /* NEW_LISTENER */, &prog));
}

static int act_sched_core(char **argv)
{
	(void)argv;
	return check(prctl(62 /* PR_SCHED_CORE */, 1 /* CREATE */, 0, 0, 0));
}

const struct act call_acts[] = {
	{ "calls", 1, act_calls }, { "call-names", 0, act_call_names }, { "unshare", 1, act_unshare },
	{ "clone", 1, act_clone }, { "clone3", 1, act_clone3 },         { "x32", 0, act_x32 },
	{ "int80", 1, act_int80 }, { "listener", 0, act_listener },     { "sched-core", 0, act_sched_core },
	{ NULL, 0, NULL },
};
