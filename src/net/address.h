/* IP addresses: every spelling that a resolver would take, prefixes, and which addresses are not the public internet. Pure. */
#ifndef NET_ADDRESS_H
#define NET_ADDRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

struct net_address {
	int family;        /* AF_INET or AF_INET6 */
	uint8_t bytes[16]; /* network order; 4 used for AF_INET */
};

struct net_prefix {
	struct net_address base;
	unsigned bits;
};

enum { ADDRESS_TEXT = 46 };

/* Any spelling that inet_aton() or getaddrinfo() would take for an address: "10.1", "0x7f.1", "017700000001", "2130706433",
 * "::1", "[::1]", "::ffff:1.2.3.4". 0 or -EINVAL. A scope id ("fe80::1%eth0") is -EINVAL. */
int address_parse(const char *text, size_t len, struct net_address *ret);
/* "10.1.2.0/24", "2001:db8::/32", or one address; only the canonical spelling, host bits zero, nothing mapped
 * ("::ffff:…"). 0 or -EINVAL. For policies. */
int prefix_parse(const char *text, size_t len, struct net_prefix *ret);
bool prefix_contains(const struct net_prefix *prefix, const struct net_address *address);
bool prefix_is_within(const struct net_prefix *inner, const struct net_prefix *outer);
const char *address_text(const struct net_address *address, char buf[ADDRESS_TEXT]);
const char *prefix_text(const struct net_prefix *prefix, char *buf, size_t size);

/* NULL for a public address; else which special range it is in ("loopback", "private (RFC 1918)", "link-local, cloud metadata",
 * "carrier-grade NAT" …). What is embedded in IPv6 (mapped, compatible, NAT64, 6to4, Teredo) is looked through: such an address is
 * never public, whatever it embeds. */
const char *address_special(const struct net_address *address);
/* The special range that holds all of the prefix, or NULL: "10.0.0.0/8" names a private range, "0.0.0.0/0" names none. */
const char *prefix_special(const struct net_prefix *prefix);

socklen_t address_to_sockaddr(const struct net_address *address, uint16_t port, struct sockaddr_storage *ret);
int address_from_sockaddr(const struct sockaddr *sa, struct net_address *ret, uint16_t *ret_port); /* 0 or -EINVAL */

#endif
