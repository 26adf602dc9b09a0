/* Host names: what is a name, what is an address, what is neither; patterns. */
#include "net/hostname.h"
#include "tap.h"

#include <errno.h>

struct name_case {
	const char *text, *name; /* NULL: not a name */
	enum hostname_kind kind;
};

#define L16 "abcdefghijklmnop"
#define L63 L16 L16 L16 "abcdefghijklmno"
#define D63 L63 "." L63 "." L63 "."
#define L61 L16 L16 L16 "abcdefghijklm"

static const struct name_case plain[] = {
	{ "example.com", "example.com", HOSTNAME_NAME },
	{ "EXAMPLE.Com", "example.com", HOSTNAME_NAME },
	{ "example.com.", "example.com", HOSTNAME_NAME },
	{ "localhost", "localhost", HOSTNAME_NAME },
	{ "_dmarc.example.com", "_dmarc.example.com", HOSTNAME_NAME },
	{ "a_b.example.com", "a_b.example.com", HOSTNAME_NAME },
	{ "r3---sn-x.example.com", "r3---sn-x.example.com", HOSTNAME_NAME },
	{ "1.2.3.4.example.com", "1.2.3.4.example.com", HOSTNAME_NAME },
	{ "4chan.org", "4chan.org", HOSTNAME_NAME },
	{ "0xyz", "0xyz", HOSTNAME_NAME },
	{ "example.1a", "example.1a", HOSTNAME_NAME },
	{ "xn--bcher-kva.example", "xn--bcher-kva.example", HOSTNAME_NAME },
	{ L63 ".com", L63 ".com", HOSTNAME_NAME },
	{ D63 L61, D63 L61, HOSTNAME_NAME },
	{ D63 L61 ".", D63 L61, HOSTNAME_NAME },

	{ "", NULL, HOSTNAME_INVALID },
	{ ".", NULL, HOSTNAME_INVALID },
	{ "..", NULL, HOSTNAME_INVALID },
	{ "example.com..", NULL, HOSTNAME_INVALID },
	{ ".example.com", NULL, HOSTNAME_INVALID },
	{ "a..b", NULL, HOSTNAME_INVALID },
	{ "-a.example.com", NULL, HOSTNAME_INVALID },
	{ "a-.example.com", NULL, HOSTNAME_INVALID },
	{ "example.com:443", NULL, HOSTNAME_INVALID },
	{ "user@example.com", NULL, HOSTNAME_INVALID },
	{ "example.com/x", NULL, HOSTNAME_INVALID },
	{ "example.com\\x", NULL, HOSTNAME_INVALID },
	{ "exa mple.com", NULL, HOSTNAME_INVALID },
	{ " example.com", NULL, HOSTNAME_INVALID },
	{ "example.com\n", NULL, HOSTNAME_INVALID },
	{ "example.com\r\nx", NULL, HOSTNAME_INVALID },
	{ "example%2ecom", NULL, HOSTNAME_INVALID },
	{ "*.example.com", NULL, HOSTNAME_INVALID },
	{ "exam*ple.com", NULL, HOSTNAME_INVALID },
	{ "example.com#", NULL, HOSTNAME_INVALID },
	{ "example.com?", NULL, HOSTNAME_INVALID },
	{ "a" L63 ".com", NULL, HOSTNAME_INVALID },
	{ D63 L61 "q", NULL, HOSTNAME_INVALID },

	{ "127.0.0.1", NULL, HOSTNAME_ADDRESS },
	{ "127.0.0.1.", NULL, HOSTNAME_ADDRESS },
	{ "127.1", NULL, HOSTNAME_ADDRESS },
	{ "2130706433", NULL, HOSTNAME_ADDRESS },
	{ "017700000001", NULL, HOSTNAME_ADDRESS },
	{ "0x7f.1", NULL, HOSTNAME_ADDRESS },
	{ "0X7F000001", NULL, HOSTNAME_ADDRESS },
	{ "0", NULL, HOSTNAME_ADDRESS },
	{ "1.1", NULL, HOSTNAME_ADDRESS },
	{ "1.0000000000000000000000000000000000000000000000000000000000000000000001.1", NULL, HOSTNAME_ADDRESS },
	{ "::1", NULL, HOSTNAME_ADDRESS },
	{ "[::1]", NULL, HOSTNAME_ADDRESS },
	{ "[::FFFF:127.0.0.1]", NULL, HOSTNAME_ADDRESS },
	{ "example.1", NULL, HOSTNAME_INVALID },
	{ "example.0x1f", NULL, HOSTNAME_INVALID },
	{ "example.0x", NULL, HOSTNAME_INVALID },
	{ "0x", NULL, HOSTNAME_INVALID },
	{ "08", NULL, HOSTNAME_INVALID },
	{ "256.1.1.1", NULL, HOSTNAME_INVALID },
	{ "1.2.3.4.5", NULL, HOSTNAME_INVALID },
	{ "1.2.3.4..", NULL, HOSTNAME_INVALID },
	{ "4294967296", NULL, HOSTNAME_INVALID },
	{ "[::1", NULL, HOSTNAME_INVALID },
	{ "[127.0.0.1]", NULL, HOSTNAME_INVALID },
	{ "[::1]:80", NULL, HOSTNAME_INVALID },
	{ "fe80::1%eth0", NULL, HOSTNAME_INVALID },
};

