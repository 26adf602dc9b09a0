/*
 * The box's certificate authority: see authority.h.
 *
 * Theory of operation: two P-256 keys are made in memory and never leave it: the authority's and one that all leaf certificates share. A leaf
 * names one host and nothing else, lives a few days, and is kept in a small cache. What the key signs is of no use outside of
 * this box: nobody else trusts it. Only what the certificate needs is made at the start, because a box waits for it; the contexts, and above all
 * the parsing of the system's roots, wait for the first connection.
 *
 * The egress process; no privilege.
 */
#include "egress/authority.h"

#include "base/fd.h"
#include "base/str.h"
#include "egress/known.h"
#include "egress/roots.h"
#include "net/hostname.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	DAY = 24 * 60 * 60,
	LEAF_DAYS = 4, /* made again once half of them are over */
	LEAVES_MAX = 64,
	SECURE_HEAP = 1 << 20, /* each connection's own keys are in it as well, 64 bytes as long as it lives */
	READ_BUFFER = 34000,
	ROOTS_MAX = 8 << 20,
};

struct leaf {
	char name[HOSTNAME_SIZE];
	X509 *cert;
	time_t renew;
	uint64_t used;
};

struct authority {
	EVP_PKEY *key, *leaf_key;
	X509 *cert;
	SSL_CTX *server, *client; /* made when the first connection needs them */
	int bundles[2];           /* that are not read yet, or -1 */
	struct roots *roots;
	struct known *known; /* the client context's */
	struct leaf leaves[LEAVES_MAX];
	uint64_t clock; /* of leaf.used */
};

/* Where distributions keep their bundle. */
static const char *const places[] = { "/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt",
				      "/etc/ssl/ca-bundle.pem", "/etc/ssl/cert.pem" };

static bool is_address(const char *name)
{
	unsigned char ip[16];

	return inet_pton(AF_INET, name, ip) == 1 || inet_pton(AF_INET6, name, ip) == 1;
}

/* ---- certificates ---- */

static int add_extension(X509 *cert, X509 *issuer, int nid, const char *value)
{
	X509V3_CTX ctx;
	X509_EXTENSION *ext;
	int r;

	X509V3_set_ctx(&ctx, issuer, cert, NULL, NULL, 0);
	ext = X509V3_EXT_conf_nid(NULL, &ctx, nid, value);
	r = ext ? X509_add_ext(cert, ext, -1) : 0;
	X509_EXTENSION_free(ext);
	return r;
}

/* The one name, as a structure and not as text: nothing in it can become a second one. */
static int add_alt_name(X509 *cert, const char *name)
{
	GENERAL_NAMES *names = sk_GENERAL_NAME_new_null();
	GENERAL_NAME *general = GENERAL_NAME_new();
	ASN1_STRING *value;
	unsigned char ip[16];
	int r = 0, ip_len = inet_pton(AF_INET, name, ip) == 1 ? 4 : inet_pton(AF_INET6, name, ip) == 1 ? 16 : 0;

	value = ip_len ? ASN1_OCTET_STRING_new() : ASN1_IA5STRING_new();
	if (!names || !general || !value ||
	    !ASN1_STRING_set(value, ip_len ? (void *)ip : (const void *)name, ip_len ? ip_len : (int)strlen(name))) {
		ASN1_STRING_free(value);
		GENERAL_NAME_free(general);
	} else {
		GENERAL_NAME_set0_value(general, ip_len ? GEN_IPADD : GEN_DNS, value);
		if (sk_GENERAL_NAME_push(names, general) > 0)
			r = X509_add1_ext_i2d(cert, NID_subject_alt_name, names, 0, X509V3_ADD_DEFAULT);
		else
			GENERAL_NAME_free(general);
	}
	sk_GENERAL_NAME_pop_free(names, GENERAL_NAME_free);
	return r;
}

static int set_serial(X509 *cert)
{
	unsigned char bytes[16];
	BIGNUM *number;
	int r;

	if (RAND_bytes(bytes, sizeof(bytes)) != 1)
		return 0;
	bytes[0] = (unsigned char)((bytes[0] & 0x7f) | 0x40); /* positive, and always of the same length */
	number = BN_bin2bn(bytes, sizeof(bytes), NULL);
	r = number && BN_to_ASN1_INTEGER(number, X509_get_serialNumber(cert));
	BN_free(number);
	return r;
}

