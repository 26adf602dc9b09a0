/*
 * The stream of a container, from the keeper's socket to the daemon's hijacked connection and back, until the daemon says that the container
 * has ended: see docker.h. A buffer each way; who does not read stops who writes.
 */
#include "driver/docker.h"

#include "base/clock.h"
#include "base/fd.h"
#include "base/str.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
	BUFFER = 65536,
	HEAD_MAX = 8192,
	DRAIN_US = 2000000,
	ATTACH_US = 20000000,
	CUT_US = 5000000, /* from the end of the stream to that of the container */
	LOOK_MS = 200,
};

struct way {
	unsigned char data[BUFFER];
	size_t at, len;
	bool has_ended;
};

struct flow {
	struct docker_relay *relay;
	struct docker_mux mux;
	struct way in, out; /* to the container, from it */
	curl_socket_t socket;
	CURLM *multi;
	CURL *wait;
	char answer[512];
	size_t answer_len;
	uint64_t ended_us; /* the container; 0: not yet */
	uint64_t cut_us;   /* its stream; 0: not yet */
	bool is_shut;      /* its stdin */
	CURLcode failed;
};

/* ---- attaching ---- */

struct attach {
	const struct driver *d;
	CURL *curl;
	curl_socket_t socket;
	uint64_t until_us; /* for all of it: a byte now and then is no answer */
};

/* Until something can be done there; false: too late, or the keeper wants it no more. */
static bool wait_turn(const struct attach *a, short events)
{
	struct pollfd p = { .fd = a->socket, .events = events };

	while (clock_us() < a->until_us && !docker_is_unwanted(a->d))
		if (poll(&p, 1, LOOK_MS) > 0)
			return true;
	return false;
}

static int send_all(const struct attach *a, const char *text)
{
	size_t len = strlen(text), n;

	while (len) {
		CURLcode code = curl_easy_send(a->curl, text, len, &n);

		if (code == CURLE_AGAIN && wait_turn(a, POLLOUT))
			continue;
		if (code != CURLE_OK)
			return -1;
		text += n;
		len -= n;
	}
	return 0;
}

/* Byte by byte: what comes behind the head is the container's. */
static int read_head(const struct attach *a, char head[HEAD_MAX])
{
	size_t len = 0, n = 0;

	while (len < HEAD_MAX - 1) {
		CURLcode code = curl_easy_recv(a->curl, head + len, 1, &n);

		if (code == CURLE_AGAIN && wait_turn(a, POLLIN))
			continue;
		if (code != CURLE_OK || n != 1)
			return -1;
		head[++len] = '\0';
		if (len >= 4 && memcmp(head + len - 4, "\r\n\r\n", 4) == 0)
			return 0;
	}
	return -1;
}

/* What follows the head of a refusal. */
static int refused(struct docker_relay *relay, const struct attach *a, struct cordon_error *err)
{
	struct docker_answer answer = { 0 };
	char body[4096];
	size_t n = 0;
	int r;

	if (wait_turn(a, POLLIN) && curl_easy_recv(a->curl, body, sizeof(body), &n) == CURLE_OK)
		answer.json = json_loadb(body, n, JSON_DISABLE_EOF_CHECK, NULL);
	r = docker_fail(relay->api, &answer, "attach to the container", err);
	json_decref(answer.json);
	return r;
}

int docker_attach(struct docker_relay *relay, struct cordon_error *err)
{
	struct attach a = { .d = relay->api->d,
			    .curl = docker_handle(relay->api, "/"),
			    .socket = CURL_SOCKET_BAD,
			    .until_us = clock_us() + ATTACH_US };
	const uint64_t all_us = relay->api->until_us;
	char request[512], head[HEAD_MAX] = "";
	CURLcode code;

	if (all_us && all_us < a.until_us)
		a.until_us = all_us;
	relay->attached = a.curl;
	if (!relay->attached)
		return fail_memory(err);
	curl_easy_setopt(relay->attached, CURLOPT_CONNECT_ONLY, 1L);
	code = curl_easy_perform(relay->attached);
	if (code == CURLE_OK)
		code = curl_easy_getinfo(relay->attached, CURLINFO_ACTIVESOCKET, &a.socket);
	if (code != CURLE_OK)
		return docker_fail_curl(relay->api, code, err);
	snprintf(request, sizeof(request),
		 "POST %s/containers/%s/attach?stream=1&stdin=1&stdout=1&stderr=0 HTTP/1.1\r\nHost: localhost\r\n"
		 "Connection: Upgrade\r\nUpgrade: tcp\r\nContent-Length: 0\r\n\r\n",
		 relay->api->prefix, relay->id);
	if (send_all(&a, request) < 0 || read_head(&a, head) < 0)
		return docker_fail_curl(relay->api,
					docker_is_unwanted(a.d)    ? CURLE_ABORTED_BY_CALLBACK
					: clock_us() >= a.until_us ? CURLE_OPERATION_TIMEDOUT
								   : CURLE_GOT_NOTHING,
					err);
	if (!str_starts(head, "HTTP/1.1 101") && !str_starts(head, "HTTP/1.1 200"))
		return refused(relay, &a, err);
	return 0;
}

