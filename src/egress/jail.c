/*
 * The jail of the egress process. It reads what the box and strangers send, so it is taken for lost from the start: whoever takes it over
 * shall find a process that can open connections, read a few public files, and nothing else.
 *
 * Identity and capabilities first (they need the rights they take away), then Landlock (files by name: only what resolving and certificates
 * need, never to write, never to execute), then a filter over system calls. The filter is a list of what this program and the libraries
 * in it use; everything else ends the process. It stands right here, beside the code that needs it.
 */
#include "egress/jail.h"

#include "base/fd.h"
#include "base/str.h"
#include "os/caps.h"
#include "os/landlock.h"
#include "os/process.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

/* What may be read after the start: names are looked up in hosts at each time, certificates when the first connection is terminated. */
static const char *const readable[] = {
	"/etc/hosts",
	"/etc/resolv.conf",
	"/etc/ssl/certs",
	"/etc/ssl/cert.pem",
	"/etc/pki/tls/certs",
	"/etc/pki/ca-trust",
	"/etc/ca-certificates",
	"/usr/share/ca-certificates",
	"/usr/local/share/ca-certificates",
	"/var/lib/ca-certificates",
};

/* ---- the filter ---- */

enum jail_rule {
	RULE_ALLOW,
	RULE_ENOSYS,     /* libraries try it and do without */
	RULE_OPENAT,     /* to read only */
	RULE_SOCKET,     /* TCP and UDP over IP */
	RULE_SOCKETPAIR, /* for carried connections: local, and to nobody else */
	RULE_NO_EXEC,    /* mmap, mprotect: no code */
	RULE_FCNTL,      /* flags and pipe sizes */
	RULE_IOCTL,      /* FIONREAD, FIONBIO; others: ENOTTY */
	RULE_SETSOCKOPT, /* a few harmless ones; others: ENOPROTOOPT */
};

struct jail_row {
	uint32_t nr;
	enum jail_rule rule;
};

static const struct jail_row rows[] = {
	/* sockets and the loop */
	{ SYS_accept4, RULE_ALLOW },
	{ SYS_bind, RULE_ALLOW }, /* this and listen() only with `listens` */
	{ SYS_connect, RULE_ALLOW },
	{ SYS_epoll_create1, RULE_ALLOW },
	{ SYS_epoll_ctl, RULE_ALLOW },
	{ SYS_epoll_pwait, RULE_ALLOW },
#ifdef SYS_epoll_wait
	{ SYS_epoll_wait, RULE_ALLOW },
#endif
	{ SYS_getpeername, RULE_ALLOW },
	{ SYS_getsockname, RULE_ALLOW },
	{ SYS_getsockopt, RULE_ALLOW },
	{ SYS_listen, RULE_ALLOW },
	{ SYS_pipe2, RULE_ALLOW },
#ifdef SYS_poll
	{ SYS_poll, RULE_ALLOW },
#endif
	{ SYS_ppoll, RULE_ALLOW },
	{ SYS_recvfrom, RULE_ALLOW },
	{ SYS_recvmsg, RULE_ALLOW },
	{ SYS_sendmsg, RULE_ALLOW },
	{ SYS_sendto, RULE_ALLOW },
	{ SYS_setsockopt, RULE_SETSOCKOPT },
	{ SYS_shutdown, RULE_ALLOW },
	{ SYS_socket, RULE_SOCKET },
	{ SYS_socketpair, RULE_SOCKETPAIR },
	{ SYS_splice, RULE_ALLOW },
	/* descriptors and files */
	{ SYS_close, RULE_ALLOW },
	{ SYS_fcntl, RULE_FCNTL },
	{ SYS_fstat, RULE_ALLOW },
	{ SYS_getdents64, RULE_ALLOW },
	{ SYS_ioctl, RULE_IOCTL },
	{ SYS_lseek, RULE_ALLOW },
#ifdef SYS_stat
	{ SYS_stat, RULE_ALLOW },
	{ SYS_lstat, RULE_ALLOW },
#endif
	{ SYS_newfstatat, RULE_ALLOW },
	{ SYS_openat, RULE_OPENAT },
	{ SYS_pread64, RULE_ALLOW },
	{ SYS_read, RULE_ALLOW },
	{ SYS_readv, RULE_ALLOW },
	{ SYS_statx, RULE_ALLOW },
	{ SYS_write, RULE_ALLOW },
	{ SYS_writev, RULE_ALLOW },
	/* memory */
	{ SYS_brk, RULE_ALLOW },
	{ SYS_madvise, RULE_ALLOW },
	{ SYS_mlock, RULE_ALLOW },
	{ SYS_mmap, RULE_NO_EXEC },
	{ SYS_mprotect, RULE_NO_EXEC },
	{ SYS_mremap, RULE_ALLOW },
	{ SYS_munlock, RULE_ALLOW },
	{ SYS_munmap, RULE_ALLOW },
	/* time, chance and oneself */
	{ SYS_clock_getres, RULE_ALLOW },
	{ SYS_clock_gettime, RULE_ALLOW },
	{ SYS_clock_nanosleep, RULE_ALLOW },
	{ SYS_exit, RULE_ALLOW },
	{ SYS_exit_group, RULE_ALLOW },
	{ SYS_futex, RULE_ALLOW },
	{ SYS_getegid, RULE_ALLOW },
	{ SYS_geteuid, RULE_ALLOW },
	{ SYS_getgid, RULE_ALLOW },
	{ SYS_getpid, RULE_ALLOW },
	{ SYS_getppid, RULE_ALLOW },
	{ SYS_getrandom, RULE_ALLOW },
	{ SYS_gettid, RULE_ALLOW },
	{ SYS_gettimeofday, RULE_ALLOW },
	{ SYS_getuid, RULE_ALLOW },
	{ SYS_nanosleep, RULE_ALLOW },
	{ SYS_restart_syscall, RULE_ALLOW },
	{ SYS_rt_sigaction, RULE_ALLOW },
	{ SYS_rt_sigprocmask, RULE_ALLOW },
	{ SYS_rt_sigreturn, RULE_ALLOW },
	{ SYS_sched_yield, RULE_ALLOW },
#ifdef SYS_time
	{ SYS_time, RULE_ALLOW },
#endif
/* what libraries try and do without */
#ifdef SYS_access
	{ SYS_access, RULE_ENOSYS },
	{ SYS_readlink, RULE_ENOSYS },
#endif
	{ SYS_faccessat, RULE_ENOSYS },
	{ SYS_faccessat2, RULE_ENOSYS },
	{ SYS_getcpu, RULE_ENOSYS },
	{ SYS_getcwd, RULE_ENOSYS },
	{ SYS_membarrier, RULE_ENOSYS },
	{ SYS_prctl, RULE_ENOSYS },
	{ SYS_prlimit64, RULE_ENOSYS },
	{ SYS_readlinkat, RULE_ENOSYS },
	{ SYS_rseq, RULE_ENOSYS },
	{ SYS_sched_getaffinity, RULE_ENOSYS },
	{ SYS_sysinfo, RULE_ENOSYS },
	{ SYS_uname, RULE_ENOSYS },
};

