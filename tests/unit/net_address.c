/* Addresses in every spelling, prefixes, and what is not the public internet. */
#include "net/address.h"
#include "tap.h"

#include <errno.h>
#include <netinet/in.h>

struct spelling {
	const char *text, *canonical; /* NULL: not an address */
};

static const struct spelling spellings[] = {
	{ "1.2.3.4", "1.2.3.4" },
	{ "10.1", "10.0.0.1" },
	{ "10.1.515", "10.1.2.3" },
	{ "0x7f.1", "127.0.0.1" },
	{ "0X7F.0x0.0x0.0x1", "127.0.0.1" },
	{ "017700000001", "127.0.0.1" },
	{ "0177.0.0.01", "127.0.0.1" },
	{ "2130706433", "127.0.0.1" },
	{ "0x7f000001", "127.0.0.1" },
	{ "0000000000000000000000000000000000000000177.1", "127.0.0.1" },
	{ "0", "0.0.0.0" },
	{ "00", "0.0.0.0" },
	{ "4294967295", "255.255.255.255" },
	{ "1.16777215", "1.255.255.255" },
	{ "::", "::" },
	{ "::1", "::1" },
	{ "[::1]", "::1" },
	{ "0:0:0:0:0:0:0:1", "::1" },
	{ "2001:0DB8::0001", "2001:db8::1" },
	{ "::ffff:1.2.3.4", "::ffff:1.2.3.4" },
	{ "::ffff:7f00:1", "::ffff:127.0.0.1" },
	{ "::1.2.3.4", "::1.2.3.4" },
	{ "64:ff9b::10.0.0.1", "64:ff9b::a00:1" },

	{ "", NULL },
	{ ".", NULL },
	{ "1.", NULL },
	{ ".1", NULL },
	{ "1..2", NULL },
	{ "1.2.3.4.", NULL },
	{ "1.2.3.4.5", NULL },
	{ "256.0.0.1", NULL },
	{ "1.2.3.256", NULL },
	{ "1.2.65536", NULL },
	{ "1.16777216", NULL },
	{ "4294967296", NULL },
	{ "99999999999999999999999999", NULL },
	{ "08", NULL },
	{ "09.1", NULL },
	{ "0x", NULL },
	{ "0x.1", NULL },
	{ "0xg", NULL },
	{ "1a", NULL },
	{ "a", NULL },
	{ "-1", NULL },
	{ "+1", NULL },
	{ " 1.2.3.4", NULL },
	{ "1.2.3.4 ", NULL },
	{ "1.2.3.4\n", NULL },
	{ "[1.2.3.4]", NULL },
	{ "[]", NULL },
	{ "[:]", NULL },
	{ "[", NULL },
	{ "[::1", NULL },
	{ "::1]", NULL },
	{ "[[::1]]", NULL },
	{ ":", NULL },
	{ ":::", NULL },
	{ "1:2:3:4:5:6:7:8:9", NULL },
	{ "1::2::3", NULL },
	{ "12345::", NULL },
	{ "fe80::1%eth0", NULL },
	{ "fe80::1%25eth0", NULL },
	{ "::ffff:256.0.0.1", NULL },
	{ "example.com", NULL },
};

