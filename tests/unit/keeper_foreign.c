/* The keeper of another engine's box, with the test in the place of the driver (to[0]) and of cordon-init (to[1]). */
#include "keeper_world.h"

#include "engine/foreign_state.h"

/* ---- who it speaks with ---- */

static struct frame_reader heard; /* by init */

static int create(struct keeper *k, struct cordon_error *err)
{
	static struct foreign f;

	(void)err;
	f = (struct foreign){ .k = k,
			      .plan = k->plan,
			      .net = FOREIGN_NET_INIT,
			      .shelf = SHELF_INIT,
			      .driver = world_clone(k),
			      .control = k->fds->stdio[0],
			      .stream = k->fds->stdio[1],
			      .file = -1,
			      .copy.file = -1,
			      .files = -1,
			      .feeding = -1,
			      .input = -1,
			      .outputs = { -1, -1 } };
	k->engine = &f;
	k->swept = k->is_deaf = true;
	return fd_set_nonblock(f.stream, true);
}

/* What the driver is asked next; 0: nothing. */
static uint32_t asked(struct world *w)
{
	struct engine_request r = { 0 };

	if (!is_readable(w->to[0], PATIENCE_MS) || recv(w->to[0], &r, sizeof(r), 0) != (ssize_t)sizeof(r))
		return 0;
	return r.type;
}

static void driver_says(struct world *w, enum engine_packet_type type, uint64_t cpu_us, int32_t oom)
{
	struct engine_exited e = { .type = type, .exited = type == ENGINE_EXITED, .cpu_us = cpu_us, .oom = oom };

	(void)send(w->to[0], &e, sizeof(e), MSG_NOSIGNAL);
}

static void driver_fails(struct world *w, const char *why)
{
	struct engine_failed e = { .type = ENGINE_ERROR };

	cordon_fail(&e.error, CORDON_SYSTEM, 0, "%s", why);
	(void)send(w->to[0], &e, sizeof(e), MSG_NOSIGNAL);
}

/* What init is told next; 0: nothing. */
static unsigned told(struct world *w)
{
	struct frame frame;
	ssize_t n;
	size_t room;
	void *to;

	while (frame_next(&heard, &frame) == 0) {
		to = frame_room(&heard, &room);
		n = is_readable(w->to[1], PATIENCE_MS) ? recv(w->to[1], to, room, 0) : 0;
		if (n <= 0)
			return 0;
		frame_added(&heard, (size_t)n);
	}
	return frame.type;
}

/* At once, so that it is read at once. */
static void init_sends(struct world *w, struct str *frames)
{
	(void)send(w->to[1], frames->data, frames->len, MSG_NOSIGNAL);
	str_done(frames);
}

static void init_says(struct world *w, enum frame_type type, uint32_t value)
{
	struct str s = { 0 };

	frame_put_u32(&s, type, value);
	init_sends(w, &s);
}

static void init_exited(struct world *w)
{
	struct str s = { 0 };

	frame_put_exit(&s, &(struct frame_exit){ 0 });
	init_sends(w, &s);
}

/* ---- from the beginning ---- */

static void init(struct world *w, bool lives)
{
	world_init(w, &foreign_ops, lives);
	w->ops.create = create;
	heard = (struct frame_reader){ 0 };
}

static void stand(struct world *w)
{
	struct engine_created created = { .type = ENGINE_CREATED };

	world_start(w);
	(void)send(w->to[0], &created, sizeof(created), MSG_NOSIGNAL);
	init_says(w, FRAME_READY, FRAME_VERSION);
}

/* The driver has been asked for numbers, and has not answered. */
static void open_box(struct world *w)
{
	struct link_message m;

	stand(w);
	ok(hear(w, &m) == LINK_OPENED && asked(w) == ENGINE_STAT, "a box");
}

static void begin_job(struct world *w, int out)
{
	send_job(w, 0, out);
	ok(told(w) == FRAME_JOB && told(w) == FRAME_START, "with a job");
	init_says(w, FRAME_STARTED, 0);
	ok(eventually(seen->k.report.started), "that has begun");
}

static void open_and_begin(struct world *w, int out)
{
	open_box(w);
	driver_says(w, ENGINE_STATS, 1, 0);
	begin_job(w, out);
}

static void pause_it(struct world *w)
{
	ask(w, LINK_PAUSE);
	ok(asked(w) == ENGINE_PAUSE, "whose driver is asked to pause it");
	driver_says(w, ENGINE_STATS, 1, 0);
	ok(answer(w).stats.is_paused, "which he does");
}

/* ---- answers ---- */

