/*
 * A world for the inspecting engine: one box's connection and the other side, both played by the test over loopback, with the real loop, connections
 * and events between them. Only the dialling is the test's.
 */
#ifndef TESTS_INSPECT_WORLD_H
#define TESTS_INSPECT_WORLD_H

#include "base/clock.h"
#include "base/fd.h"
#include "egress/dial.h"
#include "egress/inspect.h"
#include "egress/stream.h"
#include "tap.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <unistd.h>

enum { EVENTS_KEPT = 64 };

struct peer {
	int fd; /* -1: there is none */
	struct stream stream;
	bool over; /* nothing comes any more */
	bool deaf; /* reads nothing */
	ssize_t status;
	char *got; /* NUL-terminated */
	size_t len, cap;
};

static struct world {
	struct egress egress;
	struct loop_timer stop, dial;
	struct conn *dialling;
	int dial_status; /* what the next dial comes to */
	enum net_event_decision dial_failed;
	unsigned dials;
	bool tls;
	bool silent; /* a server that is connected to says nothing and reads nothing */
	struct peer box, server;
	struct authority *server_authority, *box_trust;
	char server_ca[64], box_ca[64];
	int events; /* the reader's end */
	struct net_event kept[EVENTS_KEPT];
	size_t kept_count;
	char secret_answer[64]; /* what is answered to whoever asks for a secret; empty: nothing */
	unsigned secret_asked;
	const char *box_ciphers; /* of TLS 1.2 and without encrypt-then-MAC; NULL: what the box has by itself */
} w;

static const char host[] = "api.example.com";
static unsigned world_ms = 1; /* of a turn */

/* ---- sockets ---- */

