/* Frames and jobs: what is put comes back, in any pieces; what is no frame, or no body of its type, is refused. */
#include "stream/frame.h"
#include "stream/job.h"

#include "tap.h"

#include <errno.h>
#include <sys/stat.h>

static void feed(struct frame_reader *r, const void *data, size_t len)
{
	size_t room;
	void *to = frame_room(r, &room);

	if (len > room)
		abort();
	memcpy(to, data, len);
	frame_added(r, len);
}

static void test_pieces(void)
{
	struct frame_reader *r = calloc(1, sizeof(*r));
	auto_str struct str out = { 0 };
	struct frame f;
	size_t frames = 0;
	int got = 0;

	frame_put(&out, FRAME_STDOUT, "hello", 5);
	frame_put(&out, FRAME_STDIN, NULL, 0);
	frame_put_u32(&out, FRAME_CREDIT, 0x01020304);
	for (size_t i = 0; i < out.len; i++) {
		feed(r, out.data + i, 1);
		while ((got = frame_next(r, &f)) == 1)
			frames++;
		if (got < 0)
			break;
	}
	ok(got == 0, "bytes one by one are no error");
	is_num(frames, 3, "three frames came out");
	is_num(f.type, FRAME_CREDIT, "the last one is the last");
	ok(f.len == 4 && f.body[0] == 4 && f.body[3] == 1, "numbers are little-endian");
	free(r);
}

static void test_long(void)
{
	struct frame_reader *r = calloc(1, sizeof(*r));
	auto_free char *data = malloc(200000);
	auto_str struct str out = { 0 };
	size_t at = 0, sum = 0, most = 0, frames = 0;
	bool same = true;
	struct frame f;

	for (size_t i = 0; i < 200000; i++)
		data[i] = (char)(i * 7 + i / 256);
	frame_put(&out, FRAME_STDOUT, data, 200000);
	while (at < out.len) {
		size_t room;
		void *to = frame_room(r, &room);
		size_t n = out.len - at < room ? out.len - at : room;

		ok(room > 0, "there is room");
		memcpy(to, out.data + at, n);
		frame_added(r, n);
		at += n;
		while (frame_next(r, &f) == 1) {
			same = same && memcmp(f.body, data + sum, f.len) == 0;
			sum += f.len;
			most = f.len > most ? f.len : most;
			frames++;
		}
	}
	is_num(sum, 200000, "nothing of a long body is lost");
	is_num(most, FRAME_MAX, "and it was cut into frames of the bound");
	is_num(frames, 4, "four of them");
	ok(same, "in order");
	free(r);
}

static void test_refused(void)
{
	static const struct {
		const char *name;
		unsigned char bytes[5];
	} rows[] = {
		{ "a type of zero", { 0, 0, 0, 0, 0 } },
		{ "an unknown type", { FRAME_TYPES, 0, 0, 0, 0 } },
		{ "a length beyond the bound", { FRAME_STDOUT, 1, 0, 1, 0 } },
		{ "a length of four gigabytes", { FRAME_STDOUT, 0xff, 0xff, 0xff, 0xff } },
	};
	struct frame_reader *r = calloc(1, sizeof(*r));
	struct frame f;

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		*r = (struct frame_reader){ 0 };
		feed(r, rows[i].bytes, 5);
		ok(frame_next(r, &f) == -EPROTO, "%s is no frame", rows[i].name);
		ok(frame_next(r, &f) == -EPROTO, "and stays none");
	}
	*r = (struct frame_reader){ 0 };
	feed(r, (unsigned char[]){ FRAME_STDOUT, 0, 0, 1, 0 }, 5);
	ok(frame_next(r, &f) == 0, "control: the bound itself is only not whole yet");
	free(r);
}

static int one(struct frame_reader *r, struct str *out, struct frame *ret)
{
	*r = (struct frame_reader){ 0 };
	feed(r, out->data, out->len);
	str_done(out);
	return frame_next(r, ret);
}

