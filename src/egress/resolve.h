/*
 * Names become addresses, by c-ares driven from the loop: nothing blocks. Every answer of both families is handed over; what may be dialled
 * is decided by whoever asked, each time; answers are kept for their time to live. Only names that a rule allows come here. Runs in the egress process.
 */
#ifndef EGRESS_RESOLVE_H
#define EGRESS_RESOLVE_H

#include "egress/loop.h"
#include "net/address.h"

struct resolver;
struct resolve_request;

enum { RESOLVE_MAX = 32 }; /* answers of one name that are looked at */
struct resolve_answer {
	int status; /* 0, or -errno; `why` then says it */
	const char *why;
	struct net_address addresses[RESOLVE_MAX];
	size_t count;
};
typedef void resolve_fn(void *data, const struct resolve_answer *answer);

/* Reads /etc/resolv.conf; later lookups read /etc/hosts. NULL: *ret_why says it. */
struct resolver *resolver_new(struct loop *loop, const char **ret_why);
void resolver_free(struct resolver *resolver); /* nobody is called any more */
/* An answer that is kept, valid until the loop goes on; NULL: it has to be asked for. */
const struct resolve_answer *resolve_known(struct resolver *resolver, const char *name);
/* Calls fn once, never from within; NULL: no memory. */
struct resolve_request *resolve_start(struct resolver *resolver, const char *name, resolve_fn *fn, void *data);
/* fn will not be called. NULL is fine. */
void resolve_cancel(struct resolve_request *request);

#endif
