/* How policies are put together inside src/policy: defaults, layers over them, files. */
#ifndef POLICY_BUILD_H
#define POLICY_BUILD_H

#include "policy/option.h"
#include "policy/source.h"

/* An empty policy, or one with the table's defaults. */
int policy_alloc(struct cordon_policy **ret, struct cordon_error *err);
int policy_alloc_defaults(struct cordon_policy **ret, struct cordon_error *err);
void policy_free_p(struct cordon_policy **p);
#define auto_policy __attribute__((cleanup(policy_free_p)))

/* One scalar, or one more entry of a list, with every check that needs no other policy. */
int policy_put(struct cordon_policy *p, enum option_id id, const char *text, const struct source *at,
	       struct cordon_error *err);
/* Lays what `layer` sets over `base` by the rules of options.def. The layer is used up. */
int policy_merge(struct cordon_policy *base, struct cordon_policy *layer, struct cordon_error *err);

/* The operator's policy from a preset or file over the table's defaults (load.c). `where` goes before messages about its name. */
int policy_load(struct cordon_policy **ret, const char *name_or_path, const char *where, struct cordon_error *err);

#endif
