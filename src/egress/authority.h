/*
 * The certificate authority of one box, and both TLS contexts of inspected connections: towards the box with a leaf certificate for
 * exactly the name that was asked for, towards the world verified against the system's store. Runs in the egress process.
 */
#ifndef EGRESS_AUTHORITY_H
#define EGRESS_AUTHORITY_H

#include "base/error.h"

#include <openssl/types.h>
#include <stdbool.h>
#include <stddef.h>

struct authority;

/* Where net_rules_intercept() says so it is made at the start, because its certificate goes into the box.
 * ca_file: more roots that upstream servers are verified with, besides the system's; or NULL. Needs: files, opened here; they are parsed at
 * the first connection. */
int authority_new(const char *ca_file, struct authority **ret, struct cordon_error *err);
void authority_free(struct authority *a); /* NULL is fine */
/* The certificate, for the box's bundle; malloc'd, or NULL where memory ran out. */
char *authority_pem(const struct authority *a);
/* The same as DER: its length, or -ENOMEM; *ret is malloc'd. */
int authority_der(const struct authority *a, unsigned char **ret);

/* One connection each. name: normalised, or an address as text; it must live as long as the connection. NULL where memory ran out.
 * authority_accept() takes only a ClientHello whose SNI is that name (none for an address). */
SSL *authority_accept(struct authority *a, const char *name);
SSL *authority_connect(struct authority *a, const char *name);

/* Why the handshake failed, for people. True: because of a rule of ours, false: because of the other side. */
bool authority_explain(const SSL *ssl, char *buf, size_t size);

#endif
