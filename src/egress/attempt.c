/*
 * What the box tried where nothing listens: the gateway's raw sockets see SYNs and UDP. Mostly its kernel answers them with a reset or "port
 * unreachable", and all that is left is to tell. Where it is lazy (any port may be allowed) nobody answers: a SYN that the rules allow gets a
 * listener and is replayed, any other a reset. Each place is told once, and only so many in a second: what a port scan does is to
 * fill this process's memory with nothing, and the log with a little. Runs in the egress process; reads hostile headers.
 */
#include "egress/capture.h"

#include "base/fd.h"
#include "os/gateway.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

enum { NEWS_KEYS = 512, NEWS_RATE = 50, NEWS_BURST = 200, ATTEMPT_ROUNDS = 64 };

struct attempts {
	struct egress *egress;
	int fds[2]; /* TCP, UDP */
	struct loop_io ios[2];
	struct bucket rate;
	uint16_t opened[ATTEMPT_ROUNDS]; /* in this turn: other SYNs for these may have come before the listener */
	size_t opened_count;
	uint64_t keys[NEWS_KEYS]; /* hashes of what was told, the oldest overwritten */
	size_t next;
};

struct attempt {
	uint8_t protocol;
	uint16_t port;
	uint8_t address[4];
};

static struct attempts *attempts_get(struct egress *egress)
{
	if (!egress->attempts) {
		egress->attempts = calloc(1, sizeof(*egress->attempts));
		if (!egress->attempts)
			return NULL;
		egress->attempts->egress = egress;
		egress->attempts->fds[0] = egress->attempts->fds[1] = -1;
		bucket_init(&egress->attempts->rate, egress->loop, NEWS_RATE, NEWS_BURST);
	}
	return egress->attempts;
}

/* Seeded like the pool's; a collision only hides one line. */
static uint64_t key_of(const struct egress *egress, const uint8_t *data, size_t len)
{
	uint64_t h = egress->pool.seed[0] ^ len;

	for (size_t i = 0; i < len; i++)
		h = (h ^ data[i]) * (egress->pool.seed[1] | 1) + (h >> 29);
	return h | 1;
}

bool attempts_news(struct egress *egress, const void *key, size_t len)
{
	struct attempts *attempts = attempts_get(egress);
	uint64_t hash = key_of(egress, key, len);

	if (!attempts)
		return false;
	for (size_t i = 0; i < NEWS_KEYS; i++)
		if (attempts->keys[i] == hash)
			return false;
	if (bucket_ask(&attempts->rate, 1, NULL) == 0) {
		egress->events_lost++;
		return false;
	}
	bucket_take(&attempts->rate, 1);
	attempts->keys[attempts->next] = hash;
	attempts->next = (attempts->next + 1) % NEWS_KEYS;
	return true;
}

void attempts_forget(struct egress *egress)
{
	if (egress->attempts)
		memset(egress->attempts->keys, 0, sizeof(egress->attempts->keys));
}

static bool attempt_is_news(struct egress *egress, const struct attempt *attempt)
{
	const uint8_t *a = attempt->address;
	const uint8_t key[] = {
		attempt->protocol, (uint8_t)(attempt->port >> 8), (uint8_t)attempt->port, a[0], a[1], a[2], a[3]
	};

	return attempts_news(egress, key, sizeof(key));
}

static void attempt_tell(struct egress *egress, const struct attempt *attempt, enum net_event_decision decision,
			 const char *reason)
{
	struct net_address address = { .family = AF_INET };
	char text[ADDRESS_TEXT];
	struct net_event event;
	const char *name;

	memcpy(address.bytes, attempt->address, sizeof(attempt->address));
	name = pool_name(&egress->pool, &address);
	address_text(&address, text);
	egress_event_init(&event, NET_EVENT_ATTEMPT);
	event.decision = decision;
	event.port = attempt->port;
	egress_event_text(event.host, sizeof(event.host), name ? name : text);
	egress_event_text(event.address, sizeof(event.address), text);
	if (attempt->protocol == IPPROTO_UDP) {
		egress_event_text(event.reason, sizeof(event.reason), "UDP does not leave the box");
	} else {
		egress_event_text(event.reason, sizeof(event.reason), reason);
		if (decision == NET_REFUSED)
			egress_event_allow(egress, &event, name, &address, attempt->port);
	}
	egress_event(egress, &event);
}

static bool attempt_allowed(struct egress *egress, const struct attempt *attempt, char *reason, size_t size)
{
	struct net_address address = { .family = AF_INET };
	struct net_match match;

	memcpy(address.bytes, attempt->address, sizeof(attempt->address));
	return net_rules_connect(&egress->config.rules, pool_name(&egress->pool, &address), &address, attempt->port,
				 &match, reason, size) == 0;
}

