/* The driver's side of its conversation with the keeper: see stream/engine.h. */
#include "driver/driver.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

static void tell(struct driver *d, const void *packet, size_t len)
{
	if (!d->is_gone && send(d->control, packet, len, MSG_NOSIGNAL) < 0 && errno != EINTR && errno != EAGAIN)
		d->is_gone = true;
}

unsigned control_next(struct driver *d)
{
	struct engine_request request;
	ssize_t n;

	if (d->is_gone)
		return ENGINE_KILL;
	n = recv(d->control, &request, sizeof(request), MSG_DONTWAIT);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n <= 0) {
		d->is_gone = true;
		return ENGINE_KILL;
	}
	return n == (ssize_t)sizeof(request) && request.type >= ENGINE_KILL && request.type <= ENGINE_LEAVE
		       ? request.type
		       : 0;
}

void control_tell_created(struct driver *d)
{
	d->created.type = ENGINE_CREATED;
	tell(d, &d->created, sizeof(d->created));
}

void control_tell_numbers(struct driver *d, enum engine_packet_type type)
{
	d->exited.type = type;
	d->exited.exited = type == ENGINE_EXITED;
	tell(d, &d->exited, sizeof(d->exited));
}

void control_tell_error(struct driver *d, const struct cordon_error *error)
{
	struct engine_failed failed = { .type = ENGINE_ERROR, .error = *error };

	tell(d, &failed, sizeof(failed));
}

void control_tell_progress(struct driver *d, const struct engine_progress *progress)
{
	tell(d, progress, sizeof(*progress));
}
