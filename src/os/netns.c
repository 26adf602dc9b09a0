/* Network namespaces: see netns.h. */
#include "os/netns.h"

#include "base/fd.h"

#include <errno.h>
#include <net/if.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

int netns_loopback_up(void)
{
	auto_close int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct ifreq req = { .ifr_name = "lo", .ifr_flags = IFF_UP };

	if (fd < 0)
		return -errno;
	return ioctl(fd, SIOCSIFFLAGS, &req) < 0 ? -errno : 0;
}
