/* Network namespaces. Runs in init. Helpers return -errno. */
#ifndef OS_NETNS_H
#define OS_NETNS_H

int netns_loopback_up(void);

#endif
