/* cordon-engine drives OCI runtimes: programs that it calls. Linked statically, so that it starts at once. */
#include "engine/driver.h"

const struct driver_engine driver_engines[] = {
	{ "crun", oci_drive, oci_aside },
	{ "runc", oci_drive, oci_aside },
	{ "runsc", oci_drive, oci_aside },
	{ 0 },
};
