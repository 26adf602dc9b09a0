/* Netlink sockets of a box: see netlink_quota.h. Runs in the keeper, in a foreign box in init. */
#include "os/netlink_quota.h"

#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>

bool netlink_quota_asks(const struct seccomp_event *e)
{
	return e->nr == SYS_socket && (uint32_t)e->args[0] == AF_NETLINK && (uint32_t)e->args[2] == NETLINK_ROUTE;
}

/* A buffer is twice what a program asks for, and that at most rmem_max; not to be read is its usual value. */
static int most(void)
{
	char text[32];
	ssize_t n = fd_read_file_at(AT_FDCWD, "/proc/sys/net/core/rmem_max", text, sizeof(text));
	uint64_t buffer = 2 * (n > 0 ? strtoull(text, NULL, 10) : 212992), fit;

	fit = buffer > 0 ? NETLINK_BYTES_MAX / buffer : NETLINK_SOCKETS_MAX;
	if (fit < NETLINK_SOCKETS_MIN)
		return NETLINK_SOCKETS_MIN;
	return fit > NETLINK_SOCKETS_MAX ? NETLINK_SOCKETS_MAX : (int)fit;
}

/* A row of /proc/PID/net/protocols: "NETLINK", the size of one, how many. Unlike /proc/net/netlink it counts those without an address, too. */
int netlink_quota_left(const struct seccomp_event *e)
{
	char path[48], text[16384];
	const char *row;
	ssize_t n;
	int count, bound;

	snprintf(path, sizeof(path), "/proc/%d/net/protocols", e->pid);
	n = fd_read_file_at(AT_FDCWD, path, text, sizeof(text));
	if (n < 0)
		return (int)n;
	row = strstr(text, "\nNETLINK ");
	if (!row || sscanf(row, " NETLINK %*u %d", &count) != 1)
		return -ENOENT;
	bound = most();
	return count < bound ? bound - count : 0;
}
