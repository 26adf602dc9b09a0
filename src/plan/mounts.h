/* Resolving what the box sees of the host, for plan.c. */
#ifndef PLAN_MOUNTS_H
#define PLAN_MOUNTS_H

#include "plan/plan.h"

#include <sys/stat.h>

/* O_PATH fd of a source that may be mounted, with its real path; -1 and *err otherwise. resolve: RESOLVE_* for the path. */
int plan_open_source(const char *path, uint64_t resolve, const struct strv *forbidden, char **ret_real,
		     struct stat *ret_st, struct cordon_error *err);
/* Whether `path` of the box lies in something that its payload writes to. */
bool plan_can_write(const struct cordon_plan *plan, const char *path);
int plan_resolve_mounts(struct cordon_plan *plan, const struct cordon_policy *policy, struct cordon_error *err);
int plan_resolve_protects(struct cordon_plan *plan, const struct cordon_policy *policy, struct cordon_error *err);
int plan_resolve_privates(struct cordon_plan *plan, const struct cordon_policy *policy, struct cordon_error *err);
int plan_resolve_copies(struct cordon_plan *plan, const struct cordon_policy *policy, const char *const *in,
			const char *const *out, struct cordon_error *err);

#endif
