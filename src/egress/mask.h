/*
 * Masking: what of a secret's value comes back in a response is overwritten with '*', byte for byte, so that no length changes. Looked for
 * are the value, its percent-encoded and JSON-escaped forms, and its base64, also as part of something longer ("user:value"). Works on
 * streams: a match may begin in one read and end in another. Pure but for the memory. Runs in the egress process.
 */
#ifndef EGRESS_MASK_H
#define EGRESS_MASK_H

#include <stdbool.h>
#include <stddef.h>

struct mask; /* counted: flows hold one while values change */

struct mask_value {
	const char *data;
	size_t len;
};

struct mask *mask_new(const struct mask_value *values, size_t n); /* NULL where memory ran out */
struct mask *mask_ref(struct mask *m);
void mask_unref(struct mask *m); /* NULL is fine */
/* More bytes than this are never held back. */
size_t mask_longest(const struct mask *m);

struct mask_flow {
	size_t cover; /* of the bytes that were held back, how many are known to be masked; zero at the start */
};

/* Looks at data, which begins with what the last call held back. The bytes before the returned place are masked and final; the
 * rest may be the beginning of a match: call again with it and what follows. `end`: nothing follows. */
size_t mask_pass(const struct mask *m, struct mask_flow *flow, char *data, size_t len, bool end);

#endif
