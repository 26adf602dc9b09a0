/*
 * The system call filter: choosing one of the generated programs, installing it, and answering its listener.
 *
 * Theory of operation. tools/seccomp-gen.c has written a program for every variant ahead of time; here is only a table
 * look-up and one system call. With `notify`, a refused call stops in the kernel until the keeper has read it from the
 * listener and answered with the errno of the table: the answer never depends on memory that the payload can change.
 * Where it is left to the listener to do a call (on_host), it acts on what it has opened and checked itself. Only execve is ever continued, where mounts and Landlock decide and the listener merely reports.
 *
 * seccomp_choose() and seccomp_install() run in the payload's process, without privilege and after no_new_privs, right
 * before execve; the rest in the keeper.
 */
#include "os/seccomp.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/str.h"
#include "os/seccomp_table.h"

#ifndef SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
#define SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV (1UL << 5) /* Linux 5.19 */
#endif
#ifndef SECCOMP_IOCTL_NOTIF_ID_VALID_WRONG_DIR
#define SECCOMP_IOCTL_NOTIF_ID_VALID_WRONG_DIR SECCOMP_IOR(2, __u64) /* the only spelling before Linux 5.8 */
#endif

enum { ANSWER_TRIES = 100 };

static const struct seccomp_row rows[] = {
#define SYSCALL SECCOMP_ROW
#include "os/syscalls.def"
#undef SYSCALL
};

/* A text that filled its field would have no end there. */
#define SYSCALL(call, x86_64, aarch64, normal, strict, errnum, text) \
	_Static_assert(sizeof(#call) <= sizeof(rows[0].name) && sizeof(text) <= sizeof(rows[0].why), #call);
#include "os/syscalls.def"
#undef SYSCALL

/* ---- in the payload's process -------------------------------------------------------------------------- */

struct seccomp_filter seccomp_choose(const struct seccomp_options *o)
{
	unsigned variant = (o->strict ? SECCOMP_STRICT : 0u) | (o->no_sockets ? SECCOMP_NO_SOCKETS : 0u) |
			   (o->exec_lock ? SECCOMP_EXEC_LOCK : 0u) | (o->notify ? SECCOMP_NOTIFY : 0u) |
			   (o->on_host ? SECCOMP_ON_HOST : 0u);

	return seccomp_filters[variant];
}

int seccomp_install(const struct seccomp_filter *f, bool notify)
{
	/* struct sock_fprog, but const: the kernel does not write to the program. */
	const struct {
		unsigned short len;
		const struct sock_filter *filter;
	} prog = { f->len, f->code };
	unsigned long flags = notify ? SECCOMP_FILTER_FLAG_NEW_LISTENER : 0;
	long fd;

	/* Killable only: a runtime that preempts its threads by signals would otherwise restart a call that waits for
	 * its answer again and again. */
	if (notify) {
		fd = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags | SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV,
			     &prog);
		if (fd >= 0 || errno != EINVAL)
			return fd < 0 ? -errno : (int)fd;
	}
	fd = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &prog);
	return fd < 0 ? -errno : (int)fd;
}

const char *seccomp_decides(size_t i)
{
	for (size_t k = 0; k < ARRAY_LEN(rows); k++) {
#if defined(__x86_64__)
		int nr = rows[k].x86_64;
#else
		int nr = rows[k].aarch64;
#endif
		if (nr >= 0 && i-- == 0)
			return rows[k].name;
	}
	return NULL;
}

/* ---- words ---------------------------------------------------------------------------------------------- */

static const struct seccomp_row *row_of(int nr)
{
	for (size_t i = 0; nr >= 0 && i < ARRAY_LEN(rows); i++) {
#if defined(__x86_64__)
		if (rows[i].x86_64 == nr)
			return &rows[i];
#else
		if (rows[i].aarch64 == nr)
			return &rows[i];
#endif
	}
	return NULL;
}

static bool never(enum seccomp_action action)
{
	return action == ACT_REFUSE || action == ACT_QUIET;
}

/* The rules that only `process.commands` brings. SHMAT is told as such where IPC is allowed at all. */
static bool by_commands(enum seccomp_action action, const struct seccomp_options *o)
{
	return o->exec_lock && (action == ACT_MMAP || action == ACT_MPROTECT || action == ACT_MEMFD ||
				action == ACT_SHMAT || action == ACT_EXEC);
}

/* The rules that are only there because the box shares the host's network, IPC or files. */
static bool by_level(enum seccomp_action action, const struct seccomp_options *o)
{
	return o->no_sockets && (action == ACT_SOCKET || action == ACT_SOCKETPAIR || action == ACT_IPC ||
				 action == ACT_SHMAT || action == ACT_TRUNCATE);
}

