/*
 * The other side of the wall for `make bench`: serve ADDRESS CERTIFICATE KEY. On ports 80 and 7000 it answers "GET /N" with N bytes over
 * HTTP/1.1, on 443 the same over TLS, a thread for each connection; on 7001 it sends every byte back. Says "ready" when it
 * listens, and runs until it is killed.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <openssl/ssl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

enum { CHUNK = 256 << 10, HEAD_MAX = 8192, STACK = 256 << 10, ECHO_BATCH = 64 };

struct listener {
	uint16_t port;
	bool tls;
	int fd;
};

struct peer {
	int fd;
	SSL *ssl; /* NULL: plain */
};

static struct listener listeners[] = { { .port = 80 }, { .port = 7000 }, { .port = 443, .tls = true } };
static struct listener echo = { .port = 7001 };
static const char *own_address;
static SSL_CTX *context;
static char zeros[CHUNK];

static _Noreturn void die(const char *what)
{
	fprintf(stderr, "serve: %s: %s\n", what, strerror(errno));
	exit(1);
}

static ssize_t peer_read(struct peer *p, void *data, size_t size)
{
	return p->ssl ? SSL_read(p->ssl, data, (int)size) : read(p->fd, data, size);
}

static bool peer_write(struct peer *p, const char *data, size_t len)
{
	while (len) {
		ssize_t n = p->ssl ? SSL_write(p->ssl, data, (int)len) : write(p->fd, data, len);

		if (n <= 0)
			return false;
		data += n;
		len -= (size_t)n;
	}
	return true;
}

static bool answer(struct peer *p, const char *request)
{
	uint64_t left = strncmp(request, "GET /", 5) == 0 ? strtoull(request + 5, NULL, 10) : 0;
	char head[128];
	int n = snprintf(head, sizeof(head),
			 "HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\nContent-Length: %llu\r\n\r\n",
			 (unsigned long long)left);

	if (!peer_write(p, head, (size_t)n))
		return false;
	while (left) {
		size_t part = left < CHUNK ? (size_t)left : CHUNK;

		if (!peer_write(p, zeros, part))
			return false;
		left -= part;
	}
	return true;
}

/* One request after the other; a client that sends two at once is none of ours. */
static void talk(struct peer *p)
{
	char request[HEAD_MAX];
	size_t len = 0;

	for (;;) {
		ssize_t n = peer_read(p, request + len, sizeof(request) - 1 - len);

		if (n <= 0)
			return;
		len += (size_t)n;
		request[len] = '\0';
		if (!strstr(request, "\r\n\r\n"))
			continue;
		if (!answer(p, request))
			return;
		len = 0;
	}
}

static void *serve_plain(void *arg)
{
	struct peer p = { .fd = (int)(intptr_t)arg };

	talk(&p);
	close(p.fd);
	return NULL;
}

static void *serve_tls(void *arg)
{
	struct peer p = { .fd = (int)(intptr_t)arg, .ssl = SSL_new(context) };

	if (p.ssl && SSL_set_fd(p.ssl, p.fd) == 1 && SSL_accept(p.ssl) == 1) {
		talk(&p);
		(void)SSL_shutdown(p.ssl);
	}
	SSL_free(p.ssl);
	close(p.fd);
	return NULL;
}

static void start_thread(void *(*run)(void *), void *arg)
{
	pthread_attr_t attributes;
	pthread_t thread;

	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, STACK);
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	errno = pthread_create(&thread, &attributes, run, arg);
	if (errno)
		die("thread");
	pthread_attr_destroy(&attributes);
}

static void *accept_all(void *arg)
{
	const struct listener *listener = arg;
	const int on = 1;
	int fd;

	while ((fd = accept4(listener->fd, NULL, NULL, SOCK_CLOEXEC)) >= 0) {
		(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
		start_thread(listener->tls ? serve_tls : serve_plain, (void *)(intptr_t)fd);
	}
	die("accept");
}

static void echo_watch(int epoll, int fd)
{
	struct epoll_event event = { .events = EPOLLIN, .data.fd = fd };

	if (epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) < 0)
		die("epoll");
}

static void echo_ready(int epoll, int fd)
{
	char data[256];
	ssize_t n;

	if (fd == echo.fd) {
		int next = accept4(fd, NULL, NULL, SOCK_CLOEXEC);

		if (next >= 0)
			echo_watch(epoll, next);
		return;
	}
	n = read(fd, data, sizeof(data));
	if (n <= 0 || write(fd, data, (size_t)n) != n)
		close(fd);
}

static _Noreturn void echo_all(void)
{
	int epoll = epoll_create1(EPOLL_CLOEXEC);

	echo_watch(epoll, echo.fd);
	for (;;) {
		struct epoll_event events[ECHO_BATCH];
		int n = epoll_wait(epoll, events, ECHO_BATCH, -1);

		for (int i = 0; i < n; i++)
			echo_ready(epoll, events[i].data.fd);
	}
}

static void open_listener(struct listener *listener)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons(listener->port) };
	const int on = 1;

	listener->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (inet_pton(AF_INET, own_address, &at.sin_addr) != 1)
		errno = EINVAL;
	else if (listener->fd >= 0 && setsockopt(listener->fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) == 0 &&
		 bind(listener->fd, (struct sockaddr *)&at, sizeof(at)) == 0 && listen(listener->fd, 4096) == 0)
		return;
	die(own_address);
}

static void open_tls(const char *certificate, const char *key)
{
	context = SSL_CTX_new(TLS_server_method());
	if (!context || SSL_CTX_use_certificate_chain_file(context, certificate) != 1 ||
	    SSL_CTX_use_PrivateKey_file(context, key, SSL_FILETYPE_PEM) != 1) {
		fprintf(stderr, "serve: %s, %s: no certificate\n", certificate, key);
		exit(1);
	}
	SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS);
}

int main(int argc, char **argv)
{
	struct rlimit files;

	if (argc != 4) {
		fprintf(stderr, "usage: serve ADDRESS CERTIFICATE KEY\n");
		return 2;
	}
	own_address = argv[1];
	open_tls(argv[2], argv[3]);
	(void)signal(SIGPIPE, SIG_IGN);
	if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
		files.rlim_cur = files.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &files);
	}
	open_listener(&echo);
	for (size_t i = 0; i < sizeof(listeners) / sizeof(listeners[0]); i++) {
		open_listener(&listeners[i]);
		start_thread(accept_all, &listeners[i]);
	}
	puts("ready");
	fflush(stdout);
	echo_all();
}
