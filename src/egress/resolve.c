/*
 * Names become addresses: see resolve.h. c-ares tells which of its sockets it wants watched, and is called when one is ready or its time is
 * up. A query of c-ares cannot be taken back alone, so a request that nobody waits for any more lives on, deaf, until its query ends.
 */
#include "egress/resolve.h"

#include "base/str.h"
#include "net/hostname.h"

#include <ares.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

enum { RESOLVE_TIMEOUT_MS = 2000, RESOLVE_TRIES = 3 };
/* Answers are kept for as long as they say, and never longer than this: what may be dialled is checked at every dial, not when it was
 * learned. One place per hash of a name; the later one has it. */
enum { CACHE_SIZE = 64, CACHE_MAX_S = 60, CACHE_HOSTS_S = 1 };

struct resolve_cached {
	char name[HOSTNAME_SIZE];
	uint64_t until_us;
	struct resolve_answer answer;
};

struct resolve_socket {
	struct resolve_socket *next;
	struct resolver *resolver;
	struct loop_io io;
};

struct resolve_request {
	struct resolver *resolver;
	struct resolve_request *next, *prev;
	resolve_fn *fn; /* NULL: cancelled */
	void *data;
	bool pending; /* c-ares still has it */
	bool asking; /* it is being handed to c-ares: an answer now is the hosts file's, which is read for every question */
	bool joined; /* waits for another's answer to the same question */
	char name[HOSTNAME_SIZE];
	struct resolve_answer answer;
	struct loop_timer tell;
};

struct resolver {
	struct loop *loop;
	ares_channel channel;
	struct resolve_socket *sockets;
	struct resolve_request *requests;
	struct loop_timer timer;
	struct resolve_cached *cache[CACHE_SIZE];
};

static struct resolve_cached **cache_place(struct resolver *resolver, const char *name)
{
	uint32_t hash = 2166136261u;

	for (; *name; name++)
		hash = (hash ^ (uint8_t)*name) * 16777619u;
	return &resolver->cache[(hash ^ hash >> 16) % CACHE_SIZE];
}

const struct resolve_answer *resolve_known(struct resolver *resolver, const char *name)
{
	const struct resolve_cached *cached = *cache_place(resolver, name);

	return cached && cached->until_us > loop_now(resolver->loop) && strcmp(cached->name, name) == 0
		       ? &cached->answer
		       : NULL;
}

static void cache_put(struct resolver *resolver, const char *name, const struct resolve_answer *answer, int ttl_s)
{
	struct resolve_cached **place = cache_place(resolver, name);

	if (ttl_s <= 0)
		return;
	if (!*place)
		*place = calloc(1, sizeof(**place));
	if (!*place)
		return;
	snprintf((*place)->name, sizeof((*place)->name), "%s", name);
	(*place)->answer = *answer;
	(*place)->until_us = loop_now(resolver->loop) + (uint64_t)(ttl_s < CACHE_MAX_S ? ttl_s : CACHE_MAX_S) * 1000000;
}

/* c-ares knows when it next wants to give up on a server. */
static void set_timer(struct resolver *resolver)
{
	struct timeval tv, *next = ares_timeout(resolver->channel, NULL, &tv);

	if (next)
		(void)loop_timer_set(resolver->loop, &resolver->timer,
				     loop_now(resolver->loop) + (uint64_t)next->tv_sec * 1000000 +
					     (uint64_t)next->tv_usec + 1000);
	else
		loop_timer_stop(resolver->loop, &resolver->timer);
}

static void resolver_due(struct loop_timer *timer)
{
	struct resolver *resolver = LOOP_OWNER(timer, struct resolver, timer);

	ares_process_fd(resolver->channel, ARES_SOCKET_BAD, ARES_SOCKET_BAD);
	set_timer(resolver);
}

static void socket_ready(struct loop_io *io, uint32_t events)
{
	struct resolver *resolver = LOOP_OWNER(io, struct resolve_socket, io)->resolver;
	bool broken = events & (EPOLLERR | EPOLLHUP);
	int fd = io->fd;

	/* The socket may be gone after this. */
	ares_process_fd(resolver->channel, events & EPOLLIN || broken ? fd : ARES_SOCKET_BAD,
			events & EPOLLOUT ? fd : ARES_SOCKET_BAD);
	set_timer(resolver);
}

static void socket_state(void *data, ares_socket_t fd, int readable, int writable)
{
	struct resolver *resolver = data;
	struct resolve_socket **at = &resolver->sockets, *found;

	while (*at && (*at)->io.fd != fd)
		at = &(*at)->next;
	found = *at;
	if (!readable && !writable) {
		if (!found)
			return;
		*at = found->next;
		loop_unwatch(resolver->loop, &found->io);
		free(found);
		return;
	}
	if (!found) {
		found = calloc(1, sizeof(*found));
		if (!found)
			return; /* the query runs into its timeout */
		found->resolver = resolver;
		found->io.ready = socket_ready;
		found->io.fd = fd;
		found->next = resolver->sockets;
		resolver->sockets = found;
	}
	(void)loop_watch(resolver->loop, &found->io, fd, (readable ? EPOLLIN : 0u) | (writable ? EPOLLOUT : 0u));
}

struct resolver *resolver_new(struct loop *loop, const char **ret_why)
{
	static char files_then_dns[] = "fb";
	struct ares_options options = {
		/* The name as it stands: no search domains, no HOSTALIASES; so what is asked is what was allowed. The flag alone
		 * would not do: ares_getaddrinfo() looks at it in later versions only. No domains it is, in all of them. */
		.flags = ARES_FLAG_NOSEARCH | ARES_FLAG_NOALIASES,
		.ndomains = 0,
		.timeout = RESOLVE_TIMEOUT_MS,
		.tries = RESOLVE_TRIES,
		.lookups = files_then_dns,
		.sock_state_cb = socket_state,
	};
	struct resolver *resolver = calloc(1, sizeof(*resolver));
	int r;

