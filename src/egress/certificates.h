/* What the box trusts of us, on its way there. Runs in the egress process. */
#ifndef EGRESS_CERTIFICATES_H
#define EGRESS_CERTIFICATES_H

#include "egress/authority.h"

/* One message with files: the authority's certificate (PEM) and, where the host has a Java, that store with the certificate in it. Before
 * the process shuts itself in. 0 or -errno. */
int certificates_send(const struct authority *a, int fd);

#endif
