/* Calling a runtime's program: see oci.h. Its last words are kept, for the message when it fails. */
#include "driver/oci.h"

#include "base/clock.h"
#include "base/fd.h"
#include "base/str.h"
#include "os/mount.h"
#include "os/process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { CALL_US = 60000000 };

#define UNIFIED "/sys/fs/cgroup/unified"

#define SETTINGS "/proc/sys/net"

/* With a whole /proc behind it: the kernel lets a user namespace, which gVisor's is, mount one only if there is one that nothing covers. */
static int hide_settings(void)
{
	if (mount("tmpfs", SETTINGS, "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, "size=4k,mode=0755") < 0 ||
	    mkdir(SETTINGS "/proc", 0700) < 0 || mount("/proc", SETTINGS "/proc", NULL, MS_BIND, NULL) < 0)
		return -errno;
	return 0;
}

static int hide_unified(void)
{
	if (umount2(UNIFIED, MNT_DETACH) == 0 || errno == ENOENT)
		return 0;
	/* In a user namespace the host's mounts are locked: it is covered. */
	return mount("none", UNIFIED, "tmpfs", MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC, "size=4k");
}

/* Needs: root. Takes away: what is hidden, and that mounts made outside from now on are seen. */
static int hide(const struct oci_call *call)
{
	if (!call->hide_unified && !call->hide_settings)
		return 0;
	if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return -errno;
	if (call->hide_unified && hide_unified() < 0)
		return -errno;
	if (call->hide_settings)
		return hide_settings();
	return 0;
}

/*
 * crun starts itself a second time, from a read-only mount of its own file that only it has, so that no container can write to the
 * program through /proc/PID/exe. It is started from such a mount at once: the variable says so, and it looks for itself whether it is true.
 * Returns where that cannot be had.
 */
static void execute_sealed(const char *program, const char *const *argv)
{
	int fd = mount_clone(AT_FDCWD, program, false);

	if (fd < 0 || mount_restrict(fd, MOUNT_ATTR_RDONLY, 0, false) < 0 ||
	    setenv("_LIBCONTAINER_CLONED_BINARY", "1", 1) < 0)
		return;
	(void)syscall(SYS_execveat, fd, "", argv, environ, AT_EMPTY_PATH);
	(void)unsetenv("_LIBCONTAINER_CLONED_BINARY");
}

static _Noreturn void become_runtime(const struct oci_call *call, int said)
{
	auto_close int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	int stdio = call->stdio >= 0 ? call->stdio : null, none;

	if ((call->cgroup && cgroup_join(call->cgroup) < 0) || hide(call) < 0)
		_exit(126);
	if (dup2(stdio, 0) < 0 || dup2(stdio, 1) < 0 || dup2(call->stderr_too ? stdio : said, 2) < 0 ||
	    process_close_others(&none, 0) < 0)
		_exit(126);
	process_reset_signals();
	if (process_reset_scheduling() < 0) /* whatever it starts has no better priority than others */
		_exit(126);
	if (strcmp(call->argv[0], "crun") == 0)
		execute_sealed(call->program, call->argv);
	execv(call->program, (char *const *)(uintptr_t)call->argv);
	_exit(127);
}

/* Appends what the pipe has; the first half of a full buffer goes. */
static void listen_to(int fd, char *buf, size_t size, size_t *len)
{
	ssize_t n;

	do {
		if (*len > size / 2) {
			memmove(buf, buf + *len - size / 4, size / 4);
			*len = size / 4;
		}
		n = read(fd, buf + *len, size - *len - 1);
		if (n > 0)
			*len += (size_t)n;
	} while (n > 0);
	buf[*len] = '\0';
}

/* The last line with anything in it, without what a terminal would take for a command. */
static void last_line(const struct oci_call *call, char *text)
{
	size_t len = strlen(text);
	char *line;

	while (len && strchr(" \r\n\t", text[len - 1]))
		text[--len] = '\0';
	line = strrchr(text, '\n');
	snprintf(call->said, call->said_size, "%s", line ? line + 1 : text);
	for (char *p = call->said; *p; p++)
		if ((unsigned char)*p < ' ' || *p == 0x7f)
			*p = ' ';
}

static int watch(const struct oci_call *call, int proc, int said)
{
	uint64_t start = clock_us();
	char text[8192] = "";
	size_t len = 0;
	int status = 0, why = 0;

	for (;;) {
		struct pollfd fds[] = { { .fd = proc, .events = POLLIN },
					{ .fd = said, .events = POLLIN },
					{ .fd = call->driver && !call->driver->is_gone ? call->driver->control : -1,
					  .events = POLLIN } };

		(void)poll(fds, ARRAY_LEN(fds), 1000);
		listen_to(said, text, sizeof(text), &len);
		if (fds[0].revents)
			break;
		if (fds[1].revents & POLLHUP)
			said = -1;
		if (!why && fds[2].revents && control_next(call->driver) == ENGINE_KILL)
			why = -ECANCELED;
		if (!why && clock_us() - start > (call->timeout_us ? call->timeout_us : CALL_US))
			why = -ETIMEDOUT;
		if (why)
			(void)process_signal(proc, SIGKILL);
	}
	if (call->said)
		last_line(call, text);
	(void)process_wait(proc, &status);
	return why ? why : status;
}

int oci_call(const struct oci_call *call)
{
	auto_close int proc = -1, from = -1, to = -1;
	int pair[2];
	pid_t pid;

	if (pipe2(pair, O_CLOEXEC | O_NONBLOCK) < 0)
		return -errno;
	from = pair[0];
	to = pair[1];
	pid = process_clone(0, &proc);
	if (pid < 0)
		return pid;
	if (pid == 0)
		become_runtime(call, to);
	fd_close(&to);
	return watch(call, proc, from);
}

int oci_find(const struct driver *d, const char *engine, char *buf, size_t size, struct cordon_error *err)
{
	const char *path = getenv("PATH");
	auto_free char *all = str_printf("%s:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin", path ? path : "");
	char *rest = all;

	if (!all)
		return fail_memory(err);
	if (d->spec.runtime && strcmp(engine, d->engine) == 0) {
		snprintf(buf, size, "%s", d->spec.runtime);
		if (access(buf, X_OK) == 0)
			return 0;
	} else {
		for (char *dir; (dir = strsep(&rest, ":"));) {
			if (dir[0] != '/')
				continue;
			snprintf(buf, size, "%s/%s", dir, engine);
			if (access(buf, X_OK) == 0)
				return 0;
		}
	}
	cordon_fail(err, CORDON_UNAVAILABLE, 0, "the runtime %s is not installed", engine);
	return fail_hint(err, "install it (on Debian: apt-get install %s), or use another engine", engine);
}
