/* What lasts on the host, and how it goes away: see lasting.h. Keeper and front, with the caller's rights. */
#include "box/lasting.h"

#include "base/libexec.h"
#include "base/str.h"
#include "box/protect.h"
#include "box/scratch.h"
#include "box/shelf.h"
#include "os/probe.h"
#include "plan/engine.h"
#include "plan/errand.h"
#include "policy/config.h"

enum { SWEEP_MS = 10000 };

int lasting_undo(const struct cordon_plan *plan, const char *owner, bool keep_scratch)
{
	int scratch = 0, placeholders = 0, group = 0;

	/* The opposite order of making them. */
	if ((plan->storage != PLAN_STORAGE_MEMORY || plan->level == LEVEL_PROCESS) && !keep_scratch)
		scratch = scratch_undo(plan->scratch_dir, owner);
	if (plan->protect_count)
		placeholders = placeholder_undo(plan->state_dir, owner);
	if (!plan->engine->makes_root)
		shelf_undo(plan->state_dir, owner);
	if (plan->layers & LAYER_BIT(CGROUP))
		group = cgroup_destroy_named(&plan->cgroup, owner);
	return scratch < 0 ? scratch : placeholders < 0 ? placeholders : group;
}

void lasting_sweep(const struct cgroup_host *cgroup, unsigned living, const char *state_dir, const char *scratch_dir)
{
	scratch_sweep(scratch_dir);
	placeholder_sweep(state_dir);
	shelf_sweep(state_dir);
	cgroup_sweep(cgroup, living);
}

/* What only those who made it can remove. Runtimes' containers are in one place, whichever made them. */
static void sweep_engines(void)
{
	bool swept_runtimes = false;
	char why[256];

	for (size_t i = 0; i < engine_count; i++) {
		const struct engine *e = &engines[i];
		auto_free char *driver = NULL;

		if (!e->driver || (e->makes_root && swept_runtimes) || engine_is_missing(e, why, sizeof(why)))
			continue;
		driver = libexec_find(e->driver);
		if (driver)
			(void)engine_errand(driver, e->name, "--sweep", NULL, SWEEP_MS, NULL);
		swept_runtimes |= e->makes_root;
	}
}

void cordon_sweep(void)
{
	const struct config *config = config_get(NULL);
	struct cgroup_host host;

	if (!config)
		return;
	sweep_engines();
	cgroup_probe(&host);
	lasting_sweep(&host, 0, config->state_dir, config->scratch_dir);
}