static inline void tcp_pair(int fds[2])
{
	struct sockaddr_in sa = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(sa);
	const int on = 1;
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (bind(listener, (struct sockaddr *)&sa, sizeof(sa)) < 0 || listen(listener, 1) < 0 ||
	    getsockname(listener, (struct sockaddr *)&sa, &len) < 0)
		abort();
	fds[0] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (connect(fds[0], (struct sockaddr *)&sa, sizeof(sa)) < 0)
		abort();
	fds[1] = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	close(listener);
	for (int i = 0; i < 2; i++) {
		setsockopt(fds[i], IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
		fd_set_nonblock(fds[i], true);
	}
}

static inline void peer_open(struct peer *p, int fd, SSL *ssl)
{
	*p = (struct peer){ .fd = fd };
	stream_init(&p->stream, fd, ssl);
}

static inline void peer_close(struct peer *p)
{
	if (p->fd < 0)
		return;
	stream_done(&p->stream);
	close(p->fd);
	free(p->got);
	*p = (struct peer){ .fd = -1 };
}

static inline void peer_read(struct peer *p)
{
	if (p->fd < 0 || p->over || p->deaf)
		return;
	p->stream.readable = p->stream.writable = true;
	if (stream_handshake(&p->stream) == -EAGAIN)
		return;
	stream_flush(&p->stream);
	for (;;) {
		if (p->cap - p->len < 65537) {
			p->cap = p->cap * 2 + 131072;
			p->got = realloc(p->got, p->cap);
		}
		p->status = stream_read(&p->stream, p->got + p->len, 65536);
		if (p->status == -EAGAIN)
			break;
		if (p->status <= 0) {
			p->over = true;
			break;
		}
		p->len += (size_t)p->status;
	}
	p->got[p->len] = '\0';
}

/* ---- the loop ---- */

static inline void stop_due(struct loop_timer *timer)
{
	(void)timer;
	loop_stop(w.egress.loop);
}

static inline void read_events(void)
{
	struct net_event event;

	while (recv(w.events, &event, sizeof(event), MSG_DONTWAIT) == sizeof(event)) {
		if (event.kind == NET_EVENT_SECRET) {
			struct net_secret_value value = { .ok = 1, .len = (uint32_t)strlen(w.secret_answer) };

			w.secret_asked++;
			memcpy(value.name, event.host, sizeof(value.name));
			memcpy(value.text, w.secret_answer, value.len);
			if (value.len)
				send(w.events, &value, sizeof(value), 0);
		} else if (w.kept_count < EVENTS_KEPT) {
			w.kept[w.kept_count++] = event;
		}
	}
}

static inline void turn(void)
{
	loop_timer_in(w.egress.loop, &w.stop, world_ms);
	loop_run(w.egress.loop);
	peer_read(&w.box);
	peer_read(&w.server);
	read_events();
}

static inline void settle(void)
{
	for (int i = 0; i < 6; i++)
		turn();
}

/* Until p has got the text, or nothing comes any more, or two seconds are over. */
static inline bool until(struct peer *p, const char *text)
{
	uint64_t end = clock_us() + 2000000;

	while (clock_us() < end) {
		if (p->got && memmem(p->got, p->len, text, strlen(text)))
			return true;
		if (p->over)
			return false;
		turn();
	}
	return false;
}

static inline bool until_over(struct peer *p)
{
	uint64_t end = clock_us() + 2000000;

	while (clock_us() < end && !p->over)
		turn();
	return p->over;
}

static inline void say_bytes(struct peer *p, const char *data, size_t len)
{
	uint64_t end = clock_us() + 2000000;

	while (len && clock_us() < end) {
		ssize_t n = p->fd >= 0 && p->stream.handshaken ? stream_write(&p->stream, data, len) : -EAGAIN;

		if (n > 0) {
			data += n;
			len -= (size_t)n;
		} else if (n != -EAGAIN) {
			return;
		} else {
			turn();
		}
	}
}

static inline void say(struct peer *p, const char *text)
{
	say_bytes(p, text, strlen(text));
}

static inline void forget(struct peer *p)
{
	p->len = 0;
	if (p->got)
		p->got[0] = '\0';
}

/* ---- what the connection asks for ---- */

static inline void dial_due(struct loop_timer *timer)
{
	struct conn *c = w.dialling;
	int fds[2];

	(void)timer;
	w.dialling = NULL;
	if (w.dial_status < 0) {
		snprintf(c->reason, sizeof(c->reason), "the dial came to nothing");
		c->failed = w.dial_failed;
		c->dialled_fn(c, w.dial_status);
		return;
	}
	tcp_pair(fds);
	c->upstream = fds[0];
	peer_close(&w.server);
	peer_open(&w.server, fds[1], w.tls ? authority_accept(w.server_authority, host) : NULL);
	w.server.deaf = w.silent;
	c->dialled_fn(c, 0);
}

void conn_dial(struct conn *c, conn_dialled_fn *fn)
{
	w.dials++;
	w.dialling = c;
	c->dialled_fn = fn;
	w.dial.due = dial_due;
	loop_timer_in(w.egress.loop, &w.dial, world_ms);
}

void dial_free(struct dial *dial)
{
	(void)dial;
	if (w.egress.loop)
		loop_timer_stop(w.egress.loop, &w.dial);
}

/* ---- making it ---- */

static inline void add_list(struct strv *sv, const char *text)
{
	char item[64];

	while (text && *text) {
		size_t n = strcspn(text, ",");

		snprintf(item, sizeof(item), "%.*s", (int)n, text);
		strv_add(sv, item);
		text += n + (text[n] == ',');
	}
}

static inline void add_rule(const char *text, const char *methods, const char *paths, const char *secret)
{
	struct net_rule rule = { 0 };
	struct cordon_error err = { 0 };

	if (net_rule_parse(text, false, &rule, &err) < 0)
		note("%s: %s", text, err.message);
	add_list(&rule.methods, methods);
	add_list(&rule.paths, paths);
	rule.secret = secret ? strdup(secret) : NULL;
	net_rules_add(&w.egress.config.rules, &rule);
}

static inline void add_secret(const char *name, const char *header, const char *placeholder)
{
	struct net_config *config = &w.egress.config;

	config->secrets = realloc(config->secrets, (config->secret_count + 1) * sizeof(*config->secrets));
	config->secrets[config->secret_count++] = (struct net_secret){
		.name = strdup(name),
		.header = header ? strdup(header) : NULL,
		.placeholder = strdup(placeholder),
	};
}

static inline void write_pem(struct authority *a, char path[64])
{
	char *pem = authority_pem(a);
	int fd;

	snprintf(path, 64, "/tmp/cordon-unit-XXXXXX");
	fd = mkstemp(path);
	if (fd < 0 || write(fd, pem, strlen(pem)) < 0)
		abort();
	close(fd);
	free(pem);
}

/* The rules are there: the engine, and who trusts whom. */
static inline void world_open(void)
{
	struct cordon_error err = { 0 };
	struct inspect_shared_peek {
		struct authority *authority;
	} * shared;
	int fds[2];

	w.box.fd = w.server.fd = -1;
	w.egress.loop = loop_new();
	w.stop.due = stop_due;
	w.egress.config.rules.mode = NET_ALLOW;
	w.egress.config.connect_timeout_ms = w.egress.config.idle_timeout_ms = 60000;
	bucket_init(&w.egress.bucket[0], w.egress.loop, 0, 0);
	bucket_init(&w.egress.bucket[1], w.egress.loop, 0, 0);
	socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds);
	w.events = fds[1];
	egress_events_start(&w.egress, fds[0]);
	authority_new(NULL, &w.server_authority, &err);
	write_pem(w.server_authority, w.server_ca);
	w.egress.config.ca_file = strdup(w.server_ca);
	if (inspect_prepare(&w.egress, &err) < 0)
		note("prepare: %s", err.message);
	shared = w.egress.engine_state;
	if (shared->authority) {
		write_pem(shared->authority, w.box_ca);
		authority_new(w.box_ca, &w.box_trust, &err);
		unlink(w.box_ca);
	}
	unlink(w.server_ca); /* they are open where they are needed */
}

