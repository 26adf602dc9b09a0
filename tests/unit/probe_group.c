/* The try of a control group, where nothing in it can be killed through it: nobody is left behind. */
#include "os/cgroup.h"
#include "os/probe_try.h"
#include "tap.h"

#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

int __wrap_cgroup_kill(const struct cgroup *cg);

/* Once it has joined. */
int __wrap_cgroup_kill(const struct cgroup *cg)
{
	(void)cg;
	usleep(200000);
	return -EIO;
}

int main(void)
{
	struct cgroup_host host;
	siginfo_t left = { 0 };
	int r;

	cgroup_probe(&host);
	if (host.mode == CGROUP_NONE || host.needs_scope) {
		skip("no control group of our own here");
		return done_testing();
	}
	(void)prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
	r = probe_attempt(try_cgroup);
	ok(r < 0, "a group through which nobody can be killed does not work: %d", r);
	ok(waitid(P_ALL, 0, &left, WEXITED | WNOHANG | WNOWAIT) < 0 && errno == ECHILD, "who was in it is gone");
	return done_testing();
}
