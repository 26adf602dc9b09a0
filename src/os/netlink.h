/*
 * rtnetlink: links, addresses, neighbours, routes and rules of a network namespace. Requests are collected in one buffer and
 * sent in one message: only the last one asks for an answer, so that a batch costs two system calls however long it is. The kernel
 * goes on after a request that failed, and tells; the first failure is what netlink_commit() returns.
 *
 * A socket belongs to the network namespace in which it was opened, wherever its process goes afterwards.
 * Needs: CAP_NET_ADMIN in the user namespace that owns the network namespace. Runs in init. Helpers return -errno.
 */
#ifndef OS_NETLINK_H
#define OS_NETLINK_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { NETLINK_LOOPBACK = 1, NETLINK_MAC = 6 }; /* lo is always the first link; bytes of an Ethernet address */

struct netlink {
	int fd;
	uint32_t seq;
	bool overflow; /* the batch did not fit: nothing of it is sent */
	size_t used, last;
	char batch[2048] __attribute__((aligned(8)));
};

/* What a link is at this moment: IFF_UP, IFF_RUNNING … Not part of a batch. */
int netlink_link_flags(struct netlink *nl, int index, unsigned *ret_flags);
int netlink_open(struct netlink *nl);
void netlink_done(struct netlink *nl); /* an fd of -1 is fine */
/* The namespace of this socket, as an fd for setns() and for a link's peer. Without /proc. */
int netlink_namespace(const struct netlink *nl);

/* Each adds one request to the batch. */
void netlink_link_set(struct netlink *nl, int index, unsigned flags); /* IFF_UP and the like are set, none taken away */
struct netlink_end {
	const char *name;
	int index; /* chosen by the caller, so that later requests of the same batch can name it */
	const uint8_t *mac;
};
struct netlink_veth {
	struct netlink_end end, peer;
	int peer_netns; /* where the peer appears, down */
	unsigned flags; /* of this end: IFF_UP, … */
	unsigned mtu;   /* of both; 0: the kernel's */
};
void netlink_veth_new(struct netlink *nl, const struct netlink_veth *veth);
/* One IPV4_DEVCONF_* of a link, as /proc/sys/net/ipv4/conf/LINK would set it. */
void netlink_link_conf(struct netlink *nl, int index, int key, uint32_t value);
void netlink_address_new(struct netlink *nl, int index, struct in_addr address, unsigned bits);
void netlink_neighbour_new(struct netlink *nl, int index, struct in_addr address, const uint8_t *mac); /* for good */
struct netlink_route {
	unsigned char table, type, scope; /* RT_TABLE_*, RTN_*, RT_SCOPE_* */
	struct in_addr to, via;           /* via 0: none */
	unsigned char bits;
	int index;
};
void netlink_route_new(struct netlink *nl, const struct netlink_route *route);
struct netlink_rule {
	uint32_t priority;
	unsigned char action;   /* FR_ACT_* */
	unsigned char table;    /* FR_ACT_TO_TBL */
	unsigned char protocol; /* IPPROTO_*; 0: any */
	const char *from_link;  /* "lo": what is sent from here; NULL: any */
	bool unmarked;          /* only packets without a mark */
};
void netlink_rule_change(struct netlink *nl, const struct netlink_rule *rule, bool add);

/* Sends the batch and empties it: 0, or the first failure. */
int netlink_commit(struct netlink *nl);

#endif
