/* Which engines this host has: see engine_probe.h. */
#include "box/engine_probe.h"

#include "base/fd.h"
#include "base/libexec.h"
#include "box/errand.h"
#include "os/process.h"
#include "os/subid.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ASK_MS = 3000, PROBE_MS = 8000 }; /* a driver that hears nothing says so before */

/* The first line of `PROGRAM --version` has it: "crun version 1.8.1". */
static void ask_version(const char *program, char *ret, size_t size)
{
	char *const argv[] = { (char *)(uintptr_t)program, (char[]){ "--version" }, NULL }, *const env[] = { NULL };
	auto_proc int process = -1;
	auto_close int out = -1, theirs = -1;
	char text[256] = "", *word;
	struct pollfd p;
	int pair[2];

	snprintf(ret, size, "unknown version");
	if (pipe2(pair, O_CLOEXEC) < 0)
		return;
	out = pair[0];
	theirs = pair[1];
	if (process_clone(0, &process) == 0) {
		process_reset_signals();
		if (dup2(theirs, STDOUT_FILENO) >= 0)
			execve(program, argv, env);
		_exit(127);
	}
	fd_close(&theirs);
	p = (struct pollfd){ .fd = out, .events = POLLIN };
	if (process < 0 || poll(&p, 1, ASK_MS) <= 0 || read(out, text, sizeof(text) - 1) <= 0)
		return;
	word = strstr(text, "version ");
	if (word)
		snprintf(ret, size, "%.*s", (int)strcspn(word + 8, " \n"), word + 8);
	if (!*ret)
		snprintf(ret, size, "unknown version");
}

/* A container of an ordinary user has two ids, where we make its root. */
static bool has_ids(const struct engine *e)
{
	uid_t subuid;
	gid_t subgid;

	return geteuid() == 0 || !e->makes_root || subid_find(geteuid(), &subuid, &subgid) == 0;
}

/* The driver speaks with it: its version, or why not and what helps, on a line each. */
static void probe_daemon(const struct engine *e, const char *driver, struct engine_finding *ret)
{
	auto_free char *said = NULL;
	char *hint;

	ret->works = engine_errand(driver, e->name, "--probe", NULL, PROBE_MS, &said) == 0;
	hint = said ? strchr(said, '\n') : NULL;
	if (hint)
		*hint++ = '\0';
	if (hint && *hint)
		hint[strcspn(hint, "\n")] = '\0';
	if (ret->works)
		snprintf(ret->detail, sizeof(ret->detail), "%s, %.200s", e->about,
			 said && *said ? said : "unknown version");
	else
		snprintf(ret->detail, sizeof(ret->detail), "%s: %.250s", e->about,
			 said && *said ? said : "it does not answer");
	if (!ret->works)
		snprintf(ret->remedy, sizeof(ret->remedy), "%.200s",
			 hint && *hint ? hint : "look at its log; restarting it may help");
}

static void probe_one(const struct engine *e, struct engine_finding *ret)
{
	auto_free char *driver = e->driver ? libexec_find(e->driver) : NULL, *init = libexec_find("cordon-init");
	char program[256], version[64];

	*ret = (struct engine_finding){ .engine = e };
	if (e->is_native) {
		ret->works = true;
		snprintf(ret->detail, sizeof(ret->detail), "%s", e->about);
	} else if (!e->makes_root && driver && init) {
		probe_daemon(e, driver, ret);
	} else if (!engine_find_program(e->name, program, sizeof(program))) {
		snprintf(ret->detail, sizeof(ret->detail), "%s: not installed", e->about);
		snprintf(ret->remedy, sizeof(ret->remedy), "install %s (Debian and Ubuntu: apt-get install %s)",
			 e->name, e->name);
	} else {
		ask_version(program, version, sizeof(version));
		ret->works = has_ids(e) && driver && init;
		snprintf(ret->detail, sizeof(ret->detail), "%s, %s (%s)%s", e->about, version, program,
			 !driver || !init ? ": its driver or cordon-init is missing"
			 : ret->works     ? ""
					  : ": a user needs subordinate ids (/etc/subuid, /etc/subgid, newuidmap)");
		if (!driver || !init)
			snprintf(ret->remedy, sizeof(ret->remedy),
				 "`make install` puts %s and cordon-init into libexec/cordon", e->driver);
		else if (!ret->works)
			snprintf(ret->remedy, sizeof(ret->remedy),
				 "install uidmap and run: usermod --add-subuids 100000-165535 --add-subgids "
				 "100000-165535 USER");
	}
}

void engine_probe(struct engine_finding *ret)
{
	for (size_t i = 0; i < engine_count; i++)
		probe_one(&engines[i], &ret[i]);
}
