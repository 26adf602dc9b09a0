/*
 * The front: feeds stdin, takes stdout and stderr up to their bound, passes signals on, and makes the result once the keeper has reported.
 * It never waits for end of file: when the job is gone, what is left in the pipes is taken and that is all. In the caller's process, with
 * the caller's rights.
 */
#include "box/front.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "box/result.h"
#include "box/scratch.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <termios.h>
#include <unistd.h>

enum { CHUNK = 65536, TRAFFIC_AT = 6 /* in front_loop()'s table */ };

/* The front never waits for the keeper's ear: the keeper may be waiting for the front's, with a file of --out in its hand. */
static void try_end(struct front *f)
{
	struct link_message m = { .type = LINK_END, .reason = f->end_reason };

	f->end_waits = link_send_now(f->keeper, &m) == -EAGAIN;
}

static void send_end(struct front *f, enum link_reason reason)
{
	if (f->ended)
		return;
	f->ended = true;
	f->end_reason = reason;
	try_end(f);
}

/* ---- output ---- */

static void deliver(struct front *f, enum cordon_stream id, const char *data, size_t len)
{
	struct front_stream *s = &f->streams[id == CORDON_STDERR];

	if (f->refused)
		return;
	if (f->io.output) {
		if (f->io.output(f->io.arg, id, data, len) < 0) {
			f->refused = true;
			send_end(f, LINK_CANCEL);
		}
	} else {
		str_add_bytes(&s->data, data, len);
	}
}

/* Takes what is there, once. False at end of file. */
static bool take_output(struct front *f, enum cordon_stream id)
{
	struct front_stream *s = &f->streams[id == CORDON_STDERR];
	uint64_t left = f->plan->limits.output_bytes - s->taken;
	ssize_t n = read(s->fd, f->buffer, CHUNK);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return true;
	/* A terminal's end; of a foreign box's, which is a socket, where something typed was left unread. */
	if (n < 0 && !(f->tty >= 0 && (errno == EIO || errno == ECONNRESET)))
		f->read_error = errno;
	if (n <= 0) {
		fd_close(&s->fd);
		return false;
	}
	if ((uint64_t)n > left) {
		s->truncated = true;
		n = (ssize_t)left;
	}
	s->taken += (uint64_t)n;
	if (n)
		deliver(f, id, f->buffer, (size_t)n);
	if (s->truncated) {
		send_end(f, LINK_OUTPUT);
		fd_close(&s->fd); /* more is not wanted; the box is being ended */
		return false;
	}
	return true;
}

/* The box is gone: what it wrote before is still in the pipes, and nobody can add to it. */
static void drain(struct front *f, enum cordon_stream id)
{
	struct front_stream *s = &f->streams[id == CORDON_STDERR];

	while (s->fd >= 0) {
		struct pollfd p = { .fd = s->fd, .events = POLLIN };

		if (poll(&p, 1, 0) <= 0 || !take_output(f, id))
			break;
	}
}

/* ---- input ---- */

/* What comes from a file or a pipe ends, and a terminal is told so by its key; within a line the first only ends that. Whoever has switched lines off reads
 * keys, and this is none of them. In a foreign box the terminal is elsewhere: there it is taken for what most have. */
static void end_typing(struct front *f)
{
	struct termios term;
	char key = 4; /* Ctrl-D */

	if (isatty(f->tty)) {
		if (tcgetattr(f->tty, &term) < 0 || !(term.c_lflag & ICANON))
			return;
		key = (char)term.c_cc[VEOF];
	}
	memset(f->pending, key, 2);
	f->pending_at = 0;
	f->pending_len = f->in_line ? 2 : 1;
}

static void read_stdin(struct front *f)
{
	ssize_t n = read(f->io.stdin_fd, f->pending, CHUNK);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		f->io.stdin_fd = -1;
		if (f->tty < 0)
			fd_close(&f->stdin_to);
		else if (n == 0)
			end_typing(f);
		return;
	}
	f->in_line = f->pending[n - 1] != '\n';
	f->pending_len = (size_t)n;
	f->pending_at = 0;
}

