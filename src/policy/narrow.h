/* What a request may not do, said in one way; and the part of narrowing that looks at the host's files. */
#ifndef POLICY_NARROW_H
#define POLICY_NARROW_H

#include "policy/option.h"

/* CORDON_DENIED: key, what was asked for, what is allowed. Returns -1. */
__attribute__((format(printf, 5, 6))) int narrow_denied(const struct cordon_policy *p, enum option_id id,
							const char *asked, struct cordon_error *err,
							const char *allowed, ...);

/* Mounts and private directories of `request`, each checked against `policy`, added to `to` (a copy of policy). */
int reach_mounts(struct cordon_policy *to, const struct cordon_policy *policy, const struct cordon_policy *request,
		 struct cordon_error *err);
/* files.allowed_*: every entry must lie within one of the policy's, symlinks resolved. */
int reach_allowed(struct cordon_policy *to, const struct cordon_policy *policy, const struct cordon_policy *request,
		  enum option_id id, struct cordon_error *err);

/* network.allow: every rule within the policy's, and none that the policy has a narrower one inside of; secrets: only repeated
 * (narrow_network.c). network.mode of `to` is narrowed already. */
int narrow_rules(struct cordon_policy *to, const struct cordon_policy *policy, const struct cordon_policy *request,
		 struct cordon_error *err);
int narrow_secrets(const struct cordon_policy *policy, const struct cordon_policy *request, struct cordon_error *err);

#endif
