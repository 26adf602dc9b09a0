/* Going into another process's network namespace: as root, or as the owner of its user namespace; not into one's own, nor after its end. */
#include "os/netns.h"

#include "base/fd.h"
#include "os/process.h"
#include "tap.h"

#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* A process with namespaces of its own, until it is killed. */
static pid_t start(int flags, int *ret_pidfd)
{
	int ready[2];
	char byte = 1;
	pid_t pid;

	if (pipe2(ready, O_CLOEXEC) < 0)
		return -1;
	pid = process_clone(0, ret_pidfd);
	if (pid == 0) {
		byte = flags && unshare(flags) < 0 ? 0 : 1;
		(void)!write(ready[1], &byte, 1);
		for (;;)
			pause();
	}
	close(ready[1]);
	if (read(ready[0], &byte, 1) != 1 || !byte)
		pid = -1;
	close(ready[0]);
	return pid;
}

static void stop(int *pidfd)
{
	process_end(pidfd);
}

static ino_t inode_of(int fd)
{
	struct stat st;

	return fstat(fd, &st) < 0 ? 0 : st.st_ino;
}

/* In a child of ours: whether it arrived, and may change what is there. */
static int enter_and_change(const struct netns_of *n)
{
	struct stat here;
	int status = -1;
	pid_t pid = fork();

	if (pid == 0) {
		int r = netns_enter_of(n);

		if (r < 0)
			_exit(-r & 0xff ? -r & 0xff : 255);
		if (stat("/proc/self/ns/net", &here) < 0 || here.st_ino != inode_of(n->net))
			_exit(254);
		_exit(netns_loopback_up(netns_socket()) < 0 ? 253 : 0);
	}
	(void)waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void test_other(int flags, const char *what)
{
	struct netns_of n = NETNS_OF_INIT;
	int pidfd = -1;
	pid_t pid = start(flags, &pidfd);

	if (pid < 0) {
		skip("%s: no such namespaces here", what);
		stop(&pidfd);
		return;
	}
	ok(netns_of(pid, pidfd, &n) == 0, "%s", what);
	ok((n.user >= 0) == !!(flags & CLONE_NEWUSER), "its user namespace is held where it is another");
	ok(enter_and_change(&n) == 0, "and can be entered, with rights over it");
	netns_of_close(&n);
	ok(n.net == -1 && n.user == -1, "closed");
	stop(&pidfd);
	ok(netns_of(pid, pidfd, &n) < 0, "not after its end");
}

static void test_own(void)
{
	struct netns_of n = NETNS_OF_INIT;
	int pidfd = -1;
	pid_t pid = start(0, &pidfd);

	ok(netns_of(pid, pidfd, &n) == -EXDEV, "one's own network is none to enter");
	ok(n.net == -1 && n.user == -1, "and is not held");
	stop(&pidfd);
}

int main(void)
{
	test_other(CLONE_NEWUSER | CLONE_NEWNET, "a network namespace below a user namespace of one's own");
	if (geteuid() == 0)
		test_other(CLONE_NEWNET, "as root, one of the same user namespace");
	test_own();
	return done_testing();
}