static void write_stdin(struct front *f)
{
	int to = f->tty >= 0 ? f->tty : f->stdin_to;
	ssize_t n = write(to, f->pending + f->pending_at, f->pending_len - f->pending_at);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n < 0) { /* the payload does not read any more */
		f->pending_len = f->pending_at = 0;
		f->io.stdin_fd = -1;
		fd_close(&f->stdin_to);
		return;
	}
	f->pending_at += (size_t)n;
	if (f->pending_at == f->pending_len)
		f->pending_at = f->pending_len = 0;
}

static void copy_window(struct front *f)
{
	struct link_message m = { .type = LINK_WINDOW };
	struct winsize size;

	if (f->tty < 0 || f->io.tty_fd < 0 || ioctl(f->io.tty_fd, TIOCGWINSZ, &size) < 0)
		return;
	m.window = (uint32_t)size.ws_row << 16 | size.ws_col;
	/* Of a foreign box we have a socket, and its terminal is elsewhere. */
	if (ioctl(f->tty, TIOCSWINSZ, &size) < 0)
		(void)link_send_now(f->keeper, &m);
}

static void take_control(struct front *f)
{
	unsigned char sig;
	ssize_t n = read(f->io.control_fd, &sig, 1);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		f->io.control_fd = -1;
	} else if (sig == SIGKILL) {
		send_end(f, LINK_CANCEL);
	} else if (sig == SIGWINCH && f->tty >= 0) {
		copy_window(f);
	} else {
		struct link_message m = { .type = LINK_SIGNAL, .signal = sig };

		(void)link_send_now(f->keeper, &m); /* where hundreds wait already, one more is no loss */
	}
}

/* ---- the keeper ---- */

static void start_terminal(struct front *f, int *fd)
{
	f->tty = STEAL_FD(*fd);
	(void)fd_set_nonblock(f->tty, true);
	f->streams[0].fd = fcntl(f->tty, F_DUPFD_CLOEXEC, 3);
	copy_window(f);
}

/* False when the keeper is gone. */
static bool from_keeper(struct front *f)
{
	struct link_message m;
	int fd = -1, r = link_receive(f->keeper, &m, &fd);

	if (r <= 0) {
		f->link_error = -r;
		return r == -EAGAIN || r == -EPROTO;
	}
	switch (m.type) {
	case LINK_TTY:
		start_terminal(f, &fd);
		break;
	case LINK_FILE:
		collect_file(&f->collect, &m.file, fd);
		break;
	case LINK_PROGRESS:
		m.progress.text[sizeof(m.progress.text) - 1] = '\0';
		if (f->io.progress)
			f->io.progress(f->io.arg, m.progress.text, m.progress.done_bytes, m.progress.total_bytes);
		break;
	case LINK_REPORT:
		f->reported = link_receive_report(f->keeper, &f->report) == 0;
		if (!f->reported)
			return false;
		break;
	case LINK_ERROR: /* a box that lives, and does not any more */
		f->gone = m.error;
		fd_close(&fd);
		return false;
	case LINK_MAPPED:
	case LINK_CGROUP:
	case LINK_STARTED:
	case LINK_EXITED:
	case LINK_SIGNAL:
	case LINK_WINDOW:
	case LINK_END:
	case LINK_COLLECT:
	case LINK_OPENED:
	case LINK_JOB:
	case LINK_STAT:
	case LINK_PAUSE:
	case LINK_RESUME:
	case LINK_STATS:
		break; /* not for the front */
	case LINK_COLLECTED:
		f->collected = true;
		break;
	}
	fd_close(&fd);
	return !f->reported;
}