	if (!resolver) {
		*ret_why = "out of memory";
		return NULL;
	}
	resolver->loop = loop;
	resolver->timer.due = resolver_due;
	options.sock_state_cb_data = resolver;
	r = ares_init_options(&resolver->channel, &options,
			      ARES_OPT_FLAGS | ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES | ARES_OPT_LOOKUPS |
				      ARES_OPT_DOMAINS | ARES_OPT_SOCK_STATE_CB);
	if (r != ARES_SUCCESS) {
		*ret_why = ares_strerror(r);
		free(resolver);
		return NULL;
	}
	return resolver;
}

static void request_free(struct resolve_request *request)
{
	struct resolver *resolver = request->resolver;

	if (request->prev)
		request->prev->next = request->next;
	else
		resolver->requests = request->next;
	if (request->next)
		request->next->prev = request->prev;
	loop_timer_stop(resolver->loop, &request->tell);
	free(request);
}

void resolver_free(struct resolver *resolver)
{
	if (!resolver)
		return;
	for (struct resolve_request *r = resolver->requests; r; r = r->next)
		r->fn = NULL;
	ares_destroy(resolver->channel); /* ends every query, and closes its sockets */
	while (resolver->requests)
		request_free(resolver->requests);
	loop_timer_stop(resolver->loop, &resolver->timer);
	for (size_t i = 0; i < CACHE_SIZE; i++)
		free(resolver->cache[i]);
	free(resolver);
}

static void request_tell(struct loop_timer *timer)
{
	struct resolve_request *request = LOOP_OWNER(timer, struct resolve_request, tell);
	struct resolve_answer answer = request->answer;
	resolve_fn *fn = request->fn;
	void *data = request->data;

	request_free(request);
	fn(data, &answer);
}

/* The shortest time that one of them may be kept. */
static int collect(struct resolve_answer *answer, const struct ares_addrinfo *info)
{
	int ttl_s = CACHE_MAX_S;

	for (const struct ares_addrinfo_node *node = info->nodes; node && answer->count < RESOLVE_MAX;
	     node = node->ai_next) {
		struct net_address *address = &answer->addresses[answer->count];
		uint16_t port;

		if (node->ai_family != AF_INET && node->ai_family != AF_INET6)
			continue;
		if (address_from_sockaddr(node->ai_addr, address, &port) == 0)
			answer->count++;
		if (node->ai_ttl < ttl_s)
			ttl_s = node->ai_ttl;
	}
	return ttl_s;
}

static void tell_joined(const struct resolve_request *request)
{
	for (struct resolve_request *r = request->resolver->requests; r; r = r->next)
		if (r->joined && strcmp(r->name, request->name) == 0) {
			r->joined = false;
			r->answer = request->answer;
			(void)loop_timer_set(request->resolver->loop, &r->tell, 0);
		}
}

static void request_done(void *arg, int status, int timeouts, struct ares_addrinfo *info)
{
	struct resolve_request *request = arg;
	struct resolve_answer *answer = &request->answer;

	(void)timeouts;
	request->pending = false;
	if (status == ARES_SUCCESS && info) {
		int ttl_s = collect(answer, info);

		if (answer->count)
			cache_put(request->resolver, request->name, answer, request->asking ? CACHE_HOSTS_S : ttl_s);
	}
	if (info)
		ares_freeaddrinfo(info);
	if (!answer->count) {
		bool absent = status == ARES_SUCCESS || status == ARES_ENOTFOUND || status == ARES_ENODATA;

		answer->status = absent ? -ENOENT : status == ARES_ETIMEOUT ? -ETIMEDOUT : -EIO;
		answer->why = absent                        ? "the name does not exist"
			      : status == ARES_ETIMEOUT     ? "no name server answered"
			      : status == ARES_ECONNREFUSED ? "no name server could be reached"
							    : ares_strerror(status);
	}
	tell_joined(request);
	/* Where memory runs out here, it ends by the connection's timeout. */
	if (request->fn)
		(void)loop_timer_set(request->resolver->loop, &request->tell, 0);
	else
		request_free(request);
}

/* A thousand connections at once are one question, also where its answer may not be kept. */
static bool is_asked(const struct resolve_request *request)
{
	for (const struct resolve_request *r = request->resolver->requests; r; r = r->next)
		if (r != request && r->pending && strcmp(r->name, request->name) == 0)
			return true;
	return false;
}

struct resolve_request *resolve_start(struct resolver *resolver, const char *name, resolve_fn *fn, void *data)
{
	const struct ares_addrinfo_hints hints = { .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM };
	struct resolve_request *request = calloc(1, sizeof(*request));

	if (!request)
		return NULL;
	snprintf(request->name, sizeof(request->name), "%s", name);
	request->resolver = resolver;
	request->fn = fn;
	request->data = data;
	request->tell.due = request_tell;
	request->next = resolver->requests;
	if (request->next)
		request->next->prev = request;
	resolver->requests = request;
	request->joined = is_asked(request);
	if (request->joined)
		return request;
	request->pending = request->asking = true;
	ares_getaddrinfo(resolver->channel, name, NULL, &hints, request_done, request);
	request->asking = false;
	set_timer(resolver);
	return request;
}

void resolve_cancel(struct resolve_request *request)
{
	if (!request)
		return;
	request->fn = NULL;
	if (!request->pending)
		request_free(request);
}