static void test_error_of_a_pause(void)
{
	struct link_message m;
	struct world w;

	init(&w, true);
	open_box(&w);
	ask(&w, LINK_PAUSE);
	ok(asked(&w) == ENGINE_PAUSE, "whose driver is asked to pause it before he said what it uses");
	driver_says(&w, ENGINE_STATS, 1, 0);
	driver_fails(&w, "cannot be paused");
	m = answer(&w);
	ok(m.type == LINK_ERROR && strcmp(m.error.message, "cannot be paused") == 0,
	   "his numbers are no answer to that, his error is");
	ask(&w, LINK_STAT);
	ok(asked(&w) == ENGINE_STAT, "the box goes on");
	driver_says(&w, ENGINE_STATS, 2, 0);
	m = answer(&w);
	ok(m.type == LINK_STATS && m.stats.cpu_us == 2 && !m.stats.is_paused, "unpaused");
	is_num(seen->k.report.error.code, CORDON_OK, "and nothing is wrong with it");
	world_end(&w);
}

static void test_error_of_the_box(void)
{
	struct link_message m;
	struct world w;

	init(&w, true);
	open_box(&w);
	ask(&w, LINK_PAUSE);
	ok(asked(&w) == ENGINE_PAUSE, "whose driver is asked to pause it");
	driver_fails(&w, "it is broken");
	fd_close(&w.to[0]);
	fd_close(&w.to[1]);
	fd_close(&w.to[2]);
	ok(hear(&w, &m) == LINK_ERROR, "an error in answer to what was asked before is the box's end");
	is_str(m.error.message, "it is broken", "as he told it");
	world_end(&w);
}

/* A job that is paused when somebody wants its end. */
static void end_paused(struct world *w)
{
	init(w, true);
	open_and_begin(w, -1);
	pause_it(w);
	send_end(w, LINK_CANCEL);
	ok(asked(w) == ENGINE_RESUME, "it is thawed to be ended");
}

static void test_answers_in_order(void)
{
	struct link_message m;
	struct world w;

	end_paused(&w);
	ask(&w, LINK_STAT);
	ok(asked(&w) == ENGINE_STAT, "and its numbers are asked for");
	driver_says(&w, ENGINE_STATS, 2, 0);
	driver_says(&w, ENGINE_STATS, 3, 0);
	m = answer(&w);
	ok(m.type == LINK_STATS && m.stats.cpu_us == 3, "those are told that were meant: %llu",
	   (unsigned long long)m.stats.cpu_us);
	world_end(&w);
}

static void test_answers_to_many(void)
{
	struct link_message m;
	struct world w;

	init(&w, true);
	open_box(&w);
	begin_job(&w, -1);
	init_exited(&w);
	ok(asked(&w) == ENGINE_STAT, "and ended before its driver said anything");
	ask(&w, LINK_STAT);
	ok(asked(&w) == ENGINE_STAT, "so that he is asked three times");
	for (uint64_t i = 2; i <= 4; i++)
		driver_says(&w, ENGINE_STATS, i, 0);
	m = answer(&w);
	ok(m.type == LINK_STATS && m.stats.cpu_us == 4, "the third answer is the third's: %llu",
	   (unsigned long long)m.stats.cpu_us);
	ok(hear(&w, &m) == LINK_REPORT && w.report.has_exit, "and then the job is over");
	world_end(&w);
}

static void test_error_of_a_thaw(void)
{
	struct link_message m;
	struct world w;

	end_paused(&w);
	driver_fails(&w, "it runs already");
	init_exited(&w);
	ok(asked(&w) == ENGINE_STAT, "it ends");
	driver_says(&w, ENGINE_STATS, 2, 0);
	ok(hear(&w, &m) == LINK_REPORT && w.report.cancelled, "and is reported");
	is_num(w.report.error.code, CORDON_OK, "that it could not be thawed is nobody's error");
	world_end(&w);
}

static void test_last_word(void)
{
	struct world w;

	init(&w, true);
	open_box(&w);
	ask(&w, LINK_STAT);
	ok(asked(&w) == ENGINE_STAT, "whose driver is asked twice");
	driver_says(&w, ENGINE_EXITED, 2, 0);
	is_num(answer(&w).type, LINK_STATS, "and answers both with his last word");
	world_end(&w);
}

/* ---- a driver that goes ---- */

static void test_driver_lost(void)
{
	struct world w;

	init(&w, true);
	w.plan.limits.cpu_time_ms = 10;
	open_and_begin(&w, -1);
	ok(asked(&w) == ENGINE_STAT && eventually(seen->k.awaited == 1), "whose CPU time is looked at");
	fd_close(&w.to[0]);
	ok(eventually(seen->state == ENGINE_LEAVES), "the driver speaks no more");
	rests("for numbers that nobody will tell");
	init_exited(&w);
	ok(told(&w) == FRAME_END, "nor does it wait for them when the job is over");
	world_end(&w);
}

