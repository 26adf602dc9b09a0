/* Network namespaces: see netns.h. */
#include "os/netns.h"

#include "base/fd.h"

#include <errno.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

int netns_enter_new(void)
{
	return unshare(CLONE_NEWNET) < 0 ? -errno : 0;
}

int netns_socket(void)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	return fd < 0 ? -errno : fd;
}

int netns_loopback_up(void)
{
	struct ifreq req = { .ifr_name = "lo", .ifr_flags = IFF_UP };
	auto_close int fd = netns_socket();

	if (fd < 0)
		return fd;
	return ioctl(fd, SIOCSIFFLAGS, &req) < 0 ? -errno : 0;
}

int netns_enter(int sock)
{
	auto_close int fd = ioctl(sock, SIOCGSKNS);

	if (fd < 0)
		return -errno;
	return setns(fd, CLONE_NEWNET) < 0 ? -errno : 0;
}
