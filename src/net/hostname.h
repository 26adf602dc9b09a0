/*
 * The one parser for host names: policy, DNS questions, SNI, Host and absolute-form targets all come through here, so that what
 * was decided on and what is dialled are the same bytes. Pure. Any process.
 */
#ifndef NET_HOSTNAME_H
#define NET_HOSTNAME_H

#include <stdbool.h>
#include <stddef.h>

enum { HOSTNAME_SIZE = 254 }; /* 253 bytes and a NUL */

enum hostname_kind {
	HOSTNAME_NAME, /* ret holds it: lower case, A-labels, no dot at the end */
	HOSTNAME_ADDRESS, /* an address in some spelling (dotted, octal, hex, short, IPv6 with or without brackets): see address.h */
	HOSTNAME_INVALID, /* neither */
};

/* From text of any origin, not NUL-terminated. With `idna`, UTF-8 labels become A-labels (policies, for people); without, any byte
 * above 0x7f is invalid (the wire). */
enum hostname_kind hostname_parse(const char *text, size_t len, bool idna, char ret[HOSTNAME_SIZE]);

/* A pattern of a policy: a name, "*.name" (one label or more, never the name itself), or "*" (any name). `ret` as above. 0 or -EINVAL;
 * -EADDRNOTAVAIL where it is an address. *.com-like patterns of a single label are allowed: the operator's choice. */
int hostname_pattern_parse(const char *text, size_t len, char ret[HOSTNAME_SIZE]);
/* Both normalised by the functions above. */
bool hostname_match(const char *pattern, const char *name);

#endif
