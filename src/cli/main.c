/* The command: one row per subcommand. On the way to a run nothing is done that the run does not need. */
#include "cli/cli.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

static const struct cli_command commands[] = {
	{ "run", cmd_run, SCOPE_RUN, "[OPTIONS] [--] COMMAND [ARG…]", "run a command in a box", NULL,
	  "cordon run -- ls -l /\n"
	  "cordon run --rw .:/work --workdir /work --timeout 5m -- make test\n"
	  "cordon run --policy strict --json -- python3 -c 'print(6 * 7)'\n" },
	{ "code", cmd_code, SCOPE_CODE, "LANG FILE|-|-e CODE [OPTIONS] [-- ARG…]",
	  "run a program text in a box: python, bash, node …", NULL,
	  "cordon code python -e 'print(6 * 7)'\n"
	  "cordon code python app.py --ro /srv/data -- --verbose\n"
	  "generate | cordon code bash - --memory 64M --timeout 2s\n" },
	{ "plan", cmd_plan, SCOPE_JOB, "[OPTIONS] [--] COMMAND [ARG…]\ncode LANG FILE|-|-e CODE [OPTIONS] [-- ARG…]",
	  "show what run or code would do, and touch nothing", "code",
	  "cordon plan --rw . -- make test\n"
	  "cordon plan code python app.py --json\n" },
	{ "policy", cmd_policy, SCOPE_SHOW,
	  "check NAME|FILE\nshow [NAME|FILE] [OPTIONS] [--json]\nschema\nlist [--json]",
	  "check, show and list policies", "check show schema list",
	  "cordon policy check ./agent.yaml\n"
	  "cordon policy show strict --memory 64M\n" },
	{ "image", cmd_image, SCOPE_OTHER,
	  "import [--max-size SIZE] [--max-entries NUMBER] [--max-ratio NUMBER] FILE|DIR|- [NAME]\nbuild [--engine "
	  "docker|podman] [-t NAME] [-f FILE] [--build-arg NAME=VALUE] [--net open|none] [--no-import] [DIR]\npull "
	  "[--engine docker|podman] [--no-import] NAME\nls\nrm NAME…\ninspect NAME",
	  "import, build, pull, list, remove and inspect images: root file systems for `--image NAME`",
	  "import build pull ls rm inspect",
	  "cordon image import python.tar python:3.12   # docker save, an OCI layout, or a root file system\n"
	  "cordon image build                           # an image for agents, by Docker or Podman: cordon-agent\n"
	  "cordon run --image python:3.12 -- python3 --version\n" },
	{ "config", cmd_config, SCOPE_OTHER, "show [--json]", "show this installation's configuration", "show", NULL },
	{ "doctor", cmd_doctor, SCOPE_OTHER, "[--json]",
	  "try each wall on this host, and say what is missing and how to get it", NULL, NULL },
	{ "languages", cmd_languages, SCOPE_OTHER, "[--json]", "list what `cordon code` can run", NULL, NULL },
	{ "sweep", cmd_sweep, SCOPE_OTHER, "", "remove what killed runs left behind; every run does it in passing",
	  NULL, NULL },
	{ "completion", cmd_completion, SCOPE_OTHER, "bash|zsh|fish", "print a completion script for a shell",
	  "bash zsh fish", "source <(cordon completion bash)\n" },
	{ "help", cmd_help, SCOPE_OTHER, "[COMMAND|options]", "show help, or the table of all policy keys", NULL,
	  NULL },
	{ "version", cmd_version, SCOPE_OTHER, "", "print the version", NULL, NULL },
};

const struct cli_command *cli_commands(size_t *ret_count)
{
	*ret_count = ARRAY_LEN(commands);
	return commands;
}

const struct cli_command *cli_command_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(commands); i++)
		if (strcmp(commands[i].name, name) == 0)
			return &commands[i];
	return NULL;
}

static int no_command(const char *name)
{
	struct cli_nearest nearest = { .word = name };
	struct cordon_error err = { 0 };

	for (size_t i = 0; i < ARRAY_LEN(commands); i++)
		cli_nearest_offer(&nearest, commands[i].name);
	cordon_fail(&err, CORDON_INVALID, 0, "no such command: %.200s", name);
	if (nearest.best)
		fail_hint(&err, "did you mean `cordon %s`?", nearest.best);
	else if (name[0] == '-')
		fail_hint(&err, "flags come after the command: cordon run [OPTIONS] -- COMMAND");
	else
		fail_hint(&err, "to run it in a box: cordon run -- %.200s …", name);
	return cli_fail_usage(&err, false);
}

/* Opened files must not become stdin, stdout or stderr where the caller closed those. */
static void open_standard_fds(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0 && errno == EBADF)
			(void)!open("/dev/null", O_RDWR);
}

int main(int argc, char **argv)
{
	static const char *const aliases[][2] = {
		{ "--help", "help" },
		{ "-h", "help" },
		{ "--version", "version" },
		{ "-V", "version" },
	};
	const struct cli_command *command;
	const char *name = argc > 1 ? argv[1] : "help";

	open_standard_fds();
	for (size_t i = 0; i < ARRAY_LEN(aliases); i++)
		if (strcmp(name, aliases[i][0]) == 0)
			name = aliases[i][1];
	command = cli_command_find(name);
	if (!command)
		return no_command(name);
	return argc > 1 ? command->main(argc - 1, argv + 1) : command->main(argc, argv);
}
