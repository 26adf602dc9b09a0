/*
 * Building and pulling images with Docker or Podman, over their API: see build.h. The context is written by a child into a pipe, from which the
 * request takes it; the finished image goes out of the engine into the stdin of `cordon-image import`, where it is read as any archive,
 * as a hostile one. What the engine says goes to stderr.
 */
#include "driver/build.h"

#include "base/clock.h"
#include "base/fd.h"
#include "base/libexec.h"
#include "os/process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LINE_MAX_BYTES = 1 << 20, SHOW_US = 100000 };

struct build {
	struct driver driver; /* whom docker_http.c takes us for: one without a keeper */
	struct docker_api api;
};

/* ---- the engine ---- */

static int open_one(struct build *b, const char *engine, struct cordon_error *err)
{
	b->driver = (struct driver){ .engine = engine, .control = -1, .stream = -1, .is_gone = true };
	if (docker_open(&b->api, &b->driver, err) == 0)
		return 0;
	docker_close(&b->api);
	return -1;
}

static int open_engine(struct build *b, const char *engine, struct cordon_error *err)
{
	if (engine)
		return open_one(b, engine, err);
	if (open_one(b, "docker", err) == 0)
		return 0;
	if (open_one(b, "podman", NULL) == 0) {
		*err = (struct cordon_error){ 0 }; /* Docker's is nobody's business any more */
		return 0;
	}
	if (err->errnum == EACCES)
		return -1; /* Docker is there, and the hint says how one is let in */
	return fail_hint(
		err, "start Docker or Podman's service (podman system service), or set DOCKER_HOST or CONTAINER_HOST");
}

/* ---- what it says ---- */

struct said {
	struct str rest; /* a line that has not ended */
	bool failed, is_shown;
	uint64_t shown_us;
	char id[128];
	char error[1024];
};

static void put(const char *text)
{
	(void)fd_write_all(STDERR_FILENO, text, strlen(text));
}

/* How far it is changes many times a second, and is for terminals only. */
static void put_status(struct said *s, const struct build_line *line)
{
	uint64_t now = clock_us();
	char text[256], done[32], total[32];
	bool moves = line->total_bytes || line->done_bytes;

	if (moves && (!isatty(STDERR_FILENO) || now - s->shown_us < SHOW_US))
		return;
	s->shown_us = moves ? now : 0;
	snprintf(text, sizeof(text), "%s%.120s%s%s%s%s%s", s->is_shown ? "\r\33[K" : "", line->text, moves ? " " : "",
		 moves ? str_size(line->done_bytes, done) : "", line->total_bytes ? " of " : "",
		 line->total_bytes ? str_size(line->total_bytes, total) : "", moves ? "" : "\n");
	s->is_shown = moves;
	put(text);
}

static void on_line(struct said *s, const char *text, size_t len)
{
	static struct build_line line; /* large */

	build_read_line(text, len, &line);
	switch (line.kind) {
	case BUILD_TEXT:
		put(line.text);
		break;
	case BUILD_STATUS:
		put_status(s, &line);
		break;
	case BUILD_ID:
		snprintf(s->id, sizeof(s->id), "%.120s", line.text);
		break;
	case BUILD_ERROR:
		s->failed = true;
		snprintf(s->error, sizeof(s->error), "%.1000s", line.text);
		break;
	case BUILD_NOTHING:
	default:
		break;
	}
}

static bool take_lines(const char *data, size_t len, struct said *s)
{
	char *end;

	str_add_bytes(&s->rest, data, len);
	while (!s->rest.failed && s->rest.len && (end = memchr(s->rest.data, '\n', s->rest.len))) {
		size_t n = (size_t)(end - s->rest.data) + 1;

		on_line(s, s->rest.data, n);
		memmove(s->rest.data, s->rest.data + n, s->rest.len - n);
		s->rest.len -= n;
	}
	return !s->rest.failed && s->rest.len < LINE_MAX_BYTES;
}

/* The end of what was said: 0 where it went well. */
static int end_of(struct build *b, struct said *s, struct docker_transfer *t, const char *what,
		  struct cordon_error *err)
{
	const char *engine = b->driver.engine;

	if (s->rest.len)
		on_line(s, s->rest.data, s->rest.len);
	if (s->is_shown)
		put("\n");
	str_done(&s->rest);
	if (t->answer.status / 100 != 2)
		return docker_fail(&b->api, &t->answer, what, err);
	if (!s->failed)
		return 0;
	for (size_t n = strlen(s->error); n && s->error[n - 1] == ' '; n--)
		s->error[n - 1] = 0;
	return cordon_fail(err, CORDON_SYSTEM, 0, "%s could not %s: %s", engine, what, s->error);
}

/* ---- into the store ---- */

struct hand_over {
	int to, process;
};

static bool give_image(const char *data, size_t len, void *arg)
{
	const struct hand_over *h = arg;

	return fd_write_all(h->to, data, len) == 0;
}

