/*
 * Where TLS is looked into, the box trusts an authority of its own: its certificate comes from the egress process, which has made it for this
 * box alone.
 */
#ifndef BOX_CERTIFICATES_H
#define BOX_CERTIFICATES_H

#include "base/error.h"
#include "base/str.h"

struct certificates {
	struct str authority; /* PEM */
	struct str bundle;    /* with the host's roots */
	struct str java;      /* the same as Java's store; empty where the host has none */
};

/* Over the host's own, where programs look by themselves. */
#define CERTIFICATES_BUNDLE_PLACE "/etc/ssl/certs/ca-certificates.crt"
#define CERTIFICATES_JAVA_PLACE "/etc/ssl/certs/java/cacerts"

/* Waits for them. certificates_done() in any case. */
int certificates_receive(int authority, struct certificates *ret, struct cordon_error *err);
void certificates_done(struct certificates *c);

#endif
