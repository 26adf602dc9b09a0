/*
 * Roots by name: see roots.h. Parsing a certificate costs OpenSSL 3 a fifth of a millisecond, a bundle of them 30 ms, in which nothing else
 * happens in the process; decoding the base64 and finding the subject costs a twentieth of that. The subject is found by walking over the
 * fields before it (RFC 5280, 4.1); what does not look so is left out, and so is never trusted.
 *
 * The egress process; no privilege. The files are the host's.
 */
#include "egress/roots.h"

#include <errno.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509_vfy.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct root {
	X509_NAME *subject;
	unsigned char *der; /* NULL: it is in the store already */
	long len;
};

struct roots {
	struct root *v;
	size_t n, cap;
	X509_LOOKUP_METHOD *method;
};

/* Steps into the SEQUENCE at *p, or over the element there. */
static bool enter(const unsigned char **p, const unsigned char *end)
{
	long len;
	int tag, class;

	return !(ASN1_get_object(p, &len, &tag, &class, end - *p) & 0x80) && tag == V_ASN1_SEQUENCE;
}

static bool skip(const unsigned char **p, const unsigned char *end)
{
	long len;
	int tag, class;

	if (ASN1_get_object(p, &len, &tag, &class, end - *p) & 0x80)
		return false;
	*p += len;
	return true;
}

static X509_NAME *read_subject(const unsigned char *der, long len)
{
	const unsigned char *p = der, *end = der + len;

	for (int depth = 0; depth < 2; depth++) /* the certificate, and what of it is signed */
		if (!enter(&p, end))
			return NULL;
	if (p < end && *p == 0xa0 && !skip(&p, end)) /* version */
		return NULL;
	for (int field = 0; field < 4; field++) /* serial number, signature, issuer, validity */
		if (!skip(&p, end))
			return NULL;
	return d2i_X509_NAME(NULL, &p, end - p);
}

struct roots *roots_new(void)
{
	return calloc(1, sizeof(struct roots));
}

static bool reserve(struct roots *roots)
{
	size_t cap = roots->cap ? roots->cap * 2 : 256;
	struct root *v;

	if (roots->n < roots->cap)
		return true;
	v = realloc(roots->v, cap * sizeof(*v));
	if (!v)
		return false;
	roots->v = v;
	roots->cap = cap;
	return true;
}

void roots_add(struct roots *roots, const char *pem, size_t len)
{
	BIO *bio = len <= INT32_MAX ? BIO_new_mem_buf(pem, (int)len) : NULL;
	char *name = NULL, *header = NULL;
	unsigned char *der = NULL;
	long der_len;

	while (bio && PEM_read_bio(bio, &name, &header, &der, &der_len) == 1) {
		bool fits = strcmp(name, PEM_STRING_X509) == 0 || strcmp(name, PEM_STRING_X509_OLD) == 0;
		X509_NAME *subject = fits && reserve(roots) ? read_subject(der, der_len) : NULL;

		if (subject)
			roots->v[roots->n++] = (struct root){ .subject = subject, .der = der, .len = der_len };
		else
			OPENSSL_free(der);
		OPENSSL_free(name);
		OPENSSL_free(header);
	}
	BIO_free(bio);
	ERR_clear_error(); /* the end of the file is one */
}

size_t roots_count(const struct roots *roots)
{
	return roots->n;
}

/* Parses it and puts it into the store, which owns it then. */
static X509 *load(struct root *root, X509_STORE *store)
{
	const unsigned char *p = root->der;
	X509 *cert = d2i_X509(NULL, &p, root->len);

	if (cert && !X509_STORE_add_cert(store, cert)) {
		X509_free(cert);
		cert = NULL;
	}
	OPENSSL_free(root->der);
	root->der = NULL;
	X509_free(cert);
	return cert;
}

/* The store has none of this name yet. All of that name go into it; what is returned is the store's, without a reference. */
static int by_subject(X509_LOOKUP *lookup, X509_LOOKUP_TYPE type, const X509_NAME *name, X509_OBJECT *ret)
{
	struct roots *roots = X509_LOOKUP_get_method_data(lookup);
	X509_STORE *store = X509_LOOKUP_get_store(lookup);
	X509 *found = NULL;

	if (type != X509_LU_X509)
		return 0;
	for (size_t i = 0; i < roots->n; i++) {
		X509 *cert;

		if (!roots->v[i].der || X509_NAME_cmp(roots->v[i].subject, name) != 0)
			continue;
		cert = load(&roots->v[i], store);
		found = found ? found : cert;
	}
	if (!found || !X509_OBJECT_set1_X509(ret, found))
		return 0;
	X509_free(found); /* the caller takes a reference of its own */
	return 1;
}

int roots_attach(struct roots *roots, X509_STORE *store)
{
	X509_LOOKUP *lookup = NULL;

	roots->method = X509_LOOKUP_meth_new("roots");
	if (roots->method && X509_LOOKUP_meth_set_get_by_subject(roots->method, by_subject))
		lookup = X509_STORE_add_lookup(store, roots->method);
	return lookup && X509_LOOKUP_set_method_data(lookup, roots) ? 0 : -ENOMEM;
}

void roots_free(struct roots *roots)
{
	if (!roots)
		return;
	for (size_t i = 0; i < roots->n; i++) {
		X509_NAME_free(roots->v[i].subject);
		OPENSSL_free(roots->v[i].der);
	}
	X509_LOOKUP_meth_free(roots->method);
	free(roots->v);
	free(roots);
}