/* Only where a person wrote it. */
static const struct name_case mapped[] = {
	{ "bücher.example", "xn--bcher-kva.example", HOSTNAME_NAME },
	{ "BÜCHER.example", "xn--bcher-kva.example", HOSTNAME_NAME },
	{ "bu\xcc\x88"
	  "cher.example",
	  "xn--bcher-kva.example", HOSTNAME_NAME },
	{ "straße.example", "xn--strae-oqa.example", HOSTNAME_NAME },
	{ "日本語。jp", "xn--wgv71a119e.jp", HOSTNAME_NAME },
	{ "ｅｘａｍｐｌｅ．ｃｏｍ", "example.com", HOSTNAME_NAME },
	{ "example。com。", "example.com", HOSTNAME_NAME },
	{ "_dmarc.bücher.example", "_dmarc.xn--bcher-kva.example", HOSTNAME_NAME },
	{ "exam\u00adple.com", "example.com", HOSTNAME_NAME },
	{ "１２７．０．０．１", NULL, HOSTNAME_ADDRESS },
	{ "127。0。0。1", NULL, HOSTNAME_ADDRESS },
	{ "１２７。１", NULL, HOSTNAME_ADDRESS },
	{ "example.１", NULL, HOSTNAME_INVALID },
	{ "example.com／x", NULL, HOSTNAME_INVALID },
	{ "example.com：443", NULL, HOSTNAME_INVALID },
	{ "user＠example.com", NULL, HOSTNAME_INVALID },
	{ "＊.example.com", NULL, HOSTNAME_INVALID },
	{ "exa\u2028mple.com", NULL, HOSTNAME_INVALID },
	{ "bad\xff.example", NULL, HOSTNAME_INVALID },
	{ "overlong\xc0\xae.example", NULL, HOSTNAME_INVALID },
	{ "a。。b", NULL, HOSTNAME_INVALID },
	{ "ü" L63 ".example", NULL, HOSTNAME_INVALID },
	/* A-labels that say nothing. */
	{ "xn--.example", NULL, HOSTNAME_INVALID },
	{ "xn--\u00fc.example", NULL, HOSTNAME_INVALID },
	{ "xn--0.example", NULL, HOSTNAME_INVALID },
	{ "XN--BCHER-KVA.example", "xn--bcher-kva.example", HOSTNAME_NAME },
};

static void check_case(const struct name_case *c, bool idna)
{
	char name[HOSTNAME_SIZE] = "", again[HOSTNAME_SIZE] = "";
	enum hostname_kind kind = hostname_parse(c->text, strlen(c->text), idna, name);

	is_num(kind, c->kind, "what '%.40s' is%s", c->text, idna ? ", written by a person" : "");
	if (c->kind != HOSTNAME_NAME)
		return;
	is_str(name, c->name, "'%.40s' in its one form", c->text);
	ok(hostname_parse(name, strlen(name), false, again) == HOSTNAME_NAME && strcmp(name, again) == 0,
	   "and that form stays as it is");
}

