/*
 * What the policy refused. The keeper answers each notified system call with its errno, never continuing it on a pointer;
 * execve is continued, since mounts and Landlock decide it and the notice only serves the report, and so is socket() for netlink, all of whose
 * arguments are registers. At process level modes and times
 * of files are changed here in the payload's stead: see mediate.c.
 */
#include "box/denial.h"

#include "base/error.h"
#include "base/fd.h"
#include "base/path.h"
#include "os/netlink_quota.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

static void count(struct link_report *report, int nr, const char *text)
{
	struct link_denial *d;

	for (uint32_t i = 0; i < report->denial_count; i++) {
		d = &report->denials[i];
		if (d->nr == nr && strcmp(d->text, text) == 0) {
			d->count++;
			return;
		}
	}
	if (report->denial_count == LINK_DENIALS) {
		report->denials_lost++;
		return;
	}
	d = &report->denials[report->denial_count++];
	d->nr = nr;
	d->count = 1;
	snprintf(d->text, sizeof(d->text), "%s", text);
}

static bool is_exec(int nr)
{
	return nr == SYS_execve || nr == SYS_execveat;
}

/* The path argument, for the report only: the caller may change it at any time. */
static int read_path(const struct seccomp_event *e, char *buf, size_t size)
{
	uint64_t address = e->args[e->nr == SYS_execveat];
	struct iovec local = { .iov_base = buf, .iov_len = size - 1 };
	struct iovec remote = { .iov_base = (void *)(uintptr_t)address, .iov_len = size - 1 };
	ssize_t n = process_vm_readv(e->pid, &local, 1, &remote, 1, 0);

	if (n <= 0 && address % 4096) { /* the string may end just before an unmapped page */
		remote.iov_len = local.iov_len = 4096 - address % 4096 < size - 1 ? 4096 - address % 4096 : size - 1;
		n = process_vm_readv(e->pid, &local, 1, &remote, 1, 0);
	}
	if (n <= 0)
		return -1;
	buf[n] = '\0';
	return 0;
}

/* What an execveat() without a path, or a path through one of these links, leads to: the number of a descriptor, or -1. */
static int named_descriptor(const struct seccomp_event *e, const char *path)
{
	static const char *const ways[] = { "/proc/self/fd/", "/dev/fd/" };
	int number = -1, end = 0;

	if (!*path)
		return e->nr == SYS_execveat ? (int)e->args[0] : -1;
	for (size_t i = 0; i < ARRAY_LEN(ways); i++)
		if (str_starts(path, ways[i]) && sscanf(path + strlen(ways[i]), "%d%n", &number, &end) == 1 &&
		    !path[strlen(ways[i]) + (size_t)end])
			return number;
	return -1;
}

/* The file that is to be executed, from outside: never against our own root. -errno: not there, or not to be told. */
static int open_program(int root, const struct seccomp_event *e, const char *path)
{
	char link[64], cwd[4096] = "/", full[4096 + LINK_DENIAL_TEXT];
	int number = named_descriptor(e, path), fd;
	ssize_t n;

	if (number >= 0) {
		snprintf(link, sizeof(link), "/proc/%d/fd/%d", e->pid, number);
		fd = open(link, O_PATH | O_CLOEXEC);
		return fd < 0 ? -errno : fd;
	}
	snprintf(link, sizeof(link), "/proc/%d/cwd", e->pid);
	n = *path ? readlink(link, cwd, sizeof(cwd) - 1) : -1;
	if (n < 0)
		return -ENOENT;
	cwd[n] = '\0';
	snprintf(full, sizeof(full), "%s/%s", *path == '/' ? "" : cwd, path);
	return fd_openat2(root, full, O_PATH, 0, RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS);
}

/* Whether the kernel will let it run: the file is one of the listed, by inode. */
static bool is_listed(const struct cordon_plan *plan, const struct seccomp_event *e, const char *path)
{
	auto_close int root = -1, fd = -1;
	struct stat st, listed;
	char link[64];

	snprintf(link, sizeof(link), "/proc/%d/root", e->pid);
	root = open(link, O_PATH | O_DIRECTORY | O_CLOEXEC);
	fd = root < 0 ? -1 : open_program(root, e, path);
	if (fd < 0 || fstat(fd, &st) < 0)
		return true; /* not there: ENOENT is no denial; and no false report */
	for (size_t i = 0; i < plan->command_paths.n; i++) {
		auto_close int at =
			fd_openat2(root, plan->command_paths.v[i], O_PATH, 0, RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS);

		if (at >= 0 && fstat(at, &listed) == 0 && listed.st_dev == st.st_dev && listed.st_ino == st.st_ino)
			return true;
	}
	return false;
}