static void front_loop(struct front *f)
{
	for (;;) {
		bool full = f->pending_len != 0;
		int sink = f->tty >= 0 ? f->tty : f->stdin_to;
		struct pollfd fds[TRAFFIC_AT + 1 + TRAFFIC_FETCHES] = {
			{ .fd = f->keeper, .events = (short)(f->end_waits ? POLLIN | POLLOUT : POLLIN) },
			{ .fd = f->streams[0].fd, .events = POLLIN },
			{ .fd = f->streams[1].fd, .events = POLLIN },
			{ .fd = f->io.control_fd, .events = POLLIN },
			{ .fd = sink >= 0 && !full ? f->io.stdin_fd : -1, .events = POLLIN },
			{ .fd = full ? sink : -1, .events = POLLOUT },
		};

		traffic_poll(f->traffic, fds + TRAFFIC_AT);
		if (poll(fds, ARRAY_LEN(fds), traffic_timeout_ms(f->traffic)) < 0 && errno != EINTR)
			return;
		traffic_serve(f->traffic, fds + TRAFFIC_AT);
		if (fds[1].revents)
			(void)take_output(f, CORDON_STDOUT);
		if (fds[2].revents)
			(void)take_output(f, CORDON_STDERR);
		if (fds[3].revents)
			take_control(f);
		if (fds[4].revents)
			read_stdin(f);
		if (fds[5].revents)
			write_stdin(f);
		if (fds[0].revents & POLLOUT)
			try_end(f);
		if ((fds[0].revents & ~POLLOUT) && !from_keeper(f))
			return;
	}
}

/* ---- starting and ending ---- */

int front_init(struct front *f, const struct cordon_plan *plan, const struct cordon_io *io, struct traffic *traffic)
{
	*f = (struct front){ .plan = plan, .traffic = traffic };
	f->io = (struct cordon_io){ .stdin_fd = -1, .control_fd = -1, .tty_fd = -1 };
	if (io) /* a caller of an older header has a shorter one */
		memcpy(&f->io, io, io->size < sizeof(*io) ? io->size : sizeof(*io));
	f->keeper = f->stdin_to = f->tty = f->streams[0].fd = f->streams[1].fd = -1;
	traffic->told = f->io.connection;
	traffic->arg = f->io.arg;
	f->pending = malloc(CHUNK);
	f->buffer = malloc(CHUNK);
	return f->pending && f->buffer ? 0 : -ENOMEM;
}

void front_done(struct front *f)
{
	for (int i = 0; i < 2; i++) {
		fd_close(&f->streams[i].fd);
		str_done(&f->streams[i].data);
	}
	fd_close(&f->stdin_to);
	fd_close(&f->tty);
	free(f->pending);
	free(f->buffer);
}

static void close_pair(int pair[2])
{
	fd_close(&pair[0]);
	fd_close(&pair[1]);
}

/* None of them as 0, 1 or 2, which the payload's own become: a copy there would outlive them in keeper and init. */
int front_above_stdio(int pair[2])
{
	pair[0] = fd_above_stdio(pair[0]);
	pair[1] = fd_above_stdio(pair[1]);
	return pair[0] < 0 ? pair[0] : pair[1] < 0 ? pair[1] : 0;
}

int front_open_pipes(struct front *f, struct pipes *p)
{
	int r = 0;

	*p = (struct pipes){ { -1, -1 }, { -1, -1 }, { -1, -1 } };
	if (f->io.stdin_fd >= 0 && !f->plan->tty) {
		r = pipe2(p->in, O_CLOEXEC) < 0 ? -errno : front_above_stdio(p->in);
	} else {
		p->in[0] = open("/dev/null", O_RDONLY | O_CLOEXEC);
		p->in[0] = p->in[0] < 0 ? -errno : fd_above_stdio(p->in[0]);
		r = p->in[0] < 0 ? p->in[0] : 0;
	}
	if (r == 0)
		r = pipe2(p->out, O_CLOEXEC) < 0 ? -errno : front_above_stdio(p->out);
	if (r == 0)
		r = pipe2(p->err, O_CLOEXEC) < 0 ? -errno : front_above_stdio(p->err);
	return r;
}

