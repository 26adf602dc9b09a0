/*
 * The DNS that a box sees. A question is a header of 12 bytes, one name as labels, type and class, and at most one EDNS record; all
 * else is refused, so that nothing in a packet is left unread. No name is followed through a compression pointer: a question has no
 * need of one. What is answered is built from the question's own bytes and constants. Runs in the egress process, unprivileged.
 */
#include "egress/dns.h"

#include <errno.h>
#include <string.h>

enum { HEADER = 12, LABEL_MAX = 63, NAME_MAX_WIRE = 255, EDNS_FIXED = 11, EDNS_PAYLOAD = 1232, RECORD_A = 16 };
enum { FLAG_QR = 0x8000, FLAG_OPCODE = 0x7800, FLAG_RD = 0x0100, FLAG_RA = 0x0080, FLAG_CD = 0x0010 };
enum { TYPE_OPT = 41, TYPE_META_FIRST = 128, TYPE_META_LAST = 254, CLASS_IN = 1 };

struct reader {
	const uint8_t *at, *end;
};

static size_t left(const struct reader *r)
{
	return (size_t)(r->end - r->at);
}

/* The caller has looked at left(). */
static uint16_t take16(struct reader *r)
{
	uint16_t value = (uint16_t)(r->at[0] << 8 | r->at[1]);

	r->at += 2;
	return value;
}

static uint8_t *put16(uint8_t *at, unsigned value)
{
	at[0] = (uint8_t)(value >> 8);
	at[1] = (uint8_t)value;
	return at + 2;
}

static uint8_t *put32(uint8_t *at, uint32_t value)
{
	return put16(put16(at, value >> 16), value & 0xffff);
}

/* The labels as text with dots between them; *ret_len is 0 where they could not be told apart from other labels in that form. 0 or -EINVAL. */
static int take_labels(struct reader *r, char text[NAME_MAX_WIRE], size_t *ret_len)
{
	const uint8_t *start = r->at;
	bool plain = true;
	size_t len = 0;

	for (;;) {
		size_t label;

		if (!left(r))
			return -EINVAL;
		label = *r->at++;
		if (!label)
			break;
		if (label > LABEL_MAX || label > left(r) || (size_t)(r->at - start) + label + 1 > NAME_MAX_WIRE)
			return -EINVAL;
		if (len)
			text[len++] = '.';
		for (size_t i = 0; i < label; i++) {
			if (r->at[i] <= ' ' || r->at[i] >= 0x7f || r->at[i] == '.')
				plain = false;
			text[len++] = (char)r->at[i];
		}
		r->at += label;
	}
	*ret_len = plain ? len : 0;
	return 0;
}

/* The one record that may follow the question. */
static int take_edns(struct reader *r)
{
	struct reader options;
	size_t len;

	if (left(r) < EDNS_FIXED || *r->at != 0)
		return -EINVAL;
	r->at++;
	if (take16(r) != TYPE_OPT)
		return -EINVAL;
	r->at += 3; /* the payload size, which answers never come near, and the upper bits of a code */
	if (*r->at != 0)
		return -EINVAL; /* another version of EDNS */
	r->at += 3;
	len = take16(r);
	if (len != left(r))
		return -EINVAL;
	options = *r;
	while (left(&options)) {
		if (left(&options) < 4)
			return -EINVAL;
		take16(&options);
		len = take16(&options);
		if (len > left(&options))
			return -EINVAL;
		options.at += len;
	}
	*r = options;
	return 0;
}

/* Name, type and class. 0, or a code; the question can be repeated in an answer once question_len is set. */
static int take_question(struct reader *r, struct dns_question *q)
{
	const uint8_t *start = r->at;
	char text[NAME_MAX_WIRE];
	uint16_t class;
	size_t len;

	if (take_labels(r, text, &len) < 0 || left(r) < 4)
		return DNS_FORMERR;
	q->type = take16(r);
	class = take16(r);
	q->question_len = (size_t)(r->at - start);
	if (q->type == 0 || q->type == TYPE_OPT)
		return DNS_FORMERR;
	if (class != CLASS_IN)
		return DNS_REFUSED;
	if (q->type >= TYPE_META_FIRST && q->type <= TYPE_META_LAST)
		return DNS_NOTIMP; /* zone transfers and the like */
	if (!len || hostname_parse(text, len, false, q->name) != HOSTNAME_NAME)
		q->name[0] = 0;
	return 0;
}

int dns_parse(const uint8_t *packet, size_t len, struct dns_question *ret)
{
	struct reader r = { packet, packet + len };
	uint16_t counts[4];
	int code;

	*ret = (struct dns_question){ 0 };
	if (len < HEADER)
		return -EINVAL;
	ret->id = take16(&r);
	ret->flags = take16(&r);
	if (ret->flags & FLAG_QR)
		return -EINVAL;
	if (ret->flags & FLAG_OPCODE)
		return DNS_NOTIMP;
	for (size_t i = 0; i < 4; i++)
		counts[i] = take16(&r);
	if (counts[0] != 1 || counts[1] || counts[2] || counts[3] > 1)
		return DNS_FORMERR;
	code = take_question(&r, ret);
	if (code)
		return code;
	if (counts[3]) {
		if (take_edns(&r) < 0)
			return DNS_FORMERR;
		ret->has_edns = true;
	}
	return left(&r) ? DNS_FORMERR : 0;
}

int dns_answer(const uint8_t *packet, size_t len, const struct dns_question *question, enum dns_rcode rcode,
	       uint32_t address, uint32_t ttl, uint8_t *ret, size_t size)
{
	bool has_record = rcode == DNS_OK && question->type == DNS_TYPE_A && address && question->question_len;
	size_t need =
		HEADER + question->question_len + (has_record ? RECORD_A : 0) + (question->has_edns ? EDNS_FIXED : 0);
	unsigned flags = FLAG_QR | FLAG_RA | (question->flags & (FLAG_OPCODE | FLAG_RD | FLAG_CD)) | rcode;
	uint8_t *at = ret;

	if (len < HEADER || question->question_len > len - HEADER)
		return -EINVAL;
	if (need > size)
		return -ENOSPC;
	at = put16(at, question->id);
	at = put16(at, flags);
	at = put16(at, question->question_len ? 1 : 0);
	at = put16(at, has_record ? 1 : 0);
	at = put16(at, 0);
	at = put16(at, question->has_edns ? 1 : 0);
	memcpy(at, packet + HEADER, question->question_len);
	at += question->question_len;
	if (has_record) {
		at = put16(at, 0xc000 | HEADER); /* the name of the question */
		at = put16(at, DNS_TYPE_A);
		at = put16(at, CLASS_IN);
		at = put32(at, ttl & 0x7fffffff);
		at = put16(at, 4);
		at = put32(at, address);
	}
	if (question->has_edns) {
		*at++ = 0;
		at = put16(at, TYPE_OPT);
		at = put16(at, EDNS_PAYLOAD);
		at = put32(at, 0);
		at = put16(at, 0);
	}
	return (int)(at - ret);
}
