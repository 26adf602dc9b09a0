/* Whose keeper is gone: names of this boot and of another, of a living process, of one that is dead and that nobody waits for. */
#include "base/owner.h"
#include "tap.h"

#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* The name that a process has which started now: our own with its number. */
static void name_of(pid_t pid, char buf[OWNER_NAME_MAX])
{
	char own[OWNER_NAME_MAX] = "";
	const char *rest;

	(void)owner_name(own);
	rest = strchr(own + strlen("cordon-"), '-');
	snprintf(buf, OWNER_NAME_MAX, "cordon-%d%s", (int)pid, rest ? rest : "");
}

static pid_t child(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		pause();
		_exit(0);
	}
	return pid;
}

/* What somebody in another pid namespace takes the name for: 0 or 1; -1 where there can be none. */
static int judged_elsewhere(const char *name)
{
	int status = -1;
	pid_t pid = fork();

	if (pid == 0) {
		pid_t inner = unshare(CLONE_NEWPID) < 0 && unshare(CLONE_NEWUSER | CLONE_NEWPID) < 0 ? -1 : fork();
		/* Its own /proc tells it apart; without one its number in this one does not exist. */
		if (inner == 0)
			_exit(owner_is_orphan(name));
		_exit(inner > 0 && waitpid(inner, &status, 0) == inner && WIFEXITED(status) ? WEXITSTATUS(status) : 2);
	}
	return waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) < 2 ? WEXITSTATUS(status)
											       : -1;
}

int main(void)
{
	const struct timespec start = { .tv_nsec = 100000000 }, old = { .tv_sec = 5, .tv_nsec = 200000000 };
	char own[OWNER_NAME_MAX], living[OWNER_NAME_MAX], dead[OWNER_NAME_MAX], gone[OWNER_NAME_MAX];
	pid_t alive = child(), zombie = child(), reaped = child();
	unsigned long pids = 0;
	siginfo_t info;

	nanosleep(&start, NULL); /* names are given after the start */
	ok(owner_name(own) == 0 && !owner_is_orphan(own), "our own name is nobody's orphan");
	name_of(alive, living);
	name_of(zombie, dead);
	name_of(reaped, gone);
	kill(zombie, SIGKILL);
	kill(reaped, SIGKILL);
	waitpid(reaped, NULL, 0);
	waitid(P_PID, (id_t)zombie, &info, WEXITED | WNOWAIT);
	ok(owner_is_orphan(gone), "that of a process that is gone is one");
	ok(owner_is_orphan("cordon-1-1-00000000"), "and of another boot, whoever has the number");
	ok(owner_is_orphan("cordon-1-1-00000000-f0000001"), "and whatever its pid namespace");
	ok(*strrchr(gone, '-') && sscanf(strrchr(gone, '-'), "-%lx", &pids) == 1 && pids,
	   "a name has its pid namespace");
	snprintf(strrchr(gone, '-'), 24, "-%lx", pids + 1);
	ok(!owner_is_orphan(gone), "that of another pid namespace, in which the process may live, is not");
	snprintf(strrchr(gone, '-'), 24, "-%lxz", pids);
	ok(!owner_is_orphan(gone), "nor what only begins like one");
	*strrchr(gone, '-') = '\0';
	ok(owner_is_orphan(gone), "without a namespace it is taken for ours");
	ok(!owner_is_orphan("cordon-x") && !owner_is_orphan("other"), "what is no owner's name is not");
	ok(!owner_is_orphan("cordon-1-1-0000000g") && !owner_is_orphan("cordon-1-1-00000000-") &&
		   !owner_is_orphan("cordon-1-1-00000000-1x"),
	   "nor what only begins like one");
	if (judged_elsewhere(own) < 0)
		skip("no pid namespaces here");
	else
		is_num(judged_elsewhere(own), 0,
		       "whose number means nothing in another pid namespace is no orphan there");
	nanosleep(&old, NULL); /* until then, who has the number is not looked at */
	ok(owner_is_orphan(dead), "who is dead and nobody waits for owns nothing");
	ok(!owner_is_orphan(living), "control: who lives does");
	kill(alive, SIGKILL);
	waitpid(alive, NULL, 0);
	waitpid(zombie, NULL, 0);
	return done_testing();
}
