/*
 * The payload's stdin, stdout and stderr: three pipes, or a terminal of the container's own devpts, whose master stays with init. Both belong to
 * who makes them, and /dev/stdin and its like are opened anew: they are made in the payload's name. Runs in init.
 */
#include "inner/inner.h"

#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <unistd.h>

static int open_pipes(struct inner_stdio *s)
{
	int pair[2];

	if (pipe2(pair, O_CLOEXEC) < 0)
		return -errno;
	s->theirs[0] = pair[0];
	s->in = pair[1];
	for (int i = 0; i < 2; i++) {
		if (pipe2(pair, O_CLOEXEC) < 0)
			return -errno;
		s->outs[i] = pair[0];
		s->theirs[i + 1] = pair[1];
	}
	return 0;
}

void inner_set_window(int terminal, uint32_t window)
{
	const struct winsize size = { .ws_row = (unsigned short)(window >> 16), .ws_col = (unsigned short)window };

	if (window)
		(void)ioctl(terminal, TIOCSWINSZ, &size);
}

static int open_terminal(struct inner_stdio *s, uint32_t window)
{
	int number, unlocked = 0;
	char path[32];

	s->outs[0] = open("/dev/pts/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (s->outs[0] < 0)
		s->outs[0] = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (s->outs[0] < 0 || ioctl(s->outs[0], TIOCSPTLCK, &unlocked) < 0 || ioctl(s->outs[0], TIOCGPTN, &number) < 0)
		return -errno;
	snprintf(path, sizeof(path), "/dev/pts/%d", number);
	s->theirs[0] = open(path, O_RDWR | O_NOCTTY | O_CLOEXEC);
	s->in = fcntl(s->outs[0], F_DUPFD_CLOEXEC, 3);
	for (int i = 1; i < 3 && s->theirs[0] >= 0; i++)
		s->theirs[i] = fcntl(s->theirs[0], F_DUPFD_CLOEXEC, 3);
	if (s->theirs[0] < 0 || s->theirs[1] < 0 || s->theirs[2] < 0 || s->in < 0)
		return -errno;
	inner_set_window(s->outs[0], window);
	return 0;
}

int inner_stdio_open(struct inner_stdio *s, const struct stream_job *job)
{
	int r = job->uid && (setegid(job->gid) < 0 || seteuid(job->uid) < 0) ? -errno : 0;

	*s = (struct inner_stdio)INNER_STDIO_INIT;
	if (r == 0)
		r = job->flags & STREAM_TTY ? open_terminal(s, job->window) : open_pipes(s);
	if (job->uid && (seteuid(0) < 0 || setegid(0) < 0))
		r = r < 0 ? r : -errno;
	(void)fd_set_nonblock(s->in, true);
	for (int i = 0; i < 2; i++)
		(void)fd_set_nonblock(s->outs[i], true);
	return r;
}

void inner_stdio_given(struct inner_stdio *s)
{
	for (int i = 0; i < 3; i++)
		fd_close(&s->theirs[i]);
}

void inner_stdio_done(struct inner_stdio *s)
{
	inner_stdio_given(s);
	fd_close(&s->in);
	fd_close(&s->outs[0]);
	fd_close(&s->outs[1]);
}
