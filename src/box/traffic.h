/*
 * The front's ear at the egress process: connections, names and refusals as they happen, gathered for the result; and the values of
 * secrets, fetched when egress asks. Runs in the front, with the caller's rights. Records come whole and are not parsed.
 */
#ifndef BOX_TRAFFIC_H
#define BOX_TRAFFIC_H

#include "net/event.h"
#include "plan/plan.h"

#include <poll.h>

enum { TRAFFIC_ROWS = 512, TRAFFIC_FETCHES = 4 };

/* Alike events are one row. */
struct traffic_row {
	struct net_event event; /* the first; bytes and duration are sums */
	uint64_t count;
};

/* A secret's command at work. */
struct fetch {
	pid_t pid;
	int fd; /* its output, then the process itself; -1: none */
	bool said_all;
	const struct net_secret *secret;
	uint64_t deadline_us;
	size_t len;
	char *text; /* NET_SECRET_MAX + 1 */
};

struct traffic {
	const struct cordon_plan *plan;
	int fd; /* our end; -1: no network */
	struct traffic_row *rows;
	size_t count;
	uint64_t lost; /* events beyond the rows, and those that egress could not send */
	struct fetch fetches[TRAFFIC_FETCHES];
	void (*told)(void *arg, const struct cordon_connection *event);
	void *arg;
};

void traffic_init(struct traffic *t); /* before anything else, so that traffic_done() may follow */
/* Makes the pair; *ret_theirs is for egress. Nothing where the plan has no network. 0 or -errno. */
int traffic_open(struct traffic *t, const struct cordon_plan *plan, int *ret_theirs);
/* 1 + TRAFFIC_FETCHES entries; then what poll said of them. */
void traffic_poll(const struct traffic *t, struct pollfd *fds);
int traffic_timeout_ms(const struct traffic *t); /* -1: none */
void traffic_serve(struct traffic *t, const struct pollfd *fds);
/* Everything that egress said before it went. */
void traffic_drain(struct traffic *t);
void traffic_done(struct traffic *t);
int traffic_renew(struct traffic *t); /* what was gathered went into a result: room for the next. 0 or -ENOMEM */
/* In the words of the result; texts live in the event. */
void traffic_describe(const struct net_event *event, uint64_t count, struct cordon_connection *ret);

#endif
