/*
 * The terminal of a foreign box. The payload's is made by init, in the container; its master cannot be handed out. The front gets one end of a
 * socket in its place, whose bytes are carried like any input and output, and tells the window's size as a message. Runs in the keeper.
 */
#include "engine/foreign_state.h"

#include "base/error.h"
#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>

int foreign_open_terminal(struct foreign *f, struct cordon_error *err)
{
	const struct link_message m = { .type = LINK_TTY };
	auto_close int theirs = -1;
	int pair[2], r;

	if (!f->plan->tty)
		return 0;
	fd_close(&f->input);
	fd_close(&f->outputs[0]);
	r = socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0 ? -errno : 0;
	if (r == 0) {
		f->input = pair[0];
		theirs = pair[1];
		f->outputs[0] = fcntl(f->input, F_DUPFD_CLOEXEC, 3);
		r = f->outputs[0] < 0 ? -errno : fd_set_nonblock(f->input, true);
	}
	r = r < 0 ? r : link_send(f->k->fds->front, &m, theirs);
	if (r == 0)
		return 0;
	cordon_fail(err, CORDON_SYSTEM, -r, "hand over the terminal");
	return fail_step(err, "terminal");
}

void foreign_set_window(struct keeper *k, uint32_t window)
{
	struct foreign *f = k->engine;

	f->window = window;
	if (f->has_job && !k->report.has_exit)
		frame_put_u32(&f->queue, FRAME_WINDOW, window);
}