static inline void box_close(void)
{
	peer_close(&w.box);
	settle();
	peer_close(&w.server);
	settle();
	w.kept_count = 0;
	w.dial_status = 0;
	w.dials = 0;
}

static inline void world_close(void)
{
	box_close();
	while (w.egress.conns)
		conn_reset(w.egress.conns, NET_ALLOWED, "the end");
	w.egress.engine.done(&w.egress);
	authority_free(w.server_authority);
	authority_free(w.box_trust);
	loop_unwatch(w.egress.loop, &w.egress.event_io);
	fd_close(&w.egress.event_fd);
	free(w.egress.queue);
	close(w.events);
	net_config_done(&w.egress.config);
	bucket_done(&w.egress.bucket[0]);
	bucket_done(&w.egress.bucket[1]);
	loop_free(w.egress.loop);
	memset(&w, 0, sizeof(w));
}

/* A connection of the box to the host, as conn_accept() makes it. */
static inline void box_connect(bool tls)
{
	struct conn *c = calloc(1, sizeof(*c));
	int fds[2], r;

	tcp_pair(fds);
	w.tls = tls;
	*c = (struct conn){ .egress = &w.egress, .client = fds[1], .upstream = -1, .port = tls ? 443 : 80 };
	c->name = host;
	c->started_us = clock_us();
	c->stage = CONN_ENGINE;
	c->next = w.egress.conns;
	if (c->next)
		c->next->prev = c;
	w.egress.conns = c;
	w.egress.conn_count++;
	relay_init(&c->relay);
	r = net_rules_connect(&w.egress.config.rules, host, NULL, c->port, &c->match, c->reason, sizeof(c->reason));
	if (r < 0)
		note("no rule: %s", c->reason);
	peer_open(&w.box, fds[0], tls ? authority_connect(w.box_trust, host) : NULL);
	if (w.box_ciphers) {
		SSL_set_max_proto_version(w.box.stream.ssl, TLS1_2_VERSION);
		SSL_set_cipher_list(w.box.stream.ssl, w.box_ciphers);
		SSL_set_options(w.box.stream.ssl, SSL_OP_NO_ENCRYPT_THEN_MAC);
	}
	r = w.egress.engine.start(c, tls);
	if (r < 0)
		note("start: %d", r);
}

/* The n-th event of a kind, or NULL. */
static inline const struct net_event *event_of(enum net_event_kind kind, size_t n)
{
	settle();
	for (size_t i = 0; i < w.kept_count; i++)
		if (w.kept[i].kind == kind && n-- == 0)
			return &w.kept[i];
	return NULL;
}

#endif
