/*
 * How init lays its end of a link where only it has rights over the container's network namespace: over a unix socket (SOCK_SEQPACKET) of the
 * keeper's that lies in the container beside init, as ENGINE_LINK_NAME. Same machine, same build. Before there is a payload, and never again:
 *
 *	keeper: STREAM_LINK with the gateway's network namespace   init: STREAM_LINKED
 *	keeper: STREAM_LINK_UP, once the gateway is open           init gives up all its rights, becomes the payload's user: STREAM_LINKED
 *
 * init is started as root with rights over networks and over itself for this (ENGINE_LINK_RIGHTS); without the socket it has none.
 */
#ifndef STREAM_LINK_H
#define STREAM_LINK_H

#include <stdint.h>

#define ENGINE_LINK_NAME "net"
/* What init is given, by the names that engines know: the link; to be somebody else; to empty the bounding set. */
#define ENGINE_LINK_RIGHTS "NET_ADMIN", "SETUID", "SETGID", "SETPCAP"

enum stream_link_type { STREAM_LINK = 1, STREAM_LINK_UP, STREAM_LINKED };

struct stream_link {
	uint32_t type;
	uint32_t uid, gid; /* the payload's */
	uint32_t bits;
	char gateway[16], box[16]; /* addresses */
};

struct stream_linked {
	uint32_t type;
	int32_t errnum; /* 0: done */
	char what[64];  /* what failed */
};

#endif
