/* The DNS of a box: what is a question, what is answered to everything else, and the bytes of an answer. */
#include "egress/dns.h"
#include "tap.h"

#include <errno.h>

struct packet {
	uint8_t data[1024];
	size_t len;
};

static void add(struct packet *p, const void *data, size_t len)
{
	memcpy(p->data + p->len, data, len);
	p->len += len;
}

#define ADD(p, text) add((p), (text), sizeof(text) - 1)

/* A question for wire (labels without the last, empty one), type and class, with recursion desired. */
static struct packet question(const char *labels, size_t len, unsigned type, unsigned class)
{
	uint8_t tail[5] = { 0, (uint8_t)(type >> 8), (uint8_t)type, (uint8_t)(class >> 8), (uint8_t) class };
	struct packet p = { .len = 0 };

	ADD(&p, "\x12\x34\x01\0\0\x01\0\0\0\0\0\0");
	add(&p, labels, len);
	add(&p, tail, sizeof(tail));
	return p;
}

#define QUESTION(labels, type) question((labels), sizeof(labels) - 1, (type), 1)
#define EXAMPLE   \
	"\x07"    \
	"example" \
	"\x03"    \
	"com"

static void add_edns(struct packet *p, const char *fixed, size_t len)
{
	p->data[11] = 1;
	add(p, fixed, len);
}

#define EDNS(p, bytes) add_edns((p), (bytes), sizeof(bytes) - 1)
#define EDNS_PLAIN "\0\0\x29\x10\0\0\0\0\0\0\0"

/* From a block of exactly that size, so that ASan sees a byte read behind it. */
static int parse(const struct packet *p, struct dns_question *q)
{
	uint8_t *exact = malloc(p->len ? p->len : 1);
	int code;

	memcpy(exact, p->data, p->len);
	code = dns_parse(exact, p->len, q);
	free(exact);
	return code;
}

static void expect(const struct packet *p, int code, const char *name, const char *what)
{
	struct dns_question q;
	int got = parse(p, &q);

	if (!ok(got == code, "%s", what))
		note("got %d, not %d", got, code);
	if (code == 0)
		is_str(q.name, name, "%s: the name", what);
}

static void test_names(void)
{
	static char long_name[4 * 64], too_long[4 * 64 + 1];
	struct packet p = QUESTION(EXAMPLE, DNS_TYPE_A);
	size_t len = 0;

	expect(&p, 0, "example.com", "a plain question");
	p = QUESTION("\x07"
		     "eXaMpLe"
		     "\x03"
		     "COM",
		     DNS_TYPE_AAAA);
	expect(&p, 0, "example.com", "mixed case");
	p = QUESTION("\x0b"
		     "example.com",
		     DNS_TYPE_A);
	expect(&p, 0, "", "a dot inside a label");
	p = QUESTION("\x04"
		     "ex\0a"
		     "\x03"
		     "com",
		     DNS_TYPE_A);
	expect(&p, 0, "", "a NUL inside a label");
	p = QUESTION("\x04"
		     "ex a"
		     "\x03"
		     "com",
		     DNS_TYPE_A);
	expect(&p, 0, "", "a blank inside a label");
	p = QUESTION("\x03"
		     "\xc3\xa4x"
		     "\x03"
		     "com",
		     DNS_TYPE_A);
	expect(&p, 0, "", "bytes above ASCII");
	p = QUESTION("\x01"
		     "1"
		     "\x01"
		     "2"
		     "\x01"
		     "3"
		     "\x01"
		     "4",
		     DNS_TYPE_A);
	expect(&p, 0, "", "an address");
	p = QUESTION("\x04"
		     "0x7f"
		     "\x01"
		     "1",
		     DNS_TYPE_A);
	expect(&p, 0, "", "an address in another spelling");
	p = QUESTION("\x05"
		     "[::1]",
		     DNS_TYPE_A);
	expect(&p, 0, "", "an IPv6 address");
	p = QUESTION("", DNS_TYPE_A);
	expect(&p, 0, "", "the root");
	memset(long_name, 'a', sizeof(long_name));
	for (len = 0; len < 192; len += 64)
		long_name[len] = 63;
	long_name[len] = 61;
	p = question(long_name, 192 + 62, DNS_TYPE_A, 1);
	ok(parse(&p, &(struct dns_question){ 0 }) == 0, "253 bytes of name");
	memcpy(too_long, long_name, sizeof(long_name));
	too_long[len] = 62;
	too_long[255] = 'a';
	p = question(too_long, 192 + 63, DNS_TYPE_A, 1);
	expect(&p, DNS_FORMERR, NULL, "254 bytes of name");
	p = QUESTION("\x40"
		     "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
		     DNS_TYPE_A);
	expect(&p, DNS_FORMERR, NULL, "a label of 64");
	p = QUESTION("\x03"
		     "www"
		     "\xc0\x0c",
		     DNS_TYPE_A);
	expect(&p, DNS_FORMERR, NULL, "a compression pointer");
	p = QUESTION("\xc0\x0c", DNS_TYPE_A);
	expect(&p, DNS_FORMERR, NULL, "a pointer to itself");
}

