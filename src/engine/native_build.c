/*
 * Building a native box, the keeper's part: the cgroup, what init could not make itself, init cloned into the new namespaces and its id maps.
 * Runs in the keeper, with the caller's rights.
 */
#include "engine/native.h"

#include "base/error.h"
#include "base/fd.h"
#include "box/init.h"
#include "box/root.h"
#include "os/probe.h"
#include "os/process.h"
#include "os/subid.h"
#include "os/userns.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

static int make_cgroup(struct native *n, struct cordon_error *err)
{
	const struct plan_limits *l = &n->k->plan->limits;
	int r = 0;

	if (!(n->k->plan->layers & LAYER_BIT(CGROUP)))
		return 0;
	if (keeper_take_name(n->k, err) < 0 || prepare_scope(n->k->plan, n->k->owner, err) < 0)
		return -1;
	n->cgroup_limits = (struct cgroup_limits){
		.memory_bytes = n->k->plan->cgroup.can & CGROUP_CAN_MEMORY ? l->memory_bytes : 0,
		.processes = n->k->plan->cgroup.can & CGROUP_CAN_PIDS ? l->processes : 0,
		.cpu_milli = n->k->plan->cgroup.can & CGROUP_CAN_CPU ? l->cpu_milli : 0,
		.read_bps = l->read_bps,
		.write_bps = l->write_bps,
		.kill = n->k->plan->level == LEVEL_PROCESS,
	};
	if (n->k->plan->cgroup.mode != CGROUP_NONE) {
		r = cgroup_create(&n->cgroup, &n->k->plan->cgroup, n->k->owner, &n->cgroup_limits);
		n->has_cgroup = r == 0;
		if (r == 0 && n->k->plan->lives)
			r = cgroup_add_later(&n->cgroup, &n->cgroup_limits);
	}
	if (r == 0)
		return 0;
	cordon_fail(err, CORDON_SYSTEM, -r, "make the cgroup");
	if (n->k->plan->cgroup.why[0])
		(void)fail_hint(err, "%s; %s", n->k->plan->cgroup.why, n->k->plan->cgroup.remedy);
	return fail_step(err, "cgroup");
}

/* Those that come with the clone; the network follows in the payload's child. So does the cgroup namespace: its top is then the box's group, and init, which
 * stays in the host's, may put the child there. Not in a box that lives, whose init has no right to namespaces any more when jobs come. */
static unsigned layers_of_init(const struct cordon_plan *plan)
{
	const unsigned namespaces = LAYER_BIT(USERNS) | LAYER_BIT(MOUNTNS) | LAYER_BIT(PIDNS) | LAYER_BIT(IPCNS) |
				    LAYER_BIT(UTSNS) | (plan->lives ? LAYER_BIT(CGROUPNS) : 0);

	return plan->layers & namespaces;
}

static uint64_t clone_flags(const struct cordon_plan *plan)
{
	static const struct {
		unsigned layer;
		uint64_t flag;
	} rows[] = {
		{ LAYER_BIT(USERNS), CLONE_NEWUSER }, { LAYER_BIT(MOUNTNS), CLONE_NEWNS },
		{ LAYER_BIT(PIDNS), CLONE_NEWPID },   { LAYER_BIT(IPCNS), CLONE_NEWIPC },
		{ LAYER_BIT(UTSNS), CLONE_NEWUTS },   { LAYER_BIT(CGROUPNS), CLONE_NEWCGROUP },
	};
	const unsigned layers = layers_of_init(plan);
	uint64_t flags = 0;

	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if (layers & rows[i].layer)
			flags |= rows[i].flag;
	return flags;
}

/* At container level the group is made while init builds its root. On v2 before: the payload's child is born in it. */
static bool cgroup_comes_later(const struct cordon_plan *plan)
{
	return plan->level == LEVEL_CONTAINER && (plan->layers & LAYER_BIT(CGROUP)) && plan->cgroup.mode == CGROUP_V1;
}

static int send_cgroup(struct native *n, struct cordon_error *err)
{
	struct link_message m = { .type = LINK_CGROUP };
	int fds[CG_TREES], r;
	size_t count = 0;

	if (make_cgroup(n, err) < 0)
		return -1;
	for (int t = 0; t < CG_TREES; t++)
		if (n->cgroup.procs[t] >= 0)
			fds[count++] = n->cgroup.procs[t];
	r = link_send_fds(n->link, &m, fds, count);
	if (r == 0)
		return 0;
	cordon_fail(err, CORDON_SYSTEM, -r, "hand over the cgroup");
	return fail_step(err, "cgroup");
}

