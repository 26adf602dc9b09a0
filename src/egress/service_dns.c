/*
 * The DNS that the box sees, over UDP and TCP. A name that a rule allows gets an address of the pool, which stands for it from then on;
 * everything else does not exist, and no packet leaves for it. What is asked is limited per second, so that the box cannot keep this process
 * busy with it. Runs in the egress process; reads hostile bytes, by egress/dns.h.
 */
#include "egress/capture.h"

#include "base/fd.h"
#include "egress/dns.h"
#include "os/gateway.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

enum {
	DNS_TTL = 60,
	DNS_ROUNDS = 64,         /* datagrams in one turn */
	DNS_CLIENTS = 16,        /* TCP connections at once */
	DNS_PATIENCE_MS = 10000, /* with one of them */
	DNS_REST_MS = 100,       /* where there is no descriptor left */
	DNS_PACKET = 1232,       /* more than a question needs; the answer to one is as long and an address longer */
};

struct dns_client {
	struct dns_service *service;
	struct dns_client *next;
	struct loop_io io;
	struct loop_timer timer;
	int fd;
	size_t have;
	uint8_t data[2 + DNS_PACKET];
};

struct dns_service {
	struct egress *egress;
	int fd;
	struct loop_io io;
	struct loop_timer rest;
	struct dns_client *clients;
	size_t client_count;
};

/* ---- what is answered ---- */

static void tell_name(struct egress *egress, const char *name, enum net_event_decision decision, const char *reason)
{
	struct net_event event;

	egress_event_init(&event, NET_EVENT_DNS);
	event.decision = decision;
	egress_event_text(event.host, sizeof(event.host), name);
	if (reason)
		egress_event_text(event.reason, sizeof(event.reason), reason);
	if (decision == NET_REFUSED && name[0] != '(')
		snprintf(event.allow, sizeof(event.allow), "--allow %s", name);
	egress_event(egress, &event);
}

/* An allowed name is told once to each job, whatever was asked of it. */
static enum dns_rcode decide(struct egress *egress, const struct dns_question *question, uint32_t *ret_address)
{
	uint32_t address;

	if (!question->name[0]) {
		if (attempts_news(egress, "", 0))
			tell_name(egress, "(no name)", NET_REFUSED, "what was asked for is no name");
		return DNS_NXDOMAIN;
	}
	if (!net_rules_name(&egress->config.rules, question->name)) {
		if (attempts_news(egress, question->name, strlen(question->name)))
			tell_name(egress, question->name, NET_REFUSED, "no rule allows this name");
		return DNS_NXDOMAIN;
	}
	address = pool_address(&egress->pool, question->name);
	if (!address) {
		if (attempts_news(egress, "pool", 4))
			tell_name(egress, question->name, NET_FAILED, "too many names for one box");
		return DNS_SERVFAIL;
	}
	if (pool_is_news(&egress->pool, address))
		tell_name(egress, question->name, NET_ALLOWED, NULL);
	*ret_address = question->type == DNS_TYPE_A ? address : 0;
	return DNS_OK;
}

size_t dns_service_answer(struct dns_service *service, const uint8_t *packet, size_t len, uint8_t *ret, size_t size)
{
	struct dns_question question = { 0 };
	uint32_t address = 0;
	enum dns_rcode rcode;
	int r = dns_parse(packet, len, &question);

	if (r < 0)
		return 0;
	if (bucket_ask(&service->egress->questions, 1, NULL) == 0) {
		service->egress->events_lost++;
		rcode = DNS_REFUSED;
	} else {
		bucket_take(&service->egress->questions, 1);
		rcode = r > 0 ? (enum dns_rcode)r : decide(service->egress, &question, &address);
	}
	r = dns_answer(packet, len, &question, rcode, address, DNS_TTL, ret, size);
	return r < 0 ? 0 : (size_t)r;
}

/* ---- UDP ---- */

/* False: there is no more. */
static bool udp_one(struct dns_service *service)
{
	uint8_t packet[DNS_PACKET], reply[DNS_UDP_MAX];
	struct gateway_query query = { 0 };
	int n = gateway_asked(service->fd, packet, sizeof(packet), &query);
	size_t len;

	if (n < 0)
		return n == -EBADMSG;
	len = dns_service_answer(service, packet, (size_t)n, reply, sizeof(reply));
	if (len)
		gateway_answer(service->fd, &query, reply, len);
	return true;
}

static void udp_ready(struct loop_io *io, uint32_t events)
{
	struct dns_service *service = LOOP_OWNER(io, struct dns_service, io);

	(void)events;
	for (unsigned i = 0; i < DNS_ROUNDS && udp_one(service); i++)
		;
}

