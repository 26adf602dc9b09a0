/*
 * The interface to a foreign engine: one table of functions for a family of them (oci.c, docker.c), and what they have in common
 * (drive.c, control.c). exec and files are not in it: they are init's, over the stream, and the same whoever made the container.
 * Runs in cordon-engine or cordon-engine-docker, with the caller's rights.
 */
#ifndef ENGINE_DRIVER_H
#define ENGINE_DRIVER_H

#include "driver/spec.h"
#include "stream/engine.h"

struct driver_ops;
struct driver {
	const char *engine; /* "crun" */
	const struct driver_ops *ops;
	void *state; /* the family's, from create() to destroy() */
	struct spec spec;
	int stream, control;
	struct engine_created created;
	struct engine_exited exited;
	bool is_gone; /* the keeper is: nothing is told any more */
};

enum { DRIVER_VERSION_MAX = 384 };

struct driver_ops {
	/* One container. create: until its init runs; `created` is filled. carry: until init has ended, with the stream where the engine does not
	 * hold it, and driver_obey() whenever the keeper speaks; `exited` has the status and the last numbers. destroy: after both, whatever came of
	 * them; nothing is left then. */
	int (*create)(struct driver *d, struct cordon_error *err);
	int (*carry)(struct driver *d, struct cordon_error *err);
	void (*destroy)(struct driver *d, bool is_clean);
	/* While it is carried. */
	void (*stats)(struct driver *d); /* the numbers of `exited` */
	int (*pause)(struct driver *d, struct cordon_error *err);
	int (*resume)(struct driver *d, struct cordon_error *err);
	void (*kill)(struct driver *d);
	void (*leave)(struct driver *d); /* ENGINE_LEAVE; NULL: nothing is gained by it */
	/* Without a container. probe: is it there, and which one. remove: what a killed driver left. sweep: what all of them left. */
	int (*probe)(struct driver *d, char version[DRIVER_VERSION_MAX], struct cordon_error *err);
	int (*remove)(struct driver *d, const char *owner, struct cordon_error *err);
	int (*sweep)(struct driver *d, struct cordon_error *err);
};
extern const struct driver_ops oci_ops, docker_ops;

/* What a program drives; ends with a name of NULL. */
struct driver_engine {
	const char *name;
	const struct driver_ops *ops;
};
extern const struct driver_engine driver_engines[];

/* One container, from start to removal: 0 with `exited` filled, or -1. */
int driver_run(struct driver *d, struct cordon_error *err);
/* The keeper has said something. */
void driver_obey(struct driver *d);

/* What the keeper wants next: ENGINE_KILL also at its end; 0: nothing. */
unsigned control_next(struct driver *d);
void control_tell_created(struct driver *d);
/* d->exited as it is: ENGINE_STATS or ENGINE_EXITED. */
void control_tell_numbers(struct driver *d, enum engine_packet_type type);
void control_tell_error(struct driver *d, const struct cordon_error *error);
void control_tell_progress(struct driver *d, const struct engine_progress *progress);

#endif