/* The caller's environment came with the fork. init has no use for it, and a secret of the policy may be in it. */
static void wipe_environment(void)
{
	for (char **e = environ; e && *e; e++)
		explicit_bzero(*e, strlen(*e));
	environ = NULL;
}

/* What init builds the root from, and has no use for then: behind each lies more of the host than the box is given. */
static int list_sources(const struct keeper *k, struct inside *in)
{
	const struct cordon_plan *p = k->plan;

	if (p->level != LEVEL_CONTAINER)
		return 0;
	in->sources = calloc(2 * (p->mount_count + p->in_count) + 1, sizeof(*in->sources));
	if (!in->sources)
		return -1;
	for (size_t i = 0; i < p->mount_count; i++)
		in->sources[in->source_count++] = p->mounts[i].fd;
	for (size_t i = 0; i < p->in_count; i++)
		in->sources[in->source_count++] = p->ins[i].fd;
	for (size_t i = 0; i < k->prepared.mount_count; i++)
		in->sources[in->source_count++] = k->prepared.mounts[i];
	for (size_t i = 0; i < k->prepared.in_count; i++)
		in->sources[in->source_count++] = k->prepared.ins[i];
	in->sources[in->source_count++] = p->root_fd;
	return 0;
}

static _Noreturn void become_init(struct native *n, int link)
{
	struct cordon_error err = { 0 };
	struct cgroup group = n->has_cgroup ? n->cgroup : (struct cgroup)CGROUP_INIT;
	struct root root;
	bool own_ids = n->k->plan->level == LEVEL_CONTAINER && (n->k->plan->layers & LAYER_BIT(USERNS));
	struct inside in = {
		.plan = n->k->plan,
		.cgroup = n->has_cgroup ? &group : NULL,
		.awaits_cgroup = cgroup_comes_later(n->k->plan),
		.group = &group,
		.root = &root,
		.link = link,
		.stdio = { n->k->fds->stdio[0], n->k->fds->stdio[1], n->k->fds->stdio[2] },
		.tty_slave = -1,
		.gate = -1,
		.capture = n->k->egress.capture,
		.wanted = n->k->egress.wanted,
		.authority = n->k->egress.authority,
		.proc_net = -1,
		.netns = -1,
		.rules = -1,
		.listener = -1,
		.files = -1,
		.prepared = n->k->prepared.mounts,
		.prepared_in = n->k->prepared.ins,
		.image = n->k->prepared.image,
		.scratch = n->k->prepared.scratch,
		.scratch_path = n->k->prepared.scratch_path,
		.namespaces = layers_of_init(n->k->plan),
		.uid = own_ids ? PLAN_UID : n->k->prepared.uid,
		.gid = own_ids ? PLAN_GID : n->k->prepared.gid,
		.work = n->k->prepared.work,
		.err = &err,
	};
	int front = n->k->fds->front, events = n->k->fds->events, control = n->k->fds->control;

	fd_close(&front);
	fd_close(&control);
	fd_close(&events);
	fd_close(&n->link);
	fd_close(&n->k->egress.theirs);
	fd_close(&n->k->egress.certificates);
	fd_close(&n->k->egress.config);
	fd_close(&n->k->prepared.guard.fd);
	if (list_sources(n->k, &in) < 0)
		_exit(1);
	if (n->k->plan->network.config.secret_count)
		wipe_environment();
	init_main(&in);
}

static int map_ids(struct native *n, struct cordon_error *err)
{
	const struct cordon_plan *p = n->k->plan;
	const struct id_range root_uids[] = { { 0, n->k->prepared.uid + 1, 1 }, { PLAN_UID, n->k->prepared.uid, 1 } };
	const struct id_range own_uid = { PLAN_UID, p->caller_uid, 1 }, own_gid = { PLAN_GID, p->caller_gid, 1 };
	int r;

	if (!(p->layers & LAYER_BIT(USERNS)))
		return 0;
	if (p->subuids)
		r = subid_map(n->init_pid, &(struct subid_pair){ PLAN_UID, p->caller_uid, 0, p->subuid, 0 },
			      &(struct subid_pair){ PLAN_GID, p->caller_gid, 0, p->subgid, 0 });
	else if (p->as_root)
		r = userns_write_maps(n->init_pid, root_uids, 2, root_uids, 2, false);
	else
		r = userns_write_maps(n->init_pid, &own_uid, 1, &own_gid, 1, true);
	if (r == 0)
		return 0;
	cordon_fail(err, CORDON_SYSTEM, -r, "write the id maps");
	(void)fail_hint(
		err,
		"an AppArmor or sysctl rule may take the rights away from new user namespaces; see `cordon doctor`");
	return fail_step(err, "userns");
}

