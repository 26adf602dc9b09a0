/* cordon-engine-docker drives daemons over HTTP: the only program with libcurl. */
#include "engine/driver.h"

const struct driver_engine driver_engines[] = {
	{ "docker", docker_drive },
	{ "podman", docker_drive },
	{ 0 },
};
