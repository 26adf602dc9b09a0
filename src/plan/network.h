/* The network of a plan: what egress will be told, and what the box is told instead of secrets. */
#ifndef PLAN_NETWORK_H
#define PLAN_NETWORK_H

#include "plan/plan.h"

/* After the environment: adds the placeholders of secrets and, where TLS is looked into, where the box's own certificates are. */
int plan_resolve_network(struct cordon_plan *plan, const struct cordon_policy *policy, struct cordon_error *err);
void plan_network_done(struct plan_network *network);

#endif
