/*
 * What of the network a box may have: rules, and the one decision over them. Pure: used by the policy (validation, narrowing), by the
 * egress process (every name, connection and request) and by its fuzzers.
 *
 * Which rules speak for a connection: those of the most specific host pattern that matches the name and has the port (the name itself,
 * then the longest wildcard, then "*"); all of that one pattern together. For a literal address: all address rules
 * that contain it and have the port, else the rules of "*" where private ranges are not touched. A request then passes if one of these rules takes its method and path.
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
	bool allow_private; /* names may resolve to special ranges */
	struct net_rule *v;
	size_t n;
};

/* One rule from its textual form; used by flags and by the wire form of the configuration:
 *	HOST[:PORT[,PORT…]] or ADDRESS/BITS[:PORT…] — see net_rule_parse() in rule.c for what it refuses. */
int net_rule_parse(const char *text, bool is_address, struct net_rule *ret, struct cordon_error *err);
/* Everything a rule must satisfy, whatever it came from: ports without a protocol, methods on tcp, secret without tls or http … */
int net_rule_check(const struct net_rule *rule, struct cordon_error *err);
/* Rules against each other: two protocols for the same pattern and port. */
int net_rules_check(const struct net_rules *rules, struct cordon_error *err);
int net_rule_copy(struct net_rule *to, const struct net_rule *from); /* 0 or -ENOMEM */
int net_rules_add(struct net_rules *rules, struct net_rule *rule);   /* takes it, also on failure */
void net_rule_done(struct net_rule *rule);
void net_rules_done(struct net_rules *rules);
/* Everything that `inner` allows `outer` allows as well: narrowing. */
bool net_rule_is_within(const struct net_rule *inner, const struct net_rules *outer);

/* ---- the decision ---- */

struct net_match {
	const struct net_rule *rules[16]; /* those that speak for the connection; at least one */
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
 * backslashes, NUL and control bytes, bad escapes, ".." above the root, ";" parameters, a fragment. ret holds at most size. */
int net_path_normalise(const char *target, size_t len, char *ret, size_t size);
/* A star stands for any bytes, also slashes; everything else for itself. */
bool net_path_match(const char *pattern, const char *path);

#endif
