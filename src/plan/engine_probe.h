/* Which engines this host has, for `cordon doctor` and `cordon plan`. Runs in the caller. */
#ifndef PLAN_ENGINE_PROBE_H
#define PLAN_ENGINE_PROBE_H

#include "plan/engine.h"

struct engine_finding {
	const struct engine *engine;
	bool works;        /* a box can be built with it, by this caller */
	char version[256]; /* and where it is; empty where it does not work */
	char why[512];     /* not */
	char remedy[256];  /* what helps; empty: nothing is known, or wanted */
};
/* For rows of the table: our own is there; the driver of another one asks it. */
engine_probe_fn engine_probe_native, engine_probe_driven;
void engine_probe_one(const struct engine *e, struct engine_finding *ret);
/* engine_count of them, in the order of the table. */
void engine_probe(struct engine_finding *ret);

#endif
