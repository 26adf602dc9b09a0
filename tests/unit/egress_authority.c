/* The box's authority: its chain verifies for exactly the name, and for nobody else; both TLS sides as they should be. */
#include "egress/authority.h"
#include "egress/stream.h"

#include "base/clock.h"
#include "tap.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>
#include <unistd.h>

static char ca_path[] = "/tmp/cordon-unit-ca-XXXXXX";

static X509 *from_pem(const char *pem)
{
	BIO *bio = BIO_new_mem_buf(pem, -1);
	X509 *cert = PEM_read_bio_X509(bio, NULL, NULL, NULL);

	BIO_free(bio);
	return cert;
}

static bool verifies(X509 *root, X509 *leaf, const char *name)
{
	X509_STORE *store = X509_STORE_new();
	X509_STORE_CTX *ctx = X509_STORE_CTX_new();
	bool good;

	X509_STORE_add_cert(store, root);
	X509_STORE_set_flags(store, X509_V_FLAG_X509_STRICT);
	X509_STORE_CTX_init(ctx, store, leaf, NULL);
	X509_STORE_CTX_set_default(ctx, "ssl_server");
	X509_VERIFY_PARAM_set1_host(X509_STORE_CTX_get0_param(ctx), name, 0);
	good = X509_verify_cert(ctx) == 1;
	X509_STORE_CTX_free(ctx);
	X509_STORE_free(store);
	return good;
}

static void test_leaf(struct authority *a)
{
	char *pem = authority_pem(a);
	X509 *root = from_pem(pem);
	SSL *ssl = authority_accept(a, "api.example.com"), *again = authority_accept(a, "api.example.com");
	SSL *address = authority_accept(a, "192.0.2.1");
	X509 *leaf = SSL_get_certificate(ssl);
	GENERAL_NAMES *names = X509_get_ext_d2i(leaf, NID_subject_alt_name, NULL, NULL);

	ok(X509_check_ca(root) == 1, "the root is a CA");
	ok(!strstr(pem, "PRIVATE"), "its PEM has no key in it");
	ok(verifies(root, leaf, "api.example.com"), "the chain verifies, strictly, for the name");
	ok(!verifies(root, leaf, "example.com") && !verifies(root, leaf, "x.api.example.com") &&
		   !verifies(root, leaf, "api.example.com.evil.test"),
	   "and for no other");
	is_num(sk_GENERAL_NAME_num(names), 1, "one alternative name");
	is_num(X509_check_ca(leaf), 0, "the leaf is no CA");
	ok(SSL_get_certificate(again) == leaf, "the second time it comes from the cache");
	ok(X509_check_ip_asc(SSL_get_certificate(address), "192.0.2.1", 0) == 1, "an address is named as one");
	GENERAL_NAMES_free(names);
	SSL_free(ssl);
	SSL_free(again);
	SSL_free(address);
	for (int i = 0; i < 300; i++) {
		char name[64];

		snprintf(name, sizeof(name), "host-%d.example.com", i);
		SSL_free(authority_accept(a, name));
	}
	ssl = authority_accept(a, "api.example.com");
	ok(verifies(root, SSL_get_certificate(ssl), "api.example.com"), "made again after it fell out of the cache");
	SSL_free(ssl);
	X509_free(root);
	free(pem);
}

/* Both ends until they are through; what the server and the client say. */
static void shake(SSL *server_ssl, SSL *client_ssl, int *ret_server, int *ret_client, char *why, size_t size)
{
	struct stream server, client;
	int fds[2];

	socketpair(AF_UNIX, SOCK_STREAM, 0, fds);
	stream_init(&server, fds[0], server_ssl);
	stream_init(&client, fds[1], client_ssl);
	*ret_server = *ret_client = -EAGAIN;
	why[0] = '\0';
	for (int i = 0; i < 20; i++) {
		if (*ret_client == -EAGAIN)
			*ret_client = stream_handshake(&client);
		if (*ret_client != 0 && *ret_client != -EAGAIN && !why[0])
			authority_explain(client.ssl, why, size);
		if (*ret_server == -EAGAIN)
			*ret_server = stream_handshake(&server);
		if (*ret_server != 0 && *ret_server != -EAGAIN && !why[0])
			authority_explain(server.ssl, why, size);
	}
	stream_done(&server);
	stream_done(&client);
	close(fds[0]);
	close(fds[1]);
}

