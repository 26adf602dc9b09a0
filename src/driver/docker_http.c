/*
 * Requests to a daemon of Docker's kind, over its unix socket or tcp: see docker.h. One handle, so that the connection is kept. Answers are
 * bounded, and a keeper that goes or says kill ends a request that waits.
 */
#include "driver/docker.h"

#include "base/clock.h"
#include "base/str.h"

#include <errno.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	CONNECT_MS = 5000,
	FIRST_MS = 6000, /* less than `cordon doctor` waits for */
	WAKE_MS = 15000, /* where a box waits: a daemon that the first connection starts takes a while */
	ANSWER_MS = 60000,
	PULL_MS = 3600000,
	LINE_MAX_BYTES = 65536,
};

/* ---- where ---- */

static void default_socket(const struct driver *d, char *buf, size_t size)
{
	const char *runtime = getenv("XDG_RUNTIME_DIR");
	bool is_podman = strcmp(d->engine, "podman") == 0;

	snprintf(buf, size, "%s", is_podman ? "/run/podman/podman.sock" : "/var/run/docker.sock");
	if (geteuid() == 0 || !runtime || *runtime != '/' || access(buf, R_OK | W_OK) == 0)
		return;
	snprintf(buf, size, "%s/%s", runtime, is_podman ? "podman/podman.sock" : "docker.sock");
}

static bool is_loopback(const char *host)
{
	return str_starts(host, "127.") || str_starts(host, "localhost") || str_starts(host, "[::1]");
}

static int find_daemon(struct docker_api *api, struct cordon_error *err)
{
	const char *name = strcmp(api->d->engine, "podman") == 0 ? "CONTAINER_HOST" : "DOCKER_HOST";
	const char *host = getenv(name);
	int n;

	snprintf(api->base, sizeof(api->base), "http://localhost");
	api->is_local = true;
	if (!host || !*host) {
		default_socket(api->d, api->socket, sizeof(api->socket));
		return 0;
	}
	if (str_starts(host, "unix://")) {
		n = snprintf(api->socket, sizeof(api->socket), "%s", host + 7);
		if (n > 0 && (size_t)n < sizeof(api->socket))
			return 0;
	} else if (str_starts(host, "tcp://") && !getenv("DOCKER_TLS_VERIFY")) {
		n = snprintf(api->base, sizeof(api->base), "http://%s", host + 6);
		api->is_local = is_loopback(host + 6);
		if (host[6] && (size_t)n < sizeof(api->base) && strcspn(host + 6, "/ @?#") == strlen(host + 6))
			return 0;
	}
	cordon_fail(err, CORDON_INVALID, 0, "%s is '%s'", name, host);
	if (str_starts(host, "tcp://") && getenv("DOCKER_TLS_VERIFY"))
		return fail_hint(
			err, "DOCKER_TLS_VERIFY is set, and TLS is not spoken: use the daemon's socket, unix:///PATH");
	return fail_hint(err, "unix:///PATH and tcp://HOST:PORT without TLS are understood");
}

/* ---- one request ---- */

struct sink {
	struct driver *d;
	struct str text;
	bool is_pull, failed;
	char error[DOCKER_TEXT_MAX];
	struct engine_progress last; /* of a pull */
	uint64_t told_us;
};

static void tell(struct sink *sink)
{
	sink->told_us = clock_us();
	control_tell_progress(sink->d, &sink->last);
}

/* The lines of a pull are told as they come. */
static void tell_lines(struct sink *sink)
{
	char *end;

	while (sink->text.data && (end = memchr(sink->text.data, '\n', sink->text.len))) {
		size_t len = (size_t)(end - sink->text.data) + 1;

		if (!sink->failed) {
			sink->failed = !docker_read_pull(sink->text.data, len, &sink->last, sink->error);
			if (!sink->failed)
				tell(sink);
		}
		memmove(sink->text.data, sink->text.data + len, sink->text.len - len);
		sink->text.len -= len;
	}
}

static size_t receive(char *data, size_t size, size_t n, void *arg)
{
	struct sink *sink = arg;

	if (size * n + sink->text.len > DOCKER_ANSWER_MAX)
		return 0;
	str_add_bytes(&sink->text, data, size * n);
	if (sink->is_pull)
		tell_lines(sink);
	return sink->text.failed || (sink->is_pull && sink->text.len > LINE_MAX_BYTES) ? 0 : size * n;
}

