/* Which engines this host has, for `cordon doctor`. Runs in the caller. */
#ifndef BOX_ENGINE_PROBE_H
#define BOX_ENGINE_PROBE_H

#include "plan/engine.h"

struct engine_finding {
	const struct engine *engine;
	bool works;       /* a box can be built with it, by this caller */
	char detail[512]; /* its version and place, or why not */
	char remedy[256]; /* what helps; empty: nothing is known, or wanted */
};
/* engine_count of them, in the order of the table. Runtimes are asked for their version. */
void engine_probe(struct engine_finding *ret);

#endif
