/*
 * One container of a foreign engine, from start to removal. A family of engines is one function, which returns when nothing is left of
 * the container: 0 with `exited` filled, or -1. Runs in cordon-engine or cordon-engine-docker, with the caller's rights.
 */
#ifndef ENGINE_DRIVER_H
#define ENGINE_DRIVER_H

#include "engine/spec.h"
#include "stream/engine.h"

struct driver {
	const char *engine; /* "crun" */
	struct spec spec;
	int stream, control;
	struct engine_created created;
	struct engine_exited exited;
	bool is_gone; /* the keeper is: nothing is told any more */
};

/* What a program drives; ends with a name of NULL. */
struct driver_engine {
	const char *name;
	int (*drive)(struct driver *d, struct cordon_error *err);
	/* DRIVER ENGINE --probe: prints its version. DRIVER ENGINE --remove OWNER: what a killed driver left. DRIVER ENGINE
	 * --sweep: what all of them left. Runtimes have the last two only. */
	int (*aside)(struct driver *d, const char *what, const char *owner, struct cordon_error *err);
};
extern const struct driver_engine driver_engines[];

int oci_drive(struct driver *d, struct cordon_error *err);
int oci_aside(struct driver *d, const char *what, const char *owner, struct cordon_error *err);
int docker_drive(struct driver *d, struct cordon_error *err);
int docker_aside(struct driver *d, const char *what, const char *owner, struct cordon_error *err);

/* What the keeper wants next: ENGINE_KILL also at its end; 0: nothing. */
unsigned control_next(struct driver *d);
void control_tell_created(struct driver *d);
/* d->exited as it is: ENGINE_STATS or ENGINE_EXITED. */
void control_tell_numbers(struct driver *d, enum engine_packet_type type);
void control_tell_error(struct driver *d, const struct cordon_error *error);
void control_tell_progress(struct driver *d, const struct engine_progress *progress);

#endif
