/*
 * Serving the payload: its input as far as credit goes, its output as far as the stream has room, signals, refused calls, its end.
 * Nothing here waits for anybody: a keeper that does not read holds up the payload's output, and END is heard all the same.
 */
#include "inner/inner.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "os/netlink_quota.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	CREDIT = 65536,     /* input that waits here at most */
	QUEUE_MAX = 131072, /* output that waits here at most, but for what was left at the end */
	DENIALS_FREE = 256, /* refused calls answered at once; beyond, at most one batch a millisecond */
	BATCH = 64,
};

/* ---- starting ---- */

static _Noreturn void become(const struct stream_job *job, const int stdio[3], int said)
{
	struct inner_said failed = { .is_error = true };

	(void)inner_become_payload(job, stdio, said, &failed.error);
	(void)fd_send(said, &failed, sizeof(failed), NULL, 0);
	_exit(127);
}

int inner_start(struct inner *n, struct cordon_error *err)
{
	struct inner_stdio stdio;
	int said[2] = { -1, -1 }, r = inner_stdio_open(&stdio, &n->job);

	if (r < 0)
		cordon_fail(err, CORDON_SYSTEM, -r, "make the payload's %s",
			    n->job.flags & STREAM_TTY ? "terminal" : "pipes");
	else if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, said) < 0)
		r = cordon_fail(err, CORDON_SYSTEM, errno, "make a socket to the payload");
	else if ((n->payload = fork()) < 0)
		r = cordon_fail(err, CORDON_SYSTEM, errno, "fork the payload");
	if (r < 0) { /* a container that lives goes on */
		n->payload = 0;
		inner_stdio_done(&stdio);
		fd_close(&said[0]);
		fd_close(&said[1]);
		return -1;
	}
	if (n->payload == 0)
		become(&n->job, stdio.theirs, said[1]);
	inner_stdio_given(&stdio);
	fd_close(&said[1]);
	n->stdin_to = stdio.in;
	n->streams[0] = stdio.outs[0];
	n->streams[1] = stdio.outs[1];
	n->child = said[0];
	return 0;
}

/* What the child said before it became the payload, or why it could not. */
static void from_child(struct inner *n)
{
	struct inner_said said;
	size_t fds = 0;
	int fd = -1;
	ssize_t got = fd_recv(n->child, &said, sizeof(said), &fd, 1, &fds);

	if (got != sizeof(said)) {
		fd_close(&n->child); /* it executed, or is gone */
	} else if (said.is_error) {
		frame_put_error(&n->queue, &said.error);
	} else {
		n->listener = fds ? STEAL_FD(fd) : -1;
		frame_put_u32(&n->queue, FRAME_STARTED, said.applied);
		frame_put_u32(&n->queue, FRAME_CREDIT, CREDIT);
	}
	fd_close(&fd);
}

/* ---- refused calls ---- */

static void count_denial(struct inner *n, int nr)
{
	for (size_t i = 0; i < n->denial_count; i++)
		if (n->denials[i].nr == nr) {
			n->denials[i].count++;
			return;
		}
	if (n->denial_count < INNER_DENIALS)
		n->denials[n->denial_count++] = (struct frame_denial){ .nr = nr, .count = 1 };
}

static void from_listener(struct inner *n, short events)
{
	const struct seccomp_options options = inner_filter(&n->job, true);

	if (!(events & POLLIN)) {
		fd_close(&n->listener);
		return;
	}
	for (int i = 0; i < BATCH; i++) {
		struct pollfd p = { .fd = n->listener, .events = POLLIN };
		struct seccomp_reason reason;
		struct seccomp_event e;
		int r;

		if (poll(&p, 1, 0) <= 0 || !(p.revents & POLLIN))
			break;
		r = seccomp_receive(n->listener, &e);
		if (r == -ENOENT || r == -EINTR)
			continue; /* whoever asked was interrupted, and will ask again */
		if (r < 0)
			break;
		if (netlink_quota_asks(&e) && !options.no_sockets && !options.strict &&
		    netlink_quota_left(&e) != 0) { /* one that cannot be counted in this engine's /proc is let pass */
			(void)seccomp_continue(n->listener, e.id);
			continue;
		}
		seccomp_explain(e.nr, &options, &reason);
		count_denial(n, e.nr);
		n->denied++;
		(void)seccomp_refuse(n->listener, e.id, reason.errnum);
	}
	if (n->denied > DENIALS_FREE)
		n->throttle_us = clock_us() + 1000;
}

