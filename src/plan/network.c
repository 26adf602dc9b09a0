/*
 * The network of a plan: see network.h. Nothing is resolved and nothing opened here: names are resolved by the egress process when the
 * payload asks for them. Runs in the front, with the caller's rights.
 */
#include "plan/network.h"

#include "base/libexec.h"
#include "base/path.h"
#include "net/start.h"
#include "policy/network.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

/* ---- the program ---- */

/* Only where TLS is looked into is it the program that has a TLS library in it. */
static int find_egress(struct cordon_plan *plan, struct cordon_error *err)
{
	const char *name = plan->network.intercepts ? "cordon-egress-tls" : "cordon-egress";

	plan->network.egress = libexec_find(name);
	if (plan->network.egress)
		return 0;
	if (errno == ENOMEM)
		return fail_memory(err);
	cordon_fail(err, CORDON_UNAVAILABLE, 0, "there is no program %s, which this network needs", name);
	return fail_hint(err, "`make install` puts it into libexec/cordon; in a build tree it lies beside the command");
}

/* ---- secrets ---- */

/* Nobody could guess it, and no program takes it for something else. */
static char *placeholder_new(const char *name)
{
	unsigned char bytes[16];
	char hex[2 * sizeof(bytes) + 1];

	if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
		return NULL;
	for (size_t i = 0; i < sizeof(bytes); i++)
		snprintf(hex + 2 * i, 3, "%02x", bytes[i]);
	return str_printf("cordon-secret-%s-%s", name, hex);
}

static int check_source(const struct net_secret *s, struct cordon_error *err)
{
	if (str_starts(s->from, "env:") && !getenv(s->from + 4)) {
		cordon_fail(err, CORDON_INVALID, 0, "secrets.%s: the variable '%s' is not set", s->name, s->from + 4);
		return fail_hint(err, "export %s=… before starting cordon", s->from + 4);
	}
	if (str_starts(s->from, "file:") && access(s->from + 5, R_OK) < 0)
		return cordon_fail(err, CORDON_INVALID, errno, "secrets.%s: '%s'", s->name, s->from + 5);
	return 0;
}

static bool env_has(const struct strv *env, const char *name)
{
	size_t len = strlen(name);

	for (size_t i = 0; i < env->n; i++)
		if (strncmp(env->v[i], name, len) == 0 && env->v[i][len] == '=')
			return true;
	return false;
}

static int add_env(struct cordon_plan *plan, const char *name, const char *value, struct cordon_error *err)
{
	if (env_has(&plan->env, name))
		return 0; /* the policy says otherwise */
	return strv_add_take(&plan->env, str_printf("%s=%s", name, value)) < 0 ? fail_memory(err) : 0;
}

static int resolve_secrets(struct cordon_plan *plan, struct cordon_error *err)
{
	struct net_config *c = &plan->network.config;

	for (size_t i = 0; i < c->secret_count; i++) {
		struct net_secret *s = &c->secrets[i];

		if (check_source(s, err) < 0)
			return -1;
		if (env_has(&plan->env, s->name)) {
			cordon_fail(err, CORDON_INVALID, 0, "'%s' is a secret and also set in the environment",
				    s->name);
			return fail_hint(err,
					 "take it out of process.env and process.pass_env: the box sees a placeholder");
		}
		s->placeholder = placeholder_new(s->name);
		if (!s->placeholder || add_env(plan, s->name, s->placeholder, err) < 0)
			return fail_memory(err);
	}
	return 0;
}

/* ---- certificates ---- */

static int resolve_authority(struct cordon_plan *plan, struct cordon_error *err)
{
	static const char *const bundle[] = { "SSL_CERT_FILE",  "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE",
					      "GIT_SSL_CAINFO", "PIP_CERT",           "AWS_CA_BUNDLE" };

	plan->network.intercepts = net_rules_intercept(&plan->network.config.rules);
	if (!plan->network.intercepts)
		return 0;
	for (size_t i = 0; i < ARRAY_LEN(bundle); i++)
		if (add_env(plan, bundle[i], PLAN_CA_BUNDLE, err) < 0)
			return -1;
	return add_env(plan, "NODE_EXTRA_CA_CERTS", PLAN_CA_FILE, err);
}

/* ---- the whole ---- */

static int check_layers(const struct cordon_plan *plan, struct cordon_error *err)
{
	if (plan->level == LEVEL_PROCESS) {
		cordon_fail(err, CORDON_UNAVAILABLE, 0,
			    "level 'process' has no network namespace: only `network: none` can be held there");
		return fail_hint(err, "use --level container, or --net none");
	}
	if (plan->may_degrade & (LAYER_BIT(NETNS) | LAYER_BIT(USERNS)))
		return cordon_fail(err, CORDON_INVALID, 0,
				   "degrade: a network is only given behind its own network and user namespace");
	return 0;
}

int plan_resolve_network(struct cordon_plan *plan, const struct cordon_policy *policy, struct cordon_error *err)
{
	struct plan_network *n = &plan->network;

	if (policy_network(policy, &n->config, err) < 0)
		return -1;
	n->is_on = n->config.rules.mode != NET_NONE;
	if (!n->is_on)
		return 0;
	if (check_layers(plan, err) < 0 || resolve_authority(plan, err) < 0 || find_egress(plan, err) < 0)
		return -1;
	return resolve_secrets(plan, err);
}

void plan_network_done(struct plan_network *network)
{
	net_config_done(&network->config);
	free(network->egress);
}
