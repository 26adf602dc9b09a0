/*
 * IP addresses: see address.h. Two spellings matter: every one that some resolver takes (address_parse, for hostile text: what it
 * takes is never a name), and the canonical one (prefix_parse, for policies: what is read is what is meant). What is not the public
 * internet is a table per family, most telling entry first. Pure; any process, any privilege.
 */
#include "net/address.h"

#include "base/str.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

/* One number as inet_aton() reads it: decimal, octal after "0", hexadecimal after "0x". Moves *p behind it. */
static int number_parse(const char **p, const char *end, uint64_t *ret)
{
	const char *s = *p;
	unsigned base = 10;
	uint64_t v = 0;

	if (end - s > 2 && s[0] == '0' && (s[1] == 'x' || s[1] == 'X')) {
		base = 16;
		s += 2;
	} else if (s < end && *s == '0') {
		base = 8;
	}
	const char *first = s;
	for (; s < end && *s != '.'; s++) {
		unsigned digit;

		if (*s >= '0' && *s <= '9')
			digit = (unsigned)(*s - '0');
		else if ((*s | 0x20) >= 'a' && (*s | 0x20) <= 'f')
			digit = (unsigned)((*s | 0x20) - 'a') + 10;
		else
			return -EINVAL;
		v = v * base + digit;
		if (digit >= base || v > UINT32_MAX)
			return -EINVAL;
	}
	if (s == first)
		return -EINVAL;
	*p = s;
	*ret = v;
	return 0;
}

/* One to four numbers; the last one fills what is left. */
static int v4_parse(const char *text, size_t len, struct net_address *ret)
{
	const char *p = text, *end = text + len;
	uint64_t part[4], v = 0;
	size_t n = 0;

	for (;;) {
		if (n == 4 || number_parse(&p, end, &part[n]) < 0)
			return -EINVAL;
		n++;
		if (p == end)
			break;
		p++; /* the dot: a number must follow */
	}
	for (size_t i = 0; i + 1 < n; i++) {
		if (part[i] > 0xff)
			return -EINVAL;
		v |= part[i] << (24 - 8 * i);
	}
	if (part[n - 1] >> (8 * (5 - n)))
		return -EINVAL;
	v |= part[n - 1];
	*ret = (struct net_address){ .family = AF_INET };
	for (size_t i = 0; i < 4; i++)
		ret->bytes[i] = (uint8_t)(v >> (24 - 8 * i));
	return 0;
}

int address_parse(const char *text, size_t len, struct net_address *ret)
{
	struct net_address address = { .family = AF_INET6 };
	char buf[INET6_ADDRSTRLEN];

	if (!memchr(text, ':', len))
		return v4_parse(text, len, ret);
	if (text[0] == '[') {
		if (text[len - 1] != ']')
			return -EINVAL;
		text++;
		len -= 2;
	}
	if (len >= sizeof(buf) || memchr(text, '\0', len))
		return -EINVAL;
	memcpy(buf, text, len);
	buf[len] = '\0';
	if (inet_pton(AF_INET6, buf, address.bytes) != 1)
		return -EINVAL;
	*ret = address;
	return 0;
}

static unsigned family_bits(int family)
{
	return family == AF_INET ? 32 : 128;
}

/* Do the first `bits` bits agree? */
static bool bits_equal(const uint8_t *a, const uint8_t *b, unsigned bits)
{
	unsigned rest = bits % 8;

	if (memcmp(a, b, bits / 8) != 0)
		return false;
	return !rest || (a[bits / 8] ^ b[bits / 8]) >> (8 - rest) == 0;
}

static bool host_bits_zero(const struct net_prefix *p)
{
	for (unsigned i = p->bits; i < family_bits(p->base.family); i++)
		if (p->base.bytes[i / 8] & (0x80 >> i % 8))
			return false;
	return true;
}

bool prefix_contains(const struct net_prefix *prefix, const struct net_address *address)
{
	return prefix->base.family == address->family && bits_equal(prefix->base.bytes, address->bytes, prefix->bits);
}

