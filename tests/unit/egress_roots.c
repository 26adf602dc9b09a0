/* Roots by name: each certificate of a bundle is found, as often as it is asked for; what is none is left out. */
#include "egress/roots.h"

#include "base/fd.h"
#include "tap.h"

#include <fcntl.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509_vfy.h>

/* A self-signed certificate, as PEM at the end of out. */
static X509 *make(BIO *out, const char *name, long serial)
{
	EVP_PKEY *key = EVP_EC_gen("P-256");
	X509 *cert = X509_new();
	X509_NAME *subject = X509_get_subject_name(cert);

	X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_UTF8, (const unsigned char *)name, -1, -1, 0);
	X509_set_issuer_name(cert, subject);
	ASN1_INTEGER_set(X509_get_serialNumber(cert), serial);
	X509_set_version(cert, X509_VERSION_3);
	X509_gmtime_adj(X509_getm_notBefore(cert), -60);
	X509_gmtime_adj(X509_getm_notAfter(cert), 3600);
	X509_set_pubkey(cert, key);
	X509_sign(cert, key, EVP_sha256());
	PEM_write_bio_X509(out, cert);
	EVP_PKEY_free(key);
	return cert;
}

static bool finds(X509_STORE *store, X509 *cert)
{
	X509_STORE_CTX *ctx = X509_STORE_CTX_new();
	bool good;

	X509_STORE_CTX_init(ctx, store, cert, NULL);
	good = X509_verify_cert(ctx) == 1;
	X509_STORE_CTX_free(ctx);
	return good;
}

/* How many of that certificate's name there are. */
static int named(X509_STORE *store, X509 *cert)
{
	X509_STORE_CTX *ctx = X509_STORE_CTX_new();
	STACK_OF(X509) * all;
	int n;

	X509_STORE_CTX_init(ctx, store, cert, NULL);
	all = X509_STORE_CTX_get1_certs(ctx, X509_get_subject_name(cert));
	n = sk_X509_num(all);
	sk_X509_pop_free(all, X509_free);
	X509_STORE_CTX_free(ctx);
	return n;
}

static void test_made(void)
{
	BIO *pem = BIO_new(BIO_s_mem()), *other = BIO_new(BIO_s_mem());
	X509 *a = make(pem, "root a", 1), *b, *twin, *stranger = make(other, "root b", 9),
	     *nobody = make(other, "root c", 1);
	struct roots *roots = roots_new();
	X509_STORE *store = X509_STORE_new();
	char *data;
	long len;

	BIO_puts(pem, "some words\n-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"
		      "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n");
	b = make(pem, "root b", 1);
	twin = make(pem, "root b", 2);
	len = BIO_get_mem_data(pem, &data);
	roots_add(roots, data, (size_t)len);
	is_num(roots_count(roots), 3, "certificates are taken, other things are not");
	ok(roots_attach(roots, store) == 0, "a store that looks there");
	ok(finds(store, a) && finds(store, a), "one is found, and again");
	is_num(named(store, b), 2, "two of one name are both there");
	is_num(named(store, twin), 2, "and again");
	ok(!finds(store, stranger), "not one that only has the name");
	ok(!finds(store, nobody), "nor one that is not there");
	X509_STORE_free(store);
	roots_free(roots);
	X509_free(a);
	X509_free(b);
	X509_free(twin);
	X509_free(stranger);
	X509_free(nobody);
	BIO_free(pem);
	BIO_free(other);
}

static void test_system(void)
{
	struct roots *roots = roots_new();
	X509_STORE *store = X509_STORE_new(), *control = X509_STORE_new();
	char *data = NULL;
	ssize_t len = fd_load_at(AT_FDCWD, "/etc/ssl/certs/ca-certificates.crt", 8 << 20, &data);
	size_t count = 0, found = 0;
	BIO *bio;
	X509 *cert;

	if (len <= 0) {
		skip("no bundle on this host");
	} else {
		roots_add(roots, data, (size_t)len);
		roots_attach(roots, store);
		bio = BIO_new_mem_buf(data, (int)len);
		while ((cert = PEM_read_bio_X509(bio, NULL, NULL, NULL))) {
			X509_STORE_add_cert(control, cert);
			X509_free(cert);
		}
		BIO_free(bio);
		bio = BIO_new_mem_buf(data, (int)len);
		while ((cert = PEM_read_bio_X509(bio, NULL, NULL, NULL))) {
			count++;
			found += finds(store, cert) == finds(control, cert) && named(store, cert) > 0;
			X509_free(cert);
		}
		BIO_free(bio);
		is_num(roots_count(roots), count, "the system's bundle: every certificate");
		is_num(found, count, "and each is as good as in a store that has them all");
	}
	X509_STORE_free(store);
	X509_STORE_free(control);
	roots_free(roots);
	free(data);
}

int main(void)
{
	test_made();
	test_system();
	return done_testing();
}
