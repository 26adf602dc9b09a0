/*
 * cordon_run(): forks the keeper, serves it as its front, and waits for its end. If the keeper is killed, what lasts is undone here. In the
 * caller's process, with the caller's rights.
 */
#include "base/error.h"
#include "base/fd.h"
#include "box/front.h"
#include "engine/keeper.h"
#include "engine/spawn.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>

struct run {
	struct front front;
	struct traffic traffic;
	struct spawned keeper;
};

static int run_start(struct run *run, struct cordon_error *err)
{
	struct keeper_fds fds = { .front = -1, .events = -1, .control = -1 };
	struct front *f = &run->front;
	struct pipes p;
	int r = front_open_pipes(f, &p), link[2] = { -1, -1 };

	if (r == 0)
		r = socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, link) < 0 ? -errno : front_above_stdio(link);
	if (r == 0)
		r = traffic_open(f->traffic, f->plan, &fds.events);
	if (r == 0) {
		fds.front = link[1];
		fds.stdio[0] = p.in[0];
		fds.stdio[1] = p.out[1];
		fds.stdio[2] = p.err[1];
		r = spawn_keeper(&run->keeper, f->plan, &fds);
	}
	front_close_theirs(&p);
	fd_close(&link[1]);
	fd_close(&fds.events);
	if (r < 0) {
		front_close_pipes(&p);
		fd_close(&link[0]);
		return cordon_fail(err, CORDON_SYSTEM, -r, "start the keeper");
	}
	f->keeper = link[0];
	front_take_pipes(f, &p);
	return 0;
}

static int run_job(struct run *run, struct cordon_result **ret_result, struct cordon_error *err)
{
	const struct cordon_plan *plan = run->front.plan;
	struct front *f = &run->front;
	bool gone;
	int r;

	front_serve(f);
	fd_close(&f->keeper); /* whatever it still has to say: it must not wait for us while we wait for it */
	gone = f->reported && plan->level == LEVEL_CONTAINER; /* all who could write; the keeper cleans up */
	if (!gone)
		spawn_wait(&run->keeper, plan, f->reported);
	front_drain(f);
	collect_done(&f->collect, f->collected || !plan->out_count || (f->reported && !f->report.started));
	r = front_result(f, ret_result, err);
	if (gone)
		spawn_wait(&run->keeper, plan, f->reported);
	return r;
}

int cordon_run(const struct cordon_plan *plan, const struct cordon_io *io, struct cordon_result **ret_result,
	       struct cordon_error *err)
{
	struct cordon_error unused;
	struct run *run;
	int r = -1;

	if (!plan || !ret_result || (io && io->size < sizeof(size_t)))
		return cordon_fail(err, CORDON_INVALID, 0,
				   "a run needs a plan, room for its result, and an io with its size set");
	if (plan->lives)
		return cordon_fail(err, CORDON_INVALID, 0, "this plan is of a box that lives: cordon_box_open()");
	run = calloc(1, sizeof(*run));
	if (!run)
		return fail_memory(err);
	traffic_init(&run->traffic);
	if (front_init(&run->front, plan, io, &run->traffic) == 0 && spawn_init(&run->keeper) == 0) {
		run->front.owner = run->keeper.owner;
		collect_init(&run->front.collect, plan, &run->front.collect_error);
		r = run_start(run, err ? err : &unused);
		if (r == 0)
			r = run_job(run, ret_result, err);
	} else {
		(void)fail_memory(err);
	}
	front_done(&run->front);
	fd_close(&run->front.keeper);
	traffic_done(&run->traffic);
	spawn_done(&run->keeper);
	free(run);
	return r < 0 ? fail_step(err, "front") : r;
}

const char *cordon_version(void)
{
	return CORDON_VERSION;
}