/* The rules that are only there, or narrower, because the box shares the host's files and processes. */
static bool by_host(enum seccomp_action action, const struct seccomp_options *o)
{
	return o->on_host &&
	       (action == ACT_SCHEDULE || action == ACT_PRIORITY || action == ACT_IOPRIO || action == ACT_CHMOD_1 ||
		action == ACT_CHMOD_2 || action == ACT_TIMES || action == ACT_ATTRIBUTE || action == ACT_WATCH);
}

static bool by_listener(enum seccomp_action action, const struct seccomp_options *o)
{
	return o->on_host && (action == ACT_CHMOD_1 || action == ACT_CHMOD_2 || action == ACT_TIMES);
}

void seccomp_explain(int nr, const struct seccomp_options *o, struct seccomp_reason *ret_reason)
{
	static const struct seccomp_row unknown = { .name = "unknown system call",
						    .errnum = ENOSYS,
						    .normal = ACT_QUIET };
	const struct seccomp_row *row = row_of(nr);
	enum seccomp_action action;

	if (!row)
		row = &unknown;
	action = o->strict ? row->strict : row->normal;
	*ret_reason = (struct seccomp_reason){
		.name = row->name,
		.why = *row->why ? row->why : "not a call that boxes have",
		.errnum = row->errnum,
		.mediated = by_listener(action, o),
		.rule = o->strict ? "seccomp: strict" : "seccomp: default",
		.allow = never(action) ? "nothing: no policy allows it"
				       : "nothing: no policy allows it with these arguments",
	};
	if (by_level(row->normal, o)) {
		ret_reason->rule = row->normal == ACT_TRUNCATE ? "seccomp: the host's files are shared"
							       : "seccomp: the host's network and IPC are shared";
		ret_reason->allow = o->strict ? "level: container with process.syscalls: default" : "level: container";
	} else if (ret_reason->mediated) {
		ret_reason->why = action == ACT_TIMES
					  ? "the times of a file that is not its own to write"
					  : "a file that is not its own to write, or a setuid or setgid bit";
		ret_reason->rule = "seccomp: the host's files and processes are shared";
		ret_reason->allow = "files of its own in the working directory and in what is given with --rw; setuid "
				    "and setgid: nothing";
	} else if (by_host(row->normal, o)) {
		ret_reason->rule = "seccomp: the host's files and processes are shared";
		ret_reason->allow = o->strict ? "level: container with process.syscalls: default" : "level: container";
	} else if (o->strict && row->normal != row->strict && !never(row->normal)) {
		ret_reason->allow = "process.syscalls: default";
	} else if (by_commands(action, o)) {
		ret_reason->rule = "process.commands";
		ret_reason->allow = "a policy without process.commands";
	}
}

/* ---- in the keeper -------------------------------------------------------------------------------------- */

int seccomp_receive(int listener, struct seccomp_event *ret_event)
{
	/* Room for a kernel whose struct is longer; it wants zeroes. */
	union {
		struct seccomp_notif notif;
		char room[512];
	} u = { .room = { 0 } };

	if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &u.notif) < 0)
		return -errno;
	*ret_event = (struct seccomp_event){ .id = u.notif.id, .pid = (int)u.notif.pid, .nr = u.notif.data.nr };
	for (size_t i = 0; i < ARRAY_LEN(ret_event->args); i++)
		ret_event->args[i] = u.notif.data.args[i];
	return 0;
}

/* Whoever asked waits until it is answered, so that one that is interrupted on its way (the kernel takes a lock) is given again; but for one
 * that nobody waits for any more, or that was given. */
static int answer(int listener, uint64_t id, int error, uint32_t flags)
{
	union {
		struct seccomp_notif_resp resp;
		char room[512];
	} u = { .room = { 0 } };
	int r = -EINTR;

	u.resp = (struct seccomp_notif_resp){ .id = id, .error = error, .flags = flags };
	for (int i = 0; i < ANSWER_TRIES && r < 0 && r != -ENOENT && r != -EINPROGRESS; i++)
		r = ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &u.resp) < 0 ? -errno : 0;
	return r;
}

int seccomp_refuse(int listener, uint64_t id, int errnum)
{
	/* error 0 would mean that the call succeeded. */
	return answer(listener, id, errnum > 0 ? -errnum : -EPERM, 0);
}

int seccomp_answer(int listener, uint64_t id, int errnum)
{
	return answer(listener, id, errnum > 0 ? -errnum : 0, 0);
}

int seccomp_continue(int listener, uint64_t id)
{
	return answer(listener, id, 0, SECCOMP_USER_NOTIF_FLAG_CONTINUE);
}

bool seccomp_still_valid(int listener, uint64_t id)
{
	if (ioctl(listener, SECCOMP_IOCTL_NOTIF_ID_VALID, &id) == 0)
		return true;
	return errno == EINVAL && ioctl(listener, SECCOMP_IOCTL_NOTIF_ID_VALID_WRONG_DIR, &id) == 0;
}
