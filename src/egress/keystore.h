/* Java's store of trusted certificates (JKS): one more in it. Pure. Runs in the egress process. */
#ifndef EGRESS_KEYSTORE_H
#define EGRESS_KEYSTORE_H

#include "base/str.h"

/* The whole store of the host with a certificate (DER) added, under the password that everybody uses ("changeit"). -EINVAL: not a store of
 * this kind; -ENOMEM. */
int keystore_add(const char *store, size_t len, const char *alias, const unsigned char *der, size_t der_len,
		 struct str *ret);

#endif