static void test_bodies(void)
{
	struct frame_reader *r = calloc(1, sizeof(*r));
	struct frame_entry entry = {
		.index = 3, .depth = 2, .mode = S_IFREG | 0640, .size = 1ULL << 40, .name = "a b"
	};
	struct frame_exit exit = { .status = 9, .cpu_us = 1ULL << 33, .maxrss_bytes = 5, .inodes_full = true };
	struct frame_denial denial = { .nr = -1, .count = 7 };
	struct cordon_error error = { 0 };
	auto_str struct str out = { 0 };
	struct frame_entry e;
	struct frame_exit x;
	struct frame_denial d;
	struct cordon_error back;
	struct frame f;
	uint32_t n;

	frame_put_entry(&out, &entry);
	ok(one(r, &out, &f) == 1 && frame_get_entry(&f, &e) == 0 && e.index == 3 && e.depth == 2 &&
		   e.size == 1ULL << 40,
	   "an entry comes back");
	is_str(e.name, "a b", "with its name");
	ok(frame_get_exit(&f, &x) == -EPROTO, "and is no exit");
	frame_put_exit(&out, &exit);
	ok(one(r, &out, &f) == 1 && frame_get_exit(&f, &x) == 0 && x.status == 9 && x.cpu_us == 1ULL << 33 &&
		   !x.disk_full && x.inodes_full,
	   "an exit comes back");
	ok(frame_get_u32(&f, &n) == -EPROTO, "and is no number");
	frame_put_denial(&out, &denial);
	ok(one(r, &out, &f) == 1 && frame_get_denial(&f, &d) == 0 && d.nr == -1 && d.count == 7, "a denial comes back");
	cordon_fail(&error, CORDON_DENIED, EPERM, "no '%s'", "way");
	(void)fail_step(&error, "exec");
	(void)fail_hint(&error, "go away");
	frame_put_error(&out, &error);
	ok(one(r, &out, &f) == 1 && frame_get_error(&f, &back) == 0 && memcmp(&error, &back, sizeof(back)) == 0,
	   "an error comes back");
	snprintf(error.step, sizeof(error.step), "a\nb");
	snprintf(error.message, sizeof(error.message),
		 "red \033[31m\177 and \xc2\x9b"
		 "2J, not \xc3\xa9");
	snprintf(error.hint, sizeof(error.hint), "\r\b");
	frame_put_error(&out, &error);
	ok(one(r, &out, &f) == 1 && frame_get_error(&f, &back) == 0, "one that would speak to a terminal");
	is_str(back.message, "red ?[31m? and ??2J, not \xc3\xa9", "says nothing to it");
	is_str(back.step, "a?b", "neither with its step");
	is_str(back.hint, "??", "nor with its hint");
	error.code = CORDON_INTERNAL + 1;
	frame_put_error(&out, &error);
	ok(one(r, &out, &f) == 1 && frame_get_error(&f, &back) == -EPROTO, "a code that there is not is none");
	free(r);
}

static void test_names(void)
{
	static const char *const names[] = { "", ".", "..", "a/b", "/", "/etc" };
	struct frame_reader *r = calloc(1, sizeof(*r));
	auto_str struct str out = { 0 };
	struct frame_entry e = { .depth = 1 }, back;
	struct frame f;

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		snprintf(e.name, sizeof(e.name), "%s", names[i]);
		frame_put_entry(&out, &e);
		ok(one(r, &out, &f) == 1 && frame_get_entry(&f, &back) == -EPROTO, "'%s' is no name", names[i]);
	}
	e.depth = 0;
	frame_put_entry(&out, &e);
	ok(one(r, &out, &f) == 1 && frame_get_entry(&f, &back) == -EPROTO, "the named path itself has no other name");
	e.name[0] = '\0';
	frame_put_entry(&out, &e);
	ok(one(r, &out, &f) == 1 && frame_get_entry(&f, &back) == 0, "control: without one it is fine");
	free(r);
}

static void test_job(void)
{
	struct stream_job job = { .flags = STREAM_STRICT, .open_files = 7, .cpu_seconds = 3 }, back;
	auto_str struct str out = { 0 };
	size_t bad = 0;

	job.workdir = strdup("/home/agent");
	job.path = strdup("/bin");
	(void)strv_add(&job.argv, "echo");
	(void)strv_add(&job.argv, "");
	(void)strv_add(&job.env, "A=b");
	(void)strv_add(&job.grants, "rx /");
	(void)strv_add(&job.outs, "/tmp/x");
	stream_job_put(&out, &job);
	ok(stream_job_get(out.data, out.len, &back) == 0, "a job comes back");
	ok(back.argv.n == 2 && back.argv.v[1][0] == '\0' && back.env.n == 1 && back.ins.n == 0 && back.open_files == 7,
	   "with all there was");
	is_str(back.outs.v[0], "/tmp/x", "down to the last list but one");
	stream_job_done(&back);
	for (size_t i = 0; i < out.len; i++)
		bad += stream_job_get(out.data, i, &back) < 0;
	is_num(bad, out.len, "cut off anywhere it is none");
	strv_done(&job.argv);
	str_done(&out);
	stream_job_put(&out, &job);
	ok(stream_job_get(out.data, out.len, &back) == 0 && !back.argv.n, "one without a command carries files");
	stream_job_done(&back);
	stream_job_done(&job);
}

int main(void)
{
	test_pieces();
	test_long();
	test_refused();
	test_bodies();
	test_names();
	test_job();
	return done_testing();
}