static X509 *cert_begin(const char *subject, EVP_PKEY *key, int days)
{
	X509 *cert = X509_new();
	X509_NAME *name;

	if (!cert)
		return NULL;
	name = X509_get_subject_name(cert);
	if (X509_set_version(cert, X509_VERSION_3) && set_serial(cert) &&
	    X509_gmtime_adj(X509_getm_notBefore(cert), -DAY) &&
	    X509_gmtime_adj(X509_getm_notAfter(cert), (long)days * DAY) && X509_set_pubkey(cert, key) &&
	    X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_UTF8, (const unsigned char *)subject, -1, -1, 0))
		return cert;
	X509_free(cert);
	return NULL;
}

static X509 *make_root(EVP_PKEY *key)
{
	X509 *cert = cert_begin("cordon box CA", key, 3650);

	if (cert && X509_set_issuer_name(cert, X509_get_subject_name(cert)) &&
	    add_extension(cert, cert, NID_basic_constraints, "critical,CA:TRUE,pathlen:0") &&
	    add_extension(cert, cert, NID_key_usage, "critical,keyCertSign,cRLSign") &&
	    add_extension(cert, cert, NID_subject_key_identifier, "hash") && X509_sign(cert, key, EVP_sha256()))
		return cert;
	X509_free(cert);
	return NULL;
}

static X509 *make_leaf(const struct authority *a, const char *name)
{
	/* A common name holds 64 bytes; nobody looks there any more. */
	X509 *cert = cert_begin(strlen(name) <= 64 ? name : "cordon box", a->leaf_key, LEAF_DAYS);

	if (cert && X509_set_issuer_name(cert, X509_get_subject_name(a->cert)) &&
	    add_extension(cert, a->cert, NID_basic_constraints, "critical,CA:FALSE") &&
	    add_extension(cert, a->cert, NID_key_usage, "critical,digitalSignature") &&
	    add_extension(cert, a->cert, NID_ext_key_usage, "serverAuth") &&
	    add_extension(cert, a->cert, NID_subject_key_identifier, "hash") &&
	    add_extension(cert, a->cert, NID_authority_key_identifier, "keyid:always") && add_alt_name(cert, name) &&
	    X509_sign(cert, a->key, EVP_sha256()))
		return cert;
	X509_free(cert);
	return NULL;
}

static X509 *find_leaf(struct authority *a, const char *name)
{
	struct leaf *oldest = &a->leaves[0];
	time_t now = time(NULL);

	for (size_t i = 0; i < LEAVES_MAX; i++) {
		struct leaf *leaf = &a->leaves[i];

		if (leaf->cert && leaf->renew > now && strcmp(leaf->name, name) == 0) {
			leaf->used = ++a->clock;
			return leaf->cert;
		}
		if (leaf->used < oldest->used)
			oldest = leaf;
	}
	if (strlen(name) >= sizeof(oldest->name))
		return NULL;
	X509_free(oldest->cert);
	*oldest = (struct leaf){ .cert = make_leaf(a, name), .renew = now + LEAF_DAYS * DAY / 2, .used = ++a->clock };
	memcpy(oldest->name, name, strlen(name) + 1);
	return oldest->cert;
}

/* ---- contexts ---- */

/* HTTP/1.1 is what can be checked. A client that offers only other protocols is told so by the alert no_application_protocol; one that
 * offers none speaks HTTP/1.1 anyway. */
static int choose_alpn(SSL *ssl, const unsigned char **out, unsigned char *out_len, const unsigned char *in,
		       unsigned int in_len, void *arg)
{
	static const unsigned char ours[] = "\x08http/1.1\x08http/1.0";

	(void)ssl;
	(void)arg;
	return SSL_select_next_proto((unsigned char **)(uintptr_t)out, out_len, ours, sizeof(ours) - 1, in, in_len) ==
			       OPENSSL_NPN_NEGOTIATED
		       ? SSL_TLSEXT_ERR_OK
		       : SSL_TLSEXT_ERR_ALERT_FATAL;
}

/* The one name in the SNI extension, normalised; false where there is none. */
static bool read_sni(SSL *ssl, char ret[HOSTNAME_SIZE])
{
	const unsigned char *ext;
	size_t len;

	if (!SSL_client_hello_get0_ext(ssl, TLSEXT_TYPE_server_name, &ext, &len) || len < 5)
		return false;
	/* A list of one entry of type host_name (0). */
	if ((size_t)(ext[0] << 8 | ext[1]) != len - 2 || ext[2] != 0 || (size_t)(ext[3] << 8 | ext[4]) != len - 5)
		return false;
	return hostname_parse((const char *)ext + 5, len - 5, false, ret) == HOSTNAME_NAME;
}

