#include "engine/driver.h"
int docker_drive(struct driver *d, struct cordon_error *err)
{
	return cordon_fail(err, CORDON_UNAVAILABLE, 0, "the engine %s is not there yet", d->engine);
}
