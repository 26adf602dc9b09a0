/* Network namespaces. */
#ifndef OS_NETNS_H
#define OS_NETNS_H

/* Into a new one; nothing is up in it. 0 or -errno. */
int netns_enter_new(void);
int netns_loopback_up(void);
/* A socket of the one that the process is in, which leads others there (netns_enter()); or -errno. */
int netns_socket(void);
/* Into the one that this socket belongs to. Needs CAP_NET_ADMIN and CAP_SYS_ADMIN over it. 0 or -errno. */
int netns_enter(int sock);

#endif
