/*
 * Certificates of servers, each held once: a thousand connections to one server share its chain, which as parsed by OpenSSL takes more memory than
 * the rest of what a connection's handshake leaves behind. Runs in the egress process.
 */
#ifndef EGRESS_KNOWN_H
#define EGRESS_KNOWN_H

#include <openssl/types.h>

struct known;

struct known *known_new(void); /* NULL where memory ran out */
void known_free(struct known *known);
/* From now on connections of this context verify with those that are known in place of what a server sent, where it is the same. Before
 * the context goes, `known` must stay. */
void known_attach(struct known *known, SSL_CTX *ctx);

#endif
