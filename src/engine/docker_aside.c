/*
 * What cordon-engine-docker does besides driving a container: telling whether there is a daemon, for `cordon doctor`, removing the container
 * of a driver that was killed, for its keeper, and those of all of them, for `cordon sweep`. The caller's rights.
 */
#include "engine/docker.h"

#include "base/str.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

enum { TRIES = 20, PAUSE_MS = 500 };

static int probe(struct docker_api *api, struct driver *d, struct cordon_error *err)
{
	if (docker_open(api, d, err) < 0)
		return -1;
	printf("%s (api %s)\n", api->version.version, api->version.api);
	return 0;
}

/* Again and again for some seconds: a daemon may be starting, and what is being made has no name yet. */
static int remove_owner(struct docker_api *api, struct driver *d, const char *owner, struct cordon_error *err)
{
	const struct timespec pause = { .tv_nsec = PAUSE_MS * 1000000L };
	int r = -1;

	for (int i = 0; r < 0 && i < TRIES; i++) {
		if (i)
			nanosleep(&pause, NULL);
		docker_close(api);
		if (docker_open(api, d, err) == 0)
			r = docker_remove(api, owner);
	}
	return r;
}

static int sweep_all(struct docker_api *api, struct driver *d, struct cordon_error *err)
{
	if (docker_open(api, d, err) < 0)
		return -1;
	docker_sweep(api);
	return 0;
}

int docker_aside(struct driver *d, const char *what, const char *owner, struct cordon_error *err)
{
	struct docker_api api = { 0 };
	int r = -1;

	d->is_gone = true; /* there is nobody to be told */
	if (strcmp(what, "--probe") == 0)
		r = probe(&api, d, err);
	else if (strcmp(what, "--sweep") == 0)
		r = sweep_all(&api, d, err);
	else if (strcmp(what, "--remove") == 0 && spec_is_owner(owner))
		r = remove_owner(&api, d, owner, err);
	else
		cordon_fail(err, CORDON_INVALID, 0, "no such errand");
	docker_close(&api);
	return r;
}
