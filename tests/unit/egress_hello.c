/* The ClientHello: what OpenSSL sends is read, in any pieces and records; what a server could read differently is refused. */
#include "egress/hello.h"
#include "tap.h"

#include <openssl/ssl.h>

struct bytes {
	uint8_t data[HELLO_MAX + 4096];
	size_t len;
};

static void add(struct bytes *b, const void *data, size_t len)
{
	memcpy(b->data + b->len, data, len);
	b->len += len;
}

#define ADD(b, text) add((b), (text), sizeof(text) - 1)

static void add16(struct bytes *b, size_t value)
{
	add(b, (uint8_t[]){ (uint8_t)(value >> 8), (uint8_t)value }, 2);
}

/* From a block of exactly that size, so that ASan sees a byte read behind it. */
static enum hello_status parse(const struct bytes *b, struct hello *ret, const char **why)
{
	uint8_t *exact = malloc(b->len ? b->len : 1);
	enum hello_status status;

	memcpy(exact, b->data, b->len);
	*why = "";
	status = hello_parse(exact, b->len, ret, why);
	free(exact);
	return status;
}

static bool expect(const struct bytes *b, enum hello_status want, const char *reason, const char *what)
{
	struct hello hello;
	const char *why;
	enum hello_status got = parse(b, &hello, &why);

	if (!ok(got == want, "%s", what))
		note("got %d (%s), not %d", got, why, want);
	return is_str(why, reason, "%s: the reason", what) && got == want;
}

/* ---- made by OpenSSL ---- */

struct made {
	const char *name;
	int min, max;
	const char *alpn; /* wire form */
};

static struct bytes made(const struct made *m)
{
	SSL_CTX *ctx = SSL_CTX_new(TLS_client_method());
	BIO *in = BIO_new(BIO_s_mem()), *out = BIO_new(BIO_s_mem());
	struct bytes b = { .len = 0 };
	SSL *ssl;
	int len;

	SSL_CTX_set_security_level(ctx, 0);
	SSL_CTX_set_min_proto_version(ctx, m->min);
	SSL_CTX_set_max_proto_version(ctx, m->max);
	ssl = SSL_new(ctx);
	SSL_set_bio(ssl, in, out);
	if (m->name)
		SSL_set_tlsext_host_name(ssl, m->name);
	if (m->alpn)
		SSL_set_alpn_protos(ssl, (const unsigned char *)m->alpn, (unsigned)strlen(m->alpn));
	SSL_set_connect_state(ssl);
	SSL_do_handshake(ssl);
	len = BIO_read(out, b.data, HELLO_MAX);
	b.len = len > 0 ? (size_t)len : 0;
	SSL_free(ssl);
	SSL_CTX_free(ctx);
	return b;
}

static void test_made(void)
{
	static const struct made cases[] = {
		{ "example.com", TLS1_VERSION, TLS1_VERSION, NULL },
		{ "example.com", TLS1_1_VERSION, TLS1_1_VERSION, NULL },
		{ "API.Example.com", TLS1_2_VERSION, TLS1_2_VERSION, "\x08http/1.1" },
		{ "example.com", TLS1_3_VERSION, TLS1_3_VERSION, "\x02h2\x08http/1.1" },
		{ "xn--bcher-kva.example", TLS1_VERSION, TLS1_3_VERSION, "\x02h2" },
		{ NULL, TLS1_2_VERSION, TLS1_3_VERSION, "\x06spdy/3" },
	};
	static const char *const names[] = { "example.com", "example.com",           "api.example.com",
					     "example.com", "xn--bcher-kva.example", "" };

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct bytes b = made(&cases[i]);
		const char *why, *alpn = cases[i].alpn ? cases[i].alpn : "";
		struct hello hello;

		if (!ok(b.len > 0 && parse(&b, &hello, &why) == HELLO_OK, "OpenSSL's hello %zu", i))
			continue;
		is_str(hello.sni, names[i], "hello %zu: the name", i);
		ok(hello.has_sni == (names[i][0] != 0), "hello %zu: whether there is a name", i);
		ok(hello.alpn_h2 == (strstr(alpn, "h2") != NULL), "hello %zu: h2", i);
		ok(hello.alpn_http1 == (strstr(alpn, "http/1.1") != NULL), "hello %zu: http/1.1", i);
		ok(!hello.has_ech, "hello %zu: no ECH", i);
	}
}

static struct bytes usual(void)
{
	return made(&(struct made){ "example.com", TLS1_2_VERSION, TLS1_3_VERSION, "\x02h2\x08http/1.1" });
}