static void test_header(void)
{
	struct packet base = QUESTION(EXAMPLE, DNS_TYPE_A), p;
	struct dns_question q;

	p = base;
	p.data[2] |= 0x80;
	expect(&p, -EINVAL, NULL, "an answer");
	p = base;
	p.len = 11;
	expect(&p, -EINVAL, NULL, "less than a header");
	p.len = 0;
	expect(&p, -EINVAL, NULL, "nothing");
	for (unsigned opcode = 1; opcode < 16; opcode++) {
		p = base;
		p.data[2] = (uint8_t)(opcode << 3);
		ok(parse(&p, &q) == DNS_NOTIMP, "opcode %u", opcode);
	}
	for (size_t at = 4; at < 12; at++) {
		p = base;
		p.data[at] = 2;
		ok(parse(&p, &q) == DNS_FORMERR, "another count at %zu", at);
	}
	p = base;
	p.data[5] = 0;
	expect(&p, DNS_FORMERR, NULL, "no question");
	p.len = 12;
	expect(&p, DNS_FORMERR, NULL, "a header alone");
	p = base;
	p.data[7] = 1;
	expect(&p, DNS_FORMERR, NULL, "an answer in a question");
	p = base;
	p.data[9] = 1;
	expect(&p, DNS_FORMERR, NULL, "an authority in a question");
	p = base;
	p.data[p.len++] = 0;
	expect(&p, DNS_FORMERR, NULL, "a byte behind the question");
	p = question(EXAMPLE, sizeof(EXAMPLE) - 1, 16, 3);
	expect(&p, DNS_REFUSED, NULL, "class CH");
	p = question(EXAMPLE, sizeof(EXAMPLE) - 1, DNS_TYPE_A, 255);
	expect(&p, DNS_REFUSED, NULL, "any class");
	p = QUESTION(EXAMPLE, 252);
	expect(&p, DNS_NOTIMP, NULL, "a zone transfer");
	p = QUESTION(EXAMPLE, 41);
	expect(&p, DNS_FORMERR, NULL, "OPT as a question");
	p = QUESTION(EXAMPLE, 255);
	expect(&p, 0, "example.com", "any type");
	p = QUESTION(EXAMPLE, 65);
	expect(&p, 0, "example.com", "HTTPS records");
}

static void test_edns(void)
{
	struct packet p = QUESTION(EXAMPLE, DNS_TYPE_A);
	struct dns_question q;

	EDNS(&p, EDNS_PLAIN);
	expect(&p, 0, "example.com", "EDNS");
	ok(parse(&p, &q) == 0 && q.has_edns, "EDNS is seen");
	p = QUESTION(EXAMPLE, DNS_TYPE_A);
	EDNS(&p, "\0\0\x29\x10\0\0\0\x80\0\0\x0c\0\x0a\0\x08"
		 "12345678");
	expect(&p, 0, "example.com", "EDNS with a cookie and DO");
	p = QUESTION(EXAMPLE, DNS_TYPE_A);
	EDNS(&p, "\0\0\x29\x10\0\0\0\x80\0\0\x0c\0\x0a\0\x09"
		 "12345678");
	expect(&p, DNS_FORMERR, NULL, "an option that is longer than its record");
	p = QUESTION(EXAMPLE, DNS_TYPE_A);
	EDNS(&p, "\0\0\x29\x10\0\0\0\0\0\0\x03\0\x0a\0");
	expect(&p, DNS_FORMERR, NULL, "half an option");
	p = QUESTION(EXAMPLE, DNS_TYPE_A);
	EDNS(&p, "\0\0\x29\x10\0\0\x01\0\0\0\0");
	expect(&p, DNS_FORMERR, NULL, "EDNS 1");
	p = QUESTION(EXAMPLE, DNS_TYPE_A);
	EDNS(&p, "\0\0\x01\0\x01\0\0\0\0\0\0");
	expect(&p, DNS_FORMERR, NULL, "another record");
	p = QUESTION(EXAMPLE, DNS_TYPE_A);
	EDNS(&p, "\x01"
		 "a\0\0\x29\x10\0\0\0\0\0\0\0");
	expect(&p, DNS_FORMERR, NULL, "EDNS with a name");
	p = QUESTION(EXAMPLE, DNS_TYPE_A);
	EDNS(&p, EDNS_PLAIN EDNS_PLAIN);
	expect(&p, DNS_FORMERR, NULL, "EDNS twice");
	p.data[11] = 2;
	expect(&p, DNS_FORMERR, NULL, "EDNS twice and counted");
}

