/* A driver on an errand: see errand.h. */
#include "plan/errand.h"

#include "base/clock.h"
#include "base/fd.h"
#include "base/str.h"
#include "os/process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SAID_MAX = 2048 };

static _Noreturn void become(const char *driver, char *const *argv, int out)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	process_reset_signals();
	if (null >= 0 && dup2(null, 0) >= 0 && dup2(out, 1) >= 0 && dup2(null, 2) >= 0)
		execve(driver, argv, environ);
	_exit(127);
}

/* What it says until it closes its end; false when the time is over. */
static bool listen_to(int out, uint64_t end_us, struct str *said)
{
	char buffer[512];

	for (;;) {
		struct pollfd p = { .fd = out, .events = POLLIN };
		uint64_t now_us = clock_us();
		ssize_t n;

		if (now_us >= end_us)
			return false;
		if (poll(&p, 1, (int)((end_us - now_us) / 1000) + 1) <= 0)
			continue;
		n = read(out, buffer, sizeof(buffer));
		if (n <= 0)
			return n == 0 || errno != EINTR;
		if (said->len < SAID_MAX)
			str_add_bytes(said, buffer, (size_t)n);
	}
}

int engine_errand(const char *driver, const char *engine, const char *what, const char *arg, unsigned timeout_ms,
		  char **ret_said)
{
	char *const argv[] = { (char *)(uintptr_t)driver, (char *)(uintptr_t)engine, (char *)(uintptr_t)what,
			       (char *)(uintptr_t)arg, NULL };
	auto_proc int process = -1; /* killed where it is still there */
	auto_close int out = -1, theirs = -1;
	auto_str struct str said = { 0 };
	int pair[2], status = -1;
	pid_t pid;

	if (pipe2(pair, O_CLOEXEC) < 0)
		return -1;
	out = pair[0];
	theirs = pair[1];
	pid = process_clone(0, &process);
	if (pid == 0)
		become(driver, argv, theirs);
	fd_close(&theirs);
	if (pid > 0 && listen_to(out, clock_us() + timeout_ms * 1000ULL, &said) && process_wait(process, &status) == 0)
		fd_close(&process);
	if (ret_said)
		*ret_said = str_take(&said);
	return status != -1 && WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -1;
}