#if defined(__x86_64__)
#define JAIL_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define JAIL_ARCH AUDIT_ARCH_AARCH64
#else
#error "the egress filter knows x86_64 and aarch64"
#endif

#define ARG_LOW(i) (offsetof(struct seccomp_data, args) + (i) * sizeof(uint64_t)) /* both are little-endian */
#define LOAD(offset) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (offset))
#define RETURN(action) BPF_STMT(BPF_RET | BPF_K, (action))
#define JUMP_EQUAL(k, yes, no) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (k), (yes), (no))
#define ERRNO(e) (SECCOMP_RET_ERRNO | (e))
#define KILL SECCOMP_RET_KILL_PROCESS

/* Each ends in a return, whatever comes. Arguments are looked at by their low half: that is what the kernel takes of an int. */
static const struct sock_filter rule_allow[] = { RETURN(SECCOMP_RET_ALLOW) };
static const struct sock_filter rule_enosys[] = { RETURN(ERRNO(ENOSYS)) };
static const struct sock_filter rule_openat[] = {
	LOAD(ARG_LOW(2)),
	BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, O_ACCMODE | O_CREAT | O_TRUNC | O_APPEND | (O_TMPFILE & ~O_DIRECTORY), 0,
		 1),
	RETURN(KILL),
	RETURN(SECCOMP_RET_ALLOW),
};
static const struct sock_filter rule_socket[] = {
	LOAD(ARG_LOW(0)),
	JUMP_EQUAL(AF_INET, 1, 0),
	JUMP_EQUAL(AF_INET6, 0, 9),
	LOAD(ARG_LOW(1)),
	BPF_STMT(BPF_ALU | BPF_AND | BPF_K, 0xf), /* the type, without its flags */
	JUMP_EQUAL(SOCK_STREAM, 1, 0),
	JUMP_EQUAL(SOCK_DGRAM, 0, 5),
	LOAD(ARG_LOW(2)), /* those types have other protocols, too: ICMP, SCTP, MPTCP, UDP-Lite */
	JUMP_EQUAL(0, 2, 0),
	JUMP_EQUAL(IPPROTO_TCP, 1, 0),
	JUMP_EQUAL(IPPROTO_UDP, 0, 1),
	RETURN(SECCOMP_RET_ALLOW),
	RETURN(KILL),
};
static const struct sock_filter rule_socketpair[] = {
	LOAD(ARG_LOW(0)),
	JUMP_EQUAL(AF_UNIX, 0, 4),
	LOAD(ARG_LOW(1)),
	BPF_STMT(BPF_ALU | BPF_AND | BPF_K, 0xf),
	JUMP_EQUAL(SOCK_STREAM, 0, 1),
	RETURN(SECCOMP_RET_ALLOW),
	RETURN(KILL),
};
static const struct sock_filter rule_no_exec[] = {
	LOAD(ARG_LOW(2)),
	BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, PROT_EXEC, 0, 1),
	RETURN(KILL),
	RETURN(SECCOMP_RET_ALLOW),
};
static const struct sock_filter rule_fcntl[] = {
	LOAD(ARG_LOW(1)),          JUMP_EQUAL(F_GETFL, 5, 0),      JUMP_EQUAL(F_SETFL, 4, 0), JUMP_EQUAL(F_GETFD, 3, 0),
	JUMP_EQUAL(F_SETFD, 2, 0), JUMP_EQUAL(F_SETPIPE_SZ, 1, 0), RETURN(ERRNO(EINVAL)),     RETURN(SECCOMP_RET_ALLOW),
};
static const struct sock_filter rule_ioctl[] = {
	LOAD(ARG_LOW(1)),          JUMP_EQUAL(FIONREAD, 1, 0), JUMP_EQUAL(FIONBIO, 0, 1),
	RETURN(SECCOMP_RET_ALLOW), RETURN(ERRNO(ENOTTY)),
};
/* No filters, no upper-layer protocols, no fast open: options whose code nobody here needs. */
static const struct sock_filter rule_setsockopt[] = {
	LOAD(ARG_LOW(1)),
	JUMP_EQUAL(SOL_SOCKET, 0, 8),
	LOAD(ARG_LOW(2)),
	JUMP_EQUAL(SO_LINGER, 5, 0),
	JUMP_EQUAL(SO_REUSEPORT, 4, 0),
	JUMP_EQUAL(SO_SNDBUF, 3, 0),
	JUMP_EQUAL(SO_RCVBUF, 2, 0),
	JUMP_EQUAL(SO_KEEPALIVE, 1, 0),
	RETURN(ERRNO(ENOPROTOOPT)),
	RETURN(SECCOMP_RET_ALLOW),
	JUMP_EQUAL(IPPROTO_TCP, 0, 4),
	LOAD(ARG_LOW(2)),
	JUMP_EQUAL(TCP_NODELAY, 0, 1),
	RETURN(SECCOMP_RET_ALLOW),
	RETURN(ERRNO(ENOPROTOOPT)),
	JUMP_EQUAL(IPPROTO_IP, 0, 3),
	LOAD(ARG_LOW(2)),
	JUMP_EQUAL(IP_PKTINFO, 0, 1),
	RETURN(SECCOMP_RET_ALLOW),
	RETURN(ERRNO(ENOPROTOOPT)),
};

