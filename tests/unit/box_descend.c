/* Ending every descendant: those that cannot be looked for are not gone. */
#include "box/descend.h"
#include "tap.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* A child, and one of its own that loses it. */
static void start(void)
{
	if (fork() == 0) {
		if (fork() == 0)
			for (;;)
				pause();
		_exit(0);
	}
	(void)wait(NULL);
}

static bool has_living_child(void)
{
	siginfo_t info = { 0 };

	return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && !info.si_pid;
}

int main(void)
{
	struct rlimit before, none;
	int next;

	(void)prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
	ok(descend_end(1000), "where there is nobody, nobody is left");
	start();
	ok(has_living_child(), "control: somebody is there");
	next = open("/", O_PATH | O_CLOEXEC);
	(void)close(next);
	(void)getrlimit(RLIMIT_NOFILE, &before);
	none = before;
	none.rlim_cur = (rlim_t)next;
	(void)setrlimit(RLIMIT_NOFILE, &none);
	ok(!descend_end(100), "without a descriptor for /proc nobody is said to be gone");
	none.rlim_cur = (rlim_t)next + 1;
	(void)setrlimit(RLIMIT_NOFILE, &none);
	ok(!descend_end(100), "nor with one for /proc alone");
	ok(has_living_child(), "and nobody is");
	(void)setrlimit(RLIMIT_NOFILE, &before);
	ok(descend_end(10000), "where they can be looked for, they are ended");
	ok(!has_living_child(), "and gone");
	return done_testing();
}
