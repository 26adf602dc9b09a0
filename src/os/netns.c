/* Network namespaces: see netns.h. */
#include "os/netns.h"

#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>

int netns_enter_new(void)
{
	return unshare(CLONE_NEWNET) < 0 ? -errno : 0;
}

int netns_socket(void)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	return fd < 0 ? -errno : fd;
}

int netns_loopback_up(int sock)
{
	struct ifreq req = { .ifr_name = "lo", .ifr_flags = IFF_UP };

	return ioctl(sock, SIOCSIFFLAGS, &req) < 0 ? -errno : 0;
}

int netns_enter(int sock)
{
	auto_close int fd = ioctl(sock, SIOCGSKNS);

	if (fd < 0)
		return -errno;
	return setns(fd, CLONE_NEWNET) < 0 ? -errno : 0;
}

/* ---- of others ---- */

static int open_namespace(int pid, const char *name)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/ns/%s", pid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static bool is_own(int fd, const char *own)
{
	struct stat theirs, ours;

	return fstat(fd, &theirs) < 0 || stat(own, &ours) < 0 ||
	       (theirs.st_dev == ours.st_dev && theirs.st_ino == ours.st_ino);
}

int netns_of(int pid, int pidfd, struct netns_of *ret)
{
	struct netns_of n = { .net = open_namespace(pid, "net"), .user = open_namespace(pid, "user") };
	struct pollfd gone = { .fd = pidfd, .events = POLLIN };
	int r = n.net < 0 ? n.net : n.user < 0 ? n.user : 0;

	/* A pid that was somebody else's meanwhile is seen by its pidfd. */
	if (r == 0 && poll(&gone, 1, 0) != 0)
		r = -ESRCH;
	if (r == 0 && is_own(n.net, "/proc/self/ns/net"))
		r = -EXDEV;
	if (r < 0) {
		netns_of_close(&n);
		return r;
	}
	if (is_own(n.user, "/proc/self/ns/user"))
		fd_close(&n.user);
	*ret = n;
	return 0;
}

void netns_of_close(struct netns_of *n)
{
	if (n->net >= 0)
		fd_close(&n->net);
	if (n->user >= 0)
		fd_close(&n->user);
}

int netns_enter_of(const struct netns_of *n)
{
	if (n->user >= 0 && setns(n->user, CLONE_NEWUSER) < 0)
		return -errno;
	return setns(n->net, CLONE_NEWNET) < 0 ? -errno : 0;
}