/* Where it can let the payload's child be born in the box's group, if there is such a place. Without, the child joins. */
static pid_t clone_in_place(struct native *n)
{
	const struct cordon_plan *plan = n->k->plan;
	auto_close int inits = -1;
	pid_t pid = -1;

	if (n->has_cgroup && (plan->layers & LAYER_BIT(USERNS)))
		inits = cgroup_open_inits(&n->cgroup);
	if (inits >= 0 && cgroup_give(&n->cgroup, n->k->prepared.uid + 1) == 0)
		pid = process_clone_into(clone_flags(plan), inits, &n->init);
	return pid >= 0 ? pid : process_clone(clone_flags(plan), &n->init);
}

static int clone_init(struct native *n, int link, struct cordon_error *err)
{
	struct cordon_plan *plan = n->k->plan;
	char why[512], remedy[512];
	pid_t pid = clone_in_place(n);

	if (pid < 0 && (plan->may_degrade & layers_of_init(plan))) {
		plan->degraded |= plan->may_degrade & layers_of_init(plan);
		plan->layers &= ~plan->degraded;
		pid = clone_in_place(n);
	}
	if (pid == 0)
		become_init(n, link);
	if (pid > 0) {
		n->init_pid = pid;
		process_spread(pid);
		return 0;
	}
	probe_explain_clone(-pid, (unsigned long)clone_flags(plan), why, sizeof(why), remedy, sizeof(remedy));
	cordon_fail(err, CORDON_UNAVAILABLE, -pid, "new namespaces are refused (%s)", why);
	(void)fail_hint(err, "%s", remedy);
	return fail_step(err, "namespaces");
}

/*
 * A pipe belongs to who made it. As root the payload is someone else, and could not open /dev/stdin, /dev/stdout and /dev/stderr,
 * as ordinary shell lines do. Where the pipe cannot be given, those stay closed and the fds themselves work.
 */
void native_give_pipes(const struct native *n, const int stdio[3])
{
	struct stat st;

	for (int i = 0; i < 3 && n->k->plan->as_root; i++)
		if (fstat(stdio[i], &st) == 0 && S_ISFIFO(st.st_mode) &&
		    fchown(stdio[i], n->k->prepared.uid, n->k->prepared.gid) < 0)
			return;
}

int native_build(struct native *n, struct cordon_error *err)
{
	struct link_message go = { .type = LINK_MAPPED };
	auto_close int theirs = -1;
	int pair[2], r;

	bool later = cgroup_comes_later(n->k->plan);

	if (prepare_lasts(n->k->plan) && keeper_take_name(n->k, err) < 0)
		return -1;
	if ((!later && make_cgroup(n, err) < 0) || prepare_box(n->k->plan, n->k->owner, &n->k->prepared, err) < 0)
		return -1;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0) {
		cordon_fail(err, CORDON_SYSTEM, errno, "make the link to init");
		return fail_step(err, "link");
	}
	n->link = pair[0];
	theirs = pair[1];
	if (egress_prepare(&n->k->egress, n->k->plan, err) < 0 || clone_init(n, theirs, err) < 0 || map_ids(n, err) < 0)
		return -1;
	(void)prctl(PR_SET_DUMPABLE, 0, 0, 0,
		    0); /* from here on: before, /proc/PID/uid_map would not be ours to write */
	if (!later)
		native_give_pipes(n, n->k->fds->stdio);
	r = link_send(n->link, &go, -1);
	if (r < 0) {
		cordon_fail(err, CORDON_SYSTEM, -r, "start init");
		return fail_step(err, "link");
	}
	if (later) /* the payload waits for its group, which comes behind this */
		native_give_pipes(n, n->k->fds->stdio);
	/* While init works. */
	if (keeper_take_name(n->k, err) < 0)
		return -1;
	/* Its certificate goes into the root. Otherwise it starts when it is wanted. */
	if (n->k->plan->network.intercepts && egress_start(&n->k->egress, n->k->plan, n->k->fds->events, err) < 0)
		return -1;
	for (int i = 0; i < 3; i++) {
		int fd = n->k->fds->stdio[i];

		fd_close(&fd);
	}
	return later ? send_cgroup(n, err) : 0;
}
