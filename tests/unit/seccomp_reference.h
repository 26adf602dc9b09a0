/*
 * What a filter must answer, read straight from os/syscalls.def: slow, plain and apart from the generator. Constants
 * come from the system's headers, whereas the generator spells its own.
 */
#ifndef TESTS_SECCOMP_REFERENCE_H
#define TESTS_SECCOMP_REFERENCE_H

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/fs.h>
#include <linux/ioprio.h>
#include <linux/netlink.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "base/str.h"
#include "os/seccomp_table.h"

/* TCGETS2: its struct is in a header that libc's excludes. */
#define REFERENCE_TCGETS2 0x802c542au
#define REFERENCE_SETDELEG (F_SETLEASE + 16) /* Linux 6.19 */
#ifndef IPPROTO_MPTCP
#define IPPROTO_MPTCP 262
#endif
#ifndef PR_SCHED_CORE
#define PR_SCHED_CORE 62
#endif

static const struct seccomp_row reference_rows[] = {
#define SYSCALL SECCOMP_ROW
#include "os/syscalls.def"
#undef SYSCALL
};

enum { REFERENCE_NUMBERS = 1024 };

static inline int row_number(const struct seccomp_row *row, uint32_t arch)
{
	return arch == AUDIT_ARCH_AARCH64 ? row->aarch64 : row->x86_64;
}

static inline const struct seccomp_row *reference_row(int nr, uint32_t arch)
{
	static const struct seccomp_row *by_number[2][REFERENCE_NUMBERS];
	static bool filled;

	for (size_t i = 0; !filled && i < ARRAY_LEN(reference_rows); i++) {
		if (reference_rows[i].x86_64 >= 0)
			by_number[0][reference_rows[i].x86_64] = &reference_rows[i];
		if (reference_rows[i].aarch64 >= 0)
			by_number[1][reference_rows[i].aarch64] = &reference_rows[i];
	}
	filled = true;
	return nr < 0 || nr >= REFERENCE_NUMBERS ? NULL : by_number[arch == AUDIT_ARCH_AARCH64][nr];
}

/* Values that some rule cares about, and their neighbours. Any of them may stand in any argument. */
static const uint64_t reference_values[] = {
	0,
	1,
	2,
	3,
	4,
	5,
	6,
	7,
	8,
	15,
	16,
	17,
	38,
	40,
	62,
	132,
	256,
	262,
	0100,
	0777,
	01777,
	02000,
	02755,
	04000,
	04755,
	06755,
	S_IFIFO | 0644,
	S_IFCHR | 0600,
	S_IFBLK | 0600,
	S_IFREG | 0644,
	S_IFREG | 04755,
	S_IFSOCK | 0600,
	S_IFIFO | 02644,
	O_CREAT | O_WRONLY,
	O_TRUNC,
	O_TRUNC | O_WRONLY,
	O_TRUNC | O_RDWR,
	O_TRUNC | O_ACCMODE,
	O_TRUNC | O_CREAT,
	O_TRUNC | O_CREAT | O_WRONLY,
	O_TMPFILE | O_RDWR,
	O_DIRECTORY,
	O_RDWR | O_CLOEXEC,
	TCGETS,
	REFERENCE_TCGETS2,
	TIOCGWINSZ,
	TIOCGPGRP,
	FIONREAD,
	FIONBIO,
	FIOCLEX,
	FIONCLEX,
	TIOCSTI,
	TIOCLINUX,
	TIOCSETD,
	TIOCSCTTY,
	FS_IOC_SETFLAGS,
	FS_IOC_FSSETXATTR,
	FS_IOC_GETFLAGS,
	PROT_READ,
	PROT_READ | PROT_WRITE,
	PROT_READ | PROT_EXEC,
	PROT_READ | PROT_WRITE | PROT_EXEC,
	MAP_PRIVATE,
	MAP_PRIVATE | MAP_ANONYMOUS,
	MAP_SHARED | MAP_FIXED,
	SHM_EXEC,
	SHM_RDONLY,
	CLONE_NEWNS,
	CLONE_NEWCGROUP,
	CLONE_NEWUTS,
	CLONE_NEWIPC,
	CLONE_NEWUSER,
	CLONE_NEWPID,
	CLONE_NEWNET,
	CLONE_NEWTIME,
	CLONE_FILES,
	CLONE_FS,
	CLONE_SYSVSEM,
	0x3d0f00 /* a thread of glibc */,
	0x3d0f00 | CLONE_NEWUSER,
	0x1200011 /* fork of glibc */,
	PR_SCHED_CORE,
	PR_SET_NAME,
	PR_GET_NAME,
	PER_LINUX32,
	UNAME26,
	ADDR_NO_RANDOMIZE,
	READ_IMPLIES_EXEC,
	ADDR_NO_RANDOMIZE | READ_IMPLIES_EXEC,
	0xffffffff,
	SECCOMP_FILTER_FLAG_NEW_LISTENER,
	SOCK_STREAM | SOCK_CLOEXEC,
	SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK,
	SOCK_RAW | SOCK_CLOEXEC,
	SOCK_PACKET | SOCK_NONBLOCK,
	AF_INET6,
	AF_NETLINK,
	AF_PACKET,
	AF_ALG,
	AF_VSOCK,
	F_SETLEASE,
	F_GETLEASE,
	REFERENCE_SETDELEG,
	SO_ATTACH_FILTER,
	SO_DETACH_FILTER,
	SO_ATTACH_BPF,
	SO_ATTACH_REUSEPORT_CBPF,
	SO_ATTACH_REUSEPORT_EBPF,
};