static void check_names(void)
{
	char name[HOSTNAME_SIZE];

	for (size_t i = 0; i < sizeof(plain) / sizeof(*plain); i++) {
		check_case(&plain[i], false);
		check_case(&plain[i], true);
	}
	for (size_t i = 0; i < sizeof(mapped) / sizeof(*mapped); i++)
		check_case(&mapped[i], true);
	ok(hostname_parse("b\xc3\xbc.example", 11, false, name) == HOSTNAME_INVALID, "no UTF-8 on the wire");
	ok(hostname_parse("example.com\0.evil.net", 21, false, name) == HOSTNAME_INVALID, "NUL on the wire");
	ok(hostname_parse("example.com\0.evil.net", 21, true, name) == HOSTNAME_INVALID, "NUL in a policy");
	ok(hostname_parse("example.com\0", 12, false, name) == HOSTNAME_INVALID, "NUL at the end");
	ok(hostname_parse("example.comEVIL", 11, false, name) == HOSTNAME_NAME && strcmp(name, "example.com") == 0,
	   "the length is what counts");
}

struct match_case {
	const char *pattern, *name;
	bool match;
};

static const struct match_case matches[] = {
	{ "example.com", "example.com", true },
	{ "example.com", "www.example.com", false },
	{ "example.com", "evilexample.com", false },
	{ "example.com", "example.com.evil.net", false },
	{ "*.example.com", "www.example.com", true },
	{ "*.example.com", "a.b.example.com", true },
	{ "*.example.com", "example.com", false },
	{ "*.example.com", "evilexample.com", false },
	{ "*.example.com", "evil-example.com", false },
	{ "*.example.com", "example.com.evil.net", false },
	{ "*.example.com", "www.example.com.evil.net", false },
	{ "*.com", "example.com", true },
	{ "*.com", "com", false },
	{ "*", "anything", true },
	{ "*", "a.b.c", true },
	{ "*", "", false },
};

static void check_pattern(const char *text, int rc, const char *want)
{
	char pattern[HOSTNAME_SIZE] = "";

	is_num(hostname_pattern_parse(text, strlen(text), pattern), rc, "pattern '%.40s'", text);
	if (rc == 0)
		is_str(pattern, want, "'%.40s' in its one form", text);
}

int main(void)
{
	check_names();
	for (size_t i = 0; i < sizeof(matches) / sizeof(*matches); i++)
		ok(hostname_match(matches[i].pattern, matches[i].name) == matches[i].match, "%s %s '%s'",
		   matches[i].pattern, matches[i].match ? "matches" : "does not match", matches[i].name);
	check_pattern("*", 0, "*");
	check_pattern("*.PyPI.org.", 0, "*.pypi.org");
	check_pattern("*.bücher.example", 0, "*.xn--bcher-kva.example");
	check_pattern("*.com", 0, "*.com");
	check_pattern("example.com", 0, "example.com");
	check_pattern("*.", -EINVAL, NULL);
	check_pattern("", -EINVAL, NULL);
	check_pattern("**", -EINVAL, NULL);
	check_pattern("*.*.example.com", -EINVAL, NULL);
	check_pattern("www.*.com", -EINVAL, NULL);
	check_pattern("*example.com", -EINVAL, NULL);
	check_pattern("*..example.com", -EINVAL, NULL);
	check_pattern("*。example.com", -EINVAL, NULL);
	check_pattern("＊.example.com", -EINVAL, NULL);
	check_pattern("*.1.2.3.4", -EINVAL, NULL);
	check_pattern("*.[::1]", -EINVAL, NULL);
	check_pattern("*." D63 L61, -EINVAL, NULL);
	check_pattern("127.1", -EADDRNOTAVAIL, NULL);
	check_pattern("[::1]", -EADDRNOTAVAIL, NULL);
	check_pattern("１２７．１", -EADDRNOTAVAIL, NULL);
	check_pattern("example.com:443", -EINVAL, NULL);
	return done_testing();
}
