/*
 * What the keeper makes of what an engine tells it and of what the front wants, where the two meet: with an engine that does as the test says,
 * which hands it functions to call (the process is a copy of the test's).
 */
#include "keeper_world.h"

enum { EXEC, REST, FILES, SIGNAL, STATS, LOOK, PAUSE, RESUME, END, FORCE, LEAVE };

/* ---- the engine, in the keeper's process ---- */

typedef void fake_fn(struct keeper *k);

static struct {
	enum engine_state state;
	bool is_silent, refuses; /* numbers are promised; jobs */
	bool owes_word;          /* what it was told is done once it waits again */
} fake;

static int create(struct keeper *k, struct cordon_error *err)
{
	(void)err;
	fake.state = ENGINE_STANDS;
	k->has_base = k->swept = true;
	return 0;
}

static void say_numbers(struct keeper *k)
{
	struct engine_exited numbers = { .type = ENGINE_STATS, .cpu_us = 1 };

	keeper_numbers(k, &numbers);
}

static int exec(struct keeper *k, const struct link_message *job, int fds[LINK_JOB_FDS], size_t n,
		struct cordon_error *err)
{
	(void)k, (void)job, (void)fds, (void)n;
	seen->calls[EXEC]++;
	return fake.refuses ? cordon_fail(err, CORDON_SYSTEM, 0, "no job for who is gone") : 0;
}

static void rest(struct keeper *k)
{
	(void)k;
	seen->calls[REST]++;
}

static void files(struct keeper *k)
{
	(void)k;
	seen->calls[FILES]++;
}

static void take_signal(struct keeper *k, int sig)
{
	(void)k, (void)sig;
	seen->calls[SIGNAL]++;
}

static void stats(struct keeper *k, bool all)
{
	seen->calls[all ? STATS : LOOK]++;
	if (fake.is_silent)
		k->awaited++;
	else
		say_numbers(k);
}

static void pause_it(struct keeper *k)
{
	seen->calls[PAUSE]++;
	say_numbers(k);
}

static void resume(struct keeper *k)
{
	seen->calls[RESUME]++;
	say_numbers(k);
}

static void end(struct keeper *k)
{
	seen->calls[END]++;
	k->deadline_us = UINT64_MAX;
}

static void force(struct keeper *k)
{
	seen->calls[FORCE]++;
	k->deadline_us = UINT64_MAX;
	fake.state = ENGINE_GONE;
}

static void leave(struct keeper *k)
{
	(void)k;
	seen->calls[LEAVE]++;
	fake.state = ENGINE_GONE;
}

static uint64_t await(struct keeper *k, struct pollfd fds[ENGINE_FDS], uint64_t now)
{
	(void)now;
	fds[0].fd = k->fds->stdio[0];
	if (fake.owes_word)
		(void)send(k->fds->stdio[0], "", 1, MSG_NOSIGNAL);
	fake.owes_word = false;
	return UINT64_MAX;
}

static void turn(struct keeper *k, const struct pollfd fds[ENGINE_FDS], uint64_t now)
{
	fake_fn *fn;

	(void)now;
	if (!fds[0].revents)
		return;
	if (recv(fds[0].fd, &fn, sizeof(fn), 0) != (ssize_t)sizeof(fn)) {
		fake.state = ENGINE_GONE; /* the test is over */
		return;
	}
	fn(k);
	fake.owes_word = true;
}

static enum engine_state state(const struct keeper *k)
{
	(void)k;
	return fake.state;
}

static void explain(const struct keeper *k, bool silent, struct cordon_error *err)
{
	(void)k;
	cordon_fail(err, CORDON_SYSTEM, 0, silent ? "it says nothing" : "it went without a word");
}

static const struct engine_ops fake_ops = {
	.create = create,
	.exec = exec,
	.rest = rest,
	.files = files,
	.signal = take_signal,
	.stats = stats,
	.pause = pause_it,
	.resume = resume,
	.end = end,
	.force = force,
	.leave = leave,
	.destroy = keeper_tell,
	.await = await,
	.turn = turn,
	.state = state,
	.explain = explain,
	.look_us = 1000,
};

/* ---- what it is told to do ---- */

static void nothing(struct keeper *k)
{
	(void)k;
}

static void started(struct keeper *k)
{
	keeper_started(k, 0);
}

static void exited(struct keeper *k)
{
	keeper_exited(k, &(struct link_exit){ 0 });
}

static void collected(struct keeper *k)
{
	k->collected = true;
}

static void silent(struct keeper *k)
{
	(void)k;
	fake.is_silent = true;
}

static void speaks(struct keeper *k)
{
	(void)k;
	fake.state = ENGINE_SPEAKS;
}

static void leaves(struct keeper *k)
{
	(void)k;
	fake.state = ENGINE_LEAVES;
	fake.refuses = true;
}

static void gone(struct keeper *k)
{
	(void)k;
	fake.state = ENGINE_GONE;
}

/* Done, with all that followed from it and from what was sent before. */
static void tell(struct world *w, fake_fn *fn)
{
	char byte;

	if (send(w->to[0], &fn, sizeof(fn), MSG_NOSIGNAL) < 0 || !is_readable(w->to[0], PATIENCE_MS))
		return;
	(void)recv(w->to[0], &byte, 1, 0); /* end of file: it was the last */
}

