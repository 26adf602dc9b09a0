/* Addresses that stand for names: see pool.h. */
#include "egress/pool.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

/* At most half full. The box chooses the names (below a wildcard), so the hash is seeded: it cannot know which collide. */
enum { POOL_TABLE = 2 * NET_POOL_SIZE };
_Static_assert((POOL_TABLE & (POOL_TABLE - 1)) == 0, "the table is indexed by a mask");
_Static_assert(NET_POOL_SIZE <= UINT16_MAX, "indices fit the table");

int pool_init(struct pool *pool)
{
	/* They only take memory where they are touched. */
	pool->names = calloc(NET_POOL_SIZE, sizeof(*pool->names));
	pool->table = calloc(POOL_TABLE, sizeof(*pool->table));
	pool->told = calloc(NET_POOL_SIZE, sizeof(*pool->told));
	pool->count = pool->job = 1;
	if (!pool->names || !pool->table || !pool->told) {
		pool_done(pool);
		return -ENOMEM;
	}
	return getrandom(pool->seed, sizeof(pool->seed), 0) == (ssize_t)sizeof(pool->seed) ? 0 : -EIO;
}

void pool_done(struct pool *pool)
{
	for (size_t i = 1; pool->names && i < pool->count; i++)
		free(pool->names[i]);
	free(pool->names);
	free(pool->table);
	free(pool->told);
	*pool = (struct pool){ 0 };
}

static uint64_t fold(uint64_t a, uint64_t b)
{
	unsigned __int128 product = (unsigned __int128)a * b;

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static size_t hash(const struct pool *pool, const char *name)
{
	size_t len = strlen(name);
	uint64_t h = pool->seed[0] ^ len;

	while (len) {
		uint64_t word = 0;
		size_t n = len < sizeof(word) ? len : sizeof(word);

		memcpy(&word, name, n);
		h = fold(h ^ word, pool->seed[1] | 1);
		name += n;
		len -= n;
	}
	return (size_t)(fold(h, pool->seed[0] | 1) & (POOL_TABLE - 1));
}

uint32_t pool_address(struct pool *pool, const char *name)
{
	size_t slot = hash(pool, name);

	for (; pool->table[slot]; slot = (slot + 1) & (POOL_TABLE - 1))
		if (strcmp(pool->names[pool->table[slot]], name) == 0)
			return NET_POOL_BASE + pool->table[slot];
	if (pool->count == NET_POOL_SIZE)
		return 0;
	pool->names[pool->count] = strdup(name);
	if (!pool->names[pool->count])
		return 0;
	pool->table[slot] = (uint16_t)pool->count;
	return NET_POOL_BASE + (uint32_t)pool->count++;
}

bool pool_is_news(struct pool *pool, uint32_t address)
{
	size_t index = address - NET_POOL_BASE;

	if (index >= pool->count || pool->told[index] == pool->job)
		return false;
	pool->told[index] = pool->job;
	return true;
}

void pool_next_job(struct pool *pool)
{
	pool->job++;
}

/* Its place in the range; NET_POOL_SIZE or more: outside. */
static uint32_t index_of(const struct net_address *address)
{
	uint32_t bytes;

	memcpy(&bytes, address->bytes, sizeof(bytes));
	return address->family == AF_INET ? ntohl(bytes) - NET_POOL_BASE : UINT32_MAX;
}

bool pool_contains(const struct net_address *address)
{
	return index_of(address) < NET_POOL_SIZE;
}

const char *pool_name(const struct pool *pool, const struct net_address *address)
{
	uint32_t index = index_of(address);

	return index > 0 && index < pool->count ? pool->names[index] : NULL;
}
