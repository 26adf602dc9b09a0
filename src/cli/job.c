/* From a parsed command line to a plan: policy and job, put together. The plan copies what it keeps. */
#include "base/fd.h"
#include "base/path.h"
#include "cli/cli.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CODE_MAX_BYTES = 16 << 20 };

void cli_job_done(struct cli_job *job)
{
	cordon_plan_free(job->plan);
	job->plan = NULL;
}

int cli_job_fail(const struct cli_job *job, const struct cordon_error *err, bool json)
{
	return job->planned ? cli_fail(err, json) : cli_fail_usage(err, json);
}

static int job_plan(struct cli_job *job, const struct cli_request *r, struct cordon_job *what, struct cordon_error *err)
{
	struct cordon_policy *policy = NULL;
	int rc;

	what->size = sizeof(*what);
	what->argv = (const char *const *)r->rest;
	what->in = (const char *const *)r->in.v;
	what->out = (const char *const *)r->out.v;
	what->tty = r->tty;
	what->keep = r->keep;
	if (cli_policy(&policy, r, err) < 0)
		return -1;
	job->planned = true;
	rc = cordon_plan_new(&job->plan, policy, what, err);
	cordon_policy_free(policy);
	return rc;
}

int cli_job_run(struct cli_job *job, const struct cli_request *r, struct cordon_error *err)
{
	struct cordon_job what = { 0 };

	if (!r->rest[0]) {
		cordon_fail(err, CORDON_INVALID, 0, "no command to run");
		return fail_hint(err, "cordon run [OPTIONS] -- COMMAND ARG…");
	}
	return job_plan(job, r, &what, err);
}

/* ---- code --------------------------------------------------------------------------------------------- */

/* From the descriptor, not from /dev/stdin: that cannot be opened where stdin is a socket or another user's pipe. */
static ssize_t code_load_stdin(char **ret_text)
{
	auto_free char *text = malloc(CODE_MAX_BYTES + 2); /* untouched pages cost nothing */
	ssize_t len = text ? fd_read_full(STDIN_FILENO, text, CODE_MAX_BYTES + 1) : -ENOMEM;

	if (len < 0)
		return len;
	if (len > CODE_MAX_BYTES)
		return -EFBIG;
	text[len] = '\0';
	*ret_text = STEAL(text);
	return len;
}

static int code_load(const char *file, struct cordon_job *what, char **ret_text, struct cordon_error *err)
{
	bool from_stdin = strcmp(file, "-") == 0;
	ssize_t len = from_stdin ? code_load_stdin(ret_text) : fd_load_at(AT_FDCWD, file, CODE_MAX_BYTES, ret_text);

	if (len == -EFBIG)
		return cordon_fail(err, CORDON_INVALID, 0, "'%s' is more than %d MiB of program", file,
				   CODE_MAX_BYTES >> 20);
	if (len < 0)
		return cordon_fail(err, len == -ENOENT ? CORDON_NOT_FOUND : CORDON_SYSTEM, (int)-len, "read '%s'",
				   file);
	what->code = *ret_text;
	what->code_len = (size_t)len;
	what->code_name = from_stdin ? NULL : path_name(file);
	return 0;
}

static int code_check_words(const struct cli_request *r, struct cordon_error *err)
{
	size_t want = r->code ? 1 : 2;

	if (r->words.n == 0) {
		cordon_fail(err, CORDON_INVALID, 0, "no language");
		return fail_hint(err, "cordon code LANG FILE; `cordon languages` lists them");
	}
	if (r->words.n < want) {
		cordon_fail(err, CORDON_INVALID, 0, "no program");
		return fail_hint(err, "cordon code %s FILE, or - for stdin, or -e CODE", r->words.v[0]);
	}
	if (r->words.n > want) {
		cordon_fail(err, CORDON_INVALID, 0, "'%s' is one argument too many", r->words.v[want]);
		return fail_hint(err, "what the program itself is given comes after --");
	}
	return 0;
}

int cli_job_code(struct cli_job *job, const struct cli_request *r, struct cordon_error *err)
{
	struct cordon_job what = { 0 };
	auto_free char *text = NULL;

	if (code_check_words(r, err) < 0)
		return -1;
	what.language = r->words.v[0];
	if (r->code) {
		what.code = r->code;
		what.code_len = strlen(r->code);
	} else if (code_load(r->words.v[1], &what, &text, err) < 0) {
		return -1;
	}
	job->stdin_used = !r->code && strcmp(r->words.v[1], "-") == 0;
	return job_plan(job, r, &what, err);
}