static int check_hello(SSL *ssl, int *alert, void *arg)
{
	const char *name = SSL_get_app_data(ssl);
	char sni[HOSTNAME_SIZE];
	const unsigned char *ext;
	size_t len;
	bool good;

	(void)arg;
	if (is_address(name))
		good = !SSL_client_hello_get0_ext(ssl, TLSEXT_TYPE_server_name, &ext, &len);
	else
		good = read_sni(ssl, sni) && strcmp(sni, name) == 0;
	if (good)
		return SSL_CLIENT_HELLO_SUCCESS;
	*alert = SSL_AD_UNRECOGNIZED_NAME;
	return SSL_CLIENT_HELLO_ERROR;
}

static SSL_CTX *context_new(const SSL_METHOD *method)
{
	SSL_CTX *ctx = SSL_CTX_new(method);

	if (!ctx)
		return NULL;
	SSL_CTX_set_security_level(ctx, 2); /* whatever the host's library takes for enough */
	/* Buffers are held only while they are in use; no renegotiation, no compression; a session lasts as long as its connection. */
	SSL_CTX_set_mode(ctx, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE |
				      SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
	SSL_CTX_set_options(ctx, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_NO_TICKET);
	SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_OFF);
	SSL_CTX_set_num_tickets(ctx, 0);
	/* Two records with one call, instead of two calls for each. */
	SSL_CTX_set_read_ahead(ctx, 1);
	SSL_CTX_set_default_read_buffer_len(ctx, READ_BUFFER);
	if (SSL_CTX_set_min_proto_version(ctx, TLS1_2_VERSION) &&
	    /* The cheapest of the strong ones first: everything is encrypted twice here. */
	    SSL_CTX_set_ciphersuites(ctx, "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256"))
		return ctx;
	SSL_CTX_free(ctx);
	return NULL;
}

/* Once. 0, or -1 where memory ran out. */
static int make_contexts(struct authority *a)
{
	static const unsigned char alpn[] = "\x08http/1.1";

	if (a->server && a->client)
		return 0;
	OPENSSL_init_ssl(OPENSSL_INIT_NO_LOAD_CONFIG, NULL);
	a->leaf_key = a->leaf_key ? a->leaf_key : EVP_EC_gen("P-256");
	a->server = a->server ? a->server : context_new(TLS_server_method());
	if (!a->server || !a->leaf_key)
		return -1;
	SSL_CTX_set_options(a->server, SSL_OP_CIPHER_SERVER_PREFERENCE | SSL_OP_PRIORITIZE_CHACHA);
	SSL_CTX_set_client_hello_cb(a->server, check_hello, NULL);
	SSL_CTX_set_alpn_select_cb(a->server, choose_alpn, NULL);
	a->known = a->known ? a->known : known_new();
	a->client = a->known ? context_new(TLS_client_method()) : NULL;
	if (!a->client)
		return -1;
	known_attach(a->known, a->client);
	SSL_CTX_set_verify(a->client, SSL_VERIFY_PEER, NULL);
	return SSL_CTX_set_alpn_protos(a->client, alpn, sizeof(alpn) - 1) == 0 ? 0 : -1;
}

static int open_roots(struct authority *a, const char *ca_file, struct cordon_error *err)
{
	for (size_t i = 0; i < ARRAY_LEN(places) && a->bundles[0] < 0; i++)
		a->bundles[0] = open(places[i], O_RDONLY | O_CLOEXEC);
	if (!ca_file)
		return 0;
	a->bundles[1] = open(ca_file, O_RDONLY | O_CLOEXEC);
	return a->bundles[1] >= 0 ? 0 : cordon_fail(err, CORDON_DENIED, errno, "open '%s'", ca_file);
}

static void load_bundle(struct authority *a, int *fd)
{
	auto_free char *data = NULL;
	ssize_t len = *fd >= 0 ? fd_load(*fd, ROOTS_MAX, &data) : 0;

	fd_close(fd);
	if (len > 0)
		roots_add(a->roots, data, (size_t)len);
}

/* Once. 0, or -1 where memory ran out. */
static int load_roots(struct authority *a)
{
	if (a->roots)
		return 0;
	a->roots = roots_new();
	if (!a->roots || roots_attach(a->roots, SSL_CTX_get_cert_store(a->client)) < 0)
		return -1;
	load_bundle(a, &a->bundles[0]);
	load_bundle(a, &a->bundles[1]);
	return 0;
}