static inline bool reference_setid(uint64_t mode)
{
	return mode & (S_ISUID | S_ISGID);
}

static inline bool reference_open(uint64_t flags, uint64_t mode, bool host)
{
	bool hidden = (flags & O_ACCMODE) != O_WRONLY && (flags & O_ACCMODE) != O_RDWR;
	bool creates = flags & O_CREAT || flags & (O_TMPFILE & ~O_DIRECTORY);

	return !(creates && reference_setid(mode)) && !(host && hidden && flags & O_TRUNC);
}

static inline bool reference_mknod(uint64_t mode)
{
	return !reference_setid(mode) && (S_ISREG(mode) || S_ISFIFO(mode) || S_ISSOCK(mode) || (mode & S_IFMT) == 0 ||
					  S_ISDIR(mode) /* refused by the kernel */);
}

static inline bool reference_socket(uint32_t family, uint32_t type, uint32_t protocol)
{
	type &= 0xf;
	switch (family) {
	case AF_UNIX:
		return true;
	case AF_INET:
	case AF_INET6:
		return (type == 0 /* refused by the kernel */ || type == SOCK_STREAM || type == SOCK_DGRAM) &&
		       (protocol == 0 || protocol == IPPROTO_TCP || protocol == IPPROTO_UDP ||
			protocol == IPPROTO_MPTCP);
	case AF_NETLINK:
		return protocol == NETLINK_ROUTE;
	default:
		return false;
	}
}

static inline bool reference_ioctl_strict(uint32_t cmd)
{
	return cmd == TCGETS || cmd == REFERENCE_TCGETS2 || cmd == TIOCGWINSZ || cmd == TIOCGPGRP || cmd == FIONREAD ||
	       cmd == FIONBIO || cmd == FIOCLEX || cmd == FIONCLEX;
}

static inline bool reference_ioctl(uint32_t cmd)
{
	return cmd != TIOCSTI && cmd != TIOCLINUX && cmd != TIOCSETD && cmd != FS_IOC_SETFLAGS &&
	       cmd != FS_IOC_FSSETXATTR;
}

/* Whose scheduling may be changed: one's own, or where others are the box's as well, anybody's but init's. */
static inline bool reference_pid(uint32_t pid, bool self)
{
	return self ? pid == 0 : pid != 1;
}