bool docker_is_unwanted(const struct driver *d)
{
	struct engine_request request;
	ssize_t n;

	if (d->is_gone)
		return false; /* it is being removed */
	n = recv(d->control, &request, sizeof(request), MSG_PEEK | MSG_DONTWAIT);
	return n == 0 || (n == (ssize_t)sizeof(request) && request.type == ENGINE_KILL);
}

/* About once a second. A daemon may say nothing for minutes of a pull, and the keeper wants to hear that somebody is alive. */
static int watch(void *arg, curl_off_t a, curl_off_t b, curl_off_t c, curl_off_t e)
{
	struct sink *sink = arg;

	(void)a, (void)b, (void)c, (void)e;
	if (sink->is_pull && clock_us() - sink->told_us >= ENGINE_ALIVE_MS * 1000ULL)
		tell(sink);
	return docker_is_unwanted(sink->d);
}

static void reach(const struct docker_api *api, CURL *curl, const char *path)
{
	char url[1024];

	snprintf(url, sizeof(url), "%s%s%s", api->base, api->prefix, path);
	curl_easy_setopt(curl, CURLOPT_URL, url);
	if (api->socket[0])
		curl_easy_setopt(curl, CURLOPT_UNIX_SOCKET_PATH, api->socket);
	curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http");
	curl_easy_setopt(curl, CURLOPT_PROXY, "");
	curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, (long)CONNECT_MS);
}

CURL *docker_handle(const struct docker_api *api, const char *path)
{
	CURL *curl = curl_easy_init();

	if (curl)
		reach(api, curl, path);
	return curl;
}

int docker_fail_curl(const struct docker_api *api, CURLcode code, struct cordon_error *err)
{
	const char *engine = api->d->engine, *where = api->socket[0] ? api->socket : api->base;
	const struct group *group;
	struct stat st;

	if (code == CURLE_ABORTED_BY_CALLBACK)
		return cordon_fail(err, CORDON_SYSTEM, 0, "cancelled while %s made the container", engine);
	if (code == CURLE_OUT_OF_MEMORY)
		return fail_memory(err);
	if (code == CURLE_OPERATION_TIMEDOUT) {
		cordon_fail(err, CORDON_UNAVAILABLE, 0, "the daemon of %s at %s does not answer", engine, where);
		return fail_hint(err, "look at its log; restarting it may help");
	}
	if (code == CURLE_COULDNT_CONNECT && api->socket[0] && access(api->socket, F_OK) == 0 &&
	    access(api->socket, R_OK | W_OK) < 0) {
		cordon_fail(err, CORDON_UNAVAILABLE, EACCES, "the daemon of %s at %s", engine, where);
		group = stat(api->socket, &st) == 0 ? getgrgid(st.st_gid) : NULL;
		return fail_hint(
			err,
			"its group is %s: join it (usermod -aG %s USER, and log in again), or use a rootless daemon",
			group ? group->gr_name : "unknown", group ? group->gr_name : "GROUP");
	}
	cordon_fail(err, CORDON_UNAVAILABLE, 0, "the daemon of %s at %s cannot be reached or went away (%s)", engine,
		    where, curl_easy_strerror(code));
	return fail_hint(
		err,
		strcmp(engine, "podman") == 0
			? "start it (systemctl start podman.socket, or podman system service), or set CONTAINER_HOST"
			: "start it (systemctl start docker), or set DOCKER_HOST");
}

static size_t take_header(char *data, size_t size, size_t n, void *arg);

/* What is left of the time for all of it, where there is one. 0 would be no limit. */
static long answer_ms(const struct docker_api *api)
{
	const uint64_t now_us = clock_us();
	const uint64_t left_ms = api->until_us > now_us ? (api->until_us - now_us) / 1000 + 1 : 1;

	return api->until_us && left_ms < ANSWER_MS ? (long)left_ms : ANSWER_MS;
}

static CURLcode perform(struct docker_api *api, const char *method, const char *path, const char *body, long limit_ms,
			struct sink *sink)
{
	struct curl_slist *headers = curl_slist_append(NULL, "Content-Type: application/json");
	CURL *curl = api->curl;
	CURLcode code;

