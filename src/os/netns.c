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
	struct ifreq req = { .ifr_name = "lo", .ifr_flags = IFF_UP };
	auto_close int fd = -1;

	if (unshare(CLONE_NEWNET) < 0)
		return -errno;
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || ioctl(fd, SIOCSIFFLAGS, &req) < 0)
		return -errno;
	return STEAL_FD(fd);
}

int netns_enter(int sock)
{
	auto_close int fd = ioctl(sock, SIOCGSKNS);

	if (fd < 0)
		return -errno;
	return setns(fd, CLONE_NEWNET) < 0 ? -errno : 0;
}
