/*
 * Requests only narrow. What a caller asks for is laid on the operator's policy by the NARROW column of options.def; what would
 * widen it is CORDON_DENIED, and the policy stays as it was. Mounts are in reach.c, rules of the network in narrow_network.c.
 *
 * Variables (process.env) are free but for three kinds: what the policy sets itself may only be repeated; what makes the loader
 * run other code in every program (LD_*, GLIBC_TUNABLES, GCONV_PATH) is refused; and where the policy names its commands, PATH is
 * refused, since it decides which file a name means.
 *
 * Runs in the front, with the rights of the operator's program.
 */
#include "policy/narrow.h"

#include "policy/build.h"
#include "policy/value.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

int narrow_denied(const struct cordon_policy *p, enum option_id id, const char *asked, struct cordon_error *err,
		  const char *allowed, ...)
{
	const char *origin = p->values[id].origin;
	auto_str struct str s = { 0 };
	va_list ap;

	va_start(ap, allowed);
	str_addv(&s, allowed, ap);
	va_end(ap);
	cordon_fail(err, CORDON_DENIED, 0, "%s: '%.300s' was asked for, but %s", options[id].key, asked,
		    s.data ? s.data : "it is not allowed");
	fail_step(err, "narrow");
	if (id == OPT_ENGINE) {
		bool has_images = strcmp(asked, "docker") == 0 || strcmp(asked, "podman") == 0;

		return fail_hint(
			err,
			"a request can only repeat the policy's; write one of your own: extends: %.300s, engine: %s%s",
			p->name ? p->name : "FILE", asked, has_images ? ", files: {root: \"image:NAME\"}" : "");
	}
	return fail_hint(err, "a request can only take away from the policy; %s is set by: %s", options[id].key,
			 origin ? origin : "default");
}

static int take(struct cordon_policy *to, const struct cordon_policy *from, enum option_id id, struct cordon_error *err)
{
	value_done(&to->values[id]);
	return value_copy(&to->values[id], &from->values[id]) < 0 ? fail_memory(err) : 0;
}

/* Beside what the policy has, the request's origin. */
static int add_origin(struct policy_value *to, const struct policy_value *asked, struct cordon_error *err)
{
	const char *before = to->origin ? to->origin : "default", *more = asked->origin ? asked->origin : "request";
	char *both = str_printf("%s, %s", before, more);

	if (!both)
		return fail_memory(err);
	free(to->origin);
	to->origin = both;
	to->set = true;
	to->is_default = false;
	return 0;
}

static int narrow_number(struct cordon_policy *to, const struct cordon_policy *request, enum option_id id,
			 struct cordon_error *err)
{
	const struct option *o = &options[id];
	uint64_t asked = request->values[id].num, has = to->values[id].num;
	bool wider = o->narrow == NARROW_MIN ? asked > has : o->narrow == NARROW_MAX ? asked < has : asked != has;
	char asked_text[32], has_text[32];

	if (to->values[id].set && wider)
		return narrow_denied(to, id, option_number_text(o, asked, asked_text, sizeof(asked_text)), err,
				     "the policy says %s", option_number_text(o, has, has_text, sizeof(has_text)));
	return take(to, request, id, err);
}

static int narrow_same_text(const struct cordon_policy *to, const struct cordon_policy *request, enum option_id id,
			    struct cordon_error *err)
{
	const char *asked = policy_text(request, id), *has = policy_text(to, id);

	if (has && strcmp(asked, has) == 0)
		return 0;
	return narrow_denied(to, id, asked, err, "the policy says '%.200s'", has ? has : "nothing");
}

static int narrow_subset(struct cordon_policy *to, const struct cordon_policy *request, enum option_id id,
			 struct cordon_error *err)
{
	const struct strv *asked = policy_list(request, id), *has = policy_list(to, id);
	auto_str struct str all = { 0 };

	for (size_t i = 0; policy_has(to, id) && i < has->n; i++)
		str_addf(&all, "%s%s", i ? ", " : "", has->v[i]);
	for (size_t i = 0; policy_has(to, id) && i < asked->n; i++)
		if (!strv_has(has, asked->v[i]))
			return narrow_denied(to, id, asked->v[i], err, "the policy has %.400s",
					     all.data ? all.data : "none");
	return take(to, request, id, err);
}

static int narrow_more(struct cordon_policy *to, const struct cordon_policy *request, enum option_id id,
		       struct cordon_error *err)
{
	const struct strv *asked = policy_list(request, id);
	struct policy_value *v = &to->values[id];

