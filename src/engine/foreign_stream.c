/*
 * The stream between the keeper and cordon-init: see stream/frame.h. Every byte of it may be the payload's, which shares a container with
 * init: a stream that makes no sense ends the box, numbers are only told, and names are looked at again where they are used. Nothing here
 * waits: output that the front does not take stops the reading, and with it the payload.
 */
#include "engine/foreign_state.h"

#include "base/error.h"
#include "base/fd.h"
#include "plan/engine.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { CHUNK = 65536, READS = 16 /* of the stream at once: deadlines are looked at in between */ };

/* What the engine gives by making the container; init tells the rest. */
#define GIVEN                                                                                              \
	(LAYER_BIT(USERNS) | LAYER_BIT(MOUNTNS) | LAYER_BIT(PIDNS) | LAYER_BIT(NETNS) | LAYER_BIT(IPCNS) | \
	 LAYER_BIT(UTSNS) | LAYER_BIT(CGROUPNS) | LAYER_BIT(CGROUP))

/* ---- to the front ---- */

void foreign_give_output(struct foreign *f, int i)
{
	struct str *s = &f->pending[i];
	ssize_t n = 0;

	if (f->outputs[i] >= 0)
		n = write(f->outputs[i], s->data + f->pending_at[i], s->len - f->pending_at[i]);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n < 0)
		fd_close(&f->outputs[i]); /* the front wants no more */
	if (f->outputs[i] >= 0)
		f->pending_at[i] += (size_t)n;
	if (f->outputs[i] < 0 || f->pending_at[i] == s->len)
		s->len = f->pending_at[i] = 0;
}

static void take_output(struct foreign *f, const struct frame *frame, int i)
{
	if (f->outputs[i] < 0)
		return;
	str_add_bytes(&f->pending[i], frame->body, frame->len);
	foreign_give_output(f, i);
}

/* ---- files out ---- */

