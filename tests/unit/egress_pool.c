/* Addresses that stand for names: one each, kept for good, bounded. */
#include "egress/pool.h"

#include "tap.h"

static struct net_address at(uint32_t address)
{
	struct net_address ret = { .family = AF_INET,
				   .bytes = { (uint8_t)(address >> 24), (uint8_t)(address >> 16),
					      (uint8_t)(address >> 8), (uint8_t)address } };

	return ret;
}

static const char *name_at(const struct pool *pool, uint32_t address)
{
	const struct net_address a = at(address);

	return pool_name(pool, &a);
}

static bool contains(uint32_t address)
{
	const struct net_address a = at(address);

	return pool_contains(&a);
}

int main(void)
{
	struct pool pool = { 0 };
	uint32_t first, second, last = 0;
	unsigned given = 0, wrong = 0;
	struct net_address mapped = { .family = AF_INET6 };
	char name[64];

	is_num(pool_init(&pool), 0, "a pool");
	first = pool_address(&pool, "api.example.com");
	second = pool_address(&pool, "www.example.com");
	ok(first != 0 && second != 0 && first != second, "two names have two addresses");
	ok(contains(first) && contains(second), "of the range that is set aside");
	is_num(first >> 16, 0xc612, "which is 198.18.0.0");
	is_num(pool_address(&pool, "api.example.com"), first, "a name keeps its address");
	is_str(name_at(&pool, first), "api.example.com", "which stands for it");
	ok(name_at(&pool, NET_POOL_BASE) == NULL, "the first address of the range is nobody's");
	ok(name_at(&pool, second + 1) == NULL, "nor is one that was not given yet");
	ok(name_at(&pool, 0x7f000001) == NULL && !contains(0x7f000001), "nor one from elsewhere");
	ok(name_at(&pool, NET_POOL_BASE - 1) == NULL && name_at(&pool, NET_POOL_BASE + NET_POOL_SIZE) == NULL,
	   "nor the neighbours of the range");

	mapped.bytes[10] = mapped.bytes[11] = 0xff;
	mapped.bytes[12] = 198, mapped.bytes[13] = 18, mapped.bytes[15] = 1;
	ok(pool_name(&pool, &mapped) == NULL && !pool_contains(&mapped), "nor another spelling of one that was given");

	for (unsigned i = 0; i < NET_POOL_SIZE + 100; i++) {
		uint32_t address;

		snprintf(name, sizeof(name), "n%u.example.net", i);
		address = pool_address(&pool, name);
		if (address) {
			given++;
			last = address;
			wrong += strcmp(name_at(&pool, address), name) != 0;
		}
	}
	is_num(given, NET_POOL_SIZE - 3, "as many as there are, and no more");
	is_num(wrong, 0, "each stands for its name");
	ok(contains(last), "the last one is in the range");
	is_num(pool_address(&pool, "one.more.example"), 0, "a full pool gives none");
	is_num(pool_address(&pool, "api.example.com"), first, "but those who have one keep it");
	is_str(name_at(&pool, first), "api.example.com", "and no address was given again");
	is_num(pool_address(&pool, "n7.example.net"), NET_POOL_BASE + 3 + 7, "in the order they came");
	pool_done(&pool);
	return done_testing();
}
