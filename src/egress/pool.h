/*
 * Addresses that stand for names, inside this box: 198.18.x.y. A name gets one when it is first asked for and keeps it as long as the
 * process lives: an address is never given to another name, so what was decided on and what is connected to cannot come apart. How many
 * there are is bounded (a wildcard must not be a way to fill memory). Pure but for memory and a random seed. Runs in the egress process.
 */
#ifndef EGRESS_POOL_H
#define EGRESS_POOL_H

#include "net/config.h"

#include <stddef.h>
#include <stdint.h>

struct pool {
	char **names;    /* by address - NET_POOL_BASE; [0] is never used */
	uint16_t *table; /* hash of a name -> its index; 0: free */
	size_t count;    /* indices given, the unused 0 among them */
	uint16_t *told;  /* by index: the job that was told of it */
	uint16_t job;    /* from 1 */
	uint64_t seed[2];
};

int pool_init(struct pool *pool); /* 0 or -errno */
void pool_done(struct pool *pool);
/* The address (host order) of a normalised name, a new one if need be; 0: none is left, or no memory. */
uint32_t pool_address(struct pool *pool, const char *name);
/* Whether this job asks for it for the first time; and the next job of a box that lives. */
bool pool_is_news(struct pool *pool, uint32_t address);
void pool_next_job(struct pool *pool);
/* Whom it stands for; NULL: nobody. The name lives as long as the pool. */
const char *pool_name(const struct pool *pool, const struct net_address *address);
/* Within the range that is set aside, given or not. */
bool pool_contains(const struct net_address *address);

#endif
