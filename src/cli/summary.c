/*
 * What a person wants to know after a run, on stderr: nothing after success or a plain non-zero exit, else the cause and
 * what to do about it. Everything is in --json as well, so this may stay short.
 */
#include "cli/cli.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { DENIALS_SHOWN = 5, FAILURES_SHOWN = 5 };

static const struct limit_words {
	const char *limit, *text;
} limit_words[] = {
	{ "memory", "out of memory" },
	{ "cpu_time", "out of CPU time" },
	{ "processes", "too many processes" },
	{ "open_files", "too many open files" },
	{ "file_size", "a file grew too large" },
	{ "output", "too much output" },
	{ "disk", "out of disk space" },
	{ "inodes", "too many files" },
	{ "tmp", "/tmp is full" },
};

static void add_head(struct str *s)
{
	const struct cli_colours *c = cli_colours();

	str_addf(s, "%scordon:%s ", c->bad, c->end);
}

static const char *limit_text(const char *limit)
{
	for (size_t i = 0; i < ARRAY_LEN(limit_words); i++)
		if (strcmp(limit_words[i].limit, limit) == 0)
			return limit_words[i].text;
	return "a limit was hit";
}

/* The row of the option table that a result's `limit` speaks of. */
static const struct cordon_option *limit_option(const char *limit)
{
	size_t n;
	const struct cordon_option *options = cordon_options(&n);

	for (size_t i = 0; i < n; i++) {
		const char *dot = strchr(options[i].key, '.');

		if (dot && strcmp(dot + 1, limit) == 0)
			return &options[i];
	}
	return NULL;
}

/* " (limits.memory); more with --memory SIZE" */
static void add_remedy(struct str *s, const struct cli_request *request, const char *limit, const char *example)
{
	const struct cordon_option *option = limit_option(limit);

	if (!option)
		return;
	str_addf(s, " (%s); ", option->key);
	if (request->policy) {
		str_add(s, "the policy ");
		cli_add_clean(s, request->policy);
		str_add(s, " decides");
	} else if (option->flag) {
		str_addf(s, "give it more with %s %s", option->flag, example ? example : option->metavar);
	}
}

/* Twice the time that was used, in whole seconds. */
static const char *twice_time(uint64_t us, char buf[32])
{
	uint64_t seconds = (us + 500000) / 1000000;

	snprintf(buf, 32, "%llus", (unsigned long long)(seconds ? seconds : 1) * 2);
	return buf;
}

/* Twice the memory that was used, at least. */
static const char *twice_memory(uint64_t bytes, char buf[32])
{
	uint64_t megabytes = 64;

	while (megabytes < bytes >> 19 && megabytes < UINT32_MAX)
		megabytes *= 2;
	if (megabytes >= 1024)
		snprintf(buf, 32, "%lluG", (unsigned long long)(megabytes >> 10));
	else
		snprintf(buf, 32, "%lluM", (unsigned long long)megabytes);
	return buf;
}

static void add_timeout(struct str *s, const struct cordon_result *result, const struct cli_request *request)
{
	char example[32];

	add_head(s);
	str_addf(s, "timeout after %.1f s", (double)result->wall_us / 1e6);
	add_remedy(s, request, "wall_time", twice_time(result->wall_us, example));
	str_add_char(s, '\n');
}

static void add_limit(struct str *s, const struct cordon_result *result, const struct cli_request *request)
{
	const char *limit = result->limit ? result->limit : "", *more = NULL;
	char size[32], example[32];

	add_head(s);
	str_add(s, limit_text(limit));
	if (strcmp(limit, "memory") == 0 && result->memory_peak_bytes) {
		str_addf(s, " at %s", str_size(result->memory_peak_bytes, size));
		more = twice_memory(result->memory_peak_bytes, example);
	} else if (strcmp(limit, "cpu_time") == 0) {
		str_addf(s, " after %.1f s", (double)result->cpu_us / 1e6);
		more = twice_time(result->cpu_us, example);
	}
	add_remedy(s, request, limit, more);
	str_add_char(s, '\n');
}

static void add_killed(struct str *s, int sig)
{
	/* glibc has them as sigabbrev_np(), musl not at all. */
	static const char names[][8] = {
		[SIGHUP] = "HUP",   [SIGINT] = "INT",       [SIGQUIT] = "QUIT", [SIGILL] = "ILL",
		[SIGTRAP] = "TRAP", [SIGABRT] = "ABRT",     [SIGBUS] = "BUS",   [SIGFPE] = "FPE",
		[SIGKILL] = "KILL", [SIGUSR1] = "USR1",     [SIGSEGV] = "SEGV", [SIGUSR2] = "USR2",
		[SIGPIPE] = "PIPE", [SIGALRM] = "ALRM",     [SIGTERM] = "TERM", [SIGSTKFLT] = "STKFLT",
		[SIGCHLD] = "CHLD", [SIGCONT] = "CONT",     [SIGSTOP] = "STOP", [SIGTSTP] = "TSTP",
		[SIGTTIN] = "TTIN", [SIGTTOU] = "TTOU",     [SIGURG] = "URG",   [SIGXCPU] = "XCPU",
		[SIGXFSZ] = "XFSZ", [SIGVTALRM] = "VTALRM", [SIGPROF] = "PROF", [SIGWINCH] = "WINCH",
		[SIGIO] = "POLL",   [SIGPWR] = "PWR",       [SIGSYS] = "SYS",
	};
	const char *name = sig > 0 && (size_t)sig < ARRAY_LEN(names) ? names[sig] : "";

	add_head(s);
	if (*name)
		str_addf(s, "killed by SIG%s\n", name);
	else
		str_addf(s, "killed by signal %d\n", sig);
}