void front_close_theirs(struct pipes *p)
{
	fd_close(&p->in[0]);
	fd_close(&p->out[1]);
	fd_close(&p->err[1]);
}

void front_close_pipes(struct pipes *p)
{
	close_pair(p->in);
	close_pair(p->out);
	close_pair(p->err);
}

void front_take_pipes(struct front *f, struct pipes *p)
{
	f->stdin_to = STEAL_FD(p->in[1]);
	f->streams[0].fd = STEAL_FD(p->out[0]);
	f->streams[1].fd = STEAL_FD(p->err[0]);
	for (int i = 0; i < 2; i++)
		(void)fd_set_nonblock(f->streams[i].fd, true);
	if (f->stdin_to >= 0)
		(void)fd_set_nonblock(f->stdin_to, true);
	if (f->plan->tty)
		fd_close(&f->streams[0].fd); /* the terminal takes its place */
}

/* A write into a pipe that nobody reads must not end the caller's process. */
void front_serve(struct front *f)
{
	struct timespec none = { 0 };
	sigset_t pipe_set, before, pending;

	sigemptyset(&pipe_set);
	sigaddset(&pipe_set, SIGPIPE);
	(void)pthread_sigmask(SIG_BLOCK, &pipe_set, &before);
	front_loop(f);
	(void)sigpending(&pending);
	if (sigismember(&pending, SIGPIPE) && !sigismember(&before, SIGPIPE))
		(void)sigtimedwait(&pipe_set, NULL, &none);
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void front_drain(struct front *f)
{
	drain(f, CORDON_STDOUT);
	drain(f, CORDON_STDERR);
	traffic_drain(f->traffic);
}

int front_result(struct front *f, struct cordon_result **ret_result, struct cordon_error *err)
{
	struct result *result;

	if (!f->reported) {
		if (f->gone.code != CORDON_OK) {
			if (err)
				*err = f->gone;
			return -1;
		}
		if (f->link_error) {
			cordon_fail(err, CORDON_SYSTEM, f->link_error, "hear from the keeper");
		} else {
			cordon_fail(err, CORDON_SYSTEM, 0, "the keeper was killed before it could report");
			(void)fail_hint(err, "the box was ended with it and what it left was removed; see the kernel "
					     "log for an OOM kill");
		}
		return fail_step(err, "keeper");
	}
	if (f->report.error.code == CORDON_OK && f->collect_error.code != CORDON_OK)
		f->report.error = f->collect_error;
	if (f->report.error.code == CORDON_OK && f->read_error) { /* what is missing may be all that it said */
		f->report.failed = true;
		cordon_fail(&f->report.error, CORDON_SYSTEM, f->read_error, "read the payload's output");
		(void)fail_step(&f->report.error, "front");
	}
	if (!f->report.started && f->report.error.code != CORDON_OK && f->report.error.code != CORDON_NOT_FOUND &&
	    f->report.error.code != CORDON_NOT_EXECUTABLE && f->report.error.code != CORDON_DENIED) {
		if (err)
			*err = f->report.error;
		return -1;
	}
	/* The payload may end of the closed pipe before the keeper hears why it was closed. */
	f->report.over_output = f->report.over_output || f->streams[0].truncated || f->streams[1].truncated;
	result = result_new(f->plan, &f->report, f->traffic);
	if (!result)
		return fail_memory(err);
	for (int i = 0; i < 2; i++) {
		struct cordon_bytes *b = i ? &result->public.err : &result->public.out;

		b->len = f->streams[i].data.len;
		b->truncated = f->streams[i].truncated;
		b->data = str_take(&f->streams[i].data);
	}
	if (!result->public.out.data || !result->public.err.data) {
		cordon_result_free(&result->public);
		return fail_memory(err);
	}
	if (f->plan->keep && strv_add_take(&result->texts, scratch_keep(f->plan->scratch_dir, f->owner)) == 0)
		result->public.kept = result->texts.v[result->texts.n - 1];
	*ret_result = &result->public;
	return 0;
}