int authority_new(const char *ca_file, struct authority **ret, struct cordon_error *err)
{
	struct authority *a = calloc(1, sizeof(*a));

	if (!a)
		return fail_memory(err);
	a->bundles[0] = a->bundles[1] = -1;
	/* No configuration file: what it says is for other programs. */
	OPENSSL_init_crypto(OPENSSL_INIT_NO_LOAD_CONFIG | OPENSSL_INIT_NO_LOAD_CRYPTO_STRINGS, NULL);
	(void)CRYPTO_secure_malloc_init(SECURE_HEAP, 16); /* private keys: locked, not in core files */
	if (!CRYPTO_secure_malloc_initialized()) {
		cordon_fail(err, CORDON_SYSTEM, errno, "egress: memory for private keys");
		goto fail;
	}
	if (open_roots(a, ca_file, err) < 0)
		goto fail;
	a->key = EVP_EC_gen("P-256");
	a->cert = a->key ? make_root(a->key) : NULL;
	if (!a->cert) {
		cordon_fail(err, CORDON_INTERNAL, 0, "make the box's certificate authority");
		goto fail;
	}
	*ret = a;
	return 0;
fail:
	authority_free(a);
	return -1;
}

void authority_free(struct authority *a)
{
	if (!a)
		return;
	for (size_t i = 0; i < LEAVES_MAX; i++)
		X509_free(a->leaves[i].cert);
	SSL_CTX_free(a->server);
	SSL_CTX_free(a->client);
	roots_free(a->roots); /* after the store that looks there */
	known_free(a->known);
	X509_free(a->cert);
	EVP_PKEY_free(a->key);
	EVP_PKEY_free(a->leaf_key);
	fd_close(&a->bundles[0]);
	fd_close(&a->bundles[1]);
	free(a);
}

char *authority_pem(const struct authority *a)
{
	BIO *bio = BIO_new(BIO_s_mem());
	char *data, *pem = NULL;
	long len;

	if (bio && PEM_write_bio_X509(bio, a->cert)) {
		len = BIO_get_mem_data(bio, &data);
		pem = len > 0 ? strndup(data, (size_t)len) : NULL;
	}
	BIO_free(bio);
	return pem;
}

int authority_der(const struct authority *a, unsigned char **ret)
{
	unsigned char *der = NULL;
	int len = i2d_X509(a->cert, &der);
	unsigned char *copy = len > 0 ? malloc((size_t)len) : NULL;

	if (copy) {
		memcpy(copy, der, (size_t)len);
		*ret = copy;
	}
	OPENSSL_free(der);
	return copy ? len : -ENOMEM;
}

SSL *authority_accept(struct authority *a, const char *name)
{
	X509 *cert = make_contexts(a) == 0 ? find_leaf(a, name) : NULL;
	SSL *ssl = cert ? SSL_new(a->server) : NULL;

	if (ssl && SSL_use_certificate(ssl, cert) && SSL_use_PrivateKey(ssl, a->leaf_key)) {
		SSL_set_app_data(ssl, (char *)(uintptr_t)name);
		SSL_set_accept_state(ssl);
		return ssl;
	}
	SSL_free(ssl);
	return NULL;
}

SSL *authority_connect(struct authority *a, const char *name)
{
	SSL *ssl;
	int r;

	if (make_contexts(a) < 0 || load_roots(a) < 0)
		return NULL;
	ssl = SSL_new(a->client);
	if (!ssl)
		return NULL;
	SSL_set_hostflags(ssl, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
	if (is_address(name))
		r = X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), name);
	else
		r = SSL_set1_host(ssl, name) && SSL_set_tlsext_host_name(ssl, name);
	if (r) {
		SSL_set_connect_state(ssl);
		return ssl;
	}
	SSL_free(ssl);
	return NULL;
}

bool authority_explain(const SSL *ssl, char *buf, size_t size)
{
	long verify = SSL_get_verify_result(ssl);
	unsigned long code = ERR_peek_error();
	int number = code ? ERR_GET_REASON(code) : 0;
	const char *reason = code ? ERR_reason_error_string(code) : NULL;
	bool ours = true;

	ERR_clear_error();
	if (SSL_is_server(ssl) && number == SSL_R_CALLBACK_FAILED) {
		snprintf(buf, size, "no server name (SNI) in TLS, or another one than the name that was connected to");
	} else if (SSL_is_server(ssl) && number == SSL_R_NO_APPLICATION_PROTOCOL) {
		snprintf(buf, size, "only HTTP/1.1 can be inspected, and the client does not offer it (ALPN)");
	} else if (!SSL_is_server(ssl) && verify != X509_V_OK) {
		snprintf(buf, size, "certificate not accepted: %s", X509_verify_cert_error_string(verify));
	} else {
		snprintf(buf, size, "TLS: %s", reason ? reason : "the connection ended during the handshake");
		ours = false;
	}
	return ours;
}
