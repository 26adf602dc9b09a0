/*
 * The table of system calls as C: what os/syscalls.def means, for the generator (tools/seccomp-gen.c), os/seccomp.c
 * and the tests. Nobody else includes it.
 */
#ifndef OS_SECCOMP_TABLE_H
#define OS_SECCOMP_TABLE_H

#include "os/seccomp.h"

enum seccomp_action {
	ACT_ALLOW,
	ACT_REFUSE,
	ACT_QUIET,
	/* rules on arguments */
	ACT_IOCTL,
	ACT_IOCTL_STRICT,
	ACT_OPEN,
	ACT_OPENAT,
	ACT_OPEN_HOST, /* OPEN and OPENAT with no_sockets; in no row */
	ACT_OPENAT_HOST,
	ACT_TRUNCATE,
	ACT_MODE_1,
	ACT_MODE_2,
	ACT_MKNOD_1,
	ACT_MKNOD_2,
	ACT_CHMOD_1,
	ACT_CHMOD_2,
	ACT_TIMES,
	ACT_ATTRIBUTE,
	ACT_WATCH,
	ACT_FCNTL,
	ACT_MMAP,
	ACT_MPROTECT,
	ACT_MEMFD,
	ACT_SHMAT,
	ACT_EXEC,
	ACT_CLONE,
	ACT_CLONE_THREAD,
	ACT_UNSHARE,
	ACT_PRCTL,
	ACT_PRCTL_STRICT,
	ACT_PERSONALITY,
	ACT_SECCOMP,
	ACT_SELF,
	ACT_LIMIT,
	ACT_LIMIT_SELF,
	ACT_SCHEDULE,
	ACT_PRIORITY,
	ACT_PRIORITY_SELF,
	ACT_IOPRIO,
	ACT_IOPRIO_SELF,
	ACT_SOCKET,
	ACT_SOCKET_TOLD, /* SOCKET with a listener; in no row */
	ACT_SOCKET_NONE,
	ACT_SOCKETPAIR,
	ACT_PAIR,
	ACT_OPTION,
	ACT_IPC,
	ACT_COUNT,
};

struct seccomp_row {
	char name[24], why[88]; /* in place: pointers would be relocated, page by page, at every start */
	int x86_64, aarch64;    /* numbers, or -1 */
	int errnum;
	enum seccomp_action normal, strict;
};

/* The rows of os/syscalls.def: `static const struct seccomp_row rows[] = { … #include "os/syscalls.def" … };` */
#define SECCOMP_ROW(name, x86_64, aarch64, normal, strict, errnum, why) \
	{ #name, why, x86_64, aarch64, errnum, ACT_##normal, ACT_##strict },

/* Why a call that default allows is refused. */
#define STRICT_ONLY "not in the strict set of system calls"

/* A variant is an index into the generated filters. */
enum {
	SECCOMP_STRICT = 1,
	SECCOMP_NO_SOCKETS = 2,
	SECCOMP_EXEC_LOCK = 4,
	SECCOMP_NOTIFY = 8,
	SECCOMP_ON_HOST = 16,
	SECCOMP_VARIANTS = 32,
};

extern const struct seccomp_filter seccomp_filters[SECCOMP_VARIANTS];

#endif