static const struct {
	const char *text;
	bool special;
} ranges[] = {
	{ "0.0.0.0", true },
	{ "0.255.255.255", true },
	{ "1.0.0.0", false },
	{ "9.255.255.255", false },
	{ "10.0.0.0", true },
	{ "10.255.255.255", true },
	{ "11.0.0.0", false },
	{ "100.63.255.255", false },
	{ "100.64.0.0", true },
	{ "100.100.100.200", true },
	{ "100.127.255.255", true },
	{ "100.128.0.0", false },
	{ "126.255.255.255", false },
	{ "127.0.0.1", true },
	{ "127.255.255.255", true },
	{ "128.0.0.0", false },
	{ "168.63.129.15", false },
	{ "168.63.129.16", true },
	{ "169.253.255.255", false },
	{ "169.254.169.254", true },
	{ "169.255.0.0", false },
	{ "172.15.255.255", false },
	{ "172.16.0.0", true },
	{ "172.31.255.255", true },
	{ "172.32.0.0", false },
	{ "191.255.255.255", false },
	{ "192.0.0.192", true },
	{ "192.0.1.0", false },
	{ "192.0.2.1", false },
	{ "192.88.99.1", true },
	{ "192.88.98.255", false },
	{ "192.167.255.255", false },
	{ "192.168.0.0", true },
	{ "192.168.255.255", true },
	{ "192.169.0.0", false },
	{ "198.17.255.255", false },
	{ "198.18.0.0", true },
	{ "198.19.255.255", true },
	{ "198.20.0.0", false },
	{ "198.51.100.7", false },
	{ "203.0.113.7", false },
	{ "223.255.255.255", false },
	{ "224.0.0.1", true },
	{ "239.255.255.255", true },
	{ "240.0.0.1", true },
	{ "255.255.255.255", true },
	{ "::", true },
	{ "::1", true },
	{ "::2", true },
	{ "::1.2.3.4", true },
	{ "::ffff:1.2.3.4", true },
	{ "::ffff:127.0.0.1", true },
	{ "::ffff:0:8.8.8.8", true },
	{ "64:ff9b::8.8.8.8", true },
	{ "64:ff9b:1::1", true },
	{ "100::1", true },
	{ "1fff::1", true },
	{ "2000::1", false },
	{ "2001::1", true },
	{ "2001:0:4136:e378:8000:63bf:3fff:fdd2", true },
	{ "2001:1ff:ffff::1", true },
	{ "2001:200::1", false },
	{ "2001:db8::1", false },
	{ "2001:4860:4860::8888", false },
	{ "2002:7f00:1::1", true },
	{ "2002:808:808::1", true },
	{ "2003::1", false },
	{ "2606:4700::1111", false },
	{ "3fff::1", false },
	{ "3fff:ffff::1", false },
	{ "4000::1", true },
	{ "5f00::1", true },
	{ "8000::1", true },
	{ "fbff::1", true },
	{ "fc00::1", true },
	{ "fd00:ec2::254", true },
	{ "fdff::1", true },
	{ "fe80::1", true },
	{ "febf::1", true },
	{ "fec0::1", true },
	{ "ff02::1", true },
};

static struct net_address address_of(const char *text)
{
	struct net_address a = { 0 };

	if (address_parse(text, strlen(text), &a) < 0)
		ok(false, "'%s' is an address", text);
	return a;
}

static struct net_prefix prefix_of(const char *text)
{
	struct net_prefix p = { 0 };

	if (prefix_parse(text, strlen(text), &p) < 0)
		ok(false, "'%s' is a prefix", text);
	return p;
}

static void check_spellings(void)
{
	char buf[ADDRESS_TEXT];

	for (size_t i = 0; i < sizeof(spellings) / sizeof(*spellings); i++) {
		struct net_address a;
		int rc = address_parse(spellings[i].text, strlen(spellings[i].text), &a);

		if (spellings[i].canonical)
			is_str(rc == 0 ? address_text(&a, buf) : NULL, spellings[i].canonical, "'%s'",
			       spellings[i].text);
		else
			is_num(rc, -EINVAL, "'%s' is not an address", spellings[i].text);
	}
	struct net_address a;
	ok(address_parse("1.2.3.4\0", 8, &a) == -EINVAL, "NUL at the end");
	ok(address_parse("::1\0", 4, &a) == -EINVAL, "NUL at the end of IPv6");
	ok(address_parse("1.2.3.45", 7, &a) == 0 && a.bytes[3] == 4, "the length is what counts");
}

static void check_prefix(const char *text, bool valid)
{
	struct net_prefix p;
	char buf[64];
	int rc = prefix_parse(text, strlen(text), &p);

	is_num(rc, valid ? 0 : -EINVAL, "prefix '%s'", text);
	if (rc == 0)
		is_str(prefix_text(&p, buf, sizeof(buf)), text, "'%s' is told as it was read", text);
}