/* A pair of sockets that cannot send to a third. */
static inline bool reference_pair(uint32_t type)
{
	return (type & 0xf) == SOCK_STREAM || (type & 0xf) == SOCK_SEQPACKET;
}

/* Options that give a socket a program. */
static inline bool reference_program(uint32_t name)
{
	return name == SO_ATTACH_FILTER || name == SO_ATTACH_BPF || name == SO_ATTACH_REUSEPORT_CBPF ||
	       name == SO_ATTACH_REUSEPORT_EBPF;
}

/* Whether a rule lets these arguments pass. */
static inline bool reference_allows(enum seccomp_action rule, unsigned variant, const uint64_t a[6])
{
	const uint64_t namespaces = CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER |
				    CLONE_NEWPID | CLONE_NEWNET;
	bool lock = variant & SECCOMP_EXEC_LOCK, host = variant & SECCOMP_NO_SOCKETS,
	     on_host = variant & SECCOMP_ON_HOST;

	switch (rule) {
	case ACT_ALLOW:
		return true;
	case ACT_REFUSE:
	case ACT_QUIET:
	case ACT_SOCKET_NONE:
	case ACT_COUNT:
		return false;
	case ACT_IOCTL:
		return reference_ioctl((uint32_t)a[1]);
	case ACT_IOCTL_STRICT:
		return reference_ioctl_strict((uint32_t)a[1]);
	case ACT_OPEN:
	case ACT_OPEN_HOST:
		return reference_open(a[1], a[2], host);
	case ACT_OPENAT:
	case ACT_OPENAT_HOST:
		return reference_open(a[2], a[3], host);
	case ACT_CHMOD_1:
		return !on_host && !reference_setid(a[1]);
	case ACT_CHMOD_2:
		return !on_host && !reference_setid(a[2]);
	case ACT_TIMES:
	case ACT_ATTRIBUTE:
	case ACT_WATCH:
		return !on_host;
	case ACT_FCNTL:
		return (uint32_t)a[1] != F_SETLEASE && (uint32_t)a[1] != REFERENCE_SETDELEG;
	case ACT_OPTION:
		return (uint32_t)a[1] != SOL_SOCKET || !reference_program((uint32_t)a[2]);
	case ACT_MODE_1:
		return !reference_setid(a[1]);
	case ACT_MODE_2:
		return !reference_setid(a[2]);
	case ACT_MKNOD_1:
		return reference_mknod(a[1]);
	case ACT_MKNOD_2:
		return reference_mknod(a[2]);
	case ACT_MMAP:
		return !lock || !(a[2] & PROT_EXEC) || (!(a[2] & PROT_WRITE) && !(a[3] & MAP_ANONYMOUS));
	case ACT_MPROTECT:
		return !lock || !(a[2] & PROT_EXEC);
	case ACT_MEMFD:
		return !lock;
	case ACT_SHMAT:
		return !host && !(lock && a[2] & SHM_EXEC);
	case ACT_EXEC:
		return !(lock && variant & SECCOMP_NOTIFY);
	case ACT_CLONE:
		return !(a[0] & namespaces);
	case ACT_CLONE_THREAD:
		return !(a[0] & namespaces) && a[0] & CLONE_THREAD;
	case ACT_UNSHARE:
		return ((uint32_t)a[0] & ~(uint32_t)(CLONE_FILES | CLONE_FS | CLONE_SYSVSEM)) == 0;
	case ACT_PRCTL:
		return (uint32_t)a[0] != PR_SCHED_CORE;
	case ACT_PRCTL_STRICT:
		return (uint32_t)a[0] == PR_SET_NAME || (uint32_t)a[0] == PR_GET_NAME;
	case ACT_PERSONALITY:
		return (uint32_t)a[0] == 0xffffffff ||
		       ((uint32_t)a[0] & ~(uint32_t)(PER_LINUX32 | UNAME26 | ADDR_NO_RANDOMIZE)) == 0;
	case ACT_SECCOMP:
		return !(a[1] & SECCOMP_FILTER_FLAG_NEW_LISTENER);
	case ACT_SELF:
		return (uint32_t)a[0] == 0;
	case ACT_LIMIT:
		return (uint32_t)a[0] != RLIMIT_CORE;
	case ACT_LIMIT_SELF:
		return (uint32_t)a[0] == 0 && ((uint32_t)a[1] != RLIMIT_CORE || a[2] == 0);
	case ACT_SCHEDULE:
		return reference_pid((uint32_t)a[0], on_host);
	case ACT_PRIORITY:
	case ACT_PRIORITY_SELF:
		return ((uint32_t)a[0] == PRIO_PROCESS || (uint32_t)a[0] == PRIO_PGRP) &&
		       reference_pid((uint32_t)a[1], on_host || rule == ACT_PRIORITY_SELF);
	case ACT_IOPRIO:
	case ACT_IOPRIO_SELF:
		return ((uint32_t)a[0] == IOPRIO_WHO_PROCESS || (uint32_t)a[0] == IOPRIO_WHO_PGRP) &&
		       reference_pid((uint32_t)a[1], on_host || rule == ACT_IOPRIO_SELF);
	case ACT_SOCKET:
	case ACT_SOCKET_TOLD:
		return !host && !(variant & SECCOMP_NOTIFY && (uint32_t)a[0] == AF_NETLINK) &&
		       reference_socket((uint32_t)a[0], (uint32_t)a[1], (uint32_t)a[2]);
	case ACT_SOCKETPAIR:
		return (uint32_t)a[0] == AF_UNIX && (!host || reference_pair((uint32_t)a[1]));
	case ACT_PAIR:
		return (uint32_t)a[0] == AF_UNIX && reference_pair((uint32_t)a[1]);
	case ACT_IPC:
	case ACT_TRUNCATE:
		return !host;
	}
	return false;
}

