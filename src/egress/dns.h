/*
 * The DNS that a box sees: reads one question, writes one answer. Pure; hostile bytes. Runs in the egress process.
 */
#ifndef EGRESS_DNS_H
#define EGRESS_DNS_H

#include "net/hostname.h"

#include <stddef.h>
#include <stdint.h>

enum { DNS_TYPE_A = 1, DNS_TYPE_AAAA = 28, DNS_UDP_MAX = 512, DNS_TCP_MAX = 4096 };
enum dns_rcode { DNS_OK = 0, DNS_FORMERR = 1, DNS_SERVFAIL = 2, DNS_NXDOMAIN = 3, DNS_NOTIMP = 4, DNS_REFUSED = 5 };

struct dns_question {
	uint16_t id, flags, type;
	char name[HOSTNAME_SIZE]; /* normalised; empty where the name is no host name (answer NXDOMAIN) */
	size_t question_len;      /* bytes of the question section, right after the 12 of the header */
	bool has_edns;
};

/* 0; -EINVAL: not even a header or it is an answer: say nothing; a positive enum dns_rcode: answer just that. */
int dns_parse(const uint8_t *packet, size_t len, struct dns_question *ret);
/* address: an IPv4 address in host order for DNS_OK with type A, else 0 (an empty answer). The length, or -ENOSPC. `packet` is what
 * dns_parse() saw: the question is repeated byte for byte (0x20 mixing stays as it was). */
int dns_answer(const uint8_t *packet, size_t len, const struct dns_question *question, enum dns_rcode rcode,
	       uint32_t address, uint32_t ttl, uint8_t *ret, size_t size);

#endif