bool prefix_is_within(const struct net_prefix *inner, const struct net_prefix *outer)
{
	return inner->bits >= outer->bits && prefix_contains(outer, &inner->base);
}

const char *address_text(const struct net_address *address, char buf[ADDRESS_TEXT])
{
	if (!inet_ntop(address->family, address->bytes, buf, ADDRESS_TEXT))
		buf[0] = '\0';
	return buf;
}

const char *prefix_text(const struct net_prefix *prefix, char *buf, size_t size)
{
	char text[ADDRESS_TEXT];

	address_text(&prefix->base, text);
	if (prefix->bits == family_bits(prefix->base.family))
		snprintf(buf, size, "%s", text);
	else
		snprintf(buf, size, "%s/%u", text, prefix->bits);
	return buf;
}

struct special4 {
	uint32_t base;
	unsigned bits;
	const char *name;
};

/*
 * After IANA's special-purpose registry, with two differences. The documentation ranges (192.0.2.0/24, 198.51.100.0/24,
 * 203.0.113.0/24; 2001:db8::/32 and 3fff::/20 below) count as public: nobody routes them, so nothing is lost, and tests can build
 * an internet of them. And 168.63.129.16 is where each Azure machine finds its host, though the registry does not know it.
 */
static const struct special4 specials4[] = {
	{ 0x00000000, 8, "this network (0.0.0.0/8)" },
	{ 0x0a000000, 8, "private (RFC 1918)" },
	{ 0x64400000, 10, "carrier-grade NAT" },
	{ 0x7f000000, 8, "loopback" },
	{ 0xa83f8110, 32, "cloud metadata" },
	{ 0xa9fe0000, 16, "link-local, cloud metadata" },
	{ 0xac100000, 12, "private (RFC 1918)" },
	{ 0xc0000000, 24, "protocol assignments (192.0.0.0/24)" },
	{ 0xc0586300, 24, "6to4 relay" },
	{ 0xc0a80000, 16, "private (RFC 1918)" },
	{ 0xc6120000, 15, "benchmarking" },
	{ 0xe0000000, 4, "multicast" },
	{ 0xffffffff, 32, "broadcast" },
	{ 0xf0000000, 4, "reserved (240.0.0.0/4)" },
};

struct special6 {
	uint8_t base[16];
	unsigned bits;
	const char *name;
};

/* What carries an IPv4 address is never public: where it would come out is not for the box to choose. */
static const struct special6 specials6[] = {
	{ { 0 }, 128, "unspecified" },
	{ { [15] = 1 }, 128, "loopback" },
	{ { [10] = 0xff, 0xff }, 96, "IPv4-mapped" },
	{ { 0 }, 96, "IPv4-compatible" },
	{ { [8] = 0xff, 0xff }, 96, "IPv4-translated" },
	{ { 0x00, 0x64, 0xff, 0x9b }, 96, "NAT64" },
	{ { 0x00, 0x64, 0xff, 0x9b, 0x00, 0x01 }, 48, "NAT64" },
	{ { 0x01, 0x00 }, 64, "discard-only" },
	{ { 0x20, 0x01, 0x00, 0x00 }, 32, "Teredo" },
	{ { 0x20, 0x01, 0x00 }, 23, "protocol assignments (2001::/23)" },
	{ { 0x20, 0x02 }, 16, "6to4" },
	{ { 0x5f, 0x00 }, 16, "segment routing" },
	{ { 0xfd, 0x00, 0x0e, 0xc2 }, 32, "unique local, cloud metadata" },
	{ { 0xfc }, 7, "unique local" },
	{ { 0xfe, 0x80 }, 10, "link-local" },
	{ { 0xfe, 0xc0 }, 10, "site-local" },
	{ { 0xff }, 8, "multicast" },
	/* All that is not 2000::/3. */
	{ { 0x00 }, 3, "not global unicast" },
	{ { 0x40 }, 2, "not global unicast" },
	{ { 0x80 }, 1, "not global unicast" },
};

