/*
 * The TLS ClientHello. Two passes: over the record headers alone until the whole message is there (a client that sends byte by byte
 * costs little), then over the message, taken out of its records. Every length must fill exactly what holds it. What a server could
 * read differently from us (two extensions of a kind, two names, a name in another spelling) is refused. Runs in the egress process,
 * unprivileged.
 */
#include "egress/hello.h"

#include <string.h>

enum { RECORD_HEADER = 5, RECORD_MAX = 16384, MESSAGE_HEADER = 4, MESSAGE_MAX = 16384, EXTENSIONS_MAX = 128 };
enum { CONTENT_HANDSHAKE = 22, TYPE_CLIENT_HELLO = 1, RANDOM = 32, SESSION_MAX = 32 };
enum { EXT_SERVER_NAME = 0, EXT_ALPN = 16, EXT_ECH_OUTER = 0xfd00, EXT_ECH = 0xfe0d, EXT_ESNI = 0xffce };
enum { EXT_ECH_DRAFT_FIRST = 0xfe08, EXT_ECH_DRAFT_LAST = 0xfe0f, EXT_ECH_DRAFT_OLD = 0xff02 };

struct reader {
	const uint8_t *at, *end;
};

static size_t left(const struct reader *r)
{
	return (size_t)(r->end - r->at);
}

static bool take8(struct reader *r, unsigned *ret)
{
	if (left(r) < 1)
		return false;
	*ret = *r->at++;
	return true;
}

static bool take16(struct reader *r, unsigned *ret)
{
	if (left(r) < 2)
		return false;
	*ret = (unsigned)r->at[0] << 8 | r->at[1];
	r->at += 2;
	return true;
}

static bool take(struct reader *r, size_t len, struct reader *ret)
{
	if (left(r) < len)
		return false;
	*ret = (struct reader){ r->at, r->at + len };
	r->at += len;
	return true;
}

/* What follows a length of one or two bytes. */
static bool take_sized8(struct reader *r, struct reader *ret)
{
	unsigned len;

	return take8(r, &len) && take(r, len, ret);
}

static bool take_sized16(struct reader *r, struct reader *ret)
{
	unsigned len;

	return take16(r, &len) && take(r, len, ret);
}

static enum hello_status bad(const char **why, const char *text)
{
	*why = text;
	return HELLO_BAD;
}

static enum hello_status not_tls(const char **why, const char *text)
{
	*why = text;
	return HELLO_NOT_TLS;
}

/* ---- records ---- */

/* How far the message has come: its header, and its bytes with the header. */
struct progress {
	uint8_t header[MESSAGE_HEADER];
	size_t seen, total; /* total: 0 until the header is there */
};

/* A record's header as far as it is there. */
static enum hello_status check_record(const uint8_t *at, size_t len, bool is_first, const char **why)
{
	if (len >= 1 && at[0] != CONTENT_HANDSHAKE) {
		if (!is_first)
			return bad(why, "another record inside the ClientHello");
		if (at[0] & 0x80)
			return not_tls(why, "not TLS, or SSL 2");
		return not_tls(why, "not TLS");
	}
	if (len >= 2 && at[1] != 3)
		return is_first ? not_tls(why, "not TLS") : bad(why, "another version inside the ClientHello");
	if (len >= 3 && at[2] > 4)
		return is_first ? not_tls(why, "not TLS") : bad(why, "another version inside the ClientHello");
	if (len >= RECORD_HEADER) {
		unsigned size = (unsigned)at[3] << 8 | at[4];

		if (!size || size > RECORD_MAX)
			return bad(why, "a TLS record that is empty or too long");
	}
	return len >= RECORD_HEADER ? HELLO_OK : HELLO_MORE;
}

/* The part of a record that is there; `size` is what its header says. */
static enum hello_status check_part(struct progress *p, const uint8_t *at, size_t len, size_t size, const char **why)
{
	for (size_t i = 0; i < len && p->seen + i < MESSAGE_HEADER; i++)
		p->header[p->seen + i] = at[i];
	p->seen += len;
	if (p->seen >= 1 && p->header[0] != TYPE_CLIENT_HELLO)
		return not_tls(why, "TLS that does not begin with a ClientHello");
	if (p->seen >= MESSAGE_HEADER) {
		p->total = ((size_t)p->header[1] << 16 | (size_t)p->header[2] << 8 | p->header[3]) + MESSAGE_HEADER;
		if (p->total > MESSAGE_MAX)
			return bad(why, "a ClientHello that is too long");
		if (p->seen - len + size > p->total)
			return bad(why, "more than a ClientHello in its record");
	}
	return HELLO_OK;
}

/* HELLO_OK: the first *ret_len bytes are whole records that hold exactly one ClientHello of *ret_total bytes. */
static enum hello_status check_records(const uint8_t *data, size_t len, size_t *ret_len, size_t *ret_total,
				       const char **why)
{
	struct progress p = { .seen = 0 };
	size_t at = 0;

	while (!p.total || p.seen < p.total) {
		enum hello_status status = check_record(data + at, len - at, at == 0, why);
		size_t size, there;

		if (status != HELLO_OK)
			return status;
		size = (size_t)data[at + 3] << 8 | data[at + 4];
		at += RECORD_HEADER;
		there = size < len - at ? size : len - at;
		status = check_part(&p, data + at, there, size, why);
		if (status != HELLO_OK)
			return status;
		if (there < size)
			return HELLO_MORE;
		at += size;
	}
	*ret_len = at;
	*ret_total = p.total;
	return HELLO_OK;
}