/* ---- TCP: each question and answer behind its length ---- */

static void client_free(struct dns_client *client)
{
	struct dns_service *service = client->service;
	struct dns_client **at = &service->clients;

	while (*at != client)
		at = &(*at)->next;
	*at = client->next;
	service->client_count--;
	loop_unwatch(service->egress->loop, &client->io);
	loop_timer_stop(service->egress->loop, &client->timer);
	fd_close(&client->fd);
	free(client);
}

static void client_due(struct loop_timer *timer)
{
	client_free(LOOP_OWNER(timer, struct dns_client, timer));
}

/* Every whole question in the buffer. False: enough of this client (a question too long, or answers that it does not read). */
static bool client_answer(struct dns_client *client)
{
	while (client->have >= 2) {
		size_t len = (size_t)client->data[0] << 8 | client->data[1], n;
		uint8_t reply[2 + DNS_PACKET + 64];

		if (len > DNS_PACKET)
			return false;
		if (client->have < 2 + len)
			return true;
		n = dns_service_answer(client->service, client->data + 2, len, reply + 2, sizeof(reply) - 2);
		if (n == 0)
			return false;
		reply[0] = (uint8_t)(n >> 8);
		reply[1] = (uint8_t)n;
		if (send(client->fd, reply, n + 2, MSG_DONTWAIT | MSG_NOSIGNAL) != (ssize_t)(n + 2))
			return false;
		client->have -= 2 + len;
		memmove(client->data, client->data + 2 + len, client->have);
	}
	return true;
}

static void client_ready(struct loop_io *io, uint32_t events)
{
	struct dns_client *client = LOOP_OWNER(io, struct dns_client, io);
	ssize_t n = recv(client->fd, client->data + client->have, sizeof(client->data) - client->have, MSG_DONTWAIT);

	(void)events;
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n > 0)
		client->have += (size_t)n;
	if (n <= 0 || !client_answer(client))
		client_free(client);
}

static void tcp_rested(struct loop_timer *timer)
{
	struct dns_service *service = LOOP_OWNER(timer, struct dns_service, rest);

	(void)loop_watch(service->egress->loop, &service->io, service->fd, EPOLLIN);
}

void dns_service_client(struct dns_service *service, int fd)
{
	struct loop *loop = service->egress->loop;
	struct dns_client *client = service->client_count == DNS_CLIENTS ? NULL : calloc(1, sizeof(*client));

	if (!client) {
		fd_close(&fd);
		return;
	}
	client->service = service;
	client->fd = fd;
	client->io.ready = client_ready;
	client->timer.due = client_due;
	client->next = service->clients;
	service->clients = client;
	service->client_count++;
	if (loop_watch(loop, &client->io, client->fd, EPOLLIN) < 0 ||
	    loop_timer_in(loop, &client->timer, DNS_PATIENCE_MS) < 0)
		client_free(client);
}

static void tcp_ready(struct loop_io *io, uint32_t events)
{
	struct dns_service *service = LOOP_OWNER(io, struct dns_service, io);
	struct loop *loop = service->egress->loop;
	int fd = accept4(service->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

	(void)events;
	if (fd >= 0) {
		dns_service_client(service, fd);
	} else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
		loop_unwatch(loop, io);
		(void)loop_timer_in(loop, &service->rest, DNS_REST_MS);
	}
}

/* ---- both ---- */

int dns_service_start(struct egress *egress, int fd, bool tcp, struct dns_service **ret)
{
	struct dns_service *service = calloc(1, sizeof(*service));
	const int on = 1;
	int r = 0;

	if (!service) {
		fd_close(&fd);
		return -ENOMEM;
	}
	service->egress = egress;
	service->fd = fd;
	service->io.ready = tcp ? tcp_ready : udp_ready;
	service->rest.due = tcp_rested;
	if (fd >= 0 && !tcp && setsockopt(fd, IPPROTO_IP, IP_PKTINFO, &on, sizeof(on)) < 0)
		r = -errno;
	/* Several questions at once get several answers, none of which waits for an acknowledgement of the one before. Accepted sockets inherit it. */
	if (fd >= 0 && tcp)
		(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	if (fd >= 0 && r == 0)
		r = loop_watch(egress->loop, &service->io, fd, EPOLLIN);
	if (r < 0)
		dns_service_free(egress, service);
	else
		*ret = service;
	return r;
}

void dns_service_free(struct egress *egress, struct dns_service *service)
{
	if (!service)
		return;
	while (service->clients)
		client_free(service->clients);
	loop_timer_stop(egress->loop, &service->rest);
	loop_unwatch(egress->loop, &service->io);
	fd_close(&service->fd);
	free(service);
}
