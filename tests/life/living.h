/* What tests/life/living.c asks a box with: one policy, one plan and one box at a time. */
#ifndef TESTS_LIVING_H
#define TESTS_LIVING_H

#include "../unit/tap.h"

#include <cordon.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static struct cordon_policy *policy;
static struct cordon_plan *plan;
static struct cordon_box *box;
static struct cordon_error err;
static const char *engine, *dir;

/* ---- helpers ---- */

static void set(const char *key, const char *value)
{
	if (cordon_policy_set(policy, key, value, &err) < 0) {
		printf("Bail out! %s: %s\n", key, err.message);
		exit(1);
	}
}

static void open_box(void)
{
	struct cordon_job stays = { .size = sizeof(stays), .lives = true };

	err = (struct cordon_error){ 0 };
	if (cordon_plan_new(&plan, policy, &stays, &err) < 0 || cordon_box_open(&box, plan, &err) < 0) {
		printf("Bail out! %s: %s (%s)\n", err.step, err.message, err.hint);
		exit(1);
	}
}

static void close_box(void)
{
	cordon_box_close(box);
	cordon_plan_free(plan);
	box = NULL;
	plan = NULL;
}

struct job {
	const char *line; /* for sh -c */
	const char *language, *code;
	const char *const *env, *const *in, *const *out;
	const char *workdir;
	uint64_t timeout_ms;
	const struct cordon_io *io;
};

static struct cordon_result *run(struct job j)
{
	const char *const argv[] = { "sh", "-c", j.line, NULL };
	struct cordon_job job = { .size = sizeof(job),
				  .argv = j.line ? argv : NULL,
				  .language = j.language,
				  .code = j.code,
				  .code_len = j.code ? strlen(j.code) : 0,
				  .env = j.env,
				  .in = j.in,
				  .out = j.out,
				  .workdir = j.workdir,
				  .timeout_ms = j.timeout_ms };
	struct cordon_result *result = NULL;

	err = (struct cordon_error){ 0 };
	(void)cordon_box_exec(box, &job, j.io, &result, &err);
	return result;
}
#define RUN(...) run((struct job){ __VA_ARGS__ })

/* What a line of shell says, and that it succeeded. */
__attribute__((format(printf, 3, 4))) static bool says(const char *line, const char *want, const char *fmt, ...)
{
	struct cordon_result *r = RUN(.line = line);
	char what[256];
	bool good;
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	good = is_str(r ? r->out.data : err.message, want, "%s", what);
	if (r && r->err.len)
		printf("# %s", r->err.data);
	if (r && r->status != CORDON_SUCCESS)
		printf("# status %s, limit %s, %s\n", cordon_status_name(r->status), r->limit ? r->limit : "none",
		       r->error ? r->error->message : "");
	cordon_result_free(r);
	return good;
}

static bool ended(struct cordon_result *r, enum cordon_status status, const char *limit, const char *what)
{
	bool good = r && r->status == status && (limit ? r->limit && strcmp(r->limit, limit) == 0 : !r->limit);

	ok(good, "%s", what);
	if (!good)
		printf("#   %s, limit %s; %s\n", r ? cordon_status_name(r->status) : "no result",
		       r && r->limit ? r->limit : "none", r ? (r->error ? r->error->message : "") : err.message);
	cordon_result_free(r);
	return good;
}

static void nap(unsigned ms)
{
	struct timespec t = { .tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000 };

	(void)nanosleep(&t, NULL);
}

static char *read_text(const char *path)
{
	static char text[65536];
	FILE *f = fopen(path, "r");
	size_t n = f ? fread(text, 1, sizeof(text) - 1, f) : 0;

	text[n] = '\0';
	if (f)
		fclose(f);
	return text;
}

static void write_text(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	if (!f || fputs(text, f) < 0 || fclose(f) != 0)
		abort();
}

static const char *in_dir(const char *name)
{
	static char path[4][4096];
	static unsigned at;

	at = (at + 1) % 4;
	snprintf(path[at], sizeof(path[at]), "%s/%s", dir, name);
	return path[at];
}

static unsigned count_fds(const char *pid)
{
	char path[64];
	unsigned n = 0;
	DIR *d;

	snprintf(path, sizeof(path), "/proc/%s/fd", pid);
	d = opendir(path);
	while (d && readdir(d))
		n++;
	if (d)
		closedir(d);
	return n;
}

static long first_child(void)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)getpid());
	return strtol(read_text(path), NULL, 10);
}

static long rss_kib(const char *pid)
{
	char path[64];
	const char *at;

	snprintf(path, sizeof(path), "/proc/%s/status", pid);
	at = strstr(read_text(path), "VmRSS:");
	return at ? strtol(at + 6, NULL, 10) : 0;
}

#endif
