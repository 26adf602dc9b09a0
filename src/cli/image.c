/* cordon image …: other programs do it, so that nothing that unpacks archives or talks to daemons is part of this one. */
#include "base/fd.h"
#include "base/libexec.h"
#include "cli/cli.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

const struct cli_image_flag cli_image_flags[] = {
	{ "import", "--max-size", "SIZE", "how much its files may be [32G]" },
	{ "import", "--max-entries", "NUMBER", "how many files [2m]" },
	{ "import", "--max-ratio", "NUMBER", "how well it may be packed, to one [200]" },
	{ "build pull", "--engine", "docker|podman", "who does it; else Docker, or Podman where there is none" },
	{ "build", "-t, --tag", "NAME", "what it is called" },
	{ "build", "-f, --file", "FILE", "the Dockerfile, instead of DIR/Dockerfile" },
	{ "build", "--build-arg", "NAME=VALUE", "a variable of the Dockerfile (ARG)" },
	{ "build", "--net", "open|none", "whether the build has a network, which is the engine's [open]" },
	{ "build pull", "--no-import", NULL, "leave it in the engine, for `--engine docker --image NAME`" },
	{ "import ls inspect", "--json", NULL, "JSON on stdout" },
	{ "import build pull ls rm inspect", "-h, --help", NULL, "this" },
	{ 0 },
};

bool cli_image_takes(const struct cli_image_flag *flag, const char *verb)
{
	size_t len = strlen(verb);

	for (const char *p = flag->verbs; *p; p += strcspn(p, " "), p += *p == ' ')
		if (strcspn(p, " ") == len && memcmp(p, verb, len) == 0)
			return true;
	return false;
}

char *cli_image_list(void)
{
	auto_free char *program = libexec_find("cordon-image");
	char *const argv[] = { (char[]){ "image" }, (char[]){ "ls" }, NULL };
	auto_close int out = -1, theirs = -1;
	struct str s = { 0 };
	char buf[4096];
	int pair[2];
	ssize_t n;
	pid_t pid;

	if (!program || pipe2(pair, O_CLOEXEC) < 0)
		return NULL;
	out = pair[0];
	theirs = pair[1];
	pid = fork();
	if (pid == 0) {
		if (dup2(theirs, STDOUT_FILENO) >= 0)
			execv(program, argv);
		_exit(STATUS_FAILED);
	}
	fd_close(&theirs);
	while (pid > 0 && (n = read(out, buf, sizeof(buf))) > 0)
		str_add_bytes(&s, buf, (size_t)n);
	if (pid > 0)
		(void)waitpid(pid, NULL, 0);
	return str_take(&s);
}

int cmd_image(int argc, char **argv)
{
	const char *name = "cordon-image";
	auto_free char *program = NULL;
	struct cordon_error err = { 0 };

	for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
		if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)
			return cli_help(cli_command_find("image"));
	if (argc > 1 && (strcmp(argv[1], "build") == 0 || strcmp(argv[1], "pull") == 0))
		name = "cordon-build";
	program = libexec_find(name);
	if (program) {
		execv(program, argv);
		cordon_fail(&err, CORDON_SYSTEM, errno, "start '%s'", program);
		return cli_fail_usage(&err, false);
	}
	cordon_fail(&err, CORDON_UNAVAILABLE, 0, "there is no program %s, which does this", name);
	fail_hint(&err, "`make install` puts it into libexec/cordon; in a build tree it lies beside the command");
	return cli_fail_usage(&err, false);
}
