/*
 * cordon-init: see inner.h. Takes a job and the files that go in, starts the payload, serves it, hands files out; then the next one, or its
 * end. Everything in its container ends with it. Runs with the rights of the payload's user, which it never had more than; where the job
 * gives the payload an id of its own, as the container's root with rights over that one alone.
 */
#include "inner/inner.h"

#include "base/error.h"
#include "base/fd.h"
#include "os/caps.h"
#include "os/process.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

/* The kernel ends the rest of the pid namespace with its pid 1. */
static _Noreturn void leave(int status)
{
	_exit(status);
}

void inner_flush(struct inner *n, bool wait)
{
	while (n->queue_at < n->queue.len) {
		ssize_t put = write(n->out, n->queue.data + n->queue_at, n->queue.len - n->queue_at);
		struct pollfd room = { .fd = n->out, .events = POLLOUT };

		if (put >= 0) {
			n->queue_at += (size_t)put;
		} else if (errno == EAGAIN && wait) {
			(void)poll(&room, 1, -1);
		} else if (errno == EAGAIN) {
			memmove(n->queue.data, n->queue.data + n->queue_at, n->queue.len - n->queue_at);
			n->queue.len -= n->queue_at; /* what was written must not pile up */
			n->queue_at = 0;
			return;
		} else if (errno != EINTR) {
			leave(1);
		}
	}
	if (n->queue.failed)
		leave(1); /* a stream with a hole in it says nothing */
	n->queue.len = n->queue_at = 0;
}

_Noreturn void inner_give_up(struct inner *n, const struct cordon_error *err)
{
	frame_put_error(&n->queue, err);
	inner_flush(n, true);
	leave(1);
}

bool inner_read(struct inner *n)
{
	size_t room;
	void *to = frame_room(&n->reader, &room);
	ssize_t got = read(n->in, to, room);

	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return false;
	if (got <= 0)
		leave(0);
	frame_added(&n->reader, (size_t)got);
	return true;
}

static _Noreturn void bad_stream(struct inner *n)
{
	struct cordon_error err = { 0 };

	cordon_fail(&err, CORDON_SYSTEM, EPROTO, "the keeper said something that cannot be");
	(void)fail_step(&err, "stream");
	inner_give_up(n, &err);
}

static void next_frame(struct inner *n, struct frame *ret)
{
	int r;

	while ((r = frame_next(&n->reader, ret)) == 0) {
		struct pollfd p = { .fd = n->in, .events = POLLIN };

		(void)poll(&p, 1, -1);
		(void)inner_read(n);
	}
	if (r < 0)
		bad_stream(n);
}

/* ---- before the payload ---- */

/* The stream out of the way of stdio, and nothing else that the engine may have left open. */
static int take_stream(struct inner *n)
{
	int keep[2], null;

	n->in = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
	n->out = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
	null = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (n->in < 0 || n->out < 0 || null < 0)
		return -errno;
	for (int i = 0; i < 3; i++)
		if (dup2(null, i) < 0)
			return -errno;
	keep[0] = n->in;
	keep[1] = n->out;
	if (process_close_others(keep, 2) == -ENOSYS)
		for (int fd = 3; fd < 1024; fd++)
			if (fd != n->in && fd != n->out)
				(void)close(fd);
	if (fd_set_nonblock(n->in, true) < 0 || fd_set_nonblock(n->out, true) < 0)
		return -EBADF;
	return 0;
}

/* pid 1, since everything ends with it and kill(-1) must reach nobody else. */
static int check_place(struct cordon_error *err)
{
	if (getpid() != 1)
		return cordon_fail(err, CORDON_SYSTEM, 0, "cordon-init is not the first process of its container");
	return 0;
}

static bool is_root(void)
{
	return getuid() == 0 || geteuid() == 0;
}

/* No rights where it shares its id with the payload. Where the payload has one of its own, rights over that one and its files: it is made
 * another, looked after, and killed at the end. */
static int take_rights(const struct stream_job *job, struct cordon_error *err)
{
	const uint64_t rights =
		1u << CAP_SETPCAP | 1u << CAP_DAC_READ_SEARCH | 1u << CAP_KILL | 1u << CAP_SETUID | 1u << CAP_SETGID;
	int r;

	if (!job->uid && is_root())
		return cordon_fail(err, CORDON_DENIED, 0, "cordon-init was started as root of its container");
	r = job->uid ? caps_set(rights) : 0;
	return r < 0 ? cordon_fail(err, CORDON_SYSTEM, -r, "keep the rights over the payload") : 0;
}