static void open_box(struct world *w)
{
	struct link_message m;

	world_init(w, &fake_ops, true);
	world_start(w);
	tell(w, keeper_opened);
	ok(hear(w, &m) == LINK_OPENED, "a box");
}

static void begin_job(struct world *w, size_t outs)
{
	send_job(w, outs, -1);
	tell(w, nothing);
	tell(w, started);
	ok(seen->calls[EXEC] == 1 && seen->k.report.started, "with a job");
}

static void ask_and_hear(struct world *w, enum link_type type)
{
	ask(w, type);
	ok(answer(w).type == LINK_STATS, "%s", type == LINK_PAUSE ? "is paused" : "and resumed");
}

/* ---- pausing ---- */

static void test_cpu_time_after_pause(void)
{
	struct world w;

	open_box(&w);
	begin_job(&w, 0);
	ask_and_hear(&w, LINK_PAUSE);
	tell(&w, nothing);
	is_num(seen->calls[LOOK], 0, "whose CPU time was not worth a look");
	ask_and_hear(&w, LINK_RESUME);
	ok(eventually(seen->calls[LOOK]), "is looked at at once");
	world_end(&w);
}

static void test_begun_while_paused(void)
{
	const uint64_t before = clock_us();
	struct link_message m;
	struct world w;

	open_box(&w);
	send_job(&w, 0, -1);
	tell(&w, nothing);
	ask_and_hear(&w, LINK_PAUSE);
	nap(500);
	tell(&w, started);
	ask_and_hear(&w, LINK_RESUME);
	tell(&w, nothing);
	ok(seen->k.started_us <= seen->now_us, "a job that began meanwhile began in the past");
	ok(seen->k.deadline_us <= seen->now_us + w.plan.limits.wall_time_ms * 1000, "and has no more than its time");
	tell(&w, exited);
	ok(hear(&w, &m) == LINK_REPORT && w.report.wall_us < clock_us() - before, "of which it took %llu us",
	   (unsigned long long)w.report.wall_us);
	world_end(&w);
}

static void test_front_gone_while_frozen(void)
{
	struct world w;

	open_box(&w);
	begin_job(&w, 0);
	ask_and_hear(&w, LINK_PAUSE);
	fd_close(&w.front);
	ok(eventually(seen->calls[END] == 1) && seen->calls[RESUME] == 1, "without its front it is thawed, and ended");
	world_end(&w);

	open_box(&w);
	begin_job(&w, 0);
	ask_and_hear(&w, LINK_PAUSE);
	tell(&w, silent);
	tell(&w, exited);
	ok(seen->k.stage == KEEPER_COUNTS && seen->k.paused_us && !seen->calls[RESUME],
	   "one that ended before it was frozen, and whose numbers do not come");
	fd_close(&w.front);
	ok(eventually(seen->calls[RESUME] == 1), "is thawed as well");
	seen->deadline = DEADLINE_NOW;
	tell(&w, nothing);
	ok(eventually(seen->calls[FORCE] == 1), "so that its deadline comes");
	world_end(&w);
}

/* ---- the end ---- */

static void test_end_meets_exit(void)
{
	struct link_message m;
	struct world w;

	open_box(&w);
	begin_job(&w, 1);
	tell(&w, exited);
	ok(seen->k.stage == KEEPER_COLLECTS && seen->calls[FILES] == 1, "its files go out");
	send_end(&w, LINK_OUTPUT);
	tell(&w, nothing);
	ok(seen->k.stage == KEEPER_COLLECTS && !seen->calls[LEAVE], "also where its output was too much");
	tell(&w, collected);
	ok(hear(&w, &m) == LINK_REPORT && !w.report.is_last, "and the box goes on");
	world_end(&w);

	open_box(&w);
	begin_job(&w, 1);
	tell(&w, exited);
	send_end(&w, LINK_CANCEL);
	tell(&w, nothing);
	ok(seen->calls[LEAVE] == 1, "cancelled, they do not");
	world_end(&w);
}

static void test_job_for_who_is_gone(void)
{
	struct link_message m;
	struct world w;

	open_box(&w);
	tell(&w, leaves);
	send_job(&w, 0, -1);
	tell(&w, nothing);
	is_num(seen->calls[EXEC], 0, "whose init is gone gets no job");
	tell(&w, gone);
	ok(hear(&w, &m) == LINK_ERROR, "nor a report of one");
	is_str(m.error.message, "it went without a word", "but is told why");
	world_end(&w);
}

static void test_busy_where_it_goes_on(void)
{
	static const struct {
		fake_fn *fn;
		int code;
		const char *what;
	} rows[] = {
		{ nothing, CORDON_BUSY, "one that stands is busy" },
		{ speaks, CORDON_BUSY, "so is one that has something to say" },
		{ leaves, CORDON_SYSTEM, "one that leaves is not" },
	};
	struct link_message m;
	struct world w;

	open_box(&w);
	begin_job(&w, 0);
	send_end(&w, LINK_CANCEL);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		tell(&w, rows[i].fn);
		ask(&w, LINK_PAUSE);
		m = answer(&w);
		ok(m.type == LINK_ERROR && m.error.code == rows[i].code, "%s", rows[i].what);
	}
	world_end(&w);
}

int main(void)
{
	test_cpu_time_after_pause();
	test_begun_while_paused();
	test_front_gone_while_frozen();
	test_end_meets_exit();
	test_job_for_who_is_gone();
	test_busy_where_it_goes_on();
	return done_testing();
}