void docker_relay_done(struct docker_relay *relay)
{
	if (relay->attached)
		curl_easy_cleanup(relay->attached);
	relay->attached = NULL;
}

/* ---- both ways ---- */

static void take_from_keeper(struct flow *f)
{
	struct way *w = &f->in;
	ssize_t n;

	if (w->len || w->has_ended)
		return;
	n = recv(f->relay->api->d->stream, w->data, BUFFER, MSG_DONTWAIT);
	if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
		w->has_ended = true;
	w->at = 0;
	w->len = n > 0 ? (size_t)n : 0;
}

static void give_to_container(struct flow *f)
{
	struct way *w = &f->in;
	size_t n = 0;

	if (w->len && !f->is_shut) {
		CURLcode code = curl_easy_send(f->relay->attached, w->data + w->at, w->len, &n);

		if (code != CURLE_OK && code != CURLE_AGAIN)
			f->is_shut = true; /* the container may have ended: the wait tells */
		w->at += n;
		w->len -= n;
	}
	if (f->is_shut)
		w->len = 0;
	if (w->has_ended && !w->len && !f->is_shut) {
		f->is_shut = true;
		shutdown(f->socket, SHUT_WR);
	}
}

static void take_from_container(struct flow *f)
{
	struct way *w = &f->out;
	size_t n = 0;
	ssize_t kept;
	CURLcode code;

	if (w->len || w->has_ended)
		return;
	code = curl_easy_recv(f->relay->attached, w->data, BUFFER, &n);
	if (code == CURLE_AGAIN)
		return;
	kept = code == CURLE_OK && n ? docker_mux_feed(&f->mux, w->data, n) : -EPIPE;
	if (kept == -EPROTO) { /* not the container's, whatever it is */
		f->failed = CURLE_WEIRD_SERVER_REPLY;
		f->ended_us = clock_us();
	}
	if (kept < 0) {
		w->has_ended = true;
		f->cut_us = clock_us();
	}
	w->at = 0;
	w->len = kept > 0 ? (size_t)kept : 0;
}

static void give_to_keeper(struct flow *f)
{
	struct way *w = &f->out;
	ssize_t n;

	if (!w->len)
		return;
	n = send(f->relay->api->d->stream, w->data + w->at, w->len, MSG_DONTWAIT | MSG_NOSIGNAL);
	if (n < 0 && errno != EAGAIN && errno != EINTR) {
		w->len = 0;
		return;
	}
	w->at += n > 0 ? (size_t)n : 0;
	w->len -= n > 0 ? (size_t)n : 0;
}

/* ---- the end ---- */

static size_t keep_answer(char *data, size_t size, size_t n, void *arg)
{
	struct flow *f = arg;

	if (size * n >= sizeof(f->answer) - f->answer_len)
		return 0;
	memcpy(f->answer + f->answer_len, data, size * n);
	f->answer_len += size * n;
	return size * n;
}

static int begin_wait(struct flow *f)
{
	char path[160];

	/* Podman looks every 250 ms unless it is told otherwise; Docker does not look, but knows. */
	snprintf(path, sizeof(path), "/containers/%s/wait%s", f->relay->id,
		 strcmp(f->relay->api->d->engine, "podman") == 0 ? "?interval=10ms" : "");
	f->multi = curl_multi_init();
	f->wait = docker_handle(f->relay->api, path);
	if (!f->multi || !f->wait)
		return -1;
	curl_easy_setopt(f->wait, CURLOPT_POSTFIELDS, "");
	curl_easy_setopt(f->wait, CURLOPT_WRITEFUNCTION, keep_answer);
	curl_easy_setopt(f->wait, CURLOPT_WRITEDATA, f);
	return curl_multi_add_handle(f->multi, f->wait) == CURLM_OK ? 0 : -1;
}

