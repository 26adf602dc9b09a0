/*
 * The way out of a box: a link that ends in a second network namespace, the gateway, where every address is local.
 *
 *	box's namespace                          gateway's namespace
 *	lo, eth0 198.19.255.2/30  ===veth===     gw 198.19.255.1
 *	default via 198.19.255.1                 local 0.0.0.0/0 (AnyIP); nothing is forwarded
 *
 * A listener in the gateway accepts a connection to any address, and getsockname() tells which. In the box there is only a default
 * route, so that the payload has every port for itself. Nothing else leads out of either namespace, and no process lives in the
 * gateway: its sockets alone keep it. When the last is closed it goes away and takes the link with it.
 *
 * Works for an ordinary user: what it needs are rights over the two namespaces only. No netfilter, no process outside.
 *
 * Ports without a listener answer like a host without a server (reset, port unreachable), and `packets` reports them. With `lazy`
 * they do not answer: whoever reads `packets` decides on each, with gateway_listen() and gateway_replay(), or gateway_refuse(). He
 * needs no right for any of it.
 *
 * gateway_open() runs in the payload's child; the rest in the egress process, or in the one that carries to it. Helpers return -errno.
 */
#ifndef OS_GATEWAY_H
#define OS_GATEWAY_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	GATEWAY_PORTS_MAX = 128,   /* more than that: lazy */
	GATEWAY_DNS_PORT = 53,     /* always there */
	GATEWAY_PACKET_SIZE = 120, /* the longest IPv4 and TCP headers: what is captured of a packet */
};

struct gateway_options {
	const char *gateway_address, *box_address; /* of the link's ends */
	unsigned link_bits;
	const uint16_t *ports; /* TCP ports with a listener from the start, each once; not 53 */
	size_t port_count;
	int settings;  /* /proc/sys/net, where it may be gone by then; -1: it is opened */
	int elsewhere; /* a socket of a fresh network namespace, which becomes the gateway's; -1: one is made */
	bool lazy;     /* ports without one wait for a decision instead of refusing */
	/* Where the caller has no right over the box's namespace: somebody who has is told the gateway's, once that is there, and calls
	 * gateway_link(). 0 or -errno. NULL: gateway_open() makes the link and sets the box up itself. */
	int (*link)(void *arg, int gateway_netns);
	void *arg;
};

struct gateway {
	int dns_udp;   /* 0.0.0.0:53 with IP_PKTINFO: answer from ipi_spec_dst */
	int dns_tcp;   /* a listener */
	int packets;   /* one datagram, an IPv4 header on, per SYN to another port */
	int datagrams; /* the same per UDP packet elsewhere */
	int spare;     /* lazy: a TCP socket of the gateway without a port; else -1 */
	int nursery;   /* lazy: where the next spare socket comes from; else -1. Not for accept() */
	size_t count;
	int listeners[GATEWAY_PORTS_MAX]; /* in the order of the options' ports */
};

/* Makes the gateway and the link, and sets up the calling process's network namespace as the box's: lo, eth0, every port free to
 * bind. All fds are non-blocking and close-on-exec. On failure *ret_step (may be NULL) names what failed; the process may then be in
 * either namespace and must not go on.
 * Needs: a network namespace of its own, fresh; all capabilities over it; CAP_SYS_ADMIN in its own user namespace; one thread;
 * /proc with a writable sys/net. */
int gateway_open(const struct gateway_options *o, struct gateway *ret, const char **ret_step);
/* The box's part, where `link` is another's: from the box's namespace, which the process is in. Every port is left as it is. Needs: CAP_NET_ADMIN
 * over both namespaces, and nothing else. */
int gateway_link(const struct gateway_options *o, int gateway_netns);
/* Until what the box sends gets through: once gateway_open() is done. */
int gateway_link_wait(void);
/* Closes what is open; a zeroed struct is not valid, one by gateway_init() is. */
void gateway_init(struct gateway *g);
void gateway_close(struct gateway *g);

/* Lazy: a listener on one more port, made of `spare`, which is replaced. -EADDRINUSE: there is one. */
int gateway_listen(struct gateway *g, uint16_t port);

/* What was tried. */
struct gateway_attempt {
	uint8_t protocol; /* IPPROTO_TCP: a SYN; IPPROTO_UDP */
	struct in_addr from, to;
	uint16_t from_port, to_port;
};
/* One from `packets` or `datagrams` into data; its length, or -errno (-EAGAIN: none; -EBADMSG: not what it should be, try the next). */
int gateway_read(int packets, uint8_t data[static GATEWAY_PACKET_SIZE], struct gateway_attempt *ret);
/* The SYN arrives again, as if for the first time: for a listener that has been made since. */
int gateway_replay(int packets, const uint8_t *data, size_t len);
/* The SYN is answered by a reset: the box sees a refused connection. */
int gateway_refuse(int packets, const uint8_t *data, size_t len);

/* A question over UDP: who asked, and whom. */
struct gateway_query {
	struct sockaddr_in from;
	struct in_addr to;
};
/* One from `dns_udp`; its length, or -errno (-EAGAIN: none; -EBADMSG: not what it should be, try the next). */
int gateway_asked(int dns_udp, void *data, size_t size, struct gateway_query *ret);
/* From the address that was asked: any address is ours here. What cannot be sent is lost, as UDP is. */
void gateway_answer(int dns_udp, const struct gateway_query *query, const void *data, size_t len);

#endif
