/* cordon-engine drives OCI runtimes: programs that it calls. Linked statically, so that it starts at once. */
#include "driver/driver.h"

const struct driver_engine driver_engines[] = {
	{ "crun", &oci_ops },
	{ "runc", &oci_ops },
	{ "runsc", &oci_ops },
	{ 0 },
};
