/*
 * Any packet. What is read must be a host name in its one spelling; no piece of a question is a question; every answer is well-formed,
 * and turned into a question again it asks the same.
 */
#include "egress/dns.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds, const char *what)
{
	if (holds)
		return;
	fprintf(stderr, "%s\n", what);
	abort();
}

static void check_name(const struct dns_question *q)
{
	char again[HOSTNAME_SIZE];

	if (!q->name[0])
		return;
	must(hostname_parse(q->name, strlen(q->name), false, again) == HOSTNAME_NAME && strcmp(q->name, again) == 0,
	     "a name that is not normalised");
}

/* Exactly as many bytes as there are, so that one read behind them is seen. */
static int parse_exact(const uint8_t *data, size_t size, struct dns_question *q)
{
	uint8_t *copy = malloc(size ? size : 1);
	int code;

	must(copy, "memory");
	memcpy(copy, data, size);
	code = dns_parse(copy, size, q);
	free(copy);
	return code;
}

static void check_answer(const uint8_t *data, size_t size, const struct dns_question *q, int code)
{
	uint8_t answer[DNS_UDP_MAX];
	struct dns_question again;
	int full = dns_answer(data, size, q, (enum dns_rcode)code, 0xc6120001, 60, answer, sizeof(answer));
	int len;

	must(full >= 12 && full <= DNS_UDP_MAX, "no answer");
	must((answer[2] & 0x86) == 0x80 && answer[3] == (0x80 | (q->flags & 0x10) | code), "flags of an answer");
	must(answer[7] == (!code && q->type == DNS_TYPE_A), "count of answers");
	must(dns_parse(answer, (size_t)full, &again) == -EINVAL, "an answer was taken for a question");
	must(dns_answer(data, size, q, (enum dns_rcode)code, 0xc6120001, 60, answer, (size_t)full - 1) == -ENOSPC,
	     "an answer does not stay in its buffer");
	if (code)
		return;
	len = dns_answer(data, size, q, DNS_OK, 0, 60, answer, sizeof(answer));
	must(len >= 12, "no empty answer");
	answer[2] &= 0x7f;
	answer[3] &= 0x7f;
	must(dns_parse(answer, (size_t)len, &again) == 0, "the answer's question is not one");
	must(again.id == q->id && again.type == q->type && again.has_edns == q->has_edns &&
		     again.question_len == q->question_len && strcmp(again.name, q->name) == 0,
	     "the answer's question is another one");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct dns_question q, part;
	int code = parse_exact(data, size, &q);

	must(code == -EINVAL || (code >= 0 && code <= DNS_REFUSED), "another code");
	if (code < 0)
		return 0;
	check_name(&q);
	check_answer(data, size, &q, code);
	for (size_t i = 0; !code && i < size; i++)
		must(parse_exact(data, i, &part) != 0, "a piece was taken for the whole");
	return 0;
}
