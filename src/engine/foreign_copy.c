/*
 * Copying in over the stream: what --in and code name goes to init as ENTRY and DATA, a piece whenever init has taken the last one, so
 * that a large tree is never in memory. For engines whose root the keeper does not lay out. As natively: only files, directories and links;
 * what they are is looked at by fd. Runs in the keeper, with the caller's rights.
 */
#include "engine/foreign_state.h"

#include "base/error.h"
#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { CHUNK = 32768 };

static int fail(struct cordon_error *err, int errnum, const char *what, const char *name)
{
	cordon_fail(err, CORDON_SYSTEM, errnum, "copy in: %s '%s'", what, name);
	return fail_step(err, "copy in");
}

static int reopen(int fd, int flags)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return open(path, flags | O_CLOEXEC);
}

static int begin_file(struct foreign *f, int fd, const char *name, struct cordon_error *err)
{
	f->copy.file = reopen(fd, O_RDONLY | O_NONBLOCK);
	return f->copy.file < 0 ? fail(err, errno, "open", name) : 0;
}

static int begin_directory(struct foreign *f, int fd, const char *name, struct cordon_error *err)
{
	int at;

	if (f->copy.depth == FOREIGN_COPY_DEPTH)
		return fail(err, ELOOP, "descend into", name);
	at = reopen(fd, O_RDONLY | O_DIRECTORY);
	f->copy.dirs[f->copy.depth] = at < 0 ? NULL : fdopendir(at);
	if (!f->copy.dirs[f->copy.depth]) {
		(void)fail(err, errno, "open", name);
		fd_close(&at);
		return -1;
	}
	f->copy.depth++;
	return 0;
}

static int send_link(struct foreign *f, int fd, const char *name, struct cordon_error *err)
{
	char target[4096];
	ssize_t n = readlinkat(fd, "", target, sizeof(target));

	if (n <= 0)
		return fail(err, errno, "read link", name);
	frame_put(&f->queue, FRAME_DATA, target, (size_t)n);
	return 0;
}

/* `name` is empty for what --in itself names. */
static int send_entry(struct foreign *f, int fd, uint32_t index, const char *name, struct cordon_error *err)
{
	struct frame_entry e = { .index = index, .depth = (uint32_t)f->copy.depth };
	const char *shown = *name ? name : f->plan->ins[index].host;
	struct stat st;

	if (fstat(fd, &st) < 0)
		return fail(err, errno, "stat", shown);
	if (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode) && !S_ISLNK(st.st_mode)) {
		cordon_fail(err, CORDON_DENIED, 0, "copy in: '%s' is neither a file, a directory nor a link", shown);
		return fail_step(err, "copy in");
	}
	/* Known before it is sent: a sparse file may be endless. init counts what arrives. */
	if (S_ISREG(st.st_mode) && (uint64_t)st.st_size > f->plan->limits.disk_bytes - f->copy.bytes) {
		(void)fail(err, ENOSPC, "write", shown);
		return fail_hint(err, "it does not fit into limits.disk; raise --disk");
	}
	f->copy.bytes += S_ISREG(st.st_mode) ? (uint64_t)st.st_size : 0;
	e.mode = st.st_mode & (S_IFMT | 0777);
	e.size = (uint64_t)st.st_size;
	snprintf(e.name, sizeof(e.name), "%s", name);
	frame_put_entry(&f->queue, &e);
	if (S_ISREG(st.st_mode))
		return begin_file(f, fd, shown, err);
	return S_ISDIR(st.st_mode) ? begin_directory(f, fd, shown, err) : send_link(f, fd, shown, err);
}

static int send_data(struct foreign *f, struct cordon_error *err)
{
	char buffer[CHUNK];
	ssize_t n = read(f->copy.file, buffer, sizeof(buffer));

	if (n < 0)
		return fail(err, errno, "read", f->plan->ins[f->copy.next - 1].host);
	if (n == 0)
		fd_close(&f->copy.file);
	else
		frame_put(&f->queue, FRAME_DATA, buffer, (size_t)n);
	return 0;
}

static int send_next_of_directory(struct foreign *f, struct cordon_error *err)
{
	DIR *d = f->copy.dirs[f->copy.depth - 1];
	auto_close int fd = -1;
	struct dirent *e;

	do {
		errno = 0;
		e = readdir(d);
	} while (e && (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0));
	if (!e && errno)
		return fail(err, errno, "list", f->plan->ins[f->copy.next - 1].host);
	if (!e) {
		closedir(d);
		f->copy.depth--;
		return 0;
	}
	fd = openat(dirfd(d), e->d_name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 ? fail(err, errno, "open", e->d_name)
		      : send_entry(f, fd, (uint32_t)(f->copy.next - 1), e->d_name, err);
}

/* Last, and after it the payload: its index is the one after those of --in. */
static void send_code(struct foreign *f)
{
	const struct plan_code *c = &f->plan->code;
	struct frame_entry e = { .index = (uint32_t)f->plan->in_count, .mode = S_IFREG | 0644, .size = c->len };

	if (c->path) {
		frame_put_entry(&f->queue, &e);
		if (c->len)
			frame_put(&f->queue, FRAME_DATA, c->data, c->len);
	}
	frame_put(&f->queue, FRAME_START, NULL, 0);
	f->copy.is_on = false;
}

static int send_piece(struct foreign *f, struct cordon_error *err)
{
	if (f->copy.file >= 0)
		return send_data(f, err);
	if (f->copy.depth)
		return send_next_of_directory(f, err);
	if (f->copy.next < f->plan->in_count) {
		size_t i = f->copy.next++;

		return send_entry(f, f->plan->ins[i].fd, (uint32_t)i, "", err);
	}
	send_code(f);
	return 0;
}

void foreign_feed(struct foreign *f)
{
	struct cordon_error err = { 0 };

	while (f->copy.is_on && f->queue.len < CHUNK && !f->k->ending && f->stream >= 0)
		if (send_piece(f, &err) < 0) {
			keeper_note(f->k, &err);
			f->copy.is_on = false;
			keeper_end(f->k);
		}
}

int foreign_add_ins(const struct cordon_plan *plan, struct strv *to)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < plan->in_count; i++)
		r = strv_add(to, plan->ins[i].box);
	return r == 0 && plan->code.path ? strv_add(to, plan->code.path) : r;
}

void foreign_copy_done(struct foreign *f)
{
	while (f->copy.depth)
		closedir(f->copy.dirs[--f->copy.depth]);
	fd_close(&f->copy.file);
}