static void test_answers(void)
{
	struct packet p = QUESTION("\x07"
				   "eXaMpLe"
				   "\x03"
				   "com",
				   DNS_TYPE_A);
	uint8_t out[DNS_UDP_MAX];
	struct dns_question q;
	int len;

	parse(&p, &q);
	len = dns_answer(p.data, p.len, &q, DNS_OK, 0xc6120007, 60, out, sizeof(out));
	is_num(len, p.len + 16, "an address: the length");
	ok(memcmp(out, "\x12\x34\x81\x80\0\x01\0\x01\0\0\0\0", 12) == 0, "an address: the header");
	ok(memcmp(out + 12, p.data + 12, p.len - 12) == 0, "the question as it stood");
	ok(memcmp(out + p.len, "\xc0\x0c\0\x01\0\x01\0\0\0\x3c\0\x04\xc6\x12\0\x07", 16) == 0, "the record");
	ok(dns_answer(p.data, p.len, &q, DNS_OK, 0xc6120007, 60, out, (size_t)len - 1) == -ENOSPC,
	   "too small a buffer");
	len = dns_answer(p.data, p.len, &q, DNS_OK, 0, 60, out, sizeof(out));
	ok(len == (int)p.len && out[7] == 0 && out[3] == 0x80, "an empty answer");
	len = dns_answer(p.data, p.len, &q, DNS_NXDOMAIN, 0xc6120007, 60, out, sizeof(out));
	ok(len == (int)p.len && out[7] == 0 && out[3] == 0x83, "NXDOMAIN has no record");
	q.type = DNS_TYPE_AAAA;
	len = dns_answer(p.data, p.len, &q, DNS_OK, 0xc6120007, 60, out, sizeof(out));
	ok(len == (int)p.len && out[7] == 0 && out[3] == 0x80, "AAAA is empty");
	q.question_len = p.len;
	ok(dns_answer(p.data, p.len, &q, DNS_OK, 0, 60, out, sizeof(out)) == -EINVAL, "a question of another packet");

	p = QUESTION(EXAMPLE, DNS_TYPE_A);
	EDNS(&p, EDNS_PLAIN);
	p.data[2] = 0x02; /* TC in a question, recursion not desired */
	p.data[3] = 0x30; /* AD, CD */
	parse(&p, &q);
	len = dns_answer(p.data, p.len, &q, DNS_OK, 1, 60, out, sizeof(out));
	ok(len > 11 && memcmp(out + len - 11, "\0\0\x29\x04\xd0\0\0\0\0\0\0", 11) == 0 && out[11] == 1,
	   "EDNS comes back");
	ok(out[2] == 0x80 && out[3] == 0x90, "no RD, no TC, no AD; CD stays");

	p = QUESTION(EXAMPLE, DNS_TYPE_A);
	p.data[5] = 0;
	parse(&p, &q);
	len = dns_answer(p.data, p.len, &q, DNS_FORMERR, 0, 0, out, sizeof(out));
	ok(len == 12 && out[3] == 0x81 && out[5] == 0, "FORMERR without a question is a header");
}

static void test_every_byte(void)
{
	struct packet p = QUESTION(EXAMPLE, DNS_TYPE_A), cut;
	uint8_t out[DNS_UDP_MAX];
	struct dns_question q;
	bool held = true;
	size_t full;

	EDNS(&p, "\0\0\x29\x10\0\0\0\x80\0\0\x0c\0\x0a\0\x08"
		 "12345678");
	full = p.len;
	for (cut = p, cut.len = 0; cut.len < full; cut.len++)
		held = held && parse(&cut, &q) != 0;
	ok(held, "no piece is a question");
	for (size_t i = 0; i < full; i++)
		for (unsigned value = 0; value < 256; value++) {
			int code;

			cut = p;
			cut.data[i] = (uint8_t)value;
			code = parse(&cut, &q);
			if (code >= 0)
				held = held && dns_answer(cut.data, cut.len, &q, (enum dns_rcode)code, 1, 1, out,
							  sizeof(out)) >= 12;
		}
	ok(held, "every byte changed: refused or answered");
}

int main(void)
{
	test_names();
	test_header();
	test_edns();
	test_answers();
	test_every_byte();
	return done_testing();
}