	/* Unset means the built-in list here: setting it must not take that away. */
	for (size_t i = 0; id == OPT_REFUSE_PATTERNS && !v->set && refuse_builtin[i]; i++)
		if (strv_add(&v->list, refuse_builtin[i]) < 0)
			return fail_memory(err);
	for (size_t i = 0; i < asked->n; i++)
		if (!strv_has(&v->list, asked->v[i]) && strv_add(&v->list, asked->v[i]) < 0)
			return fail_memory(err);
	return add_origin(v, &request->values[id], err);
}

int policy_check_variable(const struct cordon_policy *policy, const char *name, const char *value,
			  struct cordon_error *err)
{
	const struct strv *has = policy_list(policy, OPT_ENV);

	if (env_name_is_loader(name))
		return narrow_denied(policy, OPT_ENV, name, err, "it would make every program run other code");
	if (strcmp(name, "PATH") == 0 && policy_has(policy, OPT_COMMANDS))
		return narrow_denied(policy, OPT_ENV, name, err, "it would change which files process.commands means");
	for (size_t i = 0; i + 2 <= has->n; i += 2)
		if (strcmp(has->v[i], name) == 0 && strcmp(has->v[i + 1], value) != 0)
			return narrow_denied(policy, OPT_ENV, name, err, "the policy sets it to '%.200s'",
					     has->v[i + 1]);
	return 0;
}

static int narrow_env(struct cordon_policy *to, const struct cordon_policy *policy, const struct cordon_policy *request,
		      struct cordon_error *err)
{
	const struct strv *asked = policy_list(request, OPT_ENV);
	struct policy_value *v = &to->values[OPT_ENV];
	struct source at = { .origin = request->values[OPT_ENV].origin, .key = options[OPT_ENV].key };

	for (size_t i = 0; i + 2 <= asked->n; i += 2)
		if (policy_check_variable(policy, asked->v[i], asked->v[i + 1], err) < 0)
			return -1;
	for (size_t i = 0; i + 2 <= asked->n; i += 2)
		if (value_add_pair(v, OPT_ENV, asked->v[i], asked->v[i + 1], &at, err) < 0)
			return -1;
	return 0;
}

static int narrow_value(struct cordon_policy *to, const struct cordon_policy *policy,
			const struct cordon_policy *request, enum option_id id, struct cordon_error *err)
{
	const struct option *o = &options[id];

	switch (o->narrow) {
	case NARROW_MIN:
	case NARROW_MAX:
		return narrow_number(to, request, id, err);
	case NARROW_SAME:
		if (o->type == TYPE_SECRETS)
			return narrow_secrets(policy, request, err);
		return type_is_text(o->type) ? narrow_same_text(to, request, id, err)
					     : narrow_number(to, request, id, err);
	case NARROW_SUBSET:
		if (o->type == TYPE_RULES)
			return narrow_rules(to, policy, request, err);
		return o->type == TYPE_HOSTPATHS ? reach_allowed(to, policy, request, id, err)
						 : narrow_subset(to, request, id, err);
	case NARROW_MORE:
		return narrow_more(to, request, id, err);
	case NARROW_READ:
	case NARROW_WRITE:
		return 0; /* reach_mounts() */
	case NARROW_FREE:
		if (id == OPT_TMPFS)
			return 0; /* the same */
		return id == OPT_ENV ? narrow_env(to, policy, request, err) : take(to, request, id, err);
	}
	return cordon_fail(err, CORDON_INTERNAL, 0, "%s has no rule for requests", o->key);
}

int cordon_policy_narrow(struct cordon_policy *policy, const struct cordon_policy *request, struct cordon_error *err)
{
	auto_policy struct cordon_policy *to = NULL;
	struct cordon_policy swap;

	if (policy->is_request || !request->is_request)
		return cordon_fail(err, CORDON_INVALID, 0, "a request is laid on a policy, nothing else");
	if (policy_copy(&to, policy, err) < 0)
		return -1;
	for (int i = 0; i < OPTION_COUNT; i++)
		if (request->values[i].set && narrow_value(to, policy, request, (enum option_id)i, err) < 0)
			return -1;
	if (reach_mounts(to, policy, request, err) < 0)
		return -1;
	to->is_narrowed = true;
	swap = *policy;
	*policy = *to;
	*to = swap;
	return 0;
}
