/* cordon run [OPTIONS] [--] COMMAND ARG… */
#include "cli/cli.h"

int cmd_run(int argc, char **argv)
{
	auto_request struct cli_request request = { 0 };
	auto_job struct cli_job job = { 0 };
	struct cordon_error err = { 0 };

	if (cli_parse(&request, SCOPE_RUN, argc, argv, &err) < 0)
		return cli_fail_usage(&err, request.json);
	if (request.help)
		return cli_help(cli_command_find("run"));
	if (cli_job_run(&job, &request, &err) < 0)
		return cli_job_fail(&job, &err, request.json);
	return cli_front(&job, &request);
}