/* Refused, but not told: rows that say so, and libc's question for nscd where there are no sockets. */
static inline bool reference_quiet(enum seccomp_action rule, unsigned variant, const uint64_t a[6])
{
	bool none = rule == ACT_SOCKET_NONE || (rule == ACT_SOCKET && variant & SECCOMP_NO_SOCKETS);

	return rule == ACT_QUIET || rule == ACT_ATTRIBUTE ||
	       (none && (uint32_t)a[0] == AF_UNIX && (uint32_t)a[1] == (SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK));
}

/* Not done, and said to be: the limit of core files. */
static inline bool reference_done(enum seccomp_action rule, const uint64_t a[6])
{
	return (rule == ACT_LIMIT && (uint32_t)a[0] == RLIMIT_CORE) ||
	       (rule == ACT_LIMIT_SELF && (uint32_t)a[0] == 0 && (uint32_t)a[1] == RLIMIT_CORE && a[2] != 0);
}

/* The filter's whole answer. `native` is the architecture that the filter is for. */
static inline uint32_t reference_answer(unsigned variant, uint32_t native, const struct seccomp_data *data)
{
	const struct seccomp_row *row = data->arch == native ? reference_row(data->nr, native) : NULL;
	uint64_t args[6];
	enum seccomp_action rule;

	if (!row)
		return SECCOMP_RET_ERRNO | ENOSYS;
	for (size_t i = 0; i < ARRAY_LEN(args); i++)
		args[i] = data->args[i];
	rule = variant & SECCOMP_STRICT ? row->strict : row->normal;
	if (reference_allows(rule, variant, args))
		return SECCOMP_RET_ALLOW;
	if (reference_done(rule, args))
		return SECCOMP_RET_ERRNO;
	if (variant & SECCOMP_NOTIFY && !reference_quiet(rule, variant, args))
		return SECCOMP_RET_USER_NOTIF;
	return SECCOMP_RET_ERRNO | (uint32_t)row->errnum;
}

#endif
