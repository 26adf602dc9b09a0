/* Network namespaces. */
#ifndef OS_NETNS_H
#define OS_NETNS_H

/* Into a new one, whose loopback is up. Returns a socket of it, which leads others there, or -errno. */
int netns_enter_new(void);
/* Into the one that this socket belongs to. Needs CAP_NET_ADMIN and CAP_SYS_ADMIN over it. 0 or -errno. */
int netns_enter(int sock);

#endif