static void serve_exec(const struct cordon_plan *plan, int listener, const struct seccomp_event *e,
		       struct link_report *report)
{
	char path[LINK_DENIAL_TEXT] = "";

	if (read_path(e, path, sizeof(path)) == 0 && seccomp_still_valid(listener, e->id) &&
	    !is_listed(plan, e, path)) {
		if (!*path)
			snprintf(path, sizeof(path), "a file by its descriptor");
		count(report, e->nr, path);
	}
	(void)seccomp_continue(listener, e->id);
}

/* Nothing of it is behind a pointer. One that cannot be counted is one too many. */
static void serve_netlink(int listener, const struct seccomp_event *e, struct link_report *report)
{
	if (netlink_quota_left(e) > 0) {
		(void)seccomp_continue(listener, e->id);
		return;
	}
	count(report, e->nr, "");
	(void)seccomp_refuse(listener, e->id, ENOBUFS);
}

static bool serve_mediated(const struct cordon_plan *plan, const struct mediate_scope *scope, int listener,
			   const struct seccomp_event *e, struct link_report *report)
{
	bool denied = false;
	int errnum = mediate(plan, scope, listener, e, &denied);

	if (denied)
		count(report, e->nr, "");
	(void)seccomp_answer(listener, e->id, errnum);
	return !denied;
}

unsigned denial_serve(const struct cordon_plan *plan, const struct mediate_scope *scope, int listener,
		      struct link_report *report, unsigned max, uint64_t *mediated)
{
	unsigned served = 0, done = 0;

	while (served + done < max) {
		struct pollfd p = { .fd = listener, .events = POLLIN };
		struct seccomp_reason reason;
		struct seccomp_event e;
		int r;

		if (poll(&p, 1, 0) <= 0)
			break;
		if (!(p.revents & POLLIN))
			break; /* hung up */
		r = seccomp_receive(listener, &e);
		if (r == -ENOENT || r == -EINTR) {
			served++;
			continue;
		}
		if (r < 0)
			break;
		served++;
		if (is_exec(e.nr)) {
			serve_exec(plan, listener, &e, report);
			continue;
		}
		if (netlink_quota_asks(&e) && plan->level != LEVEL_PROCESS) {
			serve_netlink(listener, &e, report);
			continue;
		}
		seccomp_explain(e.nr, &plan->seccomp, &reason);
		if (reason.mediated && plan->level == LEVEL_PROCESS) {
			if (serve_mediated(plan, scope, listener, &e, report)) {
				served--;
				done++;
			}
			continue;
		}
		count(report, e.nr, "");
		(void)seccomp_refuse(listener, e.id, reason.errnum);
	}
	*mediated += done;
	return served;
}

static const char *kept(struct strv *sv, char *text)
{
	return strv_add_take(sv, text) < 0 ? NULL : sv->v[sv->n - 1];
}

static char *listed_commands(const struct cordon_plan *plan)
{
	auto_str struct str s = { 0 };

	str_add(&s, "run one of the allowed commands (");
	for (size_t i = 0; i < plan->commands.n; i++)
		str_addf(&s, "%s%s", i ? ", " : "", plan->commands.v[i]);
	str_add(&s, "), or add it with --commands");
	return str_take(&s);
}

int denial_describe(const struct cordon_plan *plan, const struct link_denial *d, struct strv *sv,
		    struct cordon_denial *ret)
{
	struct seccomp_reason reason;

	ret->count = d->count;
	if (is_exec(d->nr)) {
		ret->what = kept(sv, str_printf("exec %s", d->text));
		ret->rule = "process.commands";
		ret->allow = kept(sv, listed_commands(plan));
	} else {
		seccomp_explain(d->nr, &plan->seccomp, &reason);
		ret->what = kept(sv, str_printf("system call %s (%s)", reason.name, reason.why));
		ret->rule = reason.rule;
		ret->allow = reason.allow;
	}
	return ret->what && ret->rule && ret->allow ? 0 : -ENOMEM;
}