static void check_prefixes(void)
{
	static const char *const good[] = { "10.1.2.0/24", "10.1.2.3",  "0.0.0.0/0",      "2001:db8::/32",
					    "2001:db8::1", "::/0",      "128.0.0.0/1",    "1.2.3.4/31",
					    "fc00::/7",    "fe80::/10", "255.255.255.255" };
	static const char *const bad[] = { "10.1.2.3/24",
					   "10.1/16",
					   "10.1.2.0/33",
					   "10.1.2.0/",
					   "10.1.2.0/024",
					   "10.1.2.0/ 8",
					   "10.1.2.0/-1",
					   "10.1.2.0/24/24",
					   "/24",
					   "",
					   "010.1.2.0/24",
					   "0x0a.1.2.0/24",
					   "2001:DB8::/32",
					   "[::1]",
					   "2001:db8:0::/32",
					   "2001:db8::/129",
					   "::ffff:1.2.3.0/120",
					   "::ffff:1.2.3.4",
					   "::ffff:0.0.0.0/96",
					   "10.1.2.0/24x",
					   "10.1.2.0/0x8",
					   "example.com/8" };

	for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++)
		check_prefix(good[i], true);
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		check_prefix(bad[i], false);
}

static bool contains(const char *prefix, const char *address)
{
	struct net_prefix p = prefix_of(prefix);
	struct net_address a = address_of(address);

	return prefix_contains(&p, &a);
}

static bool within(const char *inner, const char *outer)
{
	struct net_prefix i = prefix_of(inner), o = prefix_of(outer);

	return prefix_is_within(&i, &o);
}

static void check_containment(void)
{
	ok(contains("10.1.2.0/24", "10.1.2.255"), "the last of a /24");
	ok(!contains("10.1.2.0/24", "10.1.3.0"), "the next one");
	ok(contains("10.1.2.4/30", "10.1.2.7") && !contains("10.1.2.4/30", "10.1.2.8"), "a /30");
	ok(contains("0.0.0.0/0", "255.1.2.3"), "everything of IPv4");
	ok(!contains("0.0.0.0/0", "::ffff:1.2.3.4"), "which has no mapped addresses in it");
	ok(!contains("::/0", "1.2.3.4"), "families are apart");
	ok(contains("2001:db8::/33", "2001:db8:7fff::") && !contains("2001:db8::/33", "2001:db8:8000::"), "a /33");
	ok(contains("::1", "::1") && !contains("::1", "::2"), "one address");
	ok(within("10.1.2.0/24", "10.0.0.0/8") && within("10.0.0.0/8", "10.0.0.0/8"), "within");
	ok(!within("10.0.0.0/8", "10.1.2.0/24") && !within("11.0.0.0/24", "10.0.0.0/8"), "not within");
	ok(!within("10.0.0.0/8", "::/0"), "not within the other family");
}

static void check_special(void)
{
	struct net_address none = { 0 };

	for (size_t i = 0; i < sizeof(ranges) / sizeof(*ranges); i++) {
		struct net_address a = address_of(ranges[i].text);

		ok(!!address_special(&a) == ranges[i].special, "%s is %s", ranges[i].text,
		   ranges[i].special ? "special" : "public");
	}
	ok(address_special(&none), "no family at all is not public");
	struct net_prefix p = prefix_of("10.0.0.0/8");
	is_str(prefix_special(&p), "private (RFC 1918)", "10.0.0.0/8 is private");
	p = prefix_of("192.168.7.0/24");
	ok(prefix_special(&p), "and so is a part");
	p = prefix_of("0.0.0.0/0");
	ok(!prefix_special(&p), "all of IPv4 names no special range");
	p = prefix_of("10.0.0.0/7");
	ok(!prefix_special(&p), "nor does what is half of one");
	p = prefix_of("::/0");
	ok(!prefix_special(&p), "nor all of IPv6");
	p = prefix_of("fd12::/16");
	ok(prefix_special(&p), "a unique local network");
}

static void check_sockaddr(const char *text, socklen_t want)
{
	struct net_address a = address_of(text), back;
	struct sockaddr_storage ss;
	uint16_t port = 0;

	is_num(address_to_sockaddr(&a, 5432, &ss), want, "the length of %s as a socket's address", text);
	ok(address_from_sockaddr((struct sockaddr *)&ss, &back, &port) == 0 && memcmp(&a, &back, sizeof(a)) == 0 &&
		   port == 5432,
	   "and back");
}

int main(void)
{
	check_spellings();
	check_prefixes();
	check_containment();
	check_special();
	check_sockaddr("192.0.2.1", sizeof(struct sockaddr_in));
	check_sockaddr("2001:db8::1", sizeof(struct sockaddr_in6));
	struct sockaddr sa = { .sa_family = AF_UNIX };
	struct net_address a;
	is_num(address_from_sockaddr(&sa, &a, NULL), -EINVAL, "a unix socket has no such address");
	return done_testing();
}