/* ---- input and output ---- */

static void write_input(struct inner *n)
{
	ssize_t put;

	if (n->stdin_to < 0)
		return;
	if (n->input_at < n->input.len) {
		put = write(n->stdin_to, n->input.data + n->input_at, n->input.len - n->input_at);
		if (put < 0 && errno != EAGAIN && errno != EINTR) { /* the payload does not read any more */
			fd_close(&n->stdin_to);
			n->input.len = n->input_at = 0;
			frame_put(&n->queue, FRAME_DEAF, NULL, 0);
			return;
		}
		if (put > 0) {
			n->input_at += (size_t)put;
			frame_put_u32(&n->queue, FRAME_CREDIT, (uint32_t)put);
		}
	}
	if (n->input_at < n->input.len)
		return;
	n->input.len = n->input_at = 0;
	if (n->input_ended)
		fd_close(&n->stdin_to);
}

/* False when nothing more comes, for now or ever. */
static bool take_output(struct inner *n, int i)
{
	static char buffer[65536];
	ssize_t got;

	if (n->streams[i] < 0)
		return false;
	got = read(n->streams[i], buffer, sizeof(buffer));
	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return false;
	if (got <= 0) {
		fd_close(&n->streams[i]);
		return false;
	}
	frame_put(&n->queue, i ? FRAME_STDERR : FRAME_STDOUT, buffer, (size_t)got);
	return true;
}

/* ---- the end ---- */

static uint64_t time_us(struct timeval tv)
{
	return (uint64_t)tv.tv_sec * 1000000 + (uint64_t)tv.tv_usec;
}

static void reap(struct inner *n, int flags)
{
	struct rusage usage;
	int status;
	pid_t pid;

	while ((pid = wait4(-1, &status, flags, &usage)) > 0 || (pid < 0 && errno == EINTR)) {
		if (pid < 0)
			continue;
		n->cpu_us += time_us(usage.ru_utime) + time_us(usage.ru_stime);
		if ((uint64_t)usage.ru_maxrss * 1024 > n->maxrss_bytes)
			n->maxrss_bytes = (uint64_t)usage.ru_maxrss * 1024;
		if (pid == n->payload) {
			n->payload_gone = true;
			n->status = status;
		}
		/* At the end: in gVisor a fork can slip through a kill, and would be waited for. Its parent cannot. */
		if (!(flags & WNOHANG))
			(void)kill(-1, SIGKILL);
	}
}

static void look_at_disk(const char *path, struct frame_exit *ret)
{
	struct statvfs fs;

	if (statvfs(path, &fs) < 0)
		return;
	ret->disk_full = ret->disk_full || (fs.f_blocks && fs.f_bavail <= fs.f_blocks / 256);
	ret->inodes_full = ret->inodes_full || (fs.f_files && fs.f_ffree < 4);
}

static void report_exit(struct inner *n)
{
	struct frame_exit exit = { 0 };

	n->reported = true;
	/* main() has seen that we are pid 1: every process of this namespace but ourselves. */
	(void)kill(-1, SIGKILL);
	reap(n, 0);
	while (n->child >= 0)
		from_child(n); /* why it could not be executed may still wait there */
	for (int i = 0; i < 2; i++)
		while (take_output(n, i))
			;
	for (size_t i = 0; i < n->denial_count; i++)
		frame_put_denial(&n->queue, &n->denials[i]);
	exit.status = n->status;
	exit.cpu_us = n->cpu_us;
	exit.maxrss_bytes = n->maxrss_bytes;
	for (size_t i = 0; i < n->job.disks.n; i++)
		look_at_disk(n->job.disks.v[i], &exit);
	frame_put_exit(&n->queue, &exit);
}

