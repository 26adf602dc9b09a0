/*
 * Any bytes as the beginning of a connection. What is read of a piece never contradicts what is read of the whole; how the message is
 * cut into records changes nothing, nor does what follows it. With a first byte of 0 the rest is a message without its records.
 */
#include "egress/hello.h"

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

static bool same(const struct hello *a, const struct hello *b)
{
	return a->has_sni == b->has_sni && a->has_ech == b->has_ech && strcmp(a->sni, b->sni) == 0 &&
	       a->alpn_h2 == b->alpn_h2 && a->alpn_http1 == b->alpn_http1;
}

static enum hello_status parse(const uint8_t *data, size_t size, struct hello *ret)
{
	uint8_t *exact = malloc(size ? size : 1);
	enum hello_status status;
	const char *why = NULL;

	must(exact, "memory");
	memcpy(exact, data, size);
	status = hello_parse(exact, size, ret, &why);
	must((status == HELLO_BAD || status == HELLO_NOT_TLS) == (why != NULL), "a refusal and its reason");
	free(exact);
	return status;
}

static void check_pieces(const uint8_t *data, size_t size, enum hello_status whole, const struct hello *hello)
{
	bool is_complete = false;

	for (size_t i = 0; i < size; i++) {
		struct hello part;
		enum hello_status status = parse(data, i, &part);

		must(!is_complete || status == whole, "more bytes changed what was decided");
		if (status == HELLO_MORE)
			continue;
		must(status == whole, "a piece was taken differently");
		must(status != HELLO_OK || same(&part, hello), "a piece was read differently");
		is_complete = true;
	}
}

/* Cuts the message into records of `step`; the length, or 0 where that has too many. */
static size_t cut(const uint8_t *message, size_t len, size_t step, uint8_t ret[HELLO_MAX])
{
	size_t out = 0;

	for (size_t at = 0; at < len; at += step) {
		size_t n = len - at < step ? len - at : step;

		if (out + 5 + n > HELLO_MAX)
			return 0;
		memcpy(ret + out, (uint8_t[]){ 22, 3, 1, (uint8_t)(n >> 8), (uint8_t)n }, 5);
		memcpy(ret + out + 5, message + at, n);
		out += 5 + n;
	}
	return out;
}

static void check_cuts(const uint8_t *message, size_t len, enum hello_status whole, const struct hello *hello)
{
	static const size_t steps[] = { 1, 2, 3, 7, 64, 1000, 16384 };
	uint8_t records[HELLO_MAX];

	for (size_t i = 0; i < sizeof(steps) / sizeof(*steps); i++) {
		size_t n = cut(message, len, steps[i], records);
		struct hello other;

		if (!n)
			continue;
		must(parse(records, n, &other) == whole, "other records, another decision");
		must(whole != HELLO_OK || same(&other, hello), "other records, another reading");
	}
}

/* The message of records that were taken; its length. */
static size_t join(const uint8_t *data, size_t size, uint8_t ret[HELLO_MAX])
{
	size_t len = 0, total = SIZE_MAX;

	for (size_t at = 0; len < total && at + 5 < size;) {
		size_t n = (size_t)data[at + 3] << 8 | data[at + 4];

		memcpy(ret + len, data + at + 5, n);
		len += n;
		at += 5 + n;
		if (len >= 4)
			total = 4 + ((size_t)ret[1] << 16 | (size_t)ret[2] << 8 | ret[3]);
	}
	must(len == total, "records that do not end with their message");
	return len;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t records[HELLO_MAX], message[HELLO_MAX];
	struct hello hello;
	enum hello_status status;
	char again[HOSTNAME_SIZE];

	if (size > 1 && size < 8192 && data[0] == 0) {
		size = cut(data + 1, size - 1, 16384, records);
		data = records;
	}
	status = parse(data, size, &hello);
	check_pieces(data, size, status, &hello);
	if (status != HELLO_OK)
		return 0;
	must(hello.has_sni == (hello.sni[0] != 0), "a name without a name");
	must(!hello.has_sni || (hostname_parse(hello.sni, strlen(hello.sni), false, again) == HOSTNAME_NAME &&
				strcmp(hello.sni, again) == 0),
	     "a name that is not normalised");
	check_cuts(message, join(data, size, message), status, &hello);
	return 0;
}
