/* cordon-engine drives OCI runtimes: programs that it calls. Linked statically, so that it starts at once. */
#include "engine/driver.h"

const struct driver_engine driver_engines[] = {
	{ "crun", oci_drive, NULL },
	{ "runc", oci_drive, NULL },
	{ "runsc", oci_drive, NULL },
	{ 0 },
};
