/*
 * The network part of a policy: rules and secrets put in from text and files, checked together, and what the plan takes of it. Runs
 * in the front, with the caller's rights; opens nothing.
 */
#ifndef POLICY_NETWORK_H
#define POLICY_NETWORK_H

#include "net/config.h"
#include "policy/policy.h"
#include "policy/source.h"

/* What a box may have of the network, for the plan. Without one (network: none) only rules.mode says so and nothing is allocated.
 * Placeholders of secrets are NULL: the plan makes them up. net_config_done() frees it. */
int policy_network(const struct cordon_policy *p, struct net_config *ret, struct cordon_error *err);

/* ---- inside src/policy ---- */

/* Whether rules and secrets hold together, whatever the mode. */
int network_check(const struct cordon_policy *p, struct cordon_error *err);
/* The rules as they stand, whatever the mode; unchecked. */
int network_rules(const struct cordon_policy *p, struct net_rules *ret, struct cordon_error *err);

/* One more entry of network.allow, network.allow_cidr or secrets, as a flag says it. */
int network_put(struct cordon_policy *p, enum option_id id, const char *text, const struct source *at,
		struct cordon_error *err);
/* One more rule or secret; taken also on failure. */
int network_add_rule(struct cordon_policy *p, struct net_rule *rule, const struct source *at, struct cordon_error *err);
int network_add_secret(struct cordon_policy *p, struct net_secret *secret, const struct source *at,
		       struct cordon_error *err);
/* Rules were named: the mode is allow unless it is open. */
int network_imply_allow(struct cordon_policy *p, const struct source *at, struct cordon_error *err);

/* Where a secret comes from, clean; malloc'd into *ret. */
int network_from(char **ret, const char *text, const struct source *at, struct cordon_error *err);
int network_check_header(const char *text, const struct source *at, struct cordon_error *err);
int network_check_secret_name(const char *name, const struct source *at, struct cordon_error *err);
/* "none" or "http://HOST:PORT"; *ret_host is NULL for none. */
int network_proxy(const char *text, char **ret_host, uint16_t *ret_port, const struct source *at,
		  struct cordon_error *err);
/* How long a policy may say that a fetched value is used. */
#define NETWORK_TTL_MIN_MS 1000ULL
#define NETWORK_TTL_MAX_MS (86400000ULL * 365)
/* How long a value may be used where the policy does not say it; 0: for good. */
uint64_t network_usual_ttl(const char *from);
/* A host pattern, normalised; an address in any spelling is told how to be written. */
int network_host(char **ret, const char *text, const struct source *at, struct cordon_error *err);

#endif