const char *prefix_special(const struct net_prefix *prefix)
{
	const uint8_t *b = prefix->base.bytes;

	if (prefix->base.family == AF_INET) {
		uint32_t v = (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];

		for (size_t i = 0; i < ARRAY_LEN(specials4); i++)
			if (prefix->bits >= specials4[i].bits &&
			    (v ^ specials4[i].base) >> (32 - specials4[i].bits) == 0)
				return specials4[i].name;
		return NULL;
	}
	if (prefix->base.family != AF_INET6)
		return "not an internet address";
	for (size_t i = 0; i < ARRAY_LEN(specials6); i++)
		if (prefix->bits >= specials6[i].bits && bits_equal(b, specials6[i].base, specials6[i].bits))
			return specials6[i].name;
	return NULL;
}

const char *address_special(const struct net_address *address)
{
	struct net_prefix prefix = { *address, family_bits(address->family) };

	return prefix_special(&prefix);
}

int prefix_parse(const char *text, size_t len, struct net_prefix *ret)
{
	static const struct net_prefix mapped = { { AF_INET6, { [10] = 0xff, 0xff } }, 96 };
	const char *slash = memchr(text, '/', len);
	size_t n = slash ? (size_t)(slash - text) : len;
	char canonical[ADDRESS_TEXT];
	struct net_prefix p = { 0 };

	if (address_parse(text, n, &p.base) < 0)
		return -EINVAL;
	address_text(&p.base, canonical);
	if (strlen(canonical) != n || memcmp(canonical, text, n) != 0)
		return -EINVAL;
	p.bits = family_bits(p.base.family);
	if (slash) {
		size_t digits = len - n - 1;

		if (digits < 1 || digits > 3 || (digits > 1 && slash[1] == '0'))
			return -EINVAL;
		unsigned bits = 0;
		for (size_t i = 1; i <= digits; i++) {
			if (slash[i] < '0' || slash[i] > '9')
				return -EINVAL;
			bits = bits * 10 + (unsigned)(slash[i] - '0');
		}
		if (bits > p.bits)
			return -EINVAL;
		p.bits = bits;
	}
	/* A mapped one would be a second name of an IPv4 address, which rules for IPv4 do not see. */
	if (!host_bits_zero(&p) || prefix_is_within(&p, &mapped))
		return -EINVAL;
	*ret = p;
	return 0;
}

socklen_t address_to_sockaddr(const struct net_address *address, uint16_t port, struct sockaddr_storage *ret)
{
	memset(ret, 0, sizeof(*ret));
	if (address->family == AF_INET) {
		struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = htons(port) };

		memcpy(&in.sin_addr, address->bytes, 4);
		memcpy(ret, &in, sizeof(in));
		return sizeof(in);
	}
	struct sockaddr_in6 in6 = { .sin6_family = AF_INET6, .sin6_port = htons(port) };

	memcpy(&in6.sin6_addr, address->bytes, 16);
	memcpy(ret, &in6, sizeof(in6));
	return sizeof(in6);
}

int address_from_sockaddr(const struct sockaddr *sa, struct net_address *ret, uint16_t *ret_port)
{
	struct net_address address = { .family = sa->sa_family };
	in_port_t port;

	if (sa->sa_family == AF_INET) {
		struct sockaddr_in in;

		memcpy(&in, sa, sizeof(in));
		memcpy(address.bytes, &in.sin_addr, 4);
		port = in.sin_port;
	} else if (sa->sa_family == AF_INET6) {
		struct sockaddr_in6 in6;

		memcpy(&in6, sa, sizeof(in6));
		memcpy(address.bytes, &in6.sin6_addr, 16);
		port = in6.sin6_port;
	} else {
		return -EINVAL;
	}
	*ret = address;
	if (ret_port)
		*ret_port = ntohs(port);
	return 0;
}
