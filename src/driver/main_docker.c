/* cordon-engine-docker drives daemons over HTTP: the only program with libcurl. */
#include "driver/driver.h"

const struct driver_engine driver_engines[] = {
	{ "docker", &docker_ops },
	{ "podman", &docker_ops },
	{ 0 },
};
