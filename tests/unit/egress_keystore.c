/* Java's store with one more certificate in it. That a Java reads it is shown by tests/egress. */
#include "egress/keystore.h"

#include "tap.h"

#include <errno.h>
#include <openssl/sha.h>
#include <stdlib.h>
#include <string.h>

static const unsigned char der[] = { 0x30, 0x03, 0x02, 0x01, 0x07 };

/* A store without entries, signed as the password "changeit" signs it. */
static void empty_store(char store[32])
{
	static const char salt[] = "\0c\0h\0a\0n\0g\0e\0i\0tMighty Aphrodite";
	unsigned char all[sizeof(salt) - 1 + 12];

	memcpy(store, "\xfe\xed\xfe\xed\0\0\0\2\0\0\0\0", 12);
	memcpy(all, salt, sizeof(salt) - 1);
	memcpy(all + sizeof(salt) - 1, store, 12);
	SHA1(all, sizeof(all), (unsigned char *)store + 12);
}

int main(void)
{
	static const char salt[] = "\0c\0h\0a\0n\0g\0e\0i\0tMighty Aphrodite";
	unsigned char digest[SHA_DIGEST_LENGTH], *all;
	struct str s = { 0 }, twice = { 0 }, bad = { 0 };
	char store[32];
	size_t body;

	empty_store(store);
	is_num(keystore_add(store, sizeof(store), "cordon", der, sizeof(der), &s), 0, "one more certificate");
	is_num(s.len, 32 + 4 + 2 + 6 + 8 + 2 + 5 + 4 + sizeof(der), "is one entry more");
	is_num((unsigned char)s.data[11], 1, "counted");
	ok(memcmp(s.data + s.len - SHA_DIGEST_LENGTH - sizeof(der), der, sizeof(der)) == 0,
	   "with the certificate as it is");
	body = s.len - SHA_DIGEST_LENGTH;
	all = malloc(sizeof(salt) - 1 + body);
	memcpy(all, salt, sizeof(salt) - 1);
	memcpy(all + sizeof(salt) - 1, s.data, body);
	SHA1(all, sizeof(salt) - 1 + body, digest);
	ok(memcmp(digest, s.data + body, sizeof(digest)) == 0, "signed over all of it");
	is_num(keystore_add(s.data, s.len, "again", der, sizeof(der), &twice), 0, "and one more");
	is_num((unsigned char)twice.data[11], 2, "counted");
	store[0] = 0;
	is_num(keystore_add(store, sizeof(store), "cordon", der, sizeof(der), &bad), -EINVAL,
	       "another format is refused");
	empty_store(store);
	is_num(keystore_add(store, 31, "cordon", der, sizeof(der), &bad), -EINVAL, "and so is a short one");
	free(all);
	str_done(&s);
	str_done(&twice);
	str_done(&bad);
	return done_testing();
}
