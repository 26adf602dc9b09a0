/*
 * The system call filter. Filters are generated at build time (tools/seccomp-gen.c from os/syscalls.def) as BPF for the
 * build's architecture: a search tree over syscall numbers, so that what is always allowed needs no argument and gets the
 * kernel's bitmap fast path. Nothing is generated per run.
 */
#ifndef OS_SECCOMP_H
#define OS_SECCOMP_H

#include <linux/filter.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct seccomp_options {
	bool strict;     /* the smallest set (process.syscalls: strict) */
	bool no_sockets; /* process level, or no network namespace: socket() refused for every family, socketpair(AF_UNIX)
			     stays for streams; System V IPC and message queues are the host's and refused, too, and
			     so is what cuts files behind Landlock's back */
	bool on_host; /* process level, no mount and pid namespace: only one's own scheduling and priority; modes and times of
			     files are left to the listener, owners and attributes refused */
	bool exec_lock; /* process.commands: no memfd_create, no memory made executable or mapped so without a file; execve
			     notified (with `notify`) and continued to report */
	bool notify;    /* refused calls go to the listener (which answers the errno) instead of failing in place */
};

struct seccomp_filter {
	const struct sock_filter *code;
	unsigned short len;
};

/* Chooses a ready-made filter. Never fails. */
struct seccomp_filter seccomp_choose(const struct seccomp_options *o);
/* Installs it for the calling thread (needs no_new_privs). Returns the listener fd (close-on-exec) with notify, else 0;
 * -errno on failure. Takes away: every syscall that the filter does not list. In every variant write, close, sendmsg,
 * execve and exit_group remain. */
int seccomp_install(const struct seccomp_filter *f, bool notify);

/* The calls of this architecture that some filter of ours decides about, one by one; NULL: no more. For profiles of engines, which must be
 * as wide: of two filters the one that answers wins over the one that tells. */
const char *seccomp_decides(size_t i);

/* The words of a denial under the options that the filter was chosen by. All strings are static. */
struct seccomp_reason {
	const char *name;  /* "mount" */
	const char *why;   /* "changes what is mounted" */
	const char *rule;  /* "seccomp: default", "seccomp: strict", "process.commands", … */
	const char *allow; /* what would allow it, or that nothing does */
	int errnum;        /* what the payload gets */
	bool mediated;     /* the listener may do the call itself: on_host, modes and times of files */
};
/* Unknown numbers get a name of "unknown system call" and ENOSYS. */
void seccomp_explain(int nr, const struct seccomp_options *o, struct seccomp_reason *ret_reason);

/* One notification from the listener: filled from the kernel; -errno (-ENOENT: the caller has gone, try the next). */
struct seccomp_event {
	uint64_t id;
	int pid; /* as seen from here; 0 if in another pid namespace that is not below ours */
	int nr;
	uint64_t args[6];
};
int seccomp_receive(int listener, struct seccomp_event *ret_event);
int seccomp_refuse(int listener, uint64_t id, int errnum);
int seccomp_answer(int listener, uint64_t id, int errnum); /* the call was done in its stead: 0, or its errno */
int seccomp_continue(int listener,
		     uint64_t id); /* only for execve, where mounts and Landlock decide, and what has no pointers */
bool seccomp_still_valid(int listener, uint64_t id);

#endif
