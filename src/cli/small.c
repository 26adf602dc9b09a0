/* The subcommands that take no more than --json: config, doctor, languages, sweep, version. */
#include "cli/cli.h"

#include <string.h>

/* -1: an exit status stands in *ret_status (help was shown, or the call was wrong). */
static int parse(struct cli_request *r, int argc, char **argv, const char *word, int *ret_status)
{
	struct cordon_error err = { 0 };
	size_t want = word ? 1 : 0;

	if (cli_parse(r, SCOPE_OTHER, argc, argv, &err) == 0) {
		if (r->help) {
			*ret_status = cli_help(cli_command_find(argv[0]));
			return -1;
		}
		if (r->words.n == want && !r->rest[0] && (!word || strcmp(r->words.v[0], word) == 0))
			return 0;
		cordon_fail(&err, CORDON_INVALID, 0, "usage: cordon %s %s", argv[0], cli_command_find(argv[0])->usage);
	}
	*ret_status = cli_fail_usage(&err, r->json);
	return -1;
}

static enum cordon_format format(const struct cli_request *r)
{
	return r->json ? CORDON_JSON : CORDON_TEXT;
}

int cmd_config(int argc, char **argv)
{
	auto_request struct cli_request r = { 0 };
	struct cordon_error err = { 0 };
	char *text = NULL;
	int status;

	if (parse(&r, argc, argv, "show", &status) < 0)
		return status;
	if (cordon_config_describe(format(&r), &text, &err) < 0)
		return cli_fail_usage(&err, r.json);
	return cli_print(text, 0);
}

int cmd_doctor(int argc, char **argv)
{
	auto_request struct cli_request r = { 0 };
	struct cordon_error err = { 0 };
	char *text = NULL;
	bool ok = false;
	int status;

	if (parse(&r, argc, argv, NULL, &status) < 0)
		return status;
	if (cordon_doctor(format(&r), &text, &ok, &err) < 0)
		return cli_fail_usage(&err, r.json);
	return cli_print(text, ok ? 0 : STATUS_NO);
}

int cmd_languages(int argc, char **argv)
{
	auto_request struct cli_request r = { 0 };
	int status;

	if (parse(&r, argc, argv, NULL, &status) < 0)
		return status;
	return cli_print(cordon_languages(format(&r)), 0);
}

int cmd_sweep(int argc, char **argv)
{
	auto_request struct cli_request r = { 0 };
	int status;

	if (parse(&r, argc, argv, NULL, &status) < 0)
		return status;
	cordon_sweep();
	return 0;
}

int cmd_version(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	return cli_print(str_printf("cordon %s\n", cordon_version()), 0);
}
