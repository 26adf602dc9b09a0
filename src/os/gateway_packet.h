/* The gateway's raw sockets, for gateway.c. */
#ifndef OS_GATEWAY_PACKET_H
#define OS_GATEWAY_PACKET_H

#include "os/netlink.h"

enum { GATEWAY_LINK = 32 }; /* the index of gw and of eth0 */
extern const uint8_t gateway_box_mac[NETLINK_MAC];

/* IPPROTO_TCP: sees SYNs to other ports than these and 53. IPPROTO_UDP: packets to others than 53. The filter cannot be taken off again. */
int gateway_packet_socket(int protocol, const uint16_t *ports, size_t count);

#endif