static void test_every_byte(void)
{
	struct bytes b = usual(), other;
	struct hello hello;
	const char *why;
	bool held = true;

	other = b;
	for (other.len = 0; other.len < b.len; other.len++)
		held = held && parse(&other, &hello, &why) == HELLO_MORE;
	ok(held, "every piece wants more");
	held = true;
	for (size_t i = 0; i < b.len; i++)
		for (unsigned bit = 0; bit < 8; bit++) {
			enum hello_status status;

			other = b;
			other.data[i] ^= (uint8_t)(1u << bit);
			status = parse(&other, &hello, &why);
			held = held && (status == HELLO_OK || status == HELLO_MORE || why[0]);
		}
	ok(held, "every bit flipped: read, or refused with a reason");
	other = b;
	ADD(&other, "\x14\x03\x03\0\x01\x01garbage");
	ok(parse(&other, &hello, &why) == HELLO_OK && strcmp(hello.sni, "example.com") == 0,
	   "what follows is not looked at");
}

/* The message of `b`, cut into records of `step`. */
static struct bytes recut(const struct bytes *b, size_t step)
{
	struct bytes r = { .len = 0 };

	for (size_t at = 5; at < b->len; at += step) {
		size_t n = b->len - at < step ? b->len - at : step;

		ADD(&r, "\x16\x03\x01");
		add16(&r, n);
		add(&r, b->data + at, n);
	}
	return r;
}

static void test_records(void)
{
	struct bytes b = usual(), r;
	struct hello hello;
	const char *why;

	for (size_t step = 1; step < 300; step += step < 8 ? 1 : 50) {
		bool held = true;

		r = recut(&b, step);
		ok(parse(&r, &hello, &why) == HELLO_OK && strcmp(hello.sni, "example.com") == 0 && hello.alpn_h2,
		   "records of %zu", step);
		for (size_t full = r.len--; r.len && held; r.len--)
			held = full && parse(&r, &hello, &why) == HELLO_MORE;
		ok(held, "records of %zu: every piece wants more", step);
	}
	r = recut(&b, 100);
	r.data[105] = 23;
	expect(&r, HELLO_BAD, "another record inside the ClientHello", "data between two records");
	r = recut(&b, 100);
	r.data[106] = 2;
	expect(&r, HELLO_BAD, "another version inside the ClientHello", "an older second record");
	r = (struct bytes){ .len = 0 };
	ADD(&r, "\x16\x03\x01\0\0");
	add(&r, b.data, b.len);
	expect(&r, HELLO_BAD, "a TLS record that is empty or too long", "an empty record");
	r.len = 0;
	ADD(&r, "\x16\x03\x01\x40\x01");
	expect(&r, HELLO_BAD, "a TLS record that is empty or too long", "a record that is too long");
	r = b;
	r.data[4]++;
	ADD(&r, "\x0b");
	expect(&r, HELLO_BAD, "more than a ClientHello in its record", "a second message in the record");
	r = b;
	r.data[6] = 1;
	expect(&r, HELLO_BAD, "a ClientHello that is too long", "a message of 64 KiB");
	r = (struct bytes){ .len = 0 };
	ADD(&r, "\x16\x03\x01\0\x04\x01\0\x3f\x00");
	while (r.len < HELLO_MAX - 6)
		ADD(&r, "\x16\x03\x01\0\x01x");
	expect(&r, HELLO_MORE, "", "many small records");
	ADD(&r, "\x16\x03\x01\0\x01x\x16\x03\x01\0\x01x");
	expect(&r, HELLO_BAD, "a ClientHello that is too long", "too many small records");
}

static void test_others(void)
{
	static const struct {
		const char *data, *why;
		size_t len;
	} cases[] = {
#define CASE(text, why) { text, why, sizeof(text) - 1 }
		CASE("GET / HTTP/1.1\r\n\r\n", "not TLS"),
		CASE("SSH-2.0-x\r\n", "not TLS"),
		CASE("\x80\x2e\x01\x03\x01\0\x15\0\0\0\x10", "not TLS, or SSL 2"),
		CASE("\x15\x03\x01\0\x02\x02\x28", "not TLS"),
		CASE("\x16\x02\x01\0\x02", "not TLS"),
		CASE("\x16\xfe\xff\0\x02", "not TLS"),
		CASE("\x16\x03\x09\0\x02", "not TLS"),
		CASE("\x16\x03\x01\0\x04\x02\0\0\0", "TLS that does not begin with a ClientHello"),
#undef CASE
	};
	struct bytes b = { .len = 0 };

	expect(&b, HELLO_MORE, "", "nothing");
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		b.len = 0;
		add(&b, cases[i].data, cases[i].len);
		expect(&b, HELLO_NOT_TLS, cases[i].why, cases[i].why);
	}
}

/* ---- made by hand ---- */

