/* cordon policy check|show|schema|list */
#include "cli/cli.h"

#include <string.h>

static int too_many(const struct cli_request *r, size_t max, struct cordon_error *err)
{
	const char *extra = r->words.n > max ? r->words.v[max] : r->rest[0];

	return extra ? cordon_fail(err, CORDON_INVALID, 0, "'%s' is one argument too many", extra) : 0;
}

static int policy_check(struct cli_request *r, struct cordon_error *err)
{
	struct cordon_policy *policy = NULL;
	const char *name = r->words.n > 1 ? r->words.v[1] : r->policy;

	if (!name)
		return cordon_fail(err, CORDON_INVALID, 0, "policy check: no policy; name a preset or a file");
	if (cordon_policy_load(&policy, name, err) < 0) {
		cli_fail(err, r->json);
		return STATUS_NO;
	}
	cordon_policy_free(policy);
	return r->json ? cli_print(strdup("{\"valid\":true}\n"), 0) : cli_print(str_printf("%s: valid\n", name), 0);
}

static int policy_show(struct cli_request *r, struct cordon_error *err)
{
	struct cordon_policy *policy = NULL;
	char *text;

	if (r->words.n > 1 && r->policy)
		return cordon_fail(err, CORDON_INVALID, 0, "two policies: '%s' and '%s'", r->words.v[1], r->policy);
	if (r->words.n > 1)
		r->policy = r->words.v[1];
	if (cli_policy(&policy, r, err) < 0) {
		cli_fail(err, r->json);
		return STATUS_NO;
	}
	text = cordon_policy_describe(policy, r->json ? CORDON_JSON : CORDON_TEXT);
	cordon_policy_free(policy);
	return cli_print(text, 0);
}

static int policy_schema(struct cli_request *r, struct cordon_error *err)
{
	(void)r;
	(void)err;
	return cli_print(cordon_policy_schema(), 0);
}

static int policy_list(struct cli_request *r, struct cordon_error *err)
{
	(void)err;
	return cli_print(cordon_policy_presets(r->json ? CORDON_JSON : CORDON_TEXT), 0);
}

static const struct verb {
	const char *name;
	int (*run)(struct cli_request *r, struct cordon_error *err); /* an exit status, or -1 and err */
	size_t words;
} verbs[] = {
	{ "check", policy_check, 2 },
	{ "show", policy_show, 2 },
	{ "schema", policy_schema, 1 },
	{ "list", policy_list, 1 },
};

static int no_verb(const char *word, struct cordon_error *err)
{
	struct cli_nearest nearest = { .word = word };

	for (size_t i = 0; i < ARRAY_LEN(verbs); i++)
		cli_nearest_offer(&nearest, verbs[i].name);
	cordon_fail(err, CORDON_INVALID, 0, *word ? "no such command: policy %s" : "policy: what about it?%s", word);
	if (nearest.best)
		return fail_hint(err, "did you mean `cordon policy %s`?", nearest.best);
	return fail_hint(err, "cordon policy check|show|schema|list");
}

int cmd_policy(int argc, char **argv)
{
	auto_request struct cli_request r = { 0 };
	struct cordon_error err = { 0 };
	const char *word;
	int status = -1;

	if (cli_parse(&r, SCOPE_SHOW, argc, argv, &err) < 0)
		return cli_fail_usage(&err, r.json);
	if (r.help)
		return cli_help(cli_command_find("policy"));
	word = r.words.n ? r.words.v[0] : "";
	for (size_t i = 0; i < ARRAY_LEN(verbs); i++) {
		if (strcmp(verbs[i].name, word) != 0)
			continue;
		if (too_many(&r, verbs[i].words, &err) == 0)
			status = verbs[i].run(&r, &err);
		return status < 0 ? cli_fail_usage(&err, r.json) : status;
	}
	no_verb(word, &err);
	return cli_fail_usage(&err, r.json);
}