/* The rules may allow it: somebody shall listen there, and the SYN arrives again. False: they do not, or it could not be done. */
static bool attempt_admit(struct attempts *attempts, const struct attempt *attempt, const uint8_t *packet, size_t len,
			  enum net_event_decision *decision, char *reason, size_t size)
{
	struct egress *egress = attempts->egress;

	if (!attempt_allowed(egress, attempt, reason, size))
		return false;
	if (!capture_has_port(egress, attempt->port)) {
		int r = capture_listen(egress, attempt->port);

		if (r < 0) {
			*decision = NET_FAILED;
			snprintf(reason, size, "nobody can listen there: %s", strerror(-r));
			return false;
		}
		attempts->opened[attempts->opened_count++] = attempt->port;
	}
	return gateway_replay(attempts->fds[0], packet, len) == 0;
}

static bool opened_now(const struct attempts *attempts, uint16_t port)
{
	for (size_t i = 0; i < attempts->opened_count; i++)
		if (attempts->opened[i] == port)
			return true;
	return false;
}

static void attempt_seen(struct attempts *attempts, const struct attempt *attempt, const uint8_t *packet, size_t len)
{
	struct egress *egress = attempts->egress;
	bool lazy = attempt->protocol == IPPROTO_TCP && capture_is_lazy(egress);
	enum net_event_decision decision = NET_REFUSED;
	char reason[160] = "no rule has this port";

	/* Since the filter was made a listener may have come: then the kernel has taken it, unless it came only now. */
	if (attempt->port == 53 || (attempt->protocol == IPPROTO_TCP && capture_has_port(egress, attempt->port) &&
				    !opened_now(attempts, attempt->port)))
		return;
	if (lazy && attempt_admit(attempts, attempt, packet, len, &decision, reason, sizeof(reason)))
		return;
	if (lazy)
		(void)gateway_refuse(attempts->fds[0], packet, len);
	if (attempt_is_news(egress, attempt))
		attempt_tell(egress, attempt, decision, reason);
}

bool attempts_carried(struct egress *egress, uint8_t protocol, uint32_t address, uint16_t port, bool asks)
{
	struct attempt attempt = { .protocol = protocol, .port = port };
	char reason[160] = "no rule has this port";

	address = htonl(address);
	memcpy(attempt.address, &address, sizeof(attempt.address));
	if (port == 53)
		return false;
	if (asks && protocol == IPPROTO_TCP && attempt_allowed(egress, &attempt, reason, sizeof(reason)))
		return true;
	if (attempt_is_news(egress, &attempt))
		attempt_tell(egress, &attempt, NET_REFUSED, reason);
	return false;
}

static void attempts_ready(struct attempts *attempts, int fd)
{
	attempts->opened_count = 0;
	for (unsigned i = 0; i < ATTEMPT_ROUNDS; i++) {
		uint8_t packet[GATEWAY_PACKET_SIZE];
		struct gateway_attempt seen = { 0 };
		struct attempt attempt = { 0 };
		int n = gateway_read(fd, packet, &seen);

		if (n == -EBADMSG)
			continue;
		if (n < 0)
			return;
		attempt.protocol = seen.protocol;
		attempt.port = seen.to_port;
		memcpy(attempt.address, &seen.to, sizeof(attempt.address));
		attempt_seen(attempts, &attempt, packet, (size_t)n);
	}
}

static void tcp_ready(struct loop_io *io, uint32_t events)
{
	struct attempts *attempts = LOOP_OWNER(io, struct attempts, ios[0]);

	(void)events;
	attempts_ready(attempts, attempts->fds[0]);
}

static void udp_ready(struct loop_io *io, uint32_t events)
{
	struct attempts *attempts = LOOP_OWNER(io, struct attempts, ios[1]);

	(void)events;
	attempts_ready(attempts, attempts->fds[1]);
}

int attempts_start(struct egress *egress, int fd, bool udp)
{
	struct attempts *attempts = attempts_get(egress);

	if (!attempts || attempts->fds[udp] >= 0) {
		fd_close(&fd);
		return attempts ? -EEXIST : -ENOMEM;
	}
	attempts->fds[udp] = fd;
	attempts->ios[udp].ready = udp ? udp_ready : tcp_ready;
	return loop_watch(egress->loop, &attempts->ios[udp], fd, EPOLLIN);
}

void attempts_free(struct egress *egress)
{
	struct attempts *attempts = egress->attempts;

	if (!attempts)
		return;
	for (int i = 0; i < 2; i++) {
		loop_unwatch(egress->loop, &attempts->ios[i]);
		fd_close(&attempts->fds[i]);
	}
	bucket_done(&attempts->rate);
	egress->attempts = NULL;
	free(attempts);
}
