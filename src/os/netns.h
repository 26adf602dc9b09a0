/* Network namespaces. */
#ifndef OS_NETNS_H
#define OS_NETNS_H

/* Into a new one; nothing is up in it. 0 or -errno. */
int netns_enter_new(void);
int netns_loopback_up(int sock);
/* A socket of the one that the process is in, which leads others there (netns_enter()); or -errno. */
int netns_socket(void);
/* Into the one that this socket belongs to. Needs CAP_NET_ADMIN and CAP_SYS_ADMIN over it. 0 or -errno. */
int netns_enter(int sock);

/* The namespaces of a running process, held before anybody goes in. `user` is -1 where it has the caller's own. */
struct netns_of {
	int net, user;
};
#define NETNS_OF_INIT                 \
	{                             \
		.net = -1, .user = -1 \
	}
/* -EXDEV: its network is the caller's own; -ESRCH: it is gone. Needs: the right to look at it. 0 or -errno. */
int netns_of(int pid, int pidfd, struct netns_of *ret);
void netns_of_close(struct netns_of *n);
/* Into both. Needs: CAP_SYS_ADMIN over them, which the owner of the user namespace has from outside. 0 or -errno. */
int netns_enter_of(const struct netns_of *n);

#endif
