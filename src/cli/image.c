/* cordon image …: other programs do it, so that nothing that unpacks archives or talks to daemons is part of this one. */
#include "base/libexec.h"
#include "cli/cli.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

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
