/*
 * Any bytes as a stream of frames: the reader never leaves its bounds, a frame that it gives is within the bound and lies in its
 * buffer, it gives the same whatever pieces the bytes come in, and a body that is understood says the same when it is written again.
 */
#include "stream/frame.h"
#include "stream/job.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool good, const char *what)
{
	if (good)
		return;
	fprintf(stderr, "%s\n", what);
	abort();
}

static void check_again(const struct frame *f, struct str *out)
{
	must(!out->failed, "memory");
	must(out->len == FRAME_HEAD + f->len && memcmp(out->data + FRAME_HEAD, f->body, f->len) == 0,
	     "another body when written again");
}

static void check_body(const struct frame *f)
{
	auto_str struct str out = { 0 };
	struct frame_denial denial;
	struct frame_entry entry;
	struct cordon_error error;
	struct frame_exit exit;
	struct stream_job job;

	if (f->type == FRAME_ENTRY && frame_get_entry(f, &entry) == 0) {
		must(!strchr(entry.name, '/') && strcmp(entry.name, "..") != 0, "a name that leads elsewhere");
		frame_put_entry(&out, &entry);
		check_again(f, &out);
	} else if (f->type == FRAME_DENIAL && frame_get_denial(f, &denial) == 0) {
		frame_put_denial(&out, &denial);
		check_again(f, &out);
	} else if (f->type == FRAME_EXITED && frame_get_exit(f, &exit) == 0) {
		frame_put_exit(&out, &exit);
		check_again(f, &out);
	} else if (f->type == FRAME_ERROR && frame_get_error(f, &error) == 0) {
		frame_put_error(&out, &error);
		check_again(f, &out);
	} else if (f->type == FRAME_JOB && stream_job_get(f->body, f->len, &job) == 0) {
		stream_job_put(&out, &job);
		must(out.len == f->len && memcmp(out.data, f->body, f->len) == 0, "another job when written again");
		stream_job_done(&job);
	}
}

/* How many frames come out before the bytes end or are none; and a sum over them. */
static int read_all(const uint8_t *data, size_t size, size_t step, uint64_t *ret_sum)
{
	static struct frame_reader r;
	struct frame f;
	int got = 0;

	r.at = r.end = 0;
	*ret_sum = 0;
	while (size && got >= 0) {
		size_t room, n;
		void *to = frame_room(&r, &room);

		must(room > 0, "no room");
		n = size < step ? size : step;
		n = n < room ? n : room;
		memcpy(to, data, n);
		frame_added(&r, n);
		data += n;
		size -= n;
		while ((got = frame_next(&r, &f)) == 1) {
			must(f.len <= FRAME_MAX && f.body >= r.bytes && f.body + f.len <= r.bytes + r.end,
			     "a frame out of bounds");
			*ret_sum = *ret_sum * 31 + (uint64_t)f.type * 65537 + f.len;
			check_body(&f);
		}
	}
	return got;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint64_t whole, pieces;
	int a = read_all(data, size, size, &whole), b = read_all(data, size, 3, &pieces);

	must(a == b && whole == pieces, "pieces make a difference");
	return 0;
}
