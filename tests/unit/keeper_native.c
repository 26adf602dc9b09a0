/* A native box's keeper and an init that says something when it is too late: with a socket in init's place, and a process that only is there. */
#include "keeper_world.h"

#include "engine/native.h"

static int create(struct keeper *k, struct cordon_error *err)
{
	static struct native n;

	(void)err;
	n = (struct native){ .k = k,
			     .cgroup = CGROUP_INIT,
			     .link = k->fds->stdio[0],
			     .init = world_clone(k),
			     .init_pid = seen->child,
			     .listener = -1,
			     .later_us = UINT64_MAX };
	k->engine = &n;
	k->has_base = k->swept = true;
	return 0;
}

/* It goes while it is handed a job. */
static int exec_too_late(struct keeper *k, const struct link_message *job, int fds[LINK_JOB_FDS], size_t n,
			 struct cordon_error *err)
{
	(void)shutdown(((struct native *)k->engine)->link, SHUT_RDWR);
	return native_ops.exec(k, job, fds, n, err);
}

static void start(struct world *w)
{
	world_init(w, &native_ops, true);
	w->ops.create = create;
	w->ops.exec = exec_too_late;
	world_start(w);
}

static void init_opened(struct world *w)
{
	(void)link_send(w->to[0], &(struct link_message){ .type = LINK_OPENED }, -1);
}

static void test_opened_too_late(void)
{
	struct link_message m;
	struct world w;

	start(&w);
	send_end(&w, LINK_CANCEL);
	ok(eventually(seen->k.ending), "a box that is ended while it is built");
	init_opened(&w);
	fd_close(&w.to[0]);
	ok(hear(&w, &m) == LINK_REPORT && w.report.cancelled, "is not opened by what its init said last");
	world_end(&w);
}

static void test_init_goes_with_job(void)
{
	struct link_message m;
	struct world w;

	start(&w);
	init_opened(&w);
	ok(hear(&w, &m) == LINK_OPENED, "in time it is");
	send_job(&w, 0, -1);
	ok(eventually(seen->state == ENGINE_LEAVES), "its init goes while it is handed a job");
	fd_close(&w.to[2]);
	ok(hear(&w, &m) == LINK_REPORT && w.report.is_last, "which is reported");
	is_str(w.report.error.message, "init ended before the payload was started", "as what it is");
	world_end(&w);
}

int main(void)
{
	test_opened_too_late();
	test_init_goes_with_job();
	return done_testing();
}
