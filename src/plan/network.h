/* The network of a plan: what egress will be told, and what the box is told instead of secrets. */
#ifndef PLAN_NETWORK_H
#define PLAN_NETWORK_H

#include "plan/plan.h"

/* After the environment: adds the placeholders of secrets and, where TLS is looked into, where the box's own certificates are. */
int plan_resolve_network(struct cordon_plan *plan, const struct cordon_policy *policy, struct cordon_error *err);
void plan_network_done(struct plan_network *network);
/* The ports that listen from the start, each once; at most `max`. More than that, or ranges: *ret_lazy. */
size_t plan_network_ports(const struct plan_network *network, uint16_t *ports, size_t max, bool *ret_lazy);

#endif
