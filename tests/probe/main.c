/* The probe's table of acts: see probe.h. */
#include "probe.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *errno_name(int errnum)
{
	const char *name = strerrorname_np(errnum);

	return name ? name : "E?";
}

long number(const char *text)
{
	return (long)strtoul(text, NULL, strncmp(text, "0x", 2) == 0 ? 16 : *text == '0' ? 8 : 10);
}

static const struct act *find(const char *name)
{
	const struct act *const tables[] = { call_acts, file_acts, net_acts, process_acts };

	for (size_t i = 0; i < ARRAY_LEN(tables); i++)
		for (const struct act *a = tables[i]; a->name; a++)
			if (strcmp(a->name, name) == 0)
				return a;
	return NULL;
}

int main(int argc, char **argv)
{
	const struct act *act = argc > 1 ? find(argv[1]) : NULL;
	int r;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (!act || argc - 2 < act->argc) {
		fprintf(stderr, "probe: no such act, or too few arguments\n");
		return 2;
	}
	r = act->run(argv + 2);
	if (r != ANSWERED)
		puts(r < 0 ? errno_name(-r) : "ok");
	return 0;
}
