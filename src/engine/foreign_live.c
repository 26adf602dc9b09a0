/*
 * A foreign box that lives: a job for its init, and what goes in with it. The box's own plan stays; `plan` is the job's while there is one. In the
 * keeper, with the caller's rights.
 */
#include "engine/foreign_state.h"

#include "base/error.h"
#include "base/fd.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- jobs ---- */

int foreign_exec(struct keeper *k, const struct link_message *job, int fds[LINK_JOB_FDS], size_t n,
		 struct cordon_error *err)
{
	struct foreign *f = k->engine;
	int r = job_read(&f->job, k->plan, &job->job, fds[JOB_FD_TEXT]);

	if (r < 0)
		return cordon_fail(err, CORDON_SYSTEM, -r, "read the job");
	f->plan = &f->job.plan;
	f->input = STEAL_FD(fds[JOB_FD_STDIN]);
	f->outputs[0] = STEAL_FD(fds[JOB_FD_STDOUT]);
	f->outputs[1] = STEAL_FD(fds[JOB_FD_STDERR]);
	f->files = n > JOB_FD_FILES ? STEAL_FD(fds[JOB_FD_FILES]) : -1;
	(void)fd_set_nonblock(f->outputs[0], true);
	(void)fd_set_nonblock(f->outputs[1], true);
	foreign_send_job(f);
	return 0;
}

void foreign_rest(struct keeper *k)
{
	struct foreign *f = k->engine;

	fd_close(&f->input);
	fd_close(&f->outputs[0]);
	fd_close(&f->outputs[1]);
	fd_close(&f->files);
	fd_close(&f->feeding);
	fd_close(&f->file);
	job_done(&f->job);
	f->plan = k->plan;
	f->has_job = f->has_entry = f->ends_at_start = false;
	f->credit = f->file_bytes = 0;
}

/* ---- what goes in ---- */

void foreign_drop(struct foreign *f)
{
	if (f->files < 0 && f->feeding < 0)
		return;
	fd_close(&f->files);
	fd_close(&f->feeding);
	frame_put(&f->queue, FRAME_DROP, NULL, 0);
}

static void feed_data(struct foreign *f)
{
	char buffer[FRAME_MAX];
	ssize_t n = read(f->feeding, buffer, sizeof(buffer));

	if (n > 0)
		frame_put(&f->queue, FRAME_DATA, buffer, (size_t)n);
	else if (n == 0)
		fd_close(&f->feeding);
	else if (errno != EINTR && errno != EAGAIN)
		foreign_drop(f);
}

static void feed_entry(struct foreign *f, const struct link_file *file, int *fd)
{
	struct frame_entry e = { .index = file->index, .depth = file->depth, .mode = file->mode, .size = file->size };
	char target[4096];
	ssize_t n;

	memcpy(e.name, file->name, sizeof(e.name));
	frame_put_entry(&f->queue, &e);
	if (S_ISREG(file->mode))
		f->feeding = STEAL_FD(*fd);
	if (!S_ISLNK(file->mode))
		return;
	n = readlinkat(*fd, "", target, sizeof(target));
	if (n > 0)
		frame_put(&f->queue, FRAME_DATA, target, (size_t)n);
	else
		foreign_drop(f);
}

void foreign_pass_file(struct foreign *f)
{
	struct link_message m;
	int fd = -1;

	if (f->feeding >= 0) {
		feed_data(f);
		return;
	}
	if (link_receive(f->files, &m, &fd) <= 0) {
		foreign_drop(f); /* the front could not read it all */
	} else if (m.type == LINK_FILE) {
		feed_entry(f, &m.file, &fd);
	} else if (m.type == LINK_COLLECTED) {
		fd_close(&f->files);
		frame_put(&f->queue, FRAME_START, NULL, 0);
	}
	fd_close(&fd);
}
