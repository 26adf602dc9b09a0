/*
 * What the egress process is told, once, before it starts: rules, limits, secrets' names (never values). Written by the plan, handed over by
 * the keeper as one message in a memfd, read by egress. Text: NUL-terminated "key=value" strings; "rule=" begins a rule, "secret=" a secret.
 */
#ifndef NET_CONFIG_H
#define NET_CONFIG_H

#include "net/rule.h"

struct net_secret {
	char *name;        /* of the variable in the box */
	char *header;      /* "Authorization: Bearer {}", or NULL: only placeholders are replaced */
	char *placeholder; /* what the box sees instead of the value */
	char *from;      /* "env:NAME", "file:PATH", "command:LINE": for whoever fetches it; not written to the wire */
	uint64_t ttl_ms; /* how long a fetched value may be used; 0: for good */
};

struct net_config {
	struct net_rules rules;
	uint64_t connections; /* at once */
	uint64_t connect_timeout_ms, idle_timeout_ms;
	uint64_t download_bps, upload_bps;     /* 0: unlimited */
	uint64_t download_total, upload_total; /* bytes; 0: unlimited */
	char *proxy_host;                      /* upstream proxy, or NULL */
	uint16_t proxy_port;
	char *ca_file; /* more roots for TLS that is looked into, beside the system's: a file of the host, absolute; or NULL */
	struct net_secret *secrets;
	size_t secret_count;
};

int net_config_encode(const struct net_config *config, struct str *ret); /* 0 or -ENOMEM */
/* Strict: what is unknown, twice, out of place or would not pass net_rule_check(), net_rules_check() and net_secret_check() is an error.
 * decode(encode(x)) is x without the `from` of its secrets. */
int net_config_decode(const char *data, size_t len, struct net_config *ret, struct cordon_error *err);
/* Name, header and placeholder are such. */
int net_secret_check(const struct net_secret *secret, struct cordon_error *err);
int net_config_copy(struct net_config *to, const struct net_config *from); /* 0 or -ENOMEM */
void net_config_done(struct net_config *config);
const struct net_secret *net_config_secret(const struct net_config *config, const char *name);

/* Addresses inside a box with a network. */
#define NET_BOX_ADDRESS "198.19.255.2"
#define NET_GATEWAY_ADDRESS "198.19.255.1" /* also the resolver */
#define NET_LINK_BITS 30
enum { NET_POOL_BASE = 0xc6120000u, NET_POOL_SIZE = 16384 }; /* 198.18.0.0: one address per name, bounded per box */

#endif
