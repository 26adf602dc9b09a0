/*
 * Rules and secrets into a policy. A rule is checked by itself here; against the others, and for the secrets it names, when all of
 * them are there (network.c). A failure leaves the policy as it was. Runs in the front, with the caller's rights.
 *
 * `--secret NAME=FROM@HOST` adds the secret and, for port 443 of HOST, a rule that uses it, with the methods and paths of every rule
 * that HOST has. Of several rules that take a request the one with the secret counts, so the order of flags means nothing.
 */
#include "policy/network.h"

#include "policy/build.h"
#include "policy/network_line.h"
#include "policy/value.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- rules --------------------------------------------------------------------------------------------- */

/* What is said of a rule elsewhere, with its place. */
static int rule_fail(const struct cordon_error *why, const struct source *at, struct cordon_error *err)
{
	if (why->code == CORDON_NO_MEMORY)
		return fail_memory(err);
	source_fail(at, err, "%s", why->message);
	return why->hint[0] ? fail_hint(err, "%s", why->hint) : -1;
}

int network_add_rule(struct cordon_policy *p, struct net_rule *rule, const struct source *at, struct cordon_error *err)
{
	struct cordon_error why = { 0 };
	int status;

	/* Nobody means to send a secret in the clear who has not said so. */
	if (rule->secret && !rule->port_count && !rule->has_protocol)
		rule->ports[rule->port_count++] = (struct net_ports){ 443, 443 };
	if (net_rule_check(rule, &why) < 0)
		status = rule_fail(&why, at, err);
	else
		status = value_push(&p->values[OPT_ALLOW], OPT_ALLOW, rule_line(rule), NULL, at, err);
	net_rule_done(rule);
	return status;
}

static int put_rule(struct cordon_policy *p, const char *text, bool is_address, const struct source *at,
		    struct cordon_error *err)
{
	struct cordon_error why = { 0 };
	struct net_rule rule = { 0 };

	if (!is_address && strstr(text, "://")) {
		source_fail(at, err, "'%.200s' is not a host's name", text);
		return fail_hint(err, "only the name and its ports, without scheme and path");
	}
	if (net_rule_parse(text, is_address, &rule, &why) < 0)
		return rule_fail(&why, at, err);
	if (is_address && !rule.port_count) {
		source_fail(at, err, "'%.200s' has no ports", text);
		net_rule_done(&rule);
		return fail_hint(err, "as in 10.1.2.0/24:5432 or [2001:db8::]/32:22,80; /tls or /http behind them says "
				      "that it is that and not any TCP");
	}
	if (is_address && !rule.has_protocol) {
		rule.has_protocol = true;
		rule.protocol = NET_TCP;
	}
	return network_add_rule(p, &rule, at, err);
}

/* ---- secrets ------------------------------------------------------------------------------------------- */

int network_add_secret(struct cordon_policy *p, struct net_secret *secret, const struct source *at,
		       struct cordon_error *err)
{
	struct policy_value *v = &p->values[OPT_SECRETS];
	int status = network_check_secret_name(secret->name, at, err);

	for (size_t i = 0; status == 0 && i + 2 <= v->list.n; i += 2)
		if (strcmp(v->list.v[i], secret->name) == 0) {
			value_list_remove(&v->list, i, 2);
			break;
		}
	if (status == 0)
		status = value_push(v, OPT_SECRETS, strdup(secret->name), secret_line(secret), at, err);
	secret_done(secret);
	return status;
}

/* One more rule for 443 of the host: of `like` its methods and paths. */
static int add_using(struct cordon_policy *p, const struct net_rule *like, const char *host, const char *name,
		     const struct source *at, struct cordon_error *err)
{
	struct net_rule rule = { .host = strdup(host), .secret = strdup(name) };

	if (!rule.host || !rule.secret || (like && strv_copy(&rule.methods, &like->methods) < 0) ||
	    (like && strv_copy(&rule.paths, &like->paths) < 0)) {
		net_rule_done(&rule);
		return fail_memory(err);
	}
	return network_add_rule(p, &rule, at, err);
}

