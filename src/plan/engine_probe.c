/* Which engines this host has: see engine_probe.h. */
#include "plan/engine_probe.h"

#include "base/libexec.h"
#include "os/subid.h"
#include "plan/errand.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PROBE_MS = 8000 }; /* a driver that hears nothing says so before */

/* A container of an ordinary user has two ids, where we make its root. */
static bool has_ids(const struct engine *e)
{
	uid_t subuid;
	gid_t subgid;

	return geteuid() == 0 || !e->makes_root || subid_find(geteuid(), &subuid, &subgid) == 0;
}

static void missing(struct engine_finding *ret, const char *what, const char *remedy)
{
	ret->works = false;
	snprintf(ret->why, sizeof(ret->why), "%s", what);
	snprintf(ret->remedy, sizeof(ret->remedy), "%s", remedy);
}

/* The driver asks it: its version, or why not and what helps, on a line each. */
static void ask_driver(const char *driver, struct engine_finding *ret)
{
	auto_free char *said = NULL;
	char *hint;

	ret->works = engine_errand(driver, ret->engine->name, "--probe", NULL, PROBE_MS, &said) == 0;
	hint = said ? strchr(said, '\n') : NULL;
	if (hint)
		*hint++ = '\0';
	if (hint && *hint)
		hint[strcspn(hint, "\n")] = '\0';
	if (!ret->works) {
		missing(ret, said && *said ? said : "it does not answer",
			hint && *hint ? hint : "look at its log; restarting it may help");
		return;
	}
	snprintf(ret->version, sizeof(ret->version), "%s", said && *said ? said : "unknown version");
}

void engine_probe_native(const struct engine *e, struct engine_finding *ret)
{
	(void)e;
	ret->works = true;
	snprintf(ret->version, sizeof(ret->version), "%s", CORDON_VERSION);
}

void engine_probe_driven(const struct engine *e, struct engine_finding *ret)
{
	auto_free char *driver = libexec_find(e->driver), *init = libexec_find("cordon-init");

	if (!driver || !init) {
		missing(ret, "its driver or cordon-init is missing",
			"`make install` puts the drivers and cordon-init into libexec/cordon");
		return;
	}
	ask_driver(driver, ret);
	if (ret->works && !has_ids(e))
		missing(ret, "a user needs subordinate ids (/etc/subuid, /etc/subgid, newuidmap)",
			"install uidmap and run: usermod --add-subuids 100000-165535 --add-subgids 100000-165535 USER");
}

void engine_probe_one(const struct engine *e, struct engine_finding *ret)
{
	*ret = (struct engine_finding){ .engine = e };
	e->probe(e, ret);
}

void engine_probe(struct engine_finding *ret)
{
	for (size_t i = 0; i < engine_count; i++)
		engine_probe_one(&engines[i], &ret[i]);
}
