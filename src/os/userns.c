/* User namespaces and their id maps: see userns.h. */
#include "os/userns.h"

#include "base/fd.h"
#include "os/process.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static int write_map(pid_t pid, const char *file, const struct id_range *ranges, size_t count)
{
	char path[64], text[256];
	size_t len = 0;

	for (size_t i = 0; i < count && len < sizeof(text) - 40; i++)
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%u %u %u\n", ranges[i].inside,
					ranges[i].outside, ranges[i].count);
	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, file);
	return fd_write_file_at(AT_FDCWD, path, text);
}

int userns_write_maps(pid_t pid, const struct id_range *uids, size_t uid_count, const struct id_range *gids,
		      size_t gid_count, bool deny_setgroups)
{
	char path[64];
	int r;

	if (deny_setgroups) {
		snprintf(path, sizeof(path), "/proc/%d/setgroups", (int)pid);
		r = fd_write_file_at(AT_FDCWD, path, "deny");
		if (r < 0)
			return r;
	}
	r = write_map(pid, "uid_map", uids, uid_count);
	return r < 0 ? r : write_map(pid, "gid_map", gids, gid_count);
}

bool userns_is_own(void)
{
	unsigned inside, outside, count;
	char text[256];

	return fd_read_file_at(AT_FDCWD, "/proc/self/uid_map", text, sizeof(text)) > 0 &&
	       (sscanf(text, "%u %u %u", &inside, &outside, &count) != 3 || inside != 0 || outside != 0 ||
		count != 0xffffffffU);
}

/* A process that has the namespace open until the other end of its pipe is closed, be it by our death. */
static _Noreturn void hold(int lifeline[2])
{
	char byte;

	fd_close(&lifeline[1]);
	while (read(lifeline[0], &byte, 1) < 0 && errno == EINTR)
		;
	_exit(0);
}

int userns_for_idmap(const struct id_range *uids, const struct id_range *gids, size_t count)
{
	auto_proc int pidfd = -1;
	auto_close int theirs = -1, ours = -1; /* closed before the process is waited for */
	char path[64];
	int fd, r, pair[2];
	pid_t pid;

	if (pipe2(pair, O_CLOEXEC) < 0)
		return -errno;
	theirs = pair[0];
	ours = pair[1];
	pid = process_clone(CLONE_NEWUSER, &pidfd);
	if (pid < 0)
		return pid;
	if (pid == 0)
		hold(pair);
	r = userns_write_maps(pid, uids, count, gids, count, false);
	if (r < 0)
		return r;
	snprintf(path, sizeof(path), "/proc/%d/ns/user", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

int userns_share_inotify(int proc)
{
	char text[32];
	/* The machine's, and so the same in every /proc; in the one that is there the kernel has looked it up before. */
	ssize_t n = fd_read_file_at(AT_FDCWD, "/proc/sys/fs/inotify/max_user_watches", text, sizeof(text));
	int r = fd_write_file_at(proc, "sys/user/max_inotify_instances", "32");

	if (r < 0 || n <= 0)
		return r;
	snprintf(text, sizeof(text), "%lu", strtoul(text, NULL, 10) / 2);
	return fd_write_file_at(proc, "sys/user/max_inotify_watches", text);
}

int userns_limit_inotify(int pidfd)
{
	auto_close int child = -1;
	int r = process_clone(0, &child), status = 0;

	if (r < 0)
		return r;
	if (r == 0) {
		/* What is found in /proc/sys/user is that of whoever looks. */
		auto_close int proc = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);

		r = proc < 0 || setns(pidfd, CLONE_NEWUSER) < 0 ? -errno : userns_share_inotify(proc);
		_exit(r < 0 ? -r : 0);
	}
	r = process_wait(child, &status);
	if (r < 0)
		return r;
	return WIFEXITED(status) ? -WEXITSTATUS(status) : -EIO;
}
