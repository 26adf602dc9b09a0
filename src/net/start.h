/*
 * How the egress process is started, and what it gets while the box is built. Shared by the keeper, who does it, and by egress.
 *
 * Executed as {"cordon-egress", "UID:GID"} with an empty environment, 0, 1 and 2 at /dev/null, and the fds below. UID:GID is whom it becomes;
 * left out where the keeper is an ordinary user (egress then stays that user), needed where it is root.
 * An egress that cannot start sends its struct cordon_error back on NET_START_CAPTURE and exits.
 * End of file on NET_START_CAPTURE means that the box is gone: egress tells what is left to tell and exits.
 */
#ifndef NET_START_H
#define NET_START_H

#include <stdint.h>

enum {
	NET_START_CONFIG = 3,  /* a file (memfd) with a net_config: see config.h */
	NET_START_EVENTS = 4,  /* SOCK_SEQPACKET to the front: struct net_event out, struct net_secret_value in */
	NET_START_CAPTURE = 5, /* SOCK_SEQPACKET from the keeper: struct net_capture with fds (fd_send()) */
	NET_START_AUTHORITY =
		6, /* optional: one message to init, with files that go into the box: the authority's certificate (PEM) */
	NET_START_FDS = 7, /* everything from here on is closed at the start */
};

enum net_capture_kind {
	NET_CAPTURE_DNS_UDP,  /* bound to port 53 of any address, IP_PKTINFO set by egress */
	NET_CAPTURE_DNS_TCP,  /* listening on port 53 */
	NET_CAPTURE_PACKET,   /* SYNs of the box to ports without a listener: see os/gateway.h */
	NET_CAPTURE_DATAGRAM, /* UDP of the box to other ports than 53 */
	NET_CAPTURE_SPARE,    /* lazy: see os/gateway.h */
	NET_CAPTURE_NURSERY,  /* the same */
	NET_CAPTURE_LISTENER, /* listening for TCP; getsockname() of what it accepts is where the box wanted to go */
	NET_CAPTURE_STREAM, /* instead of all of these: what they would give comes over a SOCK_STREAM, see stream/carry.h */
};

enum { NET_CAPTURE_MAX = 16 };
/* As many of these as it takes: fds in the order of the entries. The one with `complete` makes egress say NET_EVENT_READY. */
struct net_capture {
	uint32_t count, complete;
	struct {
		uint16_t kind, port; /* port: of a listener; a test's may be another than it is bound to */
	} fds[NET_CAPTURE_MAX];
};

#endif