/* ---- memory ---- */

static void memory_runs_out(struct world *w, int32_t oom)
{
	init(w, true);
	open_and_begin(w, -1);
	driver_says(w, ENGINE_EXITED, 2, oom);
}

static void is_told_as_exit(struct world *w)
{
	struct link_message m;

	ok(hear(w, &m) == LINK_REPORT && w->report.has_exit && w->report.oom_kills, "which its memory ended");
	is_num(w->report.exit.status, SIGKILL, "was killed");
	is_num(w->report.error.code, CORDON_OK, "and nothing else went wrong");
}

static void test_memory_of_init(void)
{
	struct link_message m;
	struct world w;

	memory_runs_out(&w, 1);
	fd_close(&w.to[1]);
	fd_close(&w.to[2]);
	is_told_as_exit(&w);
	world_end(&w);

	memory_runs_out(&w, 0);
	fd_close(&w.to[1]);
	fd_close(&w.to[2]);
	ok(hear(&w, &m) == LINK_REPORT && !w.report.has_exit, "which had enough of it");
	is_str(w.report.error.message, "the container of fake ended while the payload ran", "is missed");
	world_end(&w);

	memory_runs_out(&w, 1);
	fd_close(&w.to[2]);
	ok(eventually(seen->k.is_over), "whose driver leaves it the stream");
	seen->deadline = DEADLINE_NOW;
	ask(&w, LINK_STAT); /* so that it looks at the time */
	is_told_as_exit(&w);
	world_end(&w);
}

/* ---- what is under way ---- */

static void test_output_without_front(void)
{
	char zeros[4096] = { 0 };
	struct str s = { 0 };
	struct world w;
	int out[2];

	if (pipe2(out, O_CLOEXEC | O_NONBLOCK) < 0)
		abort();
	while (write(out[1], zeros, sizeof(zeros)) > 0)
		;
	init(&w, true);
	open_and_begin(&w, out[1]);
	frame_put(&s, FRAME_STDOUT, "x", 1);
	frame_put_exit(&s, &(struct frame_exit){ 0 });
	init_sends(&w, &s);
	ok(eventually(seen->state == ENGINE_SPEAKS), "whose last output finds no room");
	rests("until there is some");
	ok(!seen->k.report.has_exit, "what comes behind it has to wait");
	seen->deadline = DEADLINE_NEVER;
	fd_close(&w.front);
	is_num(asked(&w), ENGINE_STAT, "without the front, the output goes and its end is heard");
	ok(eventually(seen->k.report.has_exit), "which is what is counted");
	rests("without a front");
	seen->deadline = DEADLINE_OWN;
	fd_close(&out[0]);
	world_end(&w);
}

/* Takes what was on its way; how many bytes that was. */
static size_t drain(struct world *w)
{
	static char buffer[65536];
	size_t total = 0;
	ssize_t n;

	while (is_readable(w->to[1], LOOK_MS) && (n = recv(w->to[1], buffer, sizeof(buffer), 0)) > 0)
		total += (size_t)n;
	return total;
}

static void test_copy_while_ending(void)
{
	enum { SIZE = 16 << 20 };
	static char in[] = "/tmp/in";
	struct plan_copy copy = { .host = in, .box = in, .fd = memfd_create("in", MFD_CLOEXEC) };
	struct world w;

	if (ftruncate(copy.fd, SIZE) < 0)
		abort();
	init(&w, false);
	w.engine.makes_root = false;
	w.plan.ins = &copy;
	w.plan.in_count = 1;
	stand(&w);
	ok(told(&w) == FRAME_JOB && told(&w) == FRAME_ENTRY && told(&w) == FRAME_DATA, "a file goes in");
	rests("while init does not take it");
	send_end(&w, LINK_CANCEL);
	ok(asked(&w) == ENGINE_KILL, "it is to end");
	ok(drain(&w) < SIZE / 2, "no more goes in");
	rests("with what it will not send");
	fd_close(&copy.fd);
	world_end(&w);
}

int main(void)
{
	test_error_of_a_pause();
	test_error_of_the_box();
	test_answers_in_order();
	test_answers_to_many();
	test_error_of_a_thaw();
	test_last_word();
	test_driver_lost();
	test_memory_of_init();
	test_output_without_front();
	test_copy_while_ending();
	return done_testing();
}
