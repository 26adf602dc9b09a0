/*
 * Who builds a box: cordon itself, or a container engine. One table of what each holds, from which the plan, `cordon doctor` and the
 * result are told. What an engine cannot hold is refused when a plan is made. Runs in the front, with the caller's rights.
 */
#ifndef PLAN_ENGINE_H
#define PLAN_ENGINE_H

#include "plan/plan.h"

/* How a box of an engine gets its network; `none` is always there. */
enum engine_network {
	ENGINE_NETWORK_REFUSED,
	ENGINE_NETWORK_OWN,     /* native */
	ENGINE_NETWORK_GIVEN,   /* the keeper makes the namespace before and gives it to the runtime */
	ENGINE_NETWORK_ENTERED, /* the engine makes it, and the keeper goes in before there is a payload */
};

struct engine_finding;
struct engine;
typedef void engine_probe_fn(const struct engine *e, struct engine_finding *ret);

struct engine {
	const char *name;
	engine_probe_fn *probe;       /* is it there, and which one: plan/engine_probe.h */
	const struct engine_ops *ops; /* who makes its boxes and acts on them: engine/engine.h */
	const char *driver;           /* the program that drives it (src/driver/driver.h); NULL: there is none */
	bool makes_root; /* the keeper lays the root out, as for a native box; else it comes from the engine's own image */
	bool own_kernel; /* the payload's calls do not reach the host's: what lies in a root does, by way of its file server */
	bool counts_no_files; /* in memory of its own, which an ordinary user has to take */
	bool keeps_numbers;   /* also of a container that has ended; else they are asked for before */
	bool tells_denials;   /* refused calls reach the result */
	enum engine_network network;
	unsigned layers;   /* LAYER_BIT: what a box of it can have */
	const char *about; /* what it is, in a few words */
};

enum { ENGINES_MAX = 6 };
extern const struct engine engines[ENGINES_MAX]; /* in the order of enum policy_engine */
extern const size_t engine_count;

/* Where runtimes keep the directories of a user's containers; root's is the driver's own default. NULL: memory ran out. */
char *engine_directory(uid_t uid);
/* A program as the driver looks for it: PATH, then where systems put it. */
bool engine_find_program(const char *name, char *buf, size_t size);
/* By looking alone; *ret_why says it. That nothing is missing does not mean that it works: `cordon doctor` asks it. */
bool engine_is_missing(const struct engine *e, char *ret_why, size_t size);

int plan_resolve_engine(struct cordon_plan *plan, const struct cordon_policy *policy, struct cordon_error *err);
/* How a box gets its network; and this one. */
enum engine_network engine_network(const struct engine *e, bool as_root);
enum engine_network plan_engine_network(const struct cordon_plan *plan);
/* Once everything else is known. */
int plan_check_engine(const struct cordon_plan *plan, const struct cordon_policy *policy, struct cordon_error *err);

#endif