static int use_secret(struct cordon_policy *p, const char *host, const char *name, const struct source *at,
		      struct cordon_error *err)
{
	struct net_rules rules;
	bool used = false;
	int status = network_rules(p, &rules, err);

	for (size_t i = 0; status == 0 && i < rules.n; i++) {
		const struct net_rule *like = &rules.v[i];
		enum net_protocol protocol;

		if (!like->host || strcmp(like->host, host) != 0 || !net_rule_port(like, 443, &protocol))
			continue;
		used = true;
		if (like->secret && strcmp(like->secret, name) != 0) {
			source_fail(at, err, "requests to '%.200s' carry the secret %.100s already", host,
				    like->secret);
			status = fail_hint(err, "a request carries one secret; where paths tell them apart, say so in "
						"a policy");
		} else if (!like->secret) {
			status = add_using(p, like, host, name, at, err);
		}
	}
	if (status == 0 && !used)
		status = add_using(p, NULL, host, name, at, err);
	net_rules_done(&rules);
	return status;
}

static int use_secret_at(struct cordon_policy *p, const char *hosts, const char *name, const struct source *at,
			 struct cordon_error *err)
{
	for (const char *text = hosts;; text++) {
		size_t len = strcspn(text, ",");
		auto_free char *word = strndup(text, len), *host = NULL;

		if (!word)
			return fail_memory(err);
		if (network_host(&host, word, at, err) < 0 || use_secret(p, host, name, at, err) < 0)
			return -1;
		text += len;
		if (!*text)
			return 0;
	}
}

/* "NAME=FROM@HOST[,HOST…]" */
static int put_secret(struct cordon_policy *p, const char *text, const struct source *at, struct cordon_error *err)
{
	const char *equals = strchr(text, '='), *host = strrchr(text, '@');
	auto_free char *name = NULL, *from = NULL;
	struct net_secret secret = { 0 };

	if (!equals || !host || host < equals) {
		source_fail(at, err, "'%.100s' is not NAME=FROM@HOST", text);
		return fail_hint(err, "as in API_KEY=env:API_KEY@api.example.com: the value is sent there and nowhere "
				      "else");
	}
	name = strndup(text, (size_t)(equals - text));
	from = strndup(equals + 1, (size_t)(host - equals - 1));
	if (!name || !from)
		return fail_memory(err);
	if (network_check_secret_name(name, at, err) < 0 || network_from(&secret.from, from, at, err) < 0)
		return -1;
	secret.ttl_ms = network_usual_ttl(secret.from);
	secret.name = strdup(name);
	if (!secret.name) {
		secret_done(&secret);
		return fail_memory(err);
	}
	if (network_add_secret(p, &secret, at, err) < 0)
		return -1;
	return use_secret_at(p, host + 1, name, at, err);
}

/* ---- from text ----------------------------------------------------------------------------------------- */

static int put(struct cordon_policy *p, enum option_id id, const char *text, const struct source *at,
	       struct cordon_error *err)
{
	return id == OPT_SECRETS ? put_secret(p, text, at, err) : put_rule(p, text, id == OPT_ALLOW_CIDR, at, err);
}

int network_put(struct cordon_policy *p, enum option_id id, const char *text, const struct source *at,
		struct cordon_error *err)
{
	struct policy_value rules, secrets;
	int status = -1;

	if (value_copy(&rules, &p->values[OPT_ALLOW]) < 0) {
		value_done(&rules);
		return fail_memory(err);
	}
	if (value_copy(&secrets, &p->values[OPT_SECRETS]) < 0) {
		fail_memory(err);
	} else if ((status = put(p, id, text, at, err)) < 0) {
		struct policy_value half[2] = { p->values[OPT_ALLOW], p->values[OPT_SECRETS] };

		p->values[OPT_ALLOW] = rules;
		p->values[OPT_SECRETS] = secrets;
		rules = half[0];
		secrets = half[1];
	}
	value_done(&rules);
	value_done(&secrets);
	return status;
}

int network_imply_allow(struct cordon_policy *p, const struct source *at, struct cordon_error *err)
{
	struct policy_value *v = &p->values[OPT_NETWORK];

	if (v->set && v->num != NET_NONE)
		return 0;
	return value_set(v, OPT_NETWORK, "allow", at, err);
}
