/* The inside of carried connections (stream/carry.h): a process of its own in the box's container, which has the gateway's sockets and no rights. */
#ifndef INNER_CARRY_H
#define INNER_CARRY_H

#include "os/gateway.h"

/* Accepts what the gateway's listeners get, reads DNS and the raw sockets, and carries all of it over the stream, a SOCK_STREAM, until that ends:
 * 0, or -errno. Takes both; decides nothing. Needs no rights: the gateway was opened with them. */
int carry_serve(struct gateway *g, int stream);

#endif