	curl_easy_reset(curl);
	reach(api, curl, path);
	headers = headers ? curl_slist_append(headers, "Expect:") : NULL;
	curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
	curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, method);
	if (strcmp(method, "POST") == 0)
		curl_easy_setopt(curl, CURLOPT_POSTFIELDS, body ? body : "");
	curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, limit_ms);
	curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, receive);
	curl_easy_setopt(curl, CURLOPT_WRITEDATA, sink);
	curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
	curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, watch);
	curl_easy_setopt(curl, CURLOPT_XFERINFODATA, sink);
	if (api->is_first) {
		curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, take_header);
		curl_easy_setopt(curl, CURLOPT_HEADERDATA, api);
	}
	code = headers ? curl_easy_perform(curl) : CURLE_OUT_OF_MEMORY;
	curl_slist_free_all(headers);
	return code;
}

int docker_ask(struct docker_api *api, const char *method, const char *path, const json_t *body,
	       struct docker_answer *ret_answer, struct cordon_error *err)
{
	auto_free char *text = body ? json_dumps(body, JSON_COMPACT) : NULL;
	struct sink sink = { .d = api->d };
	CURLcode code;

	*ret_answer = (struct docker_answer){ 0 };
	if (body && !text)
		return fail_memory(err);
	code = perform(api, method, path, text, answer_ms(api), &sink);
	if (code == CURLE_OK) {
		curl_easy_getinfo(api->curl, CURLINFO_RESPONSE_CODE, &ret_answer->status);
		if (sink.text.len)
			ret_answer->json = json_loadb(sink.text.data, sink.text.len, 0, NULL);
	}
	str_done(&sink.text);
	return code == CURLE_OK ? 0 : docker_fail_curl(api, code, err);
}

/* What helps against what daemons say; %s is the engine. */
static int hint_for(const struct docker_api *api, const char *text, struct cordon_error *err)
{
	static const struct {
		const char *said, *hint;
	} rows[] = {
		{ "no space left", "its disk is full: %s system prune frees what is not used" },
		{ "disk quota", "its disk is full: %s system prune frees what is not used" },
		{ "bind source path does not exist",
		  "%s must see this host's files: it is on another machine, or has mounts of its own" },
		{ "statfs ", "%s must see this host's files: it is on another machine, or has mounts of its own" },
		{ "inimum memory limit", "%s wants 6M at least: --memory 64M does for most" },
		{ "OOM-killed", "limits.memory is too small for %s to start in: --memory 64M does for most" },
		{ "memory limit too low", "limits.memory is too small for %s to start in: --memory 64M does for most" },
		{ "invalid reference format", "%s knows images as NAME[:TAG] or NAME@sha256:DIGEST, in small letters" },
		{ "apparmor_parser",
		  "this kernel has AppArmor, whose tools %s needs: install them (Debian: apparmor)" },
		{ "unmapped user",
		  "the daemon of %s maps ids (userns-remap) and has none for this box: use one that does not, or "
		  "another engine; users below 65536 get boxes without writable mounts" },
		{ "hybrid mode", "the runtime crun refuses this host's two trees of control groups: have %s take runc "
				 "(containers.conf, [engine], runtime = \"runc\")" },
	};
	char hint[256];

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const char *at = strstr(rows[i].hint, "%s");

		if (!strstr(text, rows[i].said))
			continue;
		snprintf(hint, sizeof(hint), "%.*s%s%s", (int)(at - rows[i].hint), rows[i].hint, api->d->engine,
			 at + 2);
		return fail_hint(err, "%s", hint);
	}
	if (api->otherwise)
		return fail_hint(err, "%s", api->otherwise);
	return fail_hint(err, "the log of %s may know more", api->d->engine);
}

int docker_fail(const struct docker_api *api, const struct docker_answer *answer, const char *what,
		struct cordon_error *err)
{
	char text[DOCKER_TEXT_MAX];

	docker_read_message(answer->json, text);
	cordon_fail(err, CORDON_SYSTEM, 0, "%s could not %s: %s", api->d->engine, what, text);
	return hint_for(api, text, err);
}

int docker_do(struct docker_api *api, const char *method, const char *path, const json_t *body, json_t **ret_json,
	      const char *what, struct cordon_error *err)
{
	struct docker_answer answer;
	int r;

	if (docker_ask(api, method, path, body, &answer, err) < 0)
		return -1;
	r = answer.status / 100 == 2 || answer.status == 304 ? 0 : docker_fail(api, &answer, what, err);
	if (r == 0 && ret_json)
		*ret_json = STEAL(answer.json);
	json_decref(answer.json);
	return r;
}

