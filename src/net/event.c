/* Events that are alike: see net/event.h. Runs in the egress process, and in the front. */
#include "net/event.h"

#include <string.h>

bool net_event_is_alike(const struct net_event *a, const struct net_event *b)
{
	return a->kind == b->kind && a->decision == b->decision && a->port == b->port &&
	       strcmp(a->host, b->host) == 0 && strcmp(a->address, b->address) == 0 &&
	       strcmp(a->method, b->method) == 0 && strcmp(a->path, b->path) == 0 && strcmp(a->reason, b->reason) == 0;
}

void net_event_join(struct net_event *into, const struct net_event *e)
{
	into->duration_us += e->duration_us;
	into->up_bytes += e->up_bytes;
	into->down_bytes += e->down_bytes;
	into->more += 1 + e->more;
}
