/* Which ports a box's gateway listens on: see rule.h. Pure. */
#include "net/rule.h"

static bool add_port(uint16_t *ports, size_t *n, size_t max, uint16_t port)
{
	for (size_t i = 0; i < *n; i++)
		if (ports[i] == port)
			return true;
	if (*n == max || port == 53) /* DNS has that one for itself */
		return port == 53;
	ports[(*n)++] = port;
	return true;
}

size_t net_rules_ports(const struct net_rules *rules, uint16_t *ports, size_t max, bool *ret_lazy)
{
	bool fits = rules->mode != NET_OPEN;
	size_t n = 0;

	for (size_t i = 0; i < rules->n; i++) {
		const struct net_rule *r = &rules->v[i];

		if (!r->port_count)
			fits = add_port(ports, &n, max, 443) && add_port(ports, &n, max, 80) && fits;
		for (size_t j = 0; j < r->port_count; j++)
			for (uint32_t p = r->ports[j].first; fits && p <= r->ports[j].last; p++)
				fits = add_port(ports, &n, max, (uint16_t)p);
	}
	*ret_lazy = !fits;
	return n;
}