static int start_import(struct hand_over *h, const char *name, struct cordon_error *err)
{
	auto_free char *program = libexec_find("cordon-image");
	char *const argv[] = { (char[]){ "cordon-image" }, (char[]){ "import" }, (char[]){ "-" },
			       (char *)(uintptr_t)name, NULL };
	int pair[2];
	pid_t pid;

	if (!program)
		return cordon_fail(err, CORDON_UNAVAILABLE, 0, "there is no program cordon-image, which imports");
	if (pipe2(pair, O_CLOEXEC) < 0)
		return cordon_fail(err, CORDON_SYSTEM, errno, "make a pipe");
	pid = process_clone(0, &h->process);
	if (pid == 0) {
		process_reset_signals();
		if (dup2(pair[0], STDIN_FILENO) >= 0)
			execv(program, argv);
		_exit(127);
	}
	close(pair[0]);
	h->to = pair[1];
	return pid < 0 ? cordon_fail(err, CORDON_SYSTEM, -pid, "start '%s'", program) : 0;
}

static int into_store(struct build *b, const char *name, struct cordon_error *err)
{
	char *escaped = curl_easy_escape(b->api.curl, name, 0);
	auto_free char *path = escaped ? str_printf("/images/%s/get", escaped) : NULL;
	struct hand_over h = { .to = -1, .process = -1 };
	struct docker_transfer t = { .method = "GET", .path = path, .body = -1, .take = give_image, .arg = &h };
	int status = 0, r;

	curl_free(escaped);
	if (!path)
		return fail_memory(err);
	if (start_import(&h, name, err) < 0) {
		fd_close(&h.to);
		process_end(&h.process);
		return -1;
	}
	err->code = CORDON_OK;
	r = docker_transfer(&b->api, &t, err);
	if (r == 0 && t.answer.status / 100 != 2)
		r = docker_fail(&b->api, &t.answer, "hand the image out", err);
	json_decref(t.answer.json);
	if (r < 0 && err->code != CORDON_OK)
		process_end(&h.process); /* before the end of its input: half an image is none */
	fd_close(&h.to);
	if (h.process >= 0)
		(void)process_wait(h.process, &status);
	fd_close(&h.process);
	if (r < 0 && err->code != CORDON_OK)
		return -1;
	/* It has said why. */
	return r < 0 || status
		       ? cordon_fail(err, CORDON_SYSTEM, 0, "the image was not imported; %s has it", b->driver.engine)
		       : 0;
}

/* ---- build ---- */

struct sending {
	struct said said; /* first */
	int process, error;
	struct cordon_error why;
};

static bool take_answer(const char *data, size_t len, void *arg)
{
	return take_lines(data, len, &((struct sending *)arg)->said);
}

/* The child's last word: nothing, or why it could not write all of it. */
static bool is_whole(void *arg)
{
	struct sending *s = arg;
	int status = 1;

	if (s->process >= 0)
		(void)process_wait(s->process, &status);
	fd_close(&s->process);
	if (fd_read_full(s->error, &s->why, sizeof(s->why)) != (ssize_t)sizeof(s->why))
		s->why = (struct cordon_error){ 0 };
	if (status && s->why.code == CORDON_OK)
		cordon_fail(&s->why, CORDON_SYSTEM, 0, "the build's directory could not be read");
	return !status;
}

static _Noreturn void write_context(const struct build_context *c, int to, int error)
{
	struct cordon_error err = { 0 };

	signal(SIGPIPE, SIG_IGN);
	if (build_context_write(c, to, &err) == 0)
		_exit(0);
	(void)fd_write_all(error, &err, sizeof(err));
	_exit(1);
}

static int start_sending(struct sending *s, const struct build_context *c, int *ret_body, struct cordon_error *err)
{
	int body[2], error[2];
	pid_t pid;

	if (pipe2(body, O_CLOEXEC) < 0)
		return cordon_fail(err, CORDON_SYSTEM, errno, "make a pipe");
	if (pipe2(error, O_CLOEXEC) < 0) {
		close(body[0]);
		close(body[1]);
		return cordon_fail(err, CORDON_SYSTEM, errno, "make a pipe");
	}
	pid = process_clone(0, &s->process);
	if (pid == 0) {
		close(body[0]);
		write_context(c, body[1], error[1]);
	}
	close(body[1]);
	close(error[1]);
	*ret_body = body[0];
	s->error = error[0];
	return pid < 0 ? cordon_fail(err, CORDON_SYSTEM, -pid, "start a process") : 0;
}

static void add_query(const struct build *b, struct str *s, const char *key, const char *value)
{
	char *escaped = curl_easy_escape(b->api.curl, value, 0);

	if (!escaped)
		s->failed = true;
	str_addf(s, "%s%s=%s", strchr(s->data ? s->data : "", '?') ? "&" : "?", key, escaped ? escaped : "");
	curl_free(escaped);
}

static int add_args(const struct build *b, struct str *s, const struct strv *args)
{
	json_t *json = json_object();
	auto_free char *text = NULL;
	int r = 0;

	for (size_t i = 0; i < args->n; i++) {
		const char *sign = strchr(args->v[i], '=');
		auto_free char *key = strndup(args->v[i], (size_t)(sign - args->v[i]));

		r |= key ? json_object_set_new(json, key, json_string(sign + 1)) : -1;
	}
	text = json_dumps(json, JSON_COMPACT);
	json_decref(json);
	if (args->n && text)
		add_query(b, s, "buildargs", text);
	return text ? r : -1;
}

