/*
 * The roots that upstream servers are verified with: a bundle of a hundred certificates and more, of which a box meets one or two. Only their
 * names are read at first; a certificate is parsed when a chain asks for it. Runs in the egress process.
 */
#ifndef EGRESS_ROOTS_H
#define EGRESS_ROOTS_H

#include <openssl/types.h>
#include <stddef.h>

struct roots;

/* NULL where memory ran out. */
struct roots *roots_new(void);
/* Adds the certificates of a PEM bundle; what is none is passed over. */
void roots_add(struct roots *roots, const char *pem, size_t len);
size_t roots_count(const struct roots *roots);
/* Makes the store look here. The roots must outlive it. 0 or -ENOMEM. */
int roots_attach(struct roots *roots, X509_STORE *store);
void roots_free(struct roots *roots); /* NULL is fine */

#endif
