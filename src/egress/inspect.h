/*
 * The engine that reads requests: HTTP/1.1 on plain connections and on those whose TLS is terminated here. Every request is checked, rewritten
 * and sent on, every response is read as strictly; what is refused gets an answer that says so. Runs in the egress process.
 */
#ifndef EGRESS_INSPECT_H
#define EGRESS_INSPECT_H

#include "egress/authority.h"
#include "egress/conn.h"

/* For egress->engine. */
extern const struct engine inspect_engine;

/* Makes egress->engine_state: the authority, where some rule needs one, and the store of secrets. Before the process shuts itself in
 * (needs files), after the configuration was read. ca_file: see authority_new(). */
int inspect_prepare(struct egress *egress, const char *ca_file, struct cordon_error *err);
/* For the box's bundle; malloc'd. NULL: there is none (authority_is_needed() tells whether there should be). */
char *inspect_pem(const struct egress *egress);

int inspect_start(struct conn *c, bool tls);
void inspect_free(struct conn *c);

#endif
