/* cordon completion bash|zsh|fish: the files of completions/, which ask `cordon completion words` for the candidates. */
#include "cli/cli.h"

#include <string.h>

int cmd_completion(int argc, char **argv)
{
	auto_request struct cli_request r = { 0 };
	struct cordon_error err = { 0 };

	if (argc > 1 && strcmp(argv[1], "words") == 0)
		return cli_words(argv + 2);
	if (cli_parse(&r, SCOPE_OTHER, argc, argv, &err) < 0)
		return cli_fail_usage(&err, r.json);
	if (r.help)
		return cli_help(cli_command_find("completion"));
	for (const struct cli_script *s = cli_scripts; s->name && r.words.n == 1; s++)
		if (strcmp(s->name, r.words.v[0]) == 0)
			return cli_print(strdup(s->text), 0);
	if (r.words.n == 1)
		cordon_fail(&err, CORDON_INVALID, 0, "no completion for '%s'", r.words.v[0]);
	else
		cordon_fail(&err, CORDON_INVALID, 0, "completion: for which shell?");
	fail_hint(&err, "cordon completion bash|zsh|fish");
	return cli_fail_usage(&err, r.json);
}
