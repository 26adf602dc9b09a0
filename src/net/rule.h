/*
 * What of the network a box may have: rules, and the one decision over them. Pure: used by the policy (validation, narrowing), by the
 * egress process (every name, connection and request) and by its fuzzers.
 *
 * Which rules speak for a connection: those of the most specific host pattern that matches the name and has the port (the name itself,
 * then the longest wildcard, then "*"); all of that one pattern together. For a literal address: all address rules
 * that contain it and have the port, else the rules of "*". A special address (address_special()) must be named: by an address rule
 * that lies within the special range (10.0.0.0/8 names 10.1.2.3; 0.0.0.0/0 does not), or by allow_private. A request then passes if
 * one of these rules takes its method and path.
 */
#ifndef NET_RULE_H
#define NET_RULE_H

#include "base/error.h"
#include "base/str.h"
#include "net/address.h"
#include "net/hostname.h"

enum net_mode { NET_NONE, NET_ALLOW, NET_OPEN };
enum net_protocol { NET_TLS, NET_HTTP, NET_TCP };

struct net_ports {
	uint16_t first, last; /* inclusive; never 0 */
};

enum { NET_PORTS_MAX = 16 };

struct net_rule {
	char *host; /* normalised pattern; NULL: `prefix` says which addresses */
	struct net_prefix prefix;
	struct net_ports ports[NET_PORTS_MAX];
	size_t port_count; /* 0: 443 as tls and 80 as http */
	bool has_protocol; /* else 443 is tls, 80 http; other ports must have one */
	enum net_protocol protocol;
	struct strv methods; /* upper case; empty: any */
	struct strv paths;   /* "/v1/" followed by a star: see net_path_match(); empty: any */
	char *secret;        /* name of a secret, or NULL */
	bool ech;            /* let an encrypted ClientHello pass */
	char *text;          /* as an operator would write it, for events: "api.example.com:443" */
};

struct net_rules {
	enum net_mode mode; /* NET_OPEN is NET_ALLOW with a last rule for "*", every port, tcp */
	bool read_only;     /* only GET, HEAD, OPTIONS; no upgrades; no tcp, and tls only where it is intercepted */
	bool allow_private; /* names may resolve to special ranges; "*" has them too */
	struct net_rule *v;
	size_t n;
};

/* Which ports a rule has, and as what: the default ones filled in. How many of ret are used. */
struct net_span {
	uint16_t first, last;
	enum net_protocol protocol;
};
size_t net_rule_spans(const struct net_rule *rule, struct net_span ret[NET_PORTS_MAX]);
bool net_rule_port(const struct net_rule *rule, uint16_t port, enum net_protocol *ret);
/* Does it say anything of requests: methods, paths, a secret? */
bool net_rule_restricts(const struct net_rule *rule);
/* May a secret be called that? As variables of an environment are. */
bool net_secret_name(const char *name);

/* One rule from its textual form, for flags: HOST[:PORT[,PORT…][/PROTOCOL]] or ADDRESS[/BITS][:PORT…], where a PORT may be a range
 * (8000-8010): "git.example.com:22/tcp". See net_rule_parse() in rule.c for what it refuses. Not yet checked. */
int net_rule_parse(const char *text, bool is_address, struct net_rule *ret, struct cordon_error *err);
/* The same form from the parts of a rule, for its `text`; malloc'd or NULL. Methods, paths and the secret are not in it. */
char *net_rule_text(const struct net_rule *rule);
/* Only the ports, "80,8000-8010", into rule->ports, and back: 0, -EINVAL, -E2BIG (more than NET_PORTS_MAX) or -ENOMEM. */
int net_ports_parse(const char *text, size_t len, struct net_rule *rule);
void net_ports_text(const struct net_rule *rule, struct str *ret);
const char *net_protocol_name(enum net_protocol protocol);        /* "tls", "http", "tcp" */
int net_protocol_parse(const char *text, enum net_protocol *ret); /* 0 or -EINVAL */
/* Everything a rule must satisfy, whatever it came from: ports without a protocol, methods on tcp, secret without tls or http … */
int net_rule_check(const struct net_rule *rule, struct cordon_error *err);
/* Rules against each other: two protocols for the same pattern and port. */
int net_rules_check(const struct net_rules *rules, struct cordon_error *err);
int net_rule_copy(struct net_rule *to, const struct net_rule *from); /* 0 or -ENOMEM */
int net_rules_add(struct net_rules *rules, struct net_rule *rule);   /* takes it, also on failure */
void net_rule_done(struct net_rule *rule);
void net_rules_done(struct net_rules *rules);
/* Everything that `inner`, as the only rule and with the outer read_only and allow_private, allows `outer` allows as well: narrowing. Not
 * even a repeated "*.example.com" is within, where the outer rules say less for api.example.com: ask for the whole set then. */
bool net_rule_is_within(const struct net_rule *inner, const struct net_rules *outer);
/* The same for all rules of a set together, its mode, read_only and allow_private. A set is always within itself. */
bool net_rules_are_within(const struct net_rules *inner, const struct net_rules *outer);
/* What NET_OPEN has behind all rules: "*", every port as tcp; with read_only 443 as tls and 80 as http. NULL in other modes. */
const struct net_rule *net_rules_last(const struct net_rules *rules);

/* Is TLS terminated for some connection? Then the box needs a certificate authority before it starts. */
bool net_rules_intercept(const struct net_rules *rules);
/* The ports that are listened on from the start, each once. *ret_lazy: there are others, which open when they are first wanted. */
enum { NET_LISTEN_MAX = 128 };
size_t net_rules_ports(const struct net_rules *rules, uint16_t *ports, size_t max, bool *ret_lazy);

/* ---- the decision ---- */

enum { NET_MATCH_MAX = 16 };

struct net_match {
	const struct net_rule *rules[NET_MATCH_MAX]; /* those that speak for the connection; at least one */
	size_t n;
	enum net_protocol protocol;
	bool inspect; /* every request is looked at: methods, paths, a secret or read_only; TLS is terminated for it */
	bool needs_address; /* by literal address */
};

/* May this name be resolved at all? */
bool net_rules_name(const struct net_rules *rules, const char *name);
/* name: normalised, or NULL with the literal address. 0 and *ret; -EACCES and a reason that fits reason[] otherwise. */
int net_rules_connect(const struct net_rules *rules, const char *name, const struct net_address *address, uint16_t port,
		      struct net_match *ret, char *reason, size_t size);
/* May this address be dialled for it: every answer of a resolver, or the literal one. NULL: yes; else why not. */
const char *net_rules_dial(const struct net_rules *rules, const struct net_match *match,
			   const struct net_address *address);
/* method as it stands; path: already normalised by net_path_normalise(). The rule that takes it, or NULL. */
const struct net_rule *net_rules_request(const struct net_rules *rules, const struct net_match *match,
					 const char *method, const char *path);
/* Percent-decodes unreserved bytes, resolves "." and ".." and "//", drops the query. -EINVAL for what is ambiguous: encoded slashes,
 * escapes that are escaped again, backslashes, NUL and control bytes, bad escapes, ".." above the root, ";" parameters, a fragment. ret holds at most size. */
int net_path_normalise(const char *target, size_t len, char *ret, size_t size);
/* A star stands for any bytes, also slashes; everything else for itself. */
bool net_path_match(const char *pattern, const char *path);

#endif
