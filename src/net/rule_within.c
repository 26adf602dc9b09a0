/*
 * Narrowing: is all that a rule allows allowed by other rules as well? See rule.h. Rules shadow each other (the most specific pattern
 * speaks alone), so the question is put for each stretch of ports in which nothing changes: which outer rules speak for the names of the
 * inner one, and which speak for only some of them. Where it is not sure it says no. Pure; any process.
 */
#include "net/rule.h"

#include <string.h>

struct question {
	const struct net_rule *inner;
	const struct net_rules *set; /* what else the inner side has, or NULL */
	const struct net_rules *outer;
	uint16_t port;
	enum net_protocol protocol; /* of the inner rule at this port */
};

static bool has_port(const struct net_rule *rule, uint16_t port)
{
	enum net_protocol protocol;

	return net_rule_port(rule, port, &protocol);
}

/* Every path that the inner pattern matches the outer one matches: its stars can only be taken by stars. */
static bool paths_cover(const struct strv *outer, const struct strv *inner)
{
	static char pattern[] = "/*", *all[] = { pattern, NULL };
	static const struct strv every = { all, 1 };

	if (!outer->n)
		return true;
	if (!inner->n)
		inner = &every;
	for (size_t i = 0; i < inner->n; i++) {
		size_t j = 0;

		while (j < outer->n && !net_path_match(outer->v[j], inner->v[i]))
			j++;
		if (j == outer->n)
			return false;
	}
	return true;
}

static bool methods_cover(const struct strv *outer, const struct strv *inner)
{
	if (outer->n && !inner->n)
		return false;
	for (size_t i = 0; outer->n && i < inner->n; i++)
		if (!strv_has(outer, inner->v[i]))
			return false;
	return true;
}

/* This one rule, where it speaks, lets all pass that the inner one does. */
static bool covers(const struct question *q, const struct net_rule *outer)
{
	const struct net_rule *inner = q->inner;
	enum net_protocol protocol;

	if (!net_rule_port(outer, q->port, &protocol))
		return false;
	if (inner->secret && (!outer->secret || strcmp(inner->secret, outer->secret) != 0))
		return false;
	if (protocol == NET_TCP) /* carries the others as well, unless it is refused */
		return q->protocol == NET_TCP || !q->outer->read_only;
	return protocol == q->protocol && methods_cover(&outer->methods, &inner->methods) &&
	       paths_cover(&outer->paths, &inner->paths);
}

static bool pattern_covers(const char *outer, const char *inner)
{
	if (strcmp(outer, inner) == 0)
		return true;
	if (outer[0] != '*' || strcmp(inner, "*") == 0)
		return false;
	return hostname_match(outer, inner[0] == '*' ? inner + 2 : inner);
}

static size_t specificity(const char *pattern)
{
	return pattern[0] == '*' ? strlen(pattern) : SIZE_MAX;
}

/* Does this rule of a side speak for all of the network? Special ranges must be named. */
static bool speaks_for(const struct net_rules *side, const struct net_rule *rule, const struct net_prefix *prefix)
{
	return prefix_is_within(prefix, &rule->prefix) &&
	       (side->allow_private || !prefix_special(prefix) || prefix_special(&rule->prefix));
}

/* Are the requests of the inner rule looked at: by itself or by one that speaks with it? */
static bool inner_inspects(const struct question *q)
{
	const struct net_rule *inner = q->inner;

	if (net_rule_restricts(inner))
		return true;
	for (size_t i = 0; q->set && i < q->set->n; i++) {
		const struct net_rule *rule = &q->set->v[i];

		if (!net_rule_restricts(rule) || !has_port(rule, q->port) || !rule->host != !inner->host)
			continue;
		if (inner->host ? strcmp(rule->host, inner->host) == 0 : speaks_for(q->set, rule, &inner->prefix))
			return true;
	}
	return false;
}

/*
 * What is looked at outside stays looked at, also where it may do the same: a connection that nobody looks into carries what is no HTTP,
 * names other hosts inside, and brings credentials of its own to where a secret was to be used.
 */
static bool stays_inspected(const struct question *q, const struct net_rule *outer)
{
	return q->outer->read_only || !has_port(outer, q->port) || !net_rule_restricts(outer) || inner_inspects(q);
}

/*
 * An encrypted ClientHello passes where every rule that speaks lets it (egress/handshake.c): is there none on the inner side that does not, for
 * all of this network or for the names of the rule?
 */