/* Podman has words of its own; without them a build has the host's network. */
static void add_network(const struct build *b, const struct build_options *o, struct str *s)
{
	if (!o->no_net)
		return;
	if (strcmp(b->driver.engine, "podman") == 0) {
		add_query(b, s, "networkmode", "NetworkDisabled");
		add_query(b, s, "nsoptions", "[{\"Name\":\"network\",\"Host\":false,\"Path\":\"\"}]");
	} else {
		add_query(b, s, "networkmode", "none");
	}
}

static const char *network_of(const struct build *b, const struct build_options *o)
{
	if (o->no_net)
		return "without a network";
	return strcmp(b->driver.engine, "podman") == 0 ? "with the host's network" : "with its network";
}

static int add_queries(const struct build *b, const struct build_options *o, struct str *s)
{
	str_add(s, "/build");
	add_query(b, s, "t", o->name);
	add_query(b, s, "dockerfile", o->context.name);
	add_query(b, s, "rm", "1");
	add_query(b, s, "forcerm", "1");
	add_network(b, o, s);
	return add_args(b, s, &o->args) < 0 || s->failed ? -1 : 0;
}

static int build_in(struct build *b, struct build_options *o, struct cordon_error *err)
{
	struct sending s = { .process = -1, .error = -1 };
	auto_str struct str path = { 0 };
	struct docker_transfer t = {
		.method = "POST", .body = -1, .take = take_answer, .is_whole = is_whole, .arg = &s
	};
	int r = add_queries(b, o, &path) < 0 ? fail_memory(err) : start_sending(&s, &o->context, &t.body, err);

	t.path = path.data;
	if (r == 0) {
		r = docker_transfer(&b->api, &t, err);
		if (r == 0)
			r = end_of(b, &s.said, &t, "build the image", err);
		else if (s.why.code != CORDON_OK)
			*err = s.why;
		else if (err->code == CORDON_OK)
			cordon_fail(err, CORDON_SYSTEM, 0, "%s answers what cannot be understood", b->driver.engine);
	}
	str_done(&s.said.rest);
	json_decref(t.answer.json);
	fd_close(&t.body);
	fd_close(&s.error);
	process_end(&s.process);
	return r;
}

static void tell_done(const struct build *b, const struct build_options *o)
{
	char text[640];

	snprintf(text, sizeof(text), "note: %s has it as %s; cordon's store does not\n", b->driver.engine, o->name);
	put(text);
}

int build_run(struct build_options *o, struct cordon_error *err)
{
	struct build b = { 0 };
	char text[640];
	int r;

	if (build_context_find(&o->context, err) < 0 || open_engine(&b, o->engine, err) < 0)
		return -1;
	snprintf(text, sizeof(text), "building %s with %s %s: its sandbox, not cordon's; %s\n", o->name,
		 b.driver.engine, b.api.version.version, network_of(&b, o));
	put(text);
	r = build_in(&b, o, err);
	if (r == 0 && o->no_import)
		tell_done(&b, o);
	else if (r == 0)
		r = into_store(&b, o->name, err);
	docker_close(&b.api);
	return r;
}

/* ---- pull ---- */

static bool take_pull(const char *data, size_t len, void *arg)
{
	return take_lines(data, len, arg);
}

static const char pull_hint[] = "is it spelled right, and is there a way to its registry from here? An archive can be "
				"imported without one: cordon image import";

static int pull_in(struct build *b, const char *name, struct cordon_error *err)
{
	struct said s = { 0 };
	auto_str struct str path = { 0 };
	struct docker_transfer t = { .method = "POST", .body = -1, .take = take_pull, .arg = &s };
	const char *colon = strrchr(name, ':');
	int r;

	str_add(&path, "/images/create");
	add_query(b, &path, "fromImage", name);
	/* Without a tag the daemon would take all there are. */
	if (!strchr(name, '@') && (!colon || strchr(colon, '/')))
		add_query(b, &path, "tag", "latest");
	if (path.failed)
		return fail_memory(err);
	t.path = path.data;
	b->api.otherwise = pull_hint;
	r = docker_transfer(&b->api, &t, err);
	if (r == 0)
		r = end_of(b, &s, &t, "pull the image", err);
	else if (err->code == CORDON_OK)
		cordon_fail(err, CORDON_SYSTEM, 0, "%s answers what cannot be understood", b->driver.engine);
	str_done(&s.rest);
	json_decref(t.answer.json);
	b->api.otherwise = NULL;
	if (r < 0 && !err->hint[0])
		(void)fail_hint(err, "%s", pull_hint);
	return r;
}

int build_pull(struct build_options *o, struct cordon_error *err)
{
	struct build b = { 0 };
	int r;

	if (open_engine(&b, o->engine, err) < 0)
		return -1;
	r = pull_in(&b, o->name, err);
	if (r == 0 && o->no_import)
		tell_done(&b, o);
	else if (r == 0)
		r = into_store(&b, o->name, err);
	docker_close(&b.api);
	return r;
}
