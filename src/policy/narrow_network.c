/*
 * Requests for the network: rules may be taken away or narrowed, secrets only repeated. Whether rules allow more is one question for
 * all of them together (net_rules_are_within()): the most specific pattern alone speaks for a name, so a request that leaves out
 * `api.example.com: GET` and keeps `*.example.com` would get more than the policy gives.
 *
 * Runs in the front, with the rights of the operator's program.
 */
#include "policy/narrow.h"
#include "policy/network.h"
#include "policy/value.h"

#include <string.h>

static bool has_text(const struct net_rules *rules, const char *text)
{
	for (size_t i = 0; i < rules->n; i++)
		if (strcmp(rules->v[i].text, text) == 0)
			return true;
	return false;
}

/* A rule for what the policy has no rule for; else one that says less of requests, or lacks the closer rules beside it; or NULL. */
static const struct net_rule *find_wider(const struct net_rules *asked, const struct net_rules *has)
{
	const struct net_rule *wider = NULL;

	for (size_t i = 0; i < asked->n; i++) {
		if (net_rule_is_within(&asked->v[i], has))
			continue;
		wider = &asked->v[i];
		if (!has_text(has, wider->text))
			return wider;
	}
	return wider;
}

static int denied(const struct cordon_policy *policy, const struct net_rules *asked, const struct net_rules *has,
		  struct cordon_error *err)
{
	const struct net_rule *wider = find_wider(asked, has);
	auto_str struct str all = { 0 };

	for (size_t i = 0; i < has->n; i++)
		str_addf(&all, "%s%s", i ? ", " : "", has->v[i].text);
	if (has->mode == NET_OPEN)
		str_addf(&all, "%sany other name and public address", all.len ? ", and " : "");
	return narrow_denied(policy, OPT_ALLOW, wider ? wider->text : "open", err, "the policy %s%.400s",
			     wider && has_text(has, wider->text)
				     ? "says more of it (methods, paths, a secret, or closer names): it has "
				     : "has ",
			     all.data ? all.data : "no rule");
}

int narrow_rules(struct cordon_policy *to, const struct cordon_policy *policy, const struct cordon_policy *request,
		 struct cordon_error *err)
{
	struct net_rules has = { 0 }, asked = { 0 };
	int status = -1;

	if (network_rules(policy, &has, err) == 0 && network_rules(request, &asked, err) == 0) {
		/* Rules that wait for a mode are compared as well; read_only and private are narrowed by themselves. */
		asked.mode = has.mode == NET_NONE ? NET_ALLOW : (enum net_mode)policy_num(to, OPT_NETWORK);
		has.mode = has.mode == NET_NONE ? NET_ALLOW : has.mode;
		asked.read_only = has.read_only;
		asked.allow_private = has.allow_private;
		status = net_rules_check(&asked, err);
		if (status == 0 && !net_rules_are_within(&asked, &has))
			status = denied(policy, &asked, &has, err);
	}
	net_rules_done(&has);
	net_rules_done(&asked);
	if (status < 0)
		return -1;
	value_done(&to->values[OPT_ALLOW]);
	return value_copy(&to->values[OPT_ALLOW], &request->values[OPT_ALLOW]) < 0 ? fail_memory(err) : 0;
}

int narrow_secrets(const struct cordon_policy *policy, const struct cordon_policy *request, struct cordon_error *err)
{
	const struct strv *asked = policy_list(request, OPT_SECRETS), *has = policy_list(policy, OPT_SECRETS);

	for (size_t i = 0; i + 2 <= asked->n; i += 2) {
		const char *line = NULL;

		for (size_t k = 0; k + 2 <= has->n; k += 2)
			if (strcmp(has->v[k], asked->v[i]) == 0)
				line = has->v[k + 1];
		if (!line)
			return narrow_denied(policy, OPT_SECRETS, asked->v[i], err, "the policy has no such secret");
		if (strcmp(line, asked->v[i + 1]) != 0)
			return narrow_denied(policy, OPT_SECRETS, asked->v[i], err,
					     "the policy takes it from elsewhere or sends it otherwise");
	}
	return 0;
}