static bool inner_has_ech(const struct question *q, const struct net_prefix *network)
{
	const struct net_rule *inner = q->inner;

	for (size_t i = 0; q->set && i < q->set->n; i++) {
		const struct net_rule *rule = &q->set->v[i];

		if (rule->ech || !has_port(rule, q->port) || !rule->host != !inner->host)
			continue;
		if (inner->host ? strcmp(rule->host, inner->host) == 0 : speaks_for(q->set, rule, network))
			return false;
	}
	return inner->ech;
}

/* What must not be encrypted outside stays so. */
static bool stays_clear(const struct question *q, const struct net_rule *outer, const struct net_prefix *network)
{
	enum net_protocol protocol;

	return outer->ech || !net_rule_port(outer, q->port, &protocol) || protocol != NET_TLS ||
	       !inner_has_ech(q, network);
}

static bool pattern_of_outer_covers(const struct question *q, const char *pattern)
{
	bool covered = false;

	for (size_t i = 0; i < q->outer->n; i++) {
		const struct net_rule *rule = &q->outer->v[i];

		if (!rule->host || strcmp(rule->host, pattern) != 0)
			continue;
		if (!stays_inspected(q, rule) || !stays_clear(q, rule, &q->inner->prefix))
			return false;
		covered = covered || covers(q, rule);
	}
	return covered;
}

/* The names of this pattern are spoken for by closer rules of the inner side, which are asked about on their own. */
static bool pattern_shadowed(const struct question *q, const char *pattern)
{
	for (size_t i = 0; q->set && i < q->set->n; i++) {
		const struct net_rule *rule = &q->set->v[i];

		if (rule->host && pattern_covers(rule->host, pattern) &&
		    specificity(rule->host) > specificity(q->inner->host) && has_port(rule, q->port))
			return true;
	}
	return false;
}

static bool prefix_shadowed(const struct question *q, const struct net_prefix *prefix)
{
	if (prefix_special(prefix) && !q->outer->allow_private)
		return true; /* "*" does not touch it */
	for (size_t i = 0; q->set && i < q->set->n; i++) {
		const struct net_rule *rule = &q->set->v[i];

		if (!rule->host && prefix_is_within(prefix, &rule->prefix) && has_port(rule, q->port))
			return true;
	}
	return false;
}

/* "*", or what open mode has behind all rules. */
static bool any_covers(const struct question *q)
{
	const struct net_rule *last = net_rules_last(q->outer);

	for (size_t i = 0; i < q->outer->n; i++) {
		const struct net_rule *rule = &q->outer->v[i];

		if (rule->host && strcmp(rule->host, "*") == 0 && has_port(rule, q->port))
			return pattern_of_outer_covers(q, "*");
	}
	return last && covers(q, last) && stays_clear(q, last, &q->inner->prefix);
}

static bool host_within(const struct question *q)
{
	const struct net_rule *best = NULL;

	for (size_t i = 0; i < q->outer->n; i++) {
		const struct net_rule *rule = &q->outer->v[i];

		if (!has_port(rule, q->port))
			continue;
		if (!rule->host) { /* "*" speaks for addresses too */
			if (strcmp(q->inner->host, "*") == 0 && !prefix_shadowed(q, &rule->prefix) &&
			    (!covers(q, rule) || !stays_inspected(q, rule) || !stays_clear(q, rule, &q->inner->prefix)))
				return false;
		} else if (pattern_covers(rule->host, q->inner->host)) {
			if (!best || specificity(rule->host) > specificity(best->host))
				best = rule;
		} else if (pattern_covers(q->inner->host, rule->host) && !pattern_shadowed(q, rule->host) &&
			   !pattern_of_outer_covers(q, rule->host)) {
			return false; /* some of the names have a closer rule, which allows less */
		}
	}
	return best ? pattern_of_outer_covers(q, best->host) : any_covers(q);
}

/* The same for addresses, whose rules add up: where both speak, a rule of the inner side looks as well, and lets nothing encrypted pass. */
static bool address_stays_strict(const struct question *q, const struct net_rule *outer)
{
	const struct net_prefix *inner = &q->inner->prefix, *both;

	if (!prefix_is_within(&outer->prefix, inner) && !prefix_is_within(inner, &outer->prefix))
		return true;
	both = prefix_is_within(inner, &outer->prefix) ? inner : &outer->prefix;
	if (!speaks_for(q->outer, outer, both))
		return true; /* it is not looked at outside either */
	if (!stays_clear(q, outer, both))
		return false;
	for (size_t i = 0; q->set && i < q->set->n; i++) {
		const struct net_rule *rule = &q->set->v[i];

		if (!rule->host && net_rule_restricts(rule) && has_port(rule, q->port) &&
		    speaks_for(q->set, rule, both))
			return true;
	}
	return stays_inspected(q, outer);
}

