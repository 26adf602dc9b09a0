/* The TLS ClientHello: its SNI, ALPN and whether it is encrypted (ECH). Pure; hostile bytes. Runs in the egress process. */
#ifndef EGRESS_HELLO_H
#define EGRESS_HELLO_H

#include "net/hostname.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { HELLO_MAX = 18432 }; /* 16 KiB of handshake and its record headers */

struct hello {
	size_t len; /* of the records that hold it */
	bool has_sni;
	bool has_ech;             /* encrypted_client_hello of any form, or the old ESNI */
	char sni[HOSTNAME_SIZE];  /* normalised */
	bool alpn_h2, alpn_http1; /* offered */
};

enum hello_status {
	HELLO_OK,
	HELLO_MORE,    /* not all there yet */
	HELLO_NOT_TLS, /* not TLS, or not a ClientHello first */
	HELLO_BAD,     /* malformed, too long, an SNI that is no host name, two SNIs, an address in it … */
};
/* `why` gets a constant sentence for HELLO_NOT_TLS and HELLO_BAD. */
enum hello_status hello_parse(const uint8_t *data, size_t len, struct hello *ret, const char **why);

#endif