#define RULE(name)                    \
	{                             \
		name, ARRAY_LEN(name) \
	}
static const struct {
	const struct sock_filter *code;
	size_t len;
} rules[] = {
	[RULE_ALLOW] = RULE(rule_allow),           [RULE_ENOSYS] = RULE(rule_enosys),
	[RULE_OPENAT] = RULE(rule_openat),         [RULE_SOCKET] = RULE(rule_socket),
	[RULE_SOCKETPAIR] = RULE(rule_socketpair), [RULE_NO_EXEC] = RULE(rule_no_exec),
	[RULE_FCNTL] = RULE(rule_fcntl),           [RULE_IOCTL] = RULE(rule_ioctl),
	[RULE_SETSOCKOPT] = RULE(rule_setsockopt),
};

enum { CODE_MAX = 1024 };
struct code {
	struct sock_filter v[CODE_MAX];
	size_t n;
};

static void emit(struct code *code, struct sock_filter op)
{
	if (code->n < CODE_MAX)
		code->v[code->n] = op;
	code->n++;
}

/* A search tree over numbers: seven compares instead of eighty, which counts for every call and, since the kernel tries all numbers
 * when a filter comes, at the start. The accumulator holds the number. */
static void emit_tree(struct code *code, const struct jail_row *sorted, size_t n)
{
	size_t half = n / 2, jump;

	if (n == 1) {
		const struct sock_filter *rule = rules[sorted->rule].code;
		size_t len = rules[sorted->rule].len;

		emit(code, (struct sock_filter)JUMP_EQUAL(sorted->nr, 0, (uint8_t)len));
		for (size_t i = 0; i < len; i++)
			emit(code, rule[i]);
		emit(code, (struct sock_filter)RETURN(KILL));
		return;
	}
	emit(code, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, sorted[half].nr, 0, 1));
	jump = code->n;
	emit(code, (struct sock_filter)BPF_STMT(BPF_JMP | BPF_JA, 0));
	emit_tree(code, sorted, half);
	if (jump < CODE_MAX)
		code->v[jump].k = (uint32_t)(code->n - jump - 1);
	emit_tree(code, sorted + half, n - half);
}