static bool address_within(const struct question *q)
{
	const struct net_prefix *inner = &q->inner->prefix;
	bool named = prefix_special(inner) != NULL && !q->outer->allow_private, parts_covered = true;

	for (size_t i = 0; i < q->outer->n; i++)
		if (!q->outer->v[i].host && !address_stays_strict(q, &q->outer->v[i]))
			return false;
	for (size_t i = 0; i < q->outer->n; i++) {
		const struct net_rule *rule = &q->outer->v[i];

		if (rule->host || !has_port(rule, q->port))
			continue;
		bool good = covers(q, rule);
		if (good && prefix_is_within(inner, &rule->prefix) && (!named || prefix_special(&rule->prefix)))
			return true; /* rules for an address add up: nothing takes this away */
		if (!good && (prefix_is_within(&rule->prefix, inner) || prefix_is_within(inner, &rule->prefix)))
			parts_covered = false;
	}
	return !named && parts_covered && any_covers(q);
}

/* What open mode has behind all rules does not speak where the same side has a rule for "*". */
static bool is_silent(const struct question *q)
{
	if (!q->set || q->inner != net_rules_last(q->set))
		return false;
	for (size_t i = 0; i < q->set->n; i++)
		if (q->set->v[i].host && strcmp(q->set->v[i].host, "*") == 0 && has_port(&q->set->v[i], q->port))
			return true;
	return false;
}

static bool within_at(const struct question *q, uint16_t port)
{
	struct question at = *q;

	at.port = port;
	if (is_silent(&at))
		return true;
	return at.inner->host ? host_within(&at) : address_within(&at);
}

/* Asks at each port of the span where something begins or ends in `rule`. */
static bool within_at_edges(const struct question *q, const struct net_span *span, const struct net_rule *rule)
{
	struct net_span edges[NET_PORTS_MAX];
	size_t n = net_rule_spans(rule, edges);

	for (size_t i = 0; i < n; i++) {
		if (edges[i].first > span->first && edges[i].first <= span->last && !within_at(q, edges[i].first))
			return false;
		if (edges[i].last >= span->first && edges[i].last < span->last &&
		    !within_at(q, (uint16_t)(edges[i].last + 1)))
			return false;
	}
	return true;
}

/* Can one say anything of what the other speaks for? Where they cannot, their ports change nothing: callers may send many rules. */
static bool related(const struct net_rule *a, const struct net_rule *b)
{
	if (a->host && b->host)
		return pattern_covers(a->host, b->host) || pattern_covers(b->host, a->host);
	if (a->host || b->host)
		return strcmp(a->host ? a->host : b->host, "*") == 0;
	return prefix_is_within(&a->prefix, &b->prefix) || prefix_is_within(&b->prefix, &a->prefix);
}

static bool within_span(struct question *q, const struct net_span *span)
{
	const struct net_rule *last = net_rules_last(q->outer);

	q->protocol = span->protocol;
	if (!within_at(q, span->first) || (last && !within_at_edges(q, span, last)))
		return false;
	for (size_t i = 0; i < q->outer->n; i++)
		if (related(q->inner, &q->outer->v[i]) && !within_at_edges(q, span, &q->outer->v[i]))
			return false;
	for (size_t i = 0; q->set && i < q->set->n; i++)
		if (related(q->inner, &q->set->v[i]) && !within_at_edges(q, span, &q->set->v[i]))
			return false;
	return true;
}

static bool rule_within(const struct net_rule *inner, const struct net_rules *set, const struct net_rules *outer)
{
	struct question q = { .inner = inner, .set = set, .outer = outer };
	struct net_span spans[NET_PORTS_MAX];
	size_t n = net_rule_spans(inner, spans);

	if (outer->mode == NET_NONE)
		return false;
	for (size_t i = 0; i < n; i++)
		if (!within_span(&q, &spans[i]))
			return false;
	return true;
}

bool net_rule_is_within(const struct net_rule *inner, const struct net_rules *outer)
{
	return rule_within(inner, NULL, outer);
}

bool net_rules_are_within(const struct net_rules *inner, const struct net_rules *outer)
{
	const struct net_rule *last = net_rules_last(inner);

	if (inner->mode == NET_NONE)
		return true;
	if ((outer->read_only && !inner->read_only) || (inner->allow_private && !outer->allow_private))
		return false;
	for (size_t i = 0; i < inner->n; i++)
		if (!rule_within(&inner->v[i], inner, outer))
			return false;
	return !last || rule_within(last, inner, outer);
}