static void join_records(const uint8_t *data, size_t len, uint8_t *message)
{
	for (size_t at = 0; at < len;) {
		size_t size = (size_t)data[at + 3] << 8 | data[at + 4];

		memcpy(message, data + at + RECORD_HEADER, size);
		message += size;
		at += RECORD_HEADER + size;
	}
}

/* ---- the message ---- */

static enum hello_status parse_server_name(struct reader r, struct hello *ret, const char **why)
{
	struct reader list, name;
	unsigned type;
	size_t len;

	if (!take_sized16(&r, &list) || left(&r) || !take8(&list, &type) || !take_sized16(&list, &name))
		return bad(why, "a malformed SNI");
	if (type != 0 || left(&list))
		return bad(why, "an SNI that is not exactly one host name");
	len = left(&name);
	/* RFC 6066: without the dot at the end; a server need not take such a name for the same. */
	if (!len || name.at[len - 1] == '.')
		return bad(why, "an SNI that is no host name");
	switch (hostname_parse((const char *)name.at, len, false, ret->sni)) {
	case HOSTNAME_NAME:
		ret->has_sni = true;
		return HELLO_OK;
	case HOSTNAME_ADDRESS:
		return bad(why, "an SNI that is an address");
	case HOSTNAME_INVALID:
		break;
	}
	return bad(why, "an SNI that is no host name");
}

static bool is_text(const struct reader *r, const char *text)
{
	return left(r) == strlen(text) && memcmp(r->at, text, left(r)) == 0;
}

static enum hello_status parse_alpn(struct reader r, struct hello *ret, const char **why)
{
	struct reader list, name;

	if (!take_sized16(&r, &list) || left(&r) || !left(&list))
		return bad(why, "a malformed ALPN extension");
	while (left(&list)) {
		if (!take_sized8(&list, &name) || !left(&name))
			return bad(why, "a malformed ALPN extension");
		if (is_text(&name, "h2"))
			ret->alpn_h2 = true;
		else if (is_text(&name, "http/1.1"))
			ret->alpn_http1 = true;
	}
	return HELLO_OK;
}

/* Whatever hides a second hello inside this one: ECH and its drafts (0xfe08 to 0xfe0f, 0xff02), ESNI, and the extension of inner hellos. */
static bool is_ech(unsigned type)
{
	return type == EXT_ECH || (type >= EXT_ECH_DRAFT_FIRST && type <= EXT_ECH_DRAFT_LAST) ||
	       type == EXT_ECH_DRAFT_OLD || type == EXT_ECH_OUTER || type == EXT_ESNI;
}

static enum hello_status parse_extensions(struct reader r, struct hello *ret, const char **why)
{
	enum hello_status status = HELLO_OK;
	unsigned types[EXTENSIONS_MAX];
	size_t count = 0;

	while (left(&r) && status == HELLO_OK) {
		struct reader body;
		unsigned type;

		if (!take16(&r, &type) || !take_sized16(&r, &body))
			return bad(why, "a malformed extension in the ClientHello");
		for (size_t i = 0; i < count; i++)
			if (types[i] == type)
				return bad(why, "an extension that stands twice in the ClientHello");
		if (count == EXTENSIONS_MAX)
			return bad(why, "too many extensions in the ClientHello");
		types[count++] = type;
		if (type == EXT_SERVER_NAME)
			status = parse_server_name(body, ret, why);
		else if (type == EXT_ALPN)
			status = parse_alpn(body, ret, why);
		else if (is_ech(type))
			ret->has_ech = true;
	}
	return status;
}

static enum hello_status parse_message(struct reader r, struct hello *ret, const char **why)
{
	struct reader random, session, suites, compressions, extensions;
	unsigned version;

	if (!take16(&r, &version) || !take(&r, RANDOM, &random) || !take_sized8(&r, &session) ||
	    !take_sized16(&r, &suites) || !take_sized8(&r, &compressions))
		return bad(why, "a malformed ClientHello");
	/* TLS 1.3 calls itself 1.2 here, for ever. */
	if (version < 0x0301 || version > 0x0303)
		return bad(why, "a ClientHello of another version than TLS 1.0 to 1.3");
	if (left(&session) > SESSION_MAX || left(&suites) < 2 || left(&suites) % 2 || !left(&compressions) ||
	    !memchr(compressions.at, 0, left(&compressions)))
		return bad(why, "a malformed ClientHello");
	if (!left(&r))
		return HELLO_OK;
	if (!take_sized16(&r, &extensions) || left(&r))
		return bad(why, "a malformed ClientHello");
	return parse_extensions(extensions, ret, why);
}

static enum hello_status parse_records(const uint8_t *data, size_t len, size_t total, struct hello *ret,
				       const char **why)
{
	uint8_t message[MESSAGE_MAX] = { 0 };

	*ret = (struct hello){ .len = len };
	join_records(data, len, message);
	return parse_message((struct reader){ message + MESSAGE_HEADER, message + total }, ret, why);
}

enum hello_status hello_parse(const uint8_t *data, size_t len, struct hello *ret, const char **why)
{
	size_t records = 0, total = 0;
	enum hello_status status;

	if (len > HELLO_MAX)
		len = HELLO_MAX;
	status = check_records(data, len, &records, &total, why);
	if (status == HELLO_MORE && len == HELLO_MAX)
		return bad(why, "a ClientHello that is too long");
	return status == HELLO_OK ? parse_records(data, records, total, ret, why) : status;
}
