/*
 * Java's store: see keystore.h. The format (JKS, version 2): a magic number, the version, how many entries, the entries, and a digest over
 * the password, a fixed word and all of that. An entry that is a trusted certificate is 2, its name, when it was added, "X.509" and the
 * certificate. The entries of the host are carried as they are. Numbers are big-endian.
 */
#include "egress/keystore.h"

#include <errno.h>
#include <openssl/sha.h>
#include <stdint.h>
#include <string.h>

enum { MAGIC = (int)0xfeedfeed, VERSION = 2, HEAD = 12, TRUSTED = 2 };

static const char password[] = "changeit", word[] = "Mighty Aphrodite", kind[] = "X.509";

static uint32_t get32(const char *p)
{
	const unsigned char *b = (const unsigned char *)p;

	return (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
}

static void add_number(struct str *s, uint64_t value, unsigned bytes)
{
	while (bytes--)
		str_add_char(s, (char)(value >> 8 * bytes));
}

static void add_text(struct str *s, const char *text)
{
	add_number(s, strlen(text), 2);
	str_add(s, text);
}

/* Over everything that is there so far; and behind it. */
static int add_digest(struct str *s)
{
	unsigned char digest[SHA_DIGEST_LENGTH];
	auto_str struct str all = { 0 };

	for (const char *p = password; *p; p++)
		add_number(&all, (unsigned char)*p, 2); /* UTF-16 */
	str_add(&all, word);
	str_add_bytes(&all, s->data, s->len);
	if (all.failed || !SHA1((const unsigned char *)all.data, all.len, digest))
		return -ENOMEM;
	str_add_bytes(s, digest, sizeof(digest));
	return 0;
}

int keystore_add(const char *store, size_t len, const char *alias, const unsigned char *der, size_t der_len,
		 struct str *ret)
{
	int r;

	if (len < HEAD + SHA_DIGEST_LENGTH || get32(store) != (uint32_t)MAGIC || get32(store + 4) != VERSION ||
	    der_len > UINT32_MAX)
		return -EINVAL;
	str_add_bytes(ret, store, 8);
	add_number(ret, (uint64_t)get32(store + 8) + 1, 4);
	str_add_bytes(ret, store + HEAD, len - HEAD - SHA_DIGEST_LENGTH);
	add_number(ret, TRUSTED, 4);
	add_text(ret, alias);
	add_number(ret, 0, 8);
	add_text(ret, kind);
	add_number(ret, der_len, 4);
	str_add_bytes(ret, der, der_len);
	r = ret->failed ? -ENOMEM : add_digest(ret);
	return r < 0 || ret->failed ? -ENOMEM : 0;
}