/* ---- the loop ---- */

static void take_frame(struct inner *n, const struct frame *f)
{
	uint32_t window;

	if (f->type == FRAME_STDIN && f->len == 0) {
		n->input_ended = true;
	} else if (f->type == FRAME_STDIN) {
		if (n->input.len - n->input_at + f->len > CREDIT)
			_exit(1); /* beyond its credit */
		if (n->input_at)
			memmove(n->input.data, n->input.data + n->input_at, n->input.len - n->input_at);
		n->input.len -= n->input_at;
		n->input_at = 0;
		if (n->stdin_to >= 0)
			str_add_bytes(&n->input, f->body, f->len);
	} else if (f->type == FRAME_SIGNAL && f->len == 1 && !n->payload_gone) {
		(void)kill(-n->payload, f->body[0]); /* the payload leads a session of its own */
	} else if (f->type == FRAME_WINDOW && frame_get_u32(f, &window) == 0) {
		inner_set_window(n->streams[0], window);
	} else if (f->type == FRAME_END || f->type == FRAME_KILL) {
		report_exit(n);
	}
}

static void from_keeper(struct inner *n)
{
	struct frame f;
	int r;

	if (!inner_read(n))
		return;
	while (!n->reported && (r = frame_next(&n->reader, &f)) != 0) {
		if (r < 0)
			_exit(1);
		take_frame(n, &f);
	}
	if (!n->reported)
		write_input(n);
}

static int open_signals(void)
{
	sigset_t child;

	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	(void)sigprocmask(SIG_BLOCK, &child, NULL);
	return signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
}

static void turn(struct inner *n, int signals)
{
	bool full = n->queue.len - n->queue_at > QUEUE_MAX, throttled = n->throttle_us > clock_us();
	struct pollfd fds[] = {
		{ .fd = n->in, .events = POLLIN },
		{ .fd = signals, .events = POLLIN },
		{ .fd = n->child, .events = POLLIN },
		{ .fd = throttled ? -1 : n->listener, .events = POLLIN },
		{ .fd = full ? -1 : n->streams[0], .events = POLLIN },
		{ .fd = full ? -1 : n->streams[1], .events = POLLIN },
		{ .fd = n->input_at < n->input.len ? n->stdin_to : -1, .events = POLLOUT },
		{ .fd = n->queue_at < n->queue.len ? n->out : -1, .events = POLLOUT },
	};

	(void)poll(fds, ARRAY_LEN(fds), throttled ? 2 : -1);
	if (fds[2].revents)
		from_child(n);
	if (fds[3].revents)
		from_listener(n, fds[3].revents);
	if (fds[4].revents)
		(void)take_output(n, 0);
	if (fds[5].revents)
		(void)take_output(n, 1);
	if (fds[6].revents)
		write_input(n);
	if (fds[0].revents)
		from_keeper(n);
	if (fds[1].revents && !n->reported) {
		struct signalfd_siginfo info;

		(void)!read(signals, &info, sizeof(info));
		reap(n, WNOHANG);
		if (n->payload_gone)
			report_exit(n);
	}
	inner_flush(n, false);
}

void inner_serve(struct inner *n)
{
	int signals = open_signals();

	reap(n, WNOHANG); /* who ended before there was anybody to hear it */
	if (n->payload_gone || !n->payload || signals < 0)
		report_exit(n);
	while (!n->reported)
		turn(n, signals);
	fd_close(&signals);
	fd_close(&n->stdin_to);
	fd_close(&n->listener);
}

void inner_forget(struct inner *n)
{
	stream_job_done(&n->job);
	n->payload = 0;
	n->payload_gone = n->reported = n->input_ended = false;
	n->status = 0;
	n->cpu_us = n->maxrss_bytes = n->denied = n->throttle_us = n->out_bytes = n->copy.bytes = n->copy.files = 0;
	n->denial_count = n->input_at = n->input.len = 0;
	fd_close(&n->child);
	fd_close(&n->streams[0]);
	fd_close(&n->streams[1]);
}