/* A hello with these bytes of extensions (NULL: without the list). */
static struct bytes hello_with(unsigned version, const char *head, size_t head_len, const struct bytes *extensions)
{
	struct bytes body = { .len = 0 }, b = { .len = 0 };

	add16(&body, version);
	for (int i = 0; i < 32; i++)
		ADD(&body, "r");
	add(&body, head, head_len);
	if (extensions) {
		add16(&body, extensions->len);
		add(&body, extensions->data, extensions->len);
	}
	ADD(&b, "\x16\x03\x01");
	add16(&b, body.len + 4);
	ADD(&b, "\x01\0");
	add16(&b, body.len);
	add(&b, body.data, body.len);
	return b;
}

#define HEAD             \
	"\0"             \
	"\0\x02\x13\x01" \
	"\x01\0" /* no session, one suite, one compression */

static void expect_ext(const char *data, size_t len, enum hello_status want, const char *why, const char *what)
{
	struct bytes ext = { .len = 0 }, b;

	add(&ext, data, len);
	b = hello_with(0x0303, HEAD, sizeof(HEAD) - 1, &ext);
	expect(&b, want, why, what);
}

#define EXT(bytes, want, why, what) expect_ext((bytes), sizeof(bytes) - 1, (want), (why), (what))
#define SNI_A                      \
	"\0\0\0\x0a\0\x08\0\0\x05" \
	"a.com"

static void test_sni(void)
{
	static const char malformed[] = "a malformed SNI", one[] = "an SNI that is not exactly one host name",
			  no_name[] = "an SNI that is no host name", address[] = "an SNI that is an address";

	EXT(SNI_A, HELLO_OK, "", "one name (control)");
	EXT("\0\0\0\0", HELLO_BAD, malformed, "an empty extension");
	EXT("\0\0\0\x02\0\0", HELLO_BAD, malformed, "an empty list");
	EXT("\0\0\0\x05\0\x03\0\0\0", HELLO_BAD, no_name, "an empty name");
	EXT("\0\0\0\x0a\0\x08\x01\0\x05"
	    "a.com",
	    HELLO_BAD, one, "another kind of name");
	EXT("\0\0\0\x12\0\x10\0\0\x05"
	    "a.com"
	    "\0\0\x05"
	    "b.com",
	    HELLO_BAD, one, "two names");
	EXT("\0\0\0\x12\0\x10\0\0\x05"
	    "a.com"
	    "\x01\0\x05"
	    "b.com",
	    HELLO_BAD, one, "a name and something else");
	EXT("\0\0\0\x0b\0\x08\0\0\x05"
	    "a.com"
	    "x",
	    HELLO_BAD, malformed, "a byte behind the list");
	EXT("\0\0\0\x0a\0\x09\0\0\x05"
	    "a.com",
	    HELLO_BAD, malformed, "a list longer than its extension");
	EXT("\0\0\0\x0a\0\x08\0\0\x06"
	    "a.com",
	    HELLO_BAD, malformed, "a name longer than its list");
	EXT("\0\0\0\x0a\0\x08\0\0\x04"
	    "a.com",
	    HELLO_BAD, one, "a name shorter than its list");
	EXT("\0\0\0\x0b\0\x09\0\0\x06"
	    "a.com.",
	    HELLO_BAD, no_name, "a dot at the end");
	EXT("\0\0\0\x0b\0\x09\0\0\x06"
	    "a.com\0",
	    HELLO_BAD, no_name, "a NUL at the end");
	EXT("\0\0\0\x0a\0\x08\0\0\x05"
	    "a\0com",
	    HELLO_BAD, no_name, "a NUL inside");
	EXT("\0\0\0\x0a\0\x08\0\0\x05"
	    "a/com",
	    HELLO_BAD, no_name, "a slash");
	EXT("\0\0\0\x0a\0\x08\0\0\x05"
	    "a.co\xe4",
	    HELLO_BAD, no_name, "a byte above ASCII");
	EXT("\0\0\0\x0c\0\x0a\0\0\x07"
	    "1.2.3.4",
	    HELLO_BAD, address, "an address");
	EXT("\0\0\0\x0b\0\x09\0\0\x06"
	    "0x7f.1",
	    HELLO_BAD, address, "an address in another spelling");
	EXT("\0\0\0\x0a\0\x08\0\0\x05"
	    "[::1]",
	    HELLO_BAD, address, "an IPv6 address");
	EXT(SNI_A SNI_A, HELLO_BAD, "an extension that stands twice in the ClientHello", "SNI twice");
}

