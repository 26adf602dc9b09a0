/*
 * What a box may have of the network, built from a policy's values: see network.h. What only shows when everything is there is
 * found here: rules that contradict each other, secrets that nobody defined. Runs in the front, with the caller's rights.
 */
#include "policy/network.h"

#include "policy/network_line.h"
#include "policy/option.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The whole list, where it came from. */
struct place {
	char key[300];
	struct source at;
};

static const struct source *place_of(const struct cordon_policy *p, enum option_id id, struct place *place)
{
	const char *origin = p->values[id].origin;

	place->at = (struct source){ .origin = origin, .key = place->key };
	if (origin && strchr(origin, ':'))
		snprintf(place->key, sizeof(place->key), "%.200s: %s", origin, options[id].key);
	else
		snprintf(place->key, sizeof(place->key), "%s", options[id].key);
	return &place->at;
}

/* ---- rules --------------------------------------------------------------------------------------------- */

int network_rules(const struct cordon_policy *p, struct net_rules *ret, struct cordon_error *err)
{
	const struct strv *list = policy_list(p, OPT_ALLOW);

	*ret = (struct net_rules){ .mode = (enum net_mode)policy_num(p, OPT_NETWORK),
				   .read_only = policy_num(p, OPT_READ_ONLY),
				   .allow_private = policy_num(p, OPT_PRIVATE) };
	for (size_t i = 0; i < list->n; i++) {
		struct net_rule rule;

		if (rule_from_line(list->v[i], &rule) < 0 || net_rules_add(ret, &rule) < 0) {
			net_rules_done(ret);
			*ret = (struct net_rules){ 0 };
			return fail_memory(err);
		}
	}
	return 0;
}

static int secret_missing(const struct cordon_policy *p, const struct net_rule *rule, struct cordon_error *err)
{
	const struct strv *secrets = policy_list(p, OPT_SECRETS);
	struct place place;
	struct suggestion s = { .word = rule->secret };

	for (size_t i = 0; i + 2 <= secrets->n; i += 2)
		suggest_offer(&s, secrets->v[i]);
	source_fail(place_of(p, OPT_ALLOW, &place), err,
		    "the rule for '%.200s' wants the secret '%.100s', which is not there", rule->text, rule->secret);
	if (s.best)
		return fail_hint(err, "did you mean %s?", s.best);
	return fail_hint(err, "write secrets: {%.100s: {from: \"env:VARIABLE\"}}", rule->secret);
}

static bool has_secret(const struct cordon_policy *p, const char *name)
{
	const struct strv *secrets = policy_list(p, OPT_SECRETS);

	for (size_t i = 0; i + 2 <= secrets->n; i += 2)
		if (strcmp(secrets->v[i], name) == 0)
			return true;
	return false;
}

/* A variable of the policy and a placeholder cannot both be in the environment. */
static int check_names(const struct cordon_policy *p, struct cordon_error *err)
{
	const struct strv *env = policy_list(p, OPT_ENV), *pass = policy_list(p, OPT_PASS_ENV);
	struct place place;
	const char *both = NULL;

	for (size_t i = 0; i + 2 <= env->n; i += 2)
		both = has_secret(p, env->v[i]) ? env->v[i] : both;
	for (size_t i = 0; i < pass->n; i++)
		both = has_secret(p, pass->v[i]) ? pass->v[i] : both;
	if (!both)
		return 0;
	source_fail(place_of(p, OPT_SECRETS, &place), err,
		    "'%.100s' is a secret and a variable of the environment as well", both);
	return fail_hint(err, "the secret's name is a variable in the box already: remove it from process.env and "
			      "process.pass_env");
}

static int check_rules(const struct cordon_policy *p, const struct net_rules *rules, struct cordon_error *err)
{
	struct place place;
	struct cordon_error why = { 0 };

	for (size_t i = 0; i < rules->n; i++) {
		if (rules->v[i].secret && !has_secret(p, rules->v[i].secret))
			return secret_missing(p, &rules->v[i], err);
		if (net_rule_check(&rules->v[i], &why) < 0)
			break;
	}
	if (!why.code && net_rules_check(rules, &why) == 0)
		return check_names(p, err);
	if (why.code == CORDON_NO_MEMORY)
		return fail_memory(err);
	source_fail(place_of(p, OPT_ALLOW, &place), err, "%s", why.message);
	return why.hint[0] ? fail_hint(err, "%s", why.hint) : -1;
}

int network_check(const struct cordon_policy *p, struct cordon_error *err)
{
	struct net_rules rules;
	int status;

	if (!policy_list(p, OPT_ALLOW)->n && !policy_list(p, OPT_SECRETS)->n)
		return 0;
	if (network_rules(p, &rules, err) < 0)
		return -1;
	status = check_rules(p, &rules, err);
	net_rules_done(&rules);
	return status;
}

/* ---- the whole ----------------------------------------------------------------------------------------- */

static int add_secrets(const struct cordon_policy *p, struct net_config *ret, struct cordon_error *err)
{
	const struct strv *list = policy_list(p, OPT_SECRETS);

	ret->secrets = calloc(list->n / 2 + 1, sizeof(*ret->secrets));
	if (!ret->secrets)
		return fail_memory(err);
	for (size_t i = 0; i + 2 <= list->n; i += 2) {
		if (secret_from_line(list->v[i], list->v[i + 1], &ret->secrets[ret->secret_count]) < 0)
			return fail_memory(err);
		ret->secret_count++;
	}
	return 0;
}

static int add_proxy(const struct cordon_policy *p, struct net_config *ret, struct cordon_error *err)
{
	struct place place;
	const char *text = policy_text(p, OPT_UPSTREAM_PROXY);

	return network_proxy(text ? text : "none", &ret->proxy_host, &ret->proxy_port,
			     place_of(p, OPT_UPSTREAM_PROXY, &place), err);
}

static int build(const struct cordon_policy *p, struct net_config *ret, struct cordon_error *err)
{
	if (network_rules(p, &ret->rules, err) < 0 || check_rules(p, &ret->rules, err) < 0)
		return -1;
	ret->connections = policy_num(p, OPT_CONNECTIONS);
	ret->connect_timeout_ms = policy_num(p, OPT_CONNECT_TIMEOUT);
	ret->idle_timeout_ms = policy_num(p, OPT_IDLE_TIMEOUT);
	ret->download_bps = policy_num(p, OPT_DOWNLOAD);
	ret->upload_bps = policy_num(p, OPT_UPLOAD);
	ret->download_total = policy_num(p, OPT_DOWNLOAD_TOTAL);
	ret->upload_total = policy_num(p, OPT_UPLOAD_TOTAL);
	if (policy_has(p, OPT_CA_FILE)) {
		ret->ca_file = strdup(policy_text(p, OPT_CA_FILE));
		if (!ret->ca_file)
			return fail_memory(err);
	}
	return add_secrets(p, ret, err) < 0 ? -1 : add_proxy(p, ret, err);
}

int policy_network(const struct cordon_policy *p, struct net_config *ret, struct cordon_error *err)
{
	struct net_config config = { 0 };

	if (policy_num(p, OPT_NETWORK) != NET_NONE && build(p, &config, err) < 0) {
		net_config_done(&config);
		return -1;
	}
	*ret = config;
	return 0;
}