static int settle(struct cordon_error *err)
{
	struct sigaction ignore = { .sa_handler = SIG_IGN };
	int r;

	process_reset_signals();
	(void)sigaction(SIGPIPE, &ignore, NULL);
	process_set_name("cordon-init");
	umask(022);
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
		return cordon_fail(err, CORDON_SYSTEM, errno, "become non-dumpable");
	r = is_root() ? 0 : caps_set(0); /* root: once the job is known */
	r = r < 0 ? r : process_no_new_privs();
	return r < 0 ? cordon_fail(err, CORDON_SYSTEM, -r, "give rights up") : 0;
}

/* What goes in belongs to the payload, and lies where that one may write. */
static void act_as_payload(const struct inner *n, bool on)
{
	if (!n->job.uid)
		return;
	if (on ? setegid(n->job.gid) < 0 || seteuid(n->job.uid) < 0 : seteuid(0) < 0 || setegid(0) < 0)
		leave(1);
}

/* One frame of what goes in. */
static int take_in(struct inner *n, const struct frame *f, struct cordon_error *err)
{
	struct frame_entry entry;

	if (f->type == FRAME_ENTRY && frame_get_entry(f, &entry) == 0)
		return inner_copy_entry(n, &entry, err);
	if (f->type == FRAME_DATA)
		return inner_copy_data(n, f->body, f->len, err);
	if (f->type == FRAME_END)
		leave(0);
	bad_stream(n);
}

/* Everything up to START, which comes whatever failed before it. `f` is the first frame. */
static int prepare(struct inner *n, struct frame *f, struct cordon_error *err)
{
	auto_str struct str job = { 0 };
	bool has_job = false;
	int r = 0;

	for (;; next_frame(n, f)) {
		if (f->type == FRAME_JOB && !has_job && job.len + f->len <= STREAM_JOB_MAX) {
			str_add_bytes(&job, f->body, f->len);
			continue;
		}
		if (!has_job && (job.failed || stream_job_get(job.data, job.len, &n->job) < 0))
			bad_stream(n);
		if (!has_job &&
		    (take_rights(&n->job, err) < 0 || inner_check_places(n, err) < 0 || inner_merge_env(n, err) < 0))
			r = -1;
		has_job = true;
		if (f->type == FRAME_DROP && r == 0)
			r = cordon_fail(err, CORDON_SYSTEM, 0, "what was to be copied in did not come whole");
		if (f->type == FRAME_START || f->type == FRAME_DROP) {
			struct cordon_error late = { 0 };
			int closed;

			act_as_payload(n, true);
			closed = inner_copy_done(n, r < 0 ? &late : err);
			act_as_payload(n, false);
			return r < 0 ? r : closed;
		}
		act_as_payload(n, true);
		r = r < 0 && f->type != FRAME_END ? r : take_in(n, f, err);
		act_as_payload(n, false);
		if (err->errnum == EPROTO)
			inner_give_up(n, err);
	}
}

/* ---- after it ---- */

/* Until the next job begins: its first frame is in *ret. */
static void hand_out(struct inner *n, struct frame *ret)
{
	for (;;) {
		inner_flush(n, true);
		next_frame(n, ret);
		if (ret->type == FRAME_COLLECT)
			inner_collect(n);
		else if (ret->type == FRAME_END)
			leave(0);
		else if (ret->type == FRAME_JOB)
			return;
	}
}

static void refuse(struct inner *n, struct cordon_error *err)
{
	struct frame_exit none = { 0 };

	(void)fail_step(err, "init");
	frame_put_error(&n->queue, err);
	frame_put_exit(&n->queue, &none);
}

/* One job after another. */
static _Noreturn void work(struct inner *n)
{
	struct frame f;

	next_frame(n, &f);
	for (;;) {
		struct cordon_error err = { 0 };

		if (prepare(n, &f, &err) < 0 || (n->job.argv.n && inner_start(n, &err) < 0))
			refuse(n, &err);
		else
			inner_serve(n);
		hand_out(n, &f);
		inner_forget(n);
	}
}

int main(int argc, char **argv)
{
	static struct inner n = { .in = -1,
				  .out = -1,
				  .child = -1,
				  .listener = -1,
				  .stdin_to = -1,
				  .streams = { -1, -1 },
				  .copy = { .file = -1 } };
	struct cordon_error err = { 0 };

	if (take_stream(&n) < 0)
		leave(1);
	frame_put_u32(&n.queue, FRAME_READY, FRAME_VERSION);
	if (check_place(&err) < 0 || inner_network(argc ? argv[0] : "", &err) < 0 || settle(&err) < 0) {
		(void)fail_step(&err, "init");
		inner_give_up(&n, &err);
	}
	inner_flush(&n, true);
	work(&n);
}
