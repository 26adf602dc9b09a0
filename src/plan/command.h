/* What is executed: languages, the environment, the command allowlist, and the courtesy check on shell lines. For plan.c. */
#ifndef PLAN_COMMAND_H
#define PLAN_COMMAND_H

#include "plan/plan.h"

#define PLAN_PATH "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin"

int plan_resolve_argv(struct cordon_plan *plan, const struct cordon_job *job, struct cordon_error *err);
int plan_resolve_env(struct cordon_plan *plan, const struct cordon_policy *policy, const struct cordon_job *job,
		     struct cordon_error *err);
/* What the caller adds to it. */
int plan_add_env(struct cordon_plan *plan, const struct cordon_policy *policy, const char *const *env,
		 struct cordon_error *err);
int plan_resolve_commands(struct cordon_plan *plan, const struct cordon_policy *policy, struct cordon_error *err);
int plan_check_first(const struct cordon_plan *plan,
		     struct cordon_error *err); /* whether the command is a listed one */
int plan_check_patterns(const struct cordon_plan *plan, const struct cordon_policy *policy, struct cordon_error *err);
/* The real path in the box's root of a command as PATH finds it; malloc'd, or NULL with errno. */
char *plan_find_command(const struct cordon_plan *plan, const char *name);

#endif
