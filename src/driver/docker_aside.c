/*
 * What cordon-engine-docker does besides driving a container: telling whether there is a daemon, for `cordon doctor`, removing the container
 * of a driver that was killed, for its keeper, and those of all of them, for `cordon sweep`. The caller's rights.
 */
#include "driver/docker.h"

#include "base/str.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

enum { TRIES = 20, PAUSE_MS = 500 };

int docker_probe(struct driver *d, char version[DRIVER_VERSION_MAX], struct cordon_error *err)
{
	struct docker_api api = { 0 };
	int r = docker_open(&api, d, err);

	if (r == 0)
		snprintf(version, DRIVER_VERSION_MAX, "%s (api %s)", api.version.version, api.version.api);
	docker_close(&api);
	return r;
}

/* Again and again for some seconds: a daemon may be starting, and what is being made has no name yet. */
int docker_remove_of(struct driver *d, const char *owner, struct cordon_error *err)
{
	const struct timespec pause = { .tv_nsec = PAUSE_MS * 1000000L };
	struct docker_api api = { 0 };
	int r = -1;

	for (int i = 0; r < 0 && i < TRIES; i++) {
		if (i)
			nanosleep(&pause, NULL);
		docker_close(&api);
		if (docker_open(&api, d, err) == 0)
			r = docker_remove(&api, owner);
	}
	docker_close(&api);
	return r;
}

int docker_sweep_now(struct driver *d, struct cordon_error *err)
{
	struct docker_api api = { 0 };
	int r = docker_open(&api, d, err);

	if (r == 0)
		docker_sweep(&api);
	docker_close(&api);
	return r;
}