static void test_extensions(void)
{
	static const char alpn[] = "a malformed ALPN extension",
			  malformed[] = "a malformed extension in the ClientHello";
	static const unsigned ech[] = { 0xfe0d, 0xfe08, 0xffce, 0xff02 };
	struct bytes ext = { .len = 0 }, b;
	struct hello hello;
	const char *why;

	EXT("\x0a\x0a\0\0" SNI_A "\x1a\x1a\0\x01\0", HELLO_OK, "", "GREASE");
	EXT(SNI_A "\0\x17\0\0\0\x17\0\0", HELLO_BAD, "an extension that stands twice in the ClientHello", "one twice");
	EXT(SNI_A "\0\x17\0", HELLO_BAD, malformed, "half an extension");
	EXT(SNI_A "\0\x17\0\x01", HELLO_BAD, malformed, "an extension that is longer than the rest");
	EXT("\0\x10\0\x05\0\x03\x02h2", HELLO_OK, "", "ALPN (control)");
	EXT("\0\x10\0\x02\0\0", HELLO_BAD, alpn, "an empty ALPN list");
	EXT("\0\x10\0\x06\0\x03\x02h2x", HELLO_BAD, alpn, "a byte behind ALPN");
	EXT("\0\x10\0\x05\0\x03\x03h2", HELLO_BAD, alpn, "an ALPN name that is too long");
	EXT("\0\x10\0\x03\0\x01\0", HELLO_BAD, alpn, "an empty ALPN name");
	for (size_t i = 0; i < sizeof(ech) / sizeof(*ech); i++) {
		ext.len = 0;
		ADD(&ext, SNI_A);
		add16(&ext, ech[i]);
		ADD(&ext, "\0\x03xyz");
		b = hello_with(0x0303, HEAD, sizeof(HEAD) - 1, &ext);
		ok(parse(&b, &hello, &why) == HELLO_OK && hello.has_ech && hello.has_sni, "extension %x is ECH",
		   ech[i]);
	}
	ext.len = 0;
	for (size_t i = 0; i < 129; i++) {
		b = hello_with(0x0303, HEAD, sizeof(HEAD) - 1, &ext);
		if (i == 128)
			expect(&b, HELLO_OK, "", "128 extensions");
		add16(&ext, 0x4000 + i);
		add16(&ext, 0);
	}
	b = hello_with(0x0303, HEAD, sizeof(HEAD) - 1, &ext);
	expect(&b, HELLO_BAD, "too many extensions in the ClientHello", "129 extensions");
}

static void expect_head(unsigned version, const char *head, size_t len, enum hello_status want, const char *why,
			const char *what)
{
	struct bytes ext = { .len = 0 }, b;

	ADD(&ext, SNI_A);
	b = hello_with(version, head, len, &ext);
	expect(&b, want, why, what);
}

#define WITH(head, what) expect_head(0x0303, (head), sizeof(head) - 1, HELLO_BAD, "a malformed ClientHello", (what))

static void test_head(void)
{
	static const char version[] = "a ClientHello of another version than TLS 1.0 to 1.3";
	struct bytes b = hello_with(0x0301, HEAD, sizeof(HEAD) - 1, NULL);
	struct hello hello;
	const char *why;

	ok(parse(&b, &hello, &why) == HELLO_OK && !hello.has_sni && !hello.has_ech, "no extensions at all");
	ADD(&b, "x");
	b.data[4]++;
	b.data[8]++;
	expect(&b, HELLO_BAD, "a malformed ClientHello", "a byte where extensions should be");
	expect_head(0x0301, HEAD, sizeof(HEAD) - 1, HELLO_OK, "", "TLS 1.0 (control)");
	expect_head(0x0300, HEAD, sizeof(HEAD) - 1, HELLO_BAD, version, "SSL 3");
	expect_head(0x0304, HEAD, sizeof(HEAD) - 1, HELLO_BAD, version, "a version after 1.2");
	expect_head(0xfefd, HEAD, sizeof(HEAD) - 1, HELLO_BAD, version, "DTLS");
	WITH("\x21"
	     "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	     "\0\x02\x13\x01"
	     "\x01\0",
	     "a session of 33");
	WITH("\0"
	     "\0\x03\x13\x01\x02"
	     "\x01\0",
	     "half a suite");
	WITH("\0"
	     "\0\0"
	     "\x01\0",
	     "no suite");
	WITH("\0"
	     "\0\x02\x13\x01"
	     "\0",
	     "no compression method");
	WITH("\0"
	     "\0\x02\x13\x01"
	     "\x01\x01",
	     "only real compression");
	WITH("\0"
	     "\xff\xff\x13\x01"
	     "\x01\0",
	     "suites longer than the message");
}

int main(void)
{
	test_made();
	test_every_byte();
	test_records();
	test_others();
	test_sni();
	test_extensions();
	test_head();
	return done_testing();
}