/* A file goes to the front as an fd. On disk if that can be had: it may be large, and nobody's memory limit holds here. */
static int new_file(const struct foreign *f)
{
	int fd = open(f->plan->scratch_dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	if (fd < 0)
		fd = memfd_create("cordon-out", MFD_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static void send_entry(struct foreign *f)
{
	struct link_message m = { .type = LINK_FILE, .file = f->entry };

	if (f->has_entry && (f->file < 0 || lseek(f->file, 0, SEEK_SET) == 0))
		(void)link_send(f->k->fds->front, &m, f->file);
	f->has_entry = false;
	fd_close(&f->file);
}

/* It was asked to; or was, and is cut short. */
static bool hands_out(const struct foreign *f)
{
	return (f->k->stage == KEEPER_COLLECTS || f->k->stage == KEEPER_LEAVES) && f->plan->out_count &&
	       !f->k->collected;
}

static int take_entry(struct foreign *f, const struct frame *frame, struct cordon_error *err)
{
	struct frame_entry e;

	send_entry(f);
	if (!hands_out(f) || frame_get_entry(frame, &e) < 0 || e.index >= f->plan->out_count)
		return -EPROTO;
	f->entry = (struct link_file){ .index = e.index, .depth = e.depth, .mode = e.mode, .size = e.size };
	memcpy(f->entry.name, e.name, sizeof(e.name));
	f->has_entry = true;
	if (!S_ISREG(e.mode))
		return S_ISDIR(e.mode) ? 0 : -EPROTO;
	f->file = new_file(f);
	return f->file < 0 ? cordon_fail(err, CORDON_SYSTEM, -f->file, "copy out: make a file") : 0;
}

/* Of what is too much, enough is kept for the front to see that it is: the message is the front's. */
static int take_data(struct foreign *f, const struct frame *frame, struct cordon_error *err)
{
	int r;

	if (f->file < 0)
		return -EPROTO;
	if (f->file_bytes > f->plan->out_max_bytes)
		return 0;
	f->file_bytes += frame->len;
	r = fd_write_all(f->file, frame->body, frame->len);
	return r < 0 ? cordon_fail(err, CORDON_SYSTEM, -r, "copy out: keep a file") : 0;
}

static int take_collected(struct foreign *f)
{
	struct link_message m = { .type = LINK_COLLECTED };

	if (!hands_out(f))
		return -EPROTO;
	send_entry(f);
	f->k->collected = true;
	(void)link_send(f->k->fds->front, &m, -1);
	return 0;
}

/* ---- what happens ---- */

static unsigned layers_of(const struct foreign *f, uint32_t applied)
{
	return (f->plan->layers & GIVEN) | (applied & FRAME_HAS_RLIMITS ? LAYER_BIT(RLIMITS) : 0) |
	       (applied & FRAME_HAS_NO_NEW_PRIVS ? LAYER_BIT(NO_NEW_PRIVS) : 0) |
	       (applied & FRAME_HAS_LANDLOCK ? LAYER_BIT(LANDLOCK) : 0) |
	       (applied & FRAME_HAS_SECCOMP ? LAYER_BIT(SECCOMP) : 0);
}

static int take_ready(struct foreign *f, const struct frame *frame)
{
	uint32_t version;

	if (f->is_ready || frame_get_u32(frame, &version) < 0 || version != FRAME_VERSION)
		return -EPROTO;
	f->is_ready = true;
	return 0;
}

static int take_started(struct foreign *f, const struct frame *frame)
{
	uint32_t applied;

	if (!f->has_job || f->k->report.started || frame_get_u32(frame, &applied) < 0)
		return -EPROTO;
	if (f->ends_at_start)
		frame_put(&f->queue, FRAME_KILL, NULL, 0);
	keeper_started(f->k, layers_of(f, applied));
	return 0;
}

static int take_exit(struct foreign *f, const struct frame *frame)
{
	struct frame_exit e;

	if (!f->has_job || f->k->report.has_exit || frame_get_exit(frame, &e) < 0)
		return -EPROTO;
	keeper_exited(f->k, &(struct link_exit){ .status = e.status,
						 .cpu_us = e.cpu_us,
						 .maxrss_bytes = e.maxrss_bytes,
						 .disk_full = e.disk_full,
						 .inodes_full = e.inodes_full });
	return 0;
}

static int take_denial(struct foreign *f, const struct frame *frame)
{
	struct link_report *r = &f->k->report;
	struct frame_denial d;

	/* Programs are never refused here: process.commands is not for this engine. */
	if (frame_get_denial(frame, &d) < 0 || d.nr == SYS_execve || d.nr == SYS_execveat)
		return -EPROTO;
	if (r->denial_count < LINK_DENIALS)
		r->denials[r->denial_count++] = (struct link_denial){ .nr = d.nr, .count = d.count };
	else
		r->denials_lost++;
	return 0;
}

static int take_credit(struct foreign *f, const struct frame *frame)
{
	uint32_t more;

	if (frame_get_u32(frame, &more) < 0 || f->credit + more > CHUNK)
		return -EPROTO;
	f->credit += more;
	return 0;
}

static int take_error(struct foreign *f, const struct frame *frame)
{
	struct cordon_error err;

	if (frame_get_error(frame, &err) < 0)
		return -EPROTO;
	keeper_failed(f->k, &err);
	return 0;
}

/* 0, -EPROTO for what cannot be, or -1 with *err. */
static int take_frame(struct foreign *f, const struct frame *frame, struct cordon_error *err)
{
	switch (frame->type) {
	case FRAME_READY:
		return take_ready(f, frame);
	case FRAME_CREDIT:
		return take_credit(f, frame);
	case FRAME_DEAF:
		fd_close(&f->input);
		return 0;
	case FRAME_STARTED:
		return take_started(f, frame);
	case FRAME_STDOUT:
	case FRAME_STDERR:
		take_output(f, frame, frame->type == FRAME_STDERR);
		return 0;
	case FRAME_DENIAL:
		return take_denial(f, frame);
	case FRAME_EXITED:
		return take_exit(f, frame);
	case FRAME_ERROR:
		return take_error(f, frame);
	case FRAME_ENTRY:
		return take_entry(f, frame, err);
	case FRAME_DATA:
		return take_data(f, frame, err);
	case FRAME_COLLECTED:
		return take_collected(f);
	case FRAME_JOB:
	case FRAME_START:
	case FRAME_STDIN:
	case FRAME_SIGNAL:
	case FRAME_END:
	case FRAME_KILL:
	case FRAME_COLLECT:
	case FRAME_WINDOW:
	case FRAME_DROP:
	case FRAME_TYPES:
		break; /* not from init */
	}
	return -EPROTO;
}

static void break_off(struct foreign *f, int r, struct cordon_error *err)
{
	if (r == -EPROTO) {
		cordon_fail(err, CORDON_SYSTEM, EPROTO, "init said something that cannot be");
		(void)fail_step(err, "stream");
	}
	keeper_note(f->k, err);
	f->k->report.failed = f->k->report.started && !f->k->report.has_exit && !f->k->ending;
	fd_close(&f->stream); /* nothing more is believed; init goes with it */
	keeper_end(f->k);
}

/* What is read is dealt with up to the first output that finds no room. */
void foreign_from_init(struct foreign *f)
{
	struct cordon_error err = { 0 };
	struct frame frame;
	int r = 0, reads = 0;

	while (f->stream >= 0 && !foreign_is_full(f)) {
		size_t room;
		void *to;
		ssize_t n;

		while (!foreign_is_full(f) && (r = frame_next(&f->reader, &frame)) == 1) {
			r = take_frame(f, &frame, &err);
			if (r < 0)
				break;
		}
		if (r < 0) {
			break_off(f, r, &err);
			return;
		}
		if (foreign_is_full(f) || reads++ == READS)
			return;
		to = frame_room(&f->reader, &room);
		n = read(f->stream, to, room);
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (n <= 0)
			fd_close(&f->stream);
		else
			frame_added(&f->reader, (size_t)n);
	}
}

/* ---- to init ---- */

void foreign_to_init(struct foreign *f)
{
	while (f->stream >= 0 && f->queue_at < f->queue.len) {
		ssize_t n = send(f->stream, f->queue.data + f->queue_at, f->queue.len - f->queue_at, MSG_NOSIGNAL);

		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (n < 0)
			break; /* gone: what it said last is still to be read */
		f->queue_at += (size_t)n;
	}
	f->queue.len = f->queue_at = 0;
}

void foreign_take_input(struct foreign *f)
{
	char buffer[CHUNK];
	size_t most = f->credit < sizeof(buffer) ? f->credit : sizeof(buffer);
	ssize_t n = read(f->input, buffer, most);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0)
		fd_close(&f->input);
	else
		f->credit -= (uint64_t)n;
	frame_put(&f->queue, FRAME_STDIN, buffer, n > 0 ? (size_t)n : 0);
}