int docker_pull(struct docker_api *api, const char *image, struct cordon_error *err)
{
	struct sink sink = { .d = api->d, .is_pull = true, .last.type = ENGINE_PROGRESS };
	char *name = curl_easy_escape(api->curl, image, 0), path[768], why[DOCKER_TEXT_MAX];
	/* Without a tag the daemon would take all there are. */
	bool has_tag = strchr(image, '@') || (strrchr(image, ':') && !strchr(strrchr(image, ':'), '/'));
	long status = 0;
	CURLcode code;

	snprintf(path, sizeof(path), "/images/create?fromImage=%s%s", name ? name : "", has_tag ? "" : "&tag=latest");
	curl_free(name);
	snprintf(sink.last.text, sizeof(sink.last.text), "pulling %s", image);
	tell(&sink);
	code = perform(api, "POST", path, NULL, PULL_MS, &sink);
	curl_easy_getinfo(api->curl, CURLINFO_RESPONSE_CODE, &status);
	snprintf(why, sizeof(why), "%s", sink.failed ? sink.error : "");
	if (!*why && status != 200 && sink.text.len) {
		json_t *json = json_loadb(sink.text.data, sink.text.len, 0, NULL);

		docker_read_message(json, why);
		json_decref(json);
	}
	str_done(&sink.text);
	if (code != CURLE_OK)
		return docker_fail_curl(api, code, err);
	if (status == 200 && !*why)
		return 0;
	cordon_fail(err, CORDON_UNAVAILABLE, 0, "the image %s is not there and could not be pulled: %s", image, why);
	if (strstr(why, "invalid reference format"))
		return hint_for(api, why, err);
	return fail_hint(
		err,
		"load it (%s load or import), or give this host a way to its registry; what `cordon image ls` lists "
		"is cordon's own, for boxes without --engine",
		api->d->engine);
}

/* ---- the first request ---- */

static int ask_version(struct docker_api *api, bool *ret_ok, struct cordon_error *err)
{
	json_t *json = NULL;

	if (docker_do(api, "GET", "/version", NULL, &json, "tell its version", err) < 0)
		return -1;
	*ret_ok = docker_read_version(json, &api->version);
	json_decref(json);
	return 0;
}

/* Of a ping, whose headers say it; what is asked for by name takes Podman half a second. */
static size_t take_header(char *data, size_t size, size_t n, void *arg)
{
	struct docker_api *api = arg;

	(void)size;
	docker_read_header(data, n, &api->version);
	return n;
}

static int ping(struct docker_api *api, struct cordon_error *err)
{
	struct sink sink = { .d = api->d };
	CURLcode code = perform(api, "GET", "/_ping", NULL, answer_ms(api), &sink);

	str_done(&sink.text);
	return code == CURLE_OK ? 0 : docker_fail_curl(api, code, err);
}

static int negotiate(struct docker_api *api, struct cordon_error *err)
{
	bool ok;

	api->is_first = true;
	api->until_us = clock_us() + (api->d->stream < 0 ? FIRST_MS : WAKE_MS) * 1000ULL;
	if (ping(api, err) < 0)
		return -1;
	api->is_first = false;
	ok = api->version.version[0] && api->version.api[0];
	if (!ok && ask_version(api, &ok, err) < 0)
		return -1;
	api->until_us = 0;
	if (!ok)
		return cordon_fail(err, CORDON_UNAVAILABLE, 0, "what answers at %s is not a daemon of %s",
				   api->socket[0] ? api->socket : api->base, api->d->engine);
	/* Older than what we know is used as it is; what is newer still speaks ours. */
	if (strtoul(api->version.api, NULL, 10) == 1 && strchr(api->version.api, '.') &&
	    strtoul(strchr(api->version.api, '.') + 1, NULL, 10) > 44)
		snprintf(api->version.api, sizeof(api->version.api), "1.44");
	snprintf(api->prefix, sizeof(api->prefix), "/v%s", api->version.api);
	return 0;
}

int docker_open(struct docker_api *api, struct driver *d, struct cordon_error *err)
{
	struct stat st;

	*api = (struct docker_api){ .d = d };
	if (find_daemon(api, err) < 0)
		return -1;
	api->is_rootless = api->socket[0] && stat(api->socket, &st) == 0 && st.st_uid != 0;
	curl_global_init(CURL_GLOBAL_NOTHING);
	api->curl = curl_easy_init();
	if (!api->curl)
		return fail_memory(err);
	return negotiate(api, err);
}

void docker_close(struct docker_api *api)
{
	if (api->curl)
		curl_easy_cleanup(api->curl);
	api->curl = NULL;
}