static void look_at_wait(struct flow *f)
{
	int running, left;
	CURLMsg *message;
	json_t *json;

	(void)curl_multi_perform(f->multi, &running);
	while ((message = curl_multi_info_read(f->multi, &left))) {
		if (message->msg != CURLMSG_DONE)
			continue;
		f->ended_us = clock_us();
		f->failed = message->data.result;
		json = json_loadb(f->answer, f->answer_len, 0, NULL);
		f->relay->has_exit_code = docker_read_wait(json, &f->relay->exit_code);
		json_decref(json);
		if (!f->relay->has_exit_code && f->failed == CURLE_OK)
			f->failed = CURLE_RECV_ERROR;
	}
}

/* Without its stream there is no box. Who should tell of its end may be gone, too: of Podman's containers it is a process of each one's own. */
static bool is_over(const struct flow *f)
{
	if (f->relay->is_left || f->relay->lost.code != CORDON_OK)
		return true;
	if (!f->ended_us)
		return f->cut_us && !f->out.len && clock_us() - f->cut_us > CUT_US;
	return f->failed != CURLE_OK || (f->out.has_ended && !f->out.len) || clock_us() - f->ended_us > DRAIN_US;
}

/* Which of the two waits for what. */
static void wait_for(struct flow *f, struct curl_waitfd fds[3])
{
	struct driver *d = f->relay->api->d;

	fds[0] = (struct curl_waitfd){ .fd = d->control, .events = CURL_WAIT_POLLIN };
	fds[1] = (struct curl_waitfd){ .fd = d->stream };
	fds[2] = (struct curl_waitfd){ .fd = f->socket };
	if (!f->in.len && !f->in.has_ended)
		fds[1].events |= CURL_WAIT_POLLIN;
	if (f->out.len)
		fds[1].events |= CURL_WAIT_POLLOUT;
	if (!f->out.len && !f->out.has_ended)
		fds[2].events |= CURL_WAIT_POLLIN;
	if (f->in.len && !f->is_shut)
		fds[2].events |= CURL_WAIT_POLLOUT;
}

static void turn(struct flow *f)
{
	struct curl_waitfd all[3], fds[3];
	unsigned n = 0;
	bool is_gone = f->relay->api->d->is_gone;

	wait_for(f, all);
	for (unsigned i = is_gone; i < ARRAY_LEN(all); i++)
		if (all[i].events)
			fds[n++] = all[i];
	(void)curl_multi_poll(f->multi, fds, n, f->ended_us || f->cut_us ? 100 : 60000, NULL);
	for (unsigned i = 0; i < n; i++)
		if (fds[i].fd == f->relay->api->d->control && fds[i].revents)
			driver_obey(f->relay->api->d);
	take_from_keeper(f);
	give_to_container(f);
	take_from_container(f);
	give_to_keeper(f);
	look_at_wait(f);
}

int docker_relay(struct docker_relay *relay, struct cordon_error *err)
{
	struct flow *f = calloc(1, sizeof(*f));
	int r;

	if (!f)
		return fail_memory(err);
	f->relay = relay;
	r = curl_easy_getinfo(relay->attached, CURLINFO_ACTIVESOCKET, &f->socket) != CURLE_OK || begin_wait(f) < 0
		    ? fail_memory(err)
		    : 0;
	while (r == 0 && !is_over(f))
		turn(f);
	if (r == 0 && relay->lost.code != CORDON_OK) {
		*err = relay->lost;
		r = -1;
	} else if (r == 0 && f->failed != CURLE_OK) {
		r = docker_fail_curl(relay->api, f->failed, err);
	}
	if (f->wait) {
		(void)curl_multi_remove_handle(f->multi, f->wait);
		curl_easy_cleanup(f->wait);
	}
	if (f->multi)
		curl_multi_cleanup(f->multi);
	free(f);
	return r;
}
