/*
 * Any policy with any job as a plan. The input is lines of the job ("arg …", "in …", "out …", "dir …", "env …", "code LANG"), an empty
 * line, and the policy. A plan that is built never mounts what is forbidden, fits its private files into their limit and can be told;
 * one that is refused says why. Building changes nothing: what is opened is O_PATH.
 */
#include "plan/plan.h"
#include "base/path.h"
#include "base/str.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void die(const char *what, const char *detail)
{
	fprintf(stderr, "%s: %s\n", what, detail ? detail : "");
	abort();
}

struct fuzz_job {
	struct strv args, ins, outs, env;
	char *dir, *code;
};

static void read_line(struct fuzz_job *j, const char *line)
{
	if (str_starts(line, "arg "))
		(void)strv_add(&j->args, line + 4);
	else if (str_starts(line, "in "))
		(void)strv_add(&j->ins, line + 3);
	else if (str_starts(line, "out "))
		(void)strv_add(&j->outs, line + 4);
	else if (str_starts(line, "env "))
		(void)strv_add(&j->env, line + 4);
	else if (str_starts(line, "dir ") && !j->dir)
		j->dir = strdup(line + 4);
	else if (str_starts(line, "code ") && !j->code)
		j->code = strdup(line + 5);
}

static void check_plan(const struct cordon_plan *plan)
{
	static const char *const never[] = { "/root", "/proc", "/sys",        "/dev",
					     "/boot", "/run",  "/etc/shadow", "/etc/passwd" };
	char *text = cordon_plan_describe(plan, CORDON_TEXT), *json = cordon_plan_describe(plan, CORDON_JSON);
	uint64_t privates = plan->limits.tmp_bytes;

	if (!text || !json)
		die("cannot be told", NULL);
	for (size_t i = 0; i < plan->mount_count; i++) {
		const struct plan_mount *m = &plan->mounts[i];

		if (m->fd < 0 || m->dest[0] != '/' || strcmp(m->dest, "/") == 0)
			die("a mount without a place", m->source);
		for (size_t k = 0; k < ARRAY_LEN(never); k++)
			if (path_is_within(m->source, never[k]) || path_is_within(never[k], m->source))
				die("a forbidden mount", m->source);
	}
	for (size_t i = 0; i < plan->private_count; i++)
		privates += plan->privates[i].size_bytes;
	if (plan->level == LEVEL_CONTAINER && privates > plan->limits.disk_bytes)
		die("private files beyond limits.disk", text);
	if (!plan->argv.n || !plan->argv.v[0][0])
		die("nothing to run", text);
	free(text);
	free(json);
}

static void build(const struct fuzz_job *j, const char *text, size_t len)
{
	const struct cordon_job job = {
		.size = sizeof(job),
		.argv = (const char *const *)j->args.v,
		.in = (const char *const *)j->ins.v,
		.out = (const char *const *)j->outs.v,
		.env = (const char *const *)j->env.v,
		.workdir = j->dir,
		.language = j->code,
		.code = j->code ? "1" : NULL,
		.code_len = j->code ? 1 : 0,
	};
	struct cordon_policy *policy = NULL;
	struct cordon_plan *plan = NULL;
	struct cordon_error err = { 0 };

	if (cordon_policy_parse(&policy, "f.yaml", "/dir", text, len, &err) == 0) {
		err = (struct cordon_error){ 0 };
		if (cordon_plan_new(&plan, policy, &job, &err) == 0)
			check_plan(plan);
		else if (!err.code || !err.message[0])
			die("refused without a reason", text);
	}
	cordon_plan_free(plan);
	cordon_policy_free(policy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1), *rest;
	struct fuzz_job j = { 0 };

	if (!text)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	for (rest = text; *rest && *rest != '\n';) {
		char *end = strchr(rest, '\n');

		if (end)
			*end = '\0';
		read_line(&j, rest);
		rest = end ? end + 1 : rest + strlen(rest);
	}
	if (*rest == '\n')
		rest++;
	build(&j, rest, size - (size_t)(rest - text));
	strv_done(&j.args);
	strv_done(&j.ins);
	strv_done(&j.outs);
	strv_done(&j.env);
	free(j.dir);
	free(j.code);
	free(text);
	return 0;
}