static void add_status(struct str *s, const struct cordon_result *result, const struct cli_request *request,
		       int forwarded)
{
	switch (result->status) {
	case CORDON_TIMEOUT:
		add_timeout(s, result, request);
		break;
	case CORDON_RESOURCE_EXCEEDED:
		add_limit(s, result, request);
		break;
	case CORDON_KILLED:
		if (result->signal != forwarded) /* who sent it knows */
			add_killed(s, result->signal);
		break;
	case CORDON_CANCELLED:
		add_head(s);
		str_add(s, "cancelled\n");
		break;
	case CORDON_SUCCESS:
	case CORDON_ERROR:
	case CORDON_REFUSED: /* result->error tells it */
	case CORDON_FAILED:
		break;
	}
}

static void add_denials(struct str *s, const struct cordon_result *result)
{
	const struct cli_colours *c = cli_colours();
	size_t shown = result->denial_count < DENIALS_SHOWN ? result->denial_count : DENIALS_SHOWN;

	for (size_t i = 0; i < shown; i++) {
		const struct cordon_denial *d = &result->denials[i];

		add_head(s);
		str_add(s, "denied: ");
		cli_add_clean(s, d->what);
		if (d->count > 1)
			str_addf(s, " (%llu times)", (unsigned long long)d->count);
		str_addf(s, " %sby ", c->dim);
		cli_add_clean(s, d->rule);
		str_addf(s, "%s\n", c->end);
		if (d->allow && *d->allow) {
			str_addf(s, "%shint:%s ", c->dim, c->end);
			cli_add_clean(s, d->allow);
			str_add_char(s, '\n');
		}
	}
	if (result->denial_count > shown) {
		add_head(s);
		str_addf(s, "and %zu more denials; --json shows them all\n", result->denial_count - shown);
	}
}

/* What the box may reach and did not: what comes from there is no more than the payload's own "could not resolve host". */
static void add_unreached(struct str *s, const struct cordon_result *result)
{
	size_t failed = 0;

	for (size_t i = 0; i < result->network_count; i++) {
		const struct cordon_connection *c = &result->network[i];

		if (strcmp(c->decision, "failed") != 0 || failed++ >= FAILURES_SHOWN)
			continue;
		add_head(s);
		str_add(s, "network: ");
		cli_add_clean(s, c->host ? c->host : c->address ? c->address : "?");
		if (c->port)
			str_addf(s, ":%u", c->port);
		str_add(s, ": ");
		cli_add_clean(s, c->reason && *c->reason ? c->reason : "not reached");
		if (c->count > 1)
			str_addf(s, " (%llu times)", (unsigned long long)c->count);
		str_add_char(s, '\n');
	}
	if (failed > FAILURES_SHOWN) {
		add_head(s);
		str_addf(s, "and %zu more that were not reached; --json shows them all\n", failed - FAILURES_SHOWN);
	}
}

static void add_cut(struct str *s, const struct cordon_result *result, const struct cli_request *request)
{
	bool out = result->out.truncated, err = result->err.truncated;

	if (!out && !err)
		return;
	add_head(s);
	str_addf(s, "%s%s%s was cut", out ? "stdout" : "", out && err ? " and " : "", err ? "stderr" : "");
	add_remedy(s, request, "output", NULL);
	str_add_char(s, '\n');
}

/* A wall that was given up is told even after success. */
static void add_degraded(struct str *s, const struct cordon_result *result)
{
	if (!result->degraded || !result->degraded[0])
		return;
	add_head(s);
	str_add(s, "ran without");
	for (size_t i = 0; result->degraded[i]; i++)
		str_addf(s, " %s", result->degraded[i]);
	str_add(s, ", as asked for with --degrade\n");
}

static void add_usage(struct str *s, const struct cordon_result *result)
{
	bool foreign = result->engine_version && *result->engine_version;
	char size[32];

	add_head(s);
	str_addf(s, "%s in %.1f ms, CPU %.1f ms, memory %s; level %s, %s%slimits by %s\n",
		 cordon_status_name(result->status), (double)result->wall_us / 1e3, (double)result->cpu_us / 1e3,
		 str_size(result->memory_peak_bytes, size), result->level ? result->level : "none",
		 foreign ? result->engine_version : "", foreign ? ", " : "",
		 result->limit_source ? result->limit_source : "none");
	if (!result->layers || !result->layers[0])
		return;
	add_head(s);
	str_add(s, "layers:");
	for (size_t i = 0; result->layers[i]; i++)
		str_addf(s, " %s", result->layers[i]);
	str_add_char(s, '\n');
}

void cli_summary(const struct cordon_result *result, const struct cli_request *request, int forwarded)
{
	bool bad = result->status != CORDON_SUCCESS;
	auto_str struct str s = { 0 };

	add_status(&s, result, request, forwarded);
	if (result->status != CORDON_RESOURCE_EXCEEDED || !result->limit || strcmp(result->limit, "output") != 0)
		add_cut(&s, result, request);
	if (bad || request->verbose)
		add_denials(&s, result);
	if (bad || request->verbose)
		add_unreached(&s, result);
	add_degraded(&s, result);
	if (request->verbose)
		add_usage(&s, result);
	if (result->kept) {
		add_head(&s);
		str_add(&s, "kept ");
		cli_add_clean(&s, result->kept);
		str_add_char(&s, '\n');
	}
	if (s.len && !s.failed)
		cli_write(STDERR_FILENO, s.data, s.len);
	if (result->error)
		cli_warn(result->error);
}
