/*
 * What egress tells of each connection, name and refusal: fixed records over a SOCK_SEQPACKET, so that whoever reads them parses nothing.
 * Text is printable ASCII, cut to fit, always NUL-terminated (the reader makes sure of it again).
 */
#ifndef NET_EVENT_H
#define NET_EVENT_H

#include <stdbool.h>
#include <stdint.h>

enum net_event_kind {
	NET_EVENT_DNS,        /* a name was asked for */
	NET_EVENT_CONNECTION, /* a connection ended (or was refused) */
	NET_EVENT_REQUEST,    /* one request on an inspected connection */
	NET_EVENT_ATTEMPT,    /* a packet to where nothing listens: a port without a rule, UDP */
	NET_EVENT_READY,      /* egress serves; no other field */
	NET_EVENT_SECRET, /* egress wants the value of the secret in `host`: the reader answers with a struct net_secret_value */
};
/* Besides: up_bytes events since the last of these found no room. */
enum { NET_EVENT_LOST = 100 };

enum net_event_decision {
	NET_ALLOWED,
	NET_REFUSED,
	NET_FAILED /* allowed, but the other side was not reached or broke */
};

struct net_event {
	uint32_t kind, decision;
	uint64_t time_us; /* CLOCK_REALTIME */
	uint64_t duration_us;
	uint64_t up_bytes, down_bytes;
	uint32_t port;
	uint32_t more;  /* alike ones that came after it and are told with it: their bytes and durations are in these */
	char host[256]; /* the name, or the literal address */
	char address[48]; /* what was dialled; empty where nothing was */
	char method[20];
	char path[512];
	char rule[288];   /* the rule that allowed or refused it */
	char reason[160]; /* why it was refused or failed */
	char allow[320];  /* what would allow it: "--allow files.example.com:443" */
};

/* One row in what is told: all but times, bytes and the rule is the same. */
bool net_event_is_alike(const struct net_event *a, const struct net_event *b);
/* e, which is alike, is told with `into`, whose text and time stay. */
void net_event_join(struct net_event *into, const struct net_event *e);

enum { NET_SECRET_MAX = 8192 };
struct net_secret_value {
	char name[256]; /* empty: no secret, but the next job of a box that lives: what is told once is told anew */
	uint32_t ok;    /* 0: it could not be had; text says why, without the value */
	uint32_t len;
	char text[NET_SECRET_MAX];
};

#endif
