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
 * (needs files), after the configuration was read. */
int inspect_prepare(struct egress *egress, struct cordon_error *err);
/* Sends the authority's certificate (PEM) to whoever builds the box, where there is one: a byte with a file. Before the process shuts itself
 * in. 0 or -errno. */
int inspect_hand_over(const struct egress *egress, int fd);
int inspect_start(struct conn *c, bool tls);
void inspect_free(struct conn *c);

#endif
