/*
 * How many netlink sockets a box may have at a time. What the kernel puts into their buffers, some hundred kilobytes each, is in no control group's
 * memory, on v1 nor v2, and open files alone would bound it to gigabytes. So the filter tells the listener of each one that is made, and
 * the listener counts what the box's network namespace has. A family and a protocol are registers: no other thread can change them, and the call may be
 * continued.
 */
#ifndef OS_NETLINK_QUOTA_H
#define OS_NETLINK_QUOTA_H

#include "os/seccomp.h"

/* What their buffers may come to, where each is as large as the host lets it be; but some sockets there are in any case. */
enum { NETLINK_BYTES_MAX = 32 << 20, NETLINK_SOCKETS_MIN = 16, NETLINK_SOCKETS_MAX = 64 };

/* Whether the event is of such a socket. */
bool netlink_quota_asks(const struct seccomp_event *e);
/* How many there may still be in the network namespace of whoever asks; -errno. Threads that ask at once may go past the bound, each by one. */
int netlink_quota_left(const struct seccomp_event *e);

#endif
