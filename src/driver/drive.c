/* What driving a container is, whatever the engine: see driver.h. */
#include "driver/driver.h"

/* Answered with the numbers, or with why it cannot be had: the container goes on then. */
static void set_paused(struct driver *d, bool paused)
{
	struct cordon_error err = { 0 };

	if ((paused ? d->ops->pause : d->ops->resume)(d, &err) < 0) {
		control_tell_error(d, &err);
		return;
	}
	d->exited.paused = paused;
	d->ops->stats(d);
	control_tell_numbers(d, ENGINE_STATS);
}

void driver_obey(struct driver *d)
{
	unsigned what = control_next(d);

	switch (what) {
	case ENGINE_KILL:
		d->ops->kill(d);
		break;
	case ENGINE_STAT:
		d->ops->stats(d);
		control_tell_numbers(d, ENGINE_STATS);
		break;
	case ENGINE_PAUSE:
	case ENGINE_RESUME:
		set_paused(d, what == ENGINE_PAUSE);
		break;
	case ENGINE_LEAVE:
		if (d->ops->leave)
			d->ops->leave(d);
		break;
	default:
		break;
	}
}

int driver_run(struct driver *d, struct cordon_error *err)
{
	int r = d->ops->create(d, err);

	if (r == 0) {
		control_tell_created(d);
		r = d->ops->carry(d, err);
	}
	d->ops->destroy(d, r == 0);
	return r;
}