static int by_number(const void *a, const void *b)
{
	const struct jail_row *x = a, *y = b;

	return x->nr < y->nr ? -1 : x->nr > y->nr;
}

static int jail_filter(const struct jail_options *options)
{
	static struct code code;
	struct jail_row sorted[ARRAY_LEN(rows)] = { 0 };
	struct sock_fprog program = { .filter = code.v };
	size_t n = 0;

	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if (options->listens || (rows[i].nr != SYS_bind && rows[i].nr != SYS_listen))
			sorted[n++] = rows[i];
	qsort(sorted, n, sizeof(*sorted), by_number);
	code.n = 0;
	emit(&code, (struct sock_filter)LOAD(offsetof(struct seccomp_data, arch)));
	emit(&code, (struct sock_filter)JUMP_EQUAL(JAIL_ARCH, 1, 0));
	emit(&code, (struct sock_filter)RETURN(KILL));
	emit(&code, (struct sock_filter)LOAD(offsetof(struct seccomp_data, nr)));
	emit_tree(&code, sorted, n);
	if (code.n > CODE_MAX)
		return -E2BIG;
	program.len = (unsigned short)code.n;
	return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) < 0 ? -errno : 0;
}

/* ---- the steps ---- */

/* What strangers send is not worked on with a priority that the caller has for other things. */
static int jail_scheduling(const struct jail_options *options)
{
	(void)options;
	return process_reset_scheduling();
}

static int jail_limits(const struct jail_options *options)
{
	struct rlimit files, core = { 1, 1 }; /* not 0: see limits_apply() */

	(void)options;
	if (getrlimit(RLIMIT_NOFILE, &files) < 0)
		return -errno;
	files.rlim_cur = files.rlim_max;
	if (setrlimit(RLIMIT_NOFILE, &files) < 0 || setrlimit(RLIMIT_CORE, &core) < 0)
		return -errno;
	return signal(SIGPIPE, SIG_IGN) == SIG_ERR ? -errno : 0;
}

static int jail_identity(const struct jail_options *options)
{
	int r;

	if (geteuid() != 0 && !options->has_ids)
		return 0;
	if (!options->has_ids || options->uid == 0 || options->gid == 0)
		return -EPERM; /* never as root */
	r = caps_lock(0);
	return r < 0 ? r : caps_set_ids(options->uid, options->gid, 1);
}

static int jail_capabilities(const struct jail_options *options)
{
	int r = caps_set(0);

	if (r < 0)
		return r;
	/* After the change of identity, which sets it anew. */
	if (prctl(PR_SET_DUMPABLE, options->sanitized, 0, 0, 0) < 0)
		return -errno;
	return process_no_new_privs();
}

/* A kernel without it leaves this to the filter, which lets nothing be opened for writing and nothing be executed either. */
static int jail_files(const struct jail_options *options)
{
	int abi = landlock_abi(), r = 0;
	auto_close int ruleset = -1;

	if (abi == 0 || options->sanitized)
		return 0;
	ruleset = landlock_new(abi, false);
	if (ruleset < 0)
		return ruleset;
	for (size_t i = 0; i < ARRAY_LEN(readable) && r == 0; i++) {
		r = landlock_allow_path(ruleset, abi, readable[i], LANDLOCK_READ);
		if (r == -EACCES || r == -ENOTDIR || r == -ELOOP)
			r = 0; /* not for us, with a rule or without */
	}
	return r < 0 ? r : landlock_restrict(ruleset);
}

static int jail_calls(const struct jail_options *options)
{
	return options->sanitized ? 0 : jail_filter(options);
}

int jail_enter(const struct jail_options *options, struct cordon_error *err)
{
	static const struct {
		const char *name;
		int (*enter)(const struct jail_options *options);
	} steps[] = {
		{ "scheduling", jail_scheduling },
		{ "limits", jail_limits },
		{ "identity", jail_identity },
		{ "capabilities", jail_capabilities },
		{ "landlock", jail_files },
		{ "seccomp", jail_calls }, /* last: what comes before needs its calls */
	};

	for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
		int r = steps[i].enter(options);

		if (r < 0)
			return cordon_fail(err, CORDON_SYSTEM, -r, "egress: %s", steps[i].name);
	}
	return 0;
}
