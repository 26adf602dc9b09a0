/*
 * A client of bench/serve.c, run in a box and outside of it; times itself, so that the box's start does not count. Linked statically: the
 * same machine code on both sides.
 *
 *	wire get HOST PORT BYTES [tls]    prints the nanoseconds from before connect() to the last byte
 *	wire connect HOST PORT COUNT      one after the other: connect, a byte there and back, close; prints the median of each in nanoseconds
 *	wire hold HOST PORT COUNT [tls]   opens them all, a byte or a request on each, says "held", and keeps them until stdin ends
 *
 * Servers are verified: with SSL_CERT_FILE, or what the box trusts.
 */
#include <errno.h>
#include <inttypes.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <openssl/ssl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { CHUNK = 256 << 10 };

struct peer {
	int fd;
	SSL *ssl; /* NULL: plain */
};

static struct sockaddr_storage to;
static socklen_t to_len;
static const char *host;
static SSL_CTX *context;
static char buffer[CHUNK + 1];

static _Noreturn void die(const char *what)
{
	fprintf(stderr, "wire: %s: %s\n", what, errno ? strerror(errno) : "failed");
	exit(1);
}

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

/* Once, before the clock starts: what is timed are connections. */
static void resolve(const char *port)
{
	struct addrinfo hints = { .ai_family = AF_INET, .ai_socktype = SOCK_STREAM }, *found = NULL;

	if (getaddrinfo(host, port, &hints, &found) != 0)
		die(host);
	memcpy(&to, found->ai_addr, found->ai_addrlen);
	to_len = found->ai_addrlen;
	freeaddrinfo(found);
}

static void open_tls(void)
{
	context = SSL_CTX_new(TLS_client_method());
	if (!context || SSL_CTX_set_default_verify_paths(context) != 1)
		die("TLS");
	SSL_CTX_set_verify(context, SSL_VERIFY_PEER, NULL);
}

static struct peer peer_open(void)
{
	struct peer p = { .fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0) };
	const int on = 1;

	if (p.fd < 0 || connect(p.fd, (struct sockaddr *)&to, to_len) < 0)
		die("connect");
	if (!context)
		return p;
	(void)setsockopt(p.fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	p.ssl = SSL_new(context);
	errno = 0;
	if (!p.ssl || SSL_set_tlsext_host_name(p.ssl, host) != 1 || SSL_set1_host(p.ssl, host) != 1 ||
	    SSL_set_fd(p.ssl, p.fd) != 1 || SSL_connect(p.ssl) != 1)
		die("TLS handshake");
	return p;
}

static void peer_close(struct peer *p)
{
	SSL_free(p->ssl);
	close(p->fd);
}

static size_t peer_read(struct peer *p, char *data, size_t size)
{
	ssize_t n;

	errno = 0;
	n = p->ssl ? SSL_read(p->ssl, data, (int)size) : read(p->fd, data, size);
	if (n <= 0)
		die("read");
	return (size_t)n;
}

static void peer_write(struct peer *p, const char *data, size_t len)
{
	ssize_t n = p->ssl ? SSL_write(p->ssl, data, (int)len) : write(p->fd, data, len);

	if (n != (ssize_t)len)
		die("write");
}

/* The whole of one response of this many bytes. */
static void request(struct peer *p, uint64_t bytes)
{
	char text[512];
	int n = snprintf(text, sizeof(text), "GET /%" PRIu64 " HTTP/1.1\r\nHost: %s\r\n\r\n", bytes, host);
	const char *end = NULL;
	size_t len = 0;

	peer_write(p, text, (size_t)n);
	while (!end) {
		len += peer_read(p, buffer + len, CHUNK - len);
		buffer[len] = '\0';
		end = strstr(buffer, "\r\n\r\n");
	}
	if (strncmp(buffer, "HTTP/1.1 200 ", 13) != 0) {
		fprintf(stderr, "wire: %.200s\n", buffer);
		exit(1);
	}
	len -= (size_t)(end + 4 - buffer);
	while (len < bytes)
		len += peer_read(p, buffer, CHUNK);
}

static void ping(struct peer *p)
{
	char byte = 'x';

	peer_write(p, &byte, 1);
	(void)peer_read(p, &byte, 1);
}

static void get(uint64_t bytes)
{
	uint64_t from = now_ns();
	struct peer p = peer_open();

	request(&p, bytes);
	printf("%" PRIu64 "\n", now_ns() - from);
	peer_close(&p);
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static void connect_often(size_t count)
{
	uint64_t *times = calloc(count, sizeof(*times));

	if (!times || count == 0)
		die("count");
	for (size_t i = 0; i < count; i++) {
		uint64_t from = now_ns();
		struct peer p = peer_open();

		ping(&p);
		peer_close(&p);
		times[i] = now_ns() - from;
	}
	qsort(times, count, sizeof(*times), compare);
	printf("%" PRIu64 "\n", times[count / 2]);
	free(times);
}

static void hold(size_t count)
{
	struct rlimit files;
	char byte;

	if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
		files.rlim_cur = files.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &files);
	}
	for (size_t i = 0; i < count; i++) {
		struct peer p = peer_open(); /* never closed: that is the point */

		if (context)
			request(&p, 1);
		else
			ping(&p);
	}
	puts("held");
	fflush(stdout);
	while (read(0, &byte, 1) > 0)
		;
}

int main(int argc, char **argv)
{
	uint64_t number = argc > 4 ? strtoull(argv[4], NULL, 10) : 0;

	if (argc < 5) {
		fprintf(stderr, "usage: wire get|connect|hold HOST PORT NUMBER [tls]\n");
		return 2;
	}
	host = argv[2];
	resolve(argv[3]);
	if (argc > 5)
		open_tls();
	if (strcmp(argv[1], "get") == 0)
		get(number);
	else if (strcmp(argv[1], "connect") == 0)
		connect_often(number);
	else
		hold(number);
	return 0;
}
