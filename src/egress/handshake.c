/* The beginning of a TLS connection that is not looked into: see handshake.h. */
#include "egress/handshake.h"

#include "egress/conn.h"
#include "egress/hello.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

enum { RECORD = 5, RECORD_CHANGE = 20, RECORD_HANDSHAKE = 22, RECORD_DATA = 23 };
enum { SERVER_HELLO = 2, RANDOM_AT = RECORD + 4 + 2, RANDOM = 32 };

/* A ServerHello with this in place of its random number is a HelloRetryRequest (RFC 8446, 4.1.3). */
static const uint8_t retry_random[RANDOM] = { 0xcf, 0x21, 0xad, 0x74, 0xe5, 0x9a, 0x61, 0x11, 0xbe, 0x1d, 0x8c,
					      0x02, 0x1e, 0x65, 0xb8, 0x91, 0xc2, 0xa2, 0x11, 0x16, 0x7a, 0xbb,
					      0x8c, 0x5e, 0x07, 0x9e, 0x09, 0xe2, 0xc8, 0xa8, 0x33, 0x9c };

static bool every_rule_has_ech(const struct net_match *match)
{
	for (size_t i = 0; i < match->n; i++)
		if (!match->rules[i]->ech)
			return false;
	return match->n > 0;
}

/* False: refused, c is gone. */
static bool check(struct conn *c, const struct hello *hello)
{
	if (c->name && !hello->has_sni) {
		conn_refuse(c, "the TLS ClientHello names no server (SNI)");
		return false;
	}
	if (c->name && strcmp(hello->sni, c->name) != 0) {
		conn_refuse(c, "the TLS ClientHello names %.90s, not the name that was resolved", hello->sni);
		return false;
	}
	if (hello->has_ech && !every_rule_has_ech(&c->match)) {
		c->allow = "ech: allow in the rule";
		conn_refuse(c, "the TLS ClientHello has an encrypted part (ECH)");
		return false;
	}
	return true;
}

/* A hello that is there in part or whole; `full`: more could not be looked at. */
static enum handshake_pass judge(struct conn *c, const uint8_t *data, size_t len, bool full, size_t *ret_len)
{
	const char *why = "malformed";
	struct hello hello;

	switch (hello_parse(data, len, &hello, &why)) {
	case HELLO_MORE:
		if (!full)
			return HANDSHAKE_WAIT;
		why = "not TLS: its ClientHello is too long";
		break;
	case HELLO_NOT_TLS:
	case HELLO_BAD:
		break;
	case HELLO_OK:
		*ret_len = hello.len;
		return check(c, &hello) ? HANDSHAKE_GO : HANDSHAKE_GONE;
	}
	conn_refuse(c, "%s", why);
	return HANDSHAKE_GONE;
}

bool handshake_begin(struct conn *c)
{
	static uint8_t data[HELLO_MAX];
	ssize_t n = recv(c->client, data, sizeof(data), MSG_PEEK);
	size_t len = 0;

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return false;
	if (n <= 0) {
		conn_reset(c, NET_FAILED, "closed by the box before it said anything");
		return false;
	}
	if (judge(c, data, (size_t)n, n == sizeof(data), &len) != HANDSHAKE_GO)
		return false;
	c->handshake = (struct handshake){ .stage = HANDSHAKE_FIRST, .left = len };
	return true;
}

/* What may stand between the two hellos: a change of ciphers that means nothing, and data that was sent too early. */
static size_t skip_records(const uint8_t *data, size_t len)
{
	size_t at = 0;

	while (len - at >= RECORD && (data[at] == RECORD_CHANGE || data[at] == RECORD_DATA)) {
		size_t size = RECORD + ((size_t)data[at + 3] << 8 | data[at + 4]);

		if (size > len - at)
			break;
		at += size;
	}
	return at;
}

static enum handshake_pass second_hello(struct conn *c)
{
	static uint8_t data[2 * HELLO_MAX];
	ssize_t n = recv(c->client, data, sizeof(data), MSG_PEEK);
	size_t at, len;
	enum handshake_pass pass;

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return HANDSHAKE_WAIT;
	at = n > 0 ? skip_records(data, (size_t)n) : 0;
	if (n > 0 && (size_t)n - at < RECORD && n < (ssize_t)sizeof(data))
		return HANDSHAKE_WAIT;
	/* At its end there is nothing to check, and whoever moves bytes finds out. */
	pass = n > 0 ? judge(c, data + at, (size_t)n - at, n == sizeof(data), &len) : HANDSHAKE_GO;
	if (pass == HANDSHAKE_GO)
		c->handshake.stage = HANDSHAKE_NONE;
	return pass;
}

/* The first hello is through. A box that has nothing to add but that it leaves need not wait for the answer. */
static enum handshake_pass hold(struct conn *c)
{
	uint8_t byte;
	ssize_t n = recv(c->client, &byte, sizeof(byte), MSG_PEEK);

	if (n > 0)
		return HANDSHAKE_HOLD;
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return HANDSHAKE_WAIT;
	c->handshake.stage = HANDSHAKE_NONE;
	return HANDSHAKE_GO;
}

enum handshake_pass handshake_up(struct conn *c, size_t *quota)
{
	switch (c->handshake.stage) {
	case HANDSHAKE_FIRST:
		if (!c->handshake.left)
			return hold(c);
		if (*quota > c->handshake.left)
			*quota = c->handshake.left;
		return HANDSHAKE_GO;
	case HANDSHAKE_RETRY:
		return second_hello(c);
	case HANDSHAKE_NONE:
		break;
	}
	return HANDSHAKE_GO;
}

enum handshake_pass handshake_down(struct conn *c)
{
	uint8_t data[RANDOM_AT + RANDOM];
	ssize_t n;

	if (c->handshake.stage !=
	    HANDSHAKE_FIRST) /* the second hello is the box's to say: what the server says is not held */
		return HANDSHAKE_GO;
	n = recv(c->upstream, data, sizeof(data), MSG_PEEK);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return HANDSHAKE_WAIT;
	if (n > 0 && n < (ssize_t)sizeof(data) && data[0] == RECORD_HANDSHAKE && !c->handshake.ended)
		return HANDSHAKE_WAIT;
	if (n == sizeof(data) && data[0] == RECORD_HANDSHAKE && data[RECORD] == SERVER_HELLO &&
	    memcmp(data + RANDOM_AT, retry_random, RANDOM) == 0)
		c->handshake.stage = HANDSHAKE_RETRY;
	else
		c->handshake.stage = HANDSHAKE_NONE;
	return HANDSHAKE_GO;
}
