/*
 * What the box tried where nothing listens: the packet socket sees SYNs and UDP on their way into the gateway, whose kernel answers them
 * with a reset or "port unreachable". Each place is told once, and only so many in a second: what a port scan does is to fill this process's
 * memory with nothing, and the log with a little. Runs in the egress process; reads hostile headers.
 */
#include "egress/capture.h"

#include "base/fd.h"

#include <errno.h>
#include <linux/if_packet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

enum { NEWS_KEYS = 512, NEWS_RATE = 50, NEWS_BURST = 200, ATTEMPT_ROUNDS = 64, ATTEMPT_BYTES = 128 };

struct attempts {
	struct egress *egress;
	int fd;
	struct loop_io io;
	struct bucket rate;
	uint64_t keys[NEWS_KEYS]; /* hashes of what was told, the oldest overwritten */
	size_t next;
};

struct attempt {
	uint16_t protocol;
	uint16_t port;
	uint8_t address[4]; /* no padding: all of it is a key */
};

static struct attempts *attempts_get(struct egress *egress)
{
	if (!egress->attempts) {
		egress->attempts = calloc(1, sizeof(*egress->attempts));
		if (!egress->attempts)
			return NULL;
		egress->attempts->egress = egress;
		egress->attempts->fd = -1;
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

/* The IPv4 header and the first bytes of what follows. */
static bool attempt_parse(const uint8_t *packet, size_t len, struct attempt *ret)
{
	size_t head = len ? (size_t)(packet[0] & 0x0f) * 4 : 0;

	if (len < 20 || packet[0] >> 4 != 4 || head < 20 || len < head + 4)
		return false;
	if ((packet[6] & 0x1f) || packet[7])
		return false; /* a later fragment has no ports */
	*ret = (struct attempt){
		.protocol = packet[9],
		.port = (uint16_t)(packet[head + 2] << 8 | packet[head + 3]),
		.address = { packet[16], packet[17], packet[18], packet[19] },
	};
	if (ret->protocol == IPPROTO_UDP)
		return true;
	return ret->protocol == IPPROTO_TCP && len >= head + 14 &&
	       (packet[head + 13] & 0x12) == 0x02; /* SYN, not ACK */
}

static void attempt_tell(struct egress *egress, const struct attempt *attempt)
{
	struct net_address address = { .family = AF_INET };
	char text[ADDRESS_TEXT];
	struct net_event event;
	const char *name;

	memcpy(address.bytes, attempt->address, sizeof(attempt->address));
	name = pool_name(&egress->pool, &address);
	address_text(&address, text);
	egress_event_init(&event, NET_EVENT_ATTEMPT);
	event.decision = NET_REFUSED;
	event.port = attempt->port;
	egress_event_text(event.host, sizeof(event.host), name ? name : text);
	egress_event_text(event.address, sizeof(event.address), text);
	if (attempt->protocol == IPPROTO_UDP) {
		egress_event_text(event.reason, sizeof(event.reason), "UDP does not leave the box");
	} else {
		egress_event_text(event.reason, sizeof(event.reason), "no rule has this port");
		egress_event_allow(egress, &event, name, &address, attempt->port);
	}
	egress_event(egress, &event);
}

static void attempt_seen(struct egress *egress, const struct attempt *attempt)
{
	if (attempt->protocol == IPPROTO_UDP && attempt->port == 53)
		return; /* it is answered */
	if (attempt->protocol == IPPROTO_TCP && (attempt->port == 53 || capture_has_port(egress, attempt->port)))
		return;
	if (attempt->protocol == IPPROTO_TCP && egress->config.rules.mode == NET_OPEN)
		capture_want_port(egress, attempt->port);
	else if (attempts_news(egress, attempt, sizeof(*attempt)))
		attempt_tell(egress, attempt);
}

static void attempts_ready(struct loop_io *io, uint32_t events)
{
	struct attempts *attempts = LOOP_OWNER(io, struct attempts, io);

	(void)events;
	for (unsigned i = 0; i < ATTEMPT_ROUNDS; i++) {
		uint8_t packet[ATTEMPT_BYTES];
		struct sockaddr_ll from = { 0 };
		socklen_t len = sizeof(from);
		struct attempt attempt = { 0 };
		ssize_t n =
			recvfrom(attempts->fd, packet, sizeof(packet), MSG_DONTWAIT, (struct sockaddr *)&from, &len);

		if (n < 0)
			return;
		if (from.sll_pkttype != PACKET_OUTGOING && attempt_parse(packet, (size_t)n, &attempt))
			attempt_seen(attempts->egress, &attempt);
	}
}

int attempts_start(struct egress *egress, int fd)
{
	struct attempts *attempts = attempts_get(egress);

	if (!attempts || attempts->fd >= 0) {
		fd_close(&fd);
		return attempts ? -EEXIST : -ENOMEM;
	}
	attempts->fd = fd;
	attempts->io.ready = attempts_ready;
	return loop_watch(egress->loop, &attempts->io, fd, EPOLLIN);
}

void attempts_free(struct egress *egress)
{
	struct attempts *attempts = egress->attempts;

	if (!attempts)
		return;
	loop_unwatch(egress->loop, &attempts->io);
	bucket_done(&attempts->rate);
	fd_close(&attempts->fd);
	egress->attempts = NULL;
	free(attempts);
}
