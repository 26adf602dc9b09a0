/* cordon plan: what `run` or `code` would do with the same arguments. Touches nothing. */
#include "cli/cli.h"

#include <string.h>

int cmd_plan(int argc, char **argv)
{
	auto_request struct cli_request request = { 0 };
	auto_job struct cli_job job = { 0 };
	struct cordon_error err = { 0 };
	bool code = argc > 1 && strcmp(argv[1], "code") == 0;
	bool named = code || (argc > 1 && strcmp(argv[1], "run") == 0);

	if (cli_parse(&request, code ? SCOPE_CODE : SCOPE_RUN, argc - named, argv + named, &err) < 0)
		return cli_fail_usage(&err, request.json);
	if (request.help)
		return cli_help(cli_command_find("plan"));
	if ((code ? cli_job_code : cli_job_run)(&job, &request, &err) < 0)
		return cli_job_fail(&job, &err, request.json);
	return cli_print(cordon_plan_describe(job.plan, request.json ? CORDON_JSON : CORDON_TEXT), 0);
}
