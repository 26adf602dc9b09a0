/*
 * Certificates held once: see known.h.
 *
 * Theory of operation: a chain that has arrived is looked at before it is verified. Whatever in it is, byte for byte, a certificate that is known is
 * replaced by that one; then the chain is verified as ever, every time, and only one that was good is remembered. So nothing is trusted that would not be
 * trusted without this: it decides who owns the memory. What a certificate's owners share is its parsed form and what OpenSSL notes in
 * it (flags, its digest, its key), which depend on its bytes alone.
 *
 * The egress process; no privilege. The certificates are hostile until they are verified.
 */
#include "egress/known.h"

#include <openssl/ssl.h>
#include <openssl/x509_vfy.h>
#include <stdbool.h>
#include <stdlib.h>

/* Servers of one box are few. A certificate that is larger than usual is its connection's alone. */
enum { KNOWN_MAX = 64, KNOWN_BYTES = 8192 };

struct known {
	X509 *v[KNOWN_MAX];
	size_t next; /* to be replaced */
};

struct known *known_new(void)
{
	return calloc(1, sizeof(struct known));
}

void known_free(struct known *known)
{
	for (size_t i = 0; known && i < KNOWN_MAX; i++)
		X509_free(known->v[i]);
	free(known);
}

static X509 *find(const struct known *known, const X509 *cert)
{
	for (size_t i = 0; i < KNOWN_MAX && known->v[i]; i++)
		if (X509_cmp(known->v[i], cert) == 0)
			return known->v[i];
	return NULL;
}

static void remember(struct known *known, X509 *cert)
{
	if (find(known, cert) || i2d_X509(cert, NULL) > KNOWN_BYTES || !X509_up_ref(cert))
		return;
	X509_free(known->v[known->next]);
	known->v[known->next] = cert;
	known->next = (known->next + 1) % KNOWN_MAX;
}

/* The chain is the very one that the connection keeps afterwards. */
static void share(const struct known *known, STACK_OF(X509) * chain)
{
	for (int i = 0; i < sk_X509_num(chain); i++) {
		X509 *cert = sk_X509_value(chain, i), *same = find(known, cert);

		if (!same || !X509_up_ref(same))
			continue;
		sk_X509_set(chain, i, same);
		X509_free(cert);
	}
}

/* In place of OpenSSL's own call of X509_verify_cert(), of which this is the last line. */
static int verify(X509_STORE_CTX *ctx, void *arg)
{
	struct known *known = arg;
	STACK_OF(X509) *chain = X509_STORE_CTX_get0_untrusted(ctx);
	bool whole = chain && sk_X509_num(chain) > 0 && sk_X509_value(chain, 0) == X509_STORE_CTX_get0_cert(ctx);
	int r;

	if (whole) {
		share(known, chain);
		X509_STORE_CTX_set_cert(ctx, sk_X509_value(chain, 0));
	}
	r = X509_verify_cert(ctx);
	for (int i = 0; whole && r == 1 && i < sk_X509_num(chain); i++)
		remember(known, sk_X509_value(chain, i));
	return r;
}

void known_attach(struct known *known, SSL_CTX *ctx)
{
	SSL_CTX_set_cert_verify_callback(ctx, verify, known);
}