static void test_handshake(struct authority *a, struct authority *trusting)
{
	char why[160];
	int server, client;
	SSL *ssl;

	shake(authority_accept(a, "api.example.com"), authority_connect(trusting, "api.example.com"), &server, &client,
	      why, sizeof(why));
	ok(server == 0 && client == 0, "a client that trusts it connects");
	shake(authority_accept(a, "api.example.com"), authority_connect(a, "api.example.com"), &server, &client, why,
	      sizeof(why));
	ok(client < 0, "one that does not, does not: %s", why);
	ok(strstr(why, "certificate"), "and says why");
	shake(authority_accept(a, "api.example.com"), authority_connect(trusting, "other.example.com"), &server,
	      &client, why, sizeof(why));
	ok(server < 0 && strstr(why, "SNI"), "another SNI is refused: %s", why);
	ssl = authority_connect(trusting, "api.example.com");
	SSL_set_tlsext_host_name(ssl, NULL);
	shake(authority_accept(a, "api.example.com"), ssl, &server, &client, why, sizeof(why));
	ok(server < 0 && strstr(why, "SNI"), "so is none");
	/* The name that the client wants is another than the one in the certificate, with the right SNI. */
	ssl = authority_connect(trusting, "other.example.com");
	SSL_set_tlsext_host_name(ssl, "api.example.com");
	shake(authority_accept(a, "api.example.com"), ssl, &server, &client, why, sizeof(why));
	ok(client < 0 && strstr(why, "ostname mismatch"), "upstream is verified by name: %s", why);
	ssl = authority_connect(trusting, "api.example.com");
	SSL_set_alpn_protos(ssl, (const unsigned char *)"\x02h2", 3);
	shake(authority_accept(a, "api.example.com"), ssl, &server, &client, why, sizeof(why));
	ok(server < 0 && strstr(why, "HTTP/1.1"), "only HTTP/2 is refused: %s", why);
	ssl = authority_connect(trusting, "api.example.com");
	SSL_set_alpn_protos(ssl, (const unsigned char *)"\x02h2\x08http/1.1", 12);
	shake(authority_accept(a, "api.example.com"), ssl, &server, &client, why, sizeof(why));
	ok(server == 0 && client == 0, "HTTP/2 or HTTP/1.1 is taken as HTTP/1.1");
	ssl = authority_connect(trusting, "api.example.com");
	SSL_set_max_proto_version(ssl, TLS1_1_VERSION);
	SSL_set_min_proto_version(ssl, TLS1_VERSION);
	shake(authority_accept(a, "api.example.com"), ssl, &server, &client, why, sizeof(why));
	ok(server < 0 || client < 0, "TLS 1.1 is too old");
	shake(authority_accept(a, "192.0.2.1"), authority_connect(trusting, "192.0.2.1"), &server, &client, why,
	      sizeof(why));
	ok(server == 0 && client == 0, "by address, without SNI");
}

/* Through TLS, and as it stays then. */
static void settle(struct stream *server, struct stream *client, SSL *server_ssl, SSL *client_ssl)
{
	int fds[2];

	socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds);
	stream_init(server, fds[0], server_ssl);
	stream_init(client, fds[1], client_ssl);
	for (int i = 0; i < 20; i++) {
		(void)stream_handshake(client);
		(void)stream_handshake(server);
	}
}

static void test_shared(struct authority *a, struct authority *trusting)
{
	static const char name[] = "shared.example.com";
	struct stream server[4], client[4];
	X509 *cert[4];
	int how;

	for (int i = 0; i < 4; i++) {
		/* The third is of another name, the fourth of another authority. */
		const char *of = i == 2 ? "other.example.com" : name;

		settle(&server[i], &client[i], authority_accept(i == 3 ? trusting : a, of),
		       authority_connect(trusting, of));
		cert[i] = SSL_get0_peer_certificate(client[i].ssl);
		how = client[i].handshaken && SSL_get_verify_result(client[i].ssl) == X509_V_OK;
		ok(i == 3 ? !how : how, "connection %d is%s verified", i, i == 3 ? " not" : "");
	}
	ok(cert[0] && cert[0] == cert[1], "two connections to one server share its certificate");
	ok(sk_X509_value(SSL_get_peer_cert_chain(client[1].ssl), 0) == cert[0] &&
		   sk_X509_value(SSL_get0_verified_chain(client[1].ssl), 0) == cert[0],
	   "in every chain of theirs");
	ok(cert[2] && cert[2] != cert[0] && cert[3] != cert[0], "others have theirs");
	for (int i = 0; i < 4; i++) {
		int fds[2] = { server[i].fd, client[i].fd };

		stream_done(&server[i]);
		stream_done(&client[i]);
		close(fds[0]);
		close(fds[1]);
	}
}

int main(void)
{
	struct authority *a = NULL, *trusting = NULL, *more = NULL;
	struct cordon_error err = { 0 };
	uint64_t t0 = clock_us(), t1, t2;
	size_t used;
	char *pem;
	int fd;

	ok(authority_new(NULL, &a, &err) == 0, "an authority");
	t1 = clock_us();
	used = CRYPTO_secure_used();
	ok(used > 0, "its key is in memory that is locked and left out of core files (%zu bytes)", used);
	ok(authority_new(NULL, &more, &err) == 0, "and another");
	t2 = clock_us();
	note("the first takes %llu us with the library's start, the second %llu us", (unsigned long long)(t1 - t0),
	     (unsigned long long)(t2 - t1));
	ok(CRYPTO_secure_used() > used, "whose key is there, too");
	authority_free(more);
	is_num(CRYPTO_secure_used(), used, "as long as it lives");
	fd = mkstemp(ca_path);
	pem = authority_pem(a);
	ok(fd >= 0 && write(fd, pem, strlen(pem)) == (ssize_t)strlen(pem), "its certificate in a file");
	ok(authority_new("/nonexistent/ca.pem", &more, &err) < 0, "a file of roots that is not there is an error");
	ok(authority_new(ca_path, &trusting, &err) == 0, "somebody who trusts it");
	test_leaf(a);
	t0 = clock_us();
	SSL_free(authority_connect(trusting, "warm.example.com"));
	note("the system's roots take %llu us", (unsigned long long)(clock_us() - t0));
	test_handshake(a, trusting);
	test_shared(a, trusting);
	unlink(ca_path);
	close(fd);
	free(pem);
	authority_free(a);
	authority_free(trusting);
	return done_testing();
}
