/*
 * A foreign box of an ordinary user. Laying out a root needs rights over mounts, which a user has in a user namespace of his own: the stage, a
 * child of the keeper, is cloned into one, in which the caller is root and a subordinate id is somebody else. It lays the root out and becomes
 * the driver. The runtime, root of the stage as well, makes the container's own user namespace in it: the payload is the caller, the
 * container's root the subordinate id. The keeper stays outside, with the caller's rights and nothing more. Runs in the keeper.
 */
#include "engine/foreign_state.h"

#include "base/error.h"
#include "base/fd.h"
#include "os/caps.h"
#include "os/probe.h"
#include "os/process.h"
#include "os/subid.h"
#include "plan/engine.h"

#include <errno.h>
#include <linux/sched.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

/* Ids of the stage. The last one is who gVisor's kernel runs as. */
enum { STAGE_CALLER = 0, STAGE_OTHER = 1, STAGE_NOBODY = 65534 };

bool foreign_has_stage(const struct foreign *f)
{
	return f->plan->engine->makes_root && !f->plan->as_root;
}

static _Noreturn void leave_stage(int control, const struct cordon_error *err)
{
	struct engine_failed failed = { .type = ENGINE_ERROR, .error = *err };

	(void)send(control, &failed, sizeof(failed), MSG_NOSIGNAL);
	_exit(1);
}

/* `gate` is closed without a byte when there will be no maps. */
static _Noreturn void become_stage(struct foreign *f, int gate, int stream, int control)
{
	struct cordon_error err = { 0 };
	int r, spec;
	char byte;

	if (read(gate, &byte, 1) != 1)
		_exit(1);
	r = caps_set_ids(STAGE_CALLER, STAGE_CALLER, true);
	if (r < 0) {
		cordon_fail(&err, CORDON_SYSTEM, -r, "become root of a user namespace");
		(void)fail_step(&err, "userns");
		leave_stage(control, &err);
	}
	f->k->prepared.uid = f->k->prepared.gid = STAGE_CALLER;
	if (foreign_lay_root(f, &err) < 0)
		leave_stage(control, &err);
	spec = foreign_write_spec(f);
	if (spec < 0) {
		cordon_fail(&err, CORDON_SYSTEM, -spec, "write the specification of the container");
		leave_stage(control, &err);
	}
	foreign_become_driver(f, (int[]){ spec, stream, control });
}

static int explain_clone(int r, struct cordon_error *err)
{
	char why[512], remedy[512];

	probe_explain_clone(-r, CLONE_NEWUSER | CLONE_NEWNS, why, sizeof(why), remedy, sizeof(remedy));
	cordon_fail(err, CORDON_UNAVAILABLE, -r, "new namespaces are refused (%s)", why);
	(void)fail_hint(err, "%s", remedy);
	return fail_step(err, "namespaces");
}

int foreign_clone_stage(struct foreign *f, int stream, int control, struct cordon_error *err)
{
	const struct cordon_plan *p = f->plan;
	const unsigned nobody = p->engine->own_kernel ? STAGE_NOBODY : 0;
	const struct subid_pair uids = { STAGE_CALLER, p->caller_uid, STAGE_OTHER, p->subuid, nobody },
				gids = { STAGE_CALLER, p->caller_gid, STAGE_OTHER, p->subgid, nobody };
	auto_close int gate = -1, theirs = -1;
	int pair[2], r;
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return cordon_fail(err, CORDON_SYSTEM, errno, "make a socket");
	gate = pair[0];
	theirs = pair[1];
	pid = process_clone(CLONE_NEWUSER | CLONE_NEWNS, &f->driver);
	if (pid == 0) {
		fd_close(&gate);
		become_stage(f, theirs, stream, control);
	}
	if (pid < 0)
		return explain_clone(pid, err);
	r = subid_map(pid, &uids, &gids);
	r = r < 0 ? r : send(gate, "", 1, MSG_NOSIGNAL) == 1 ? 0 : -errno;
	if (r == 0)
		return 0;
	cordon_fail(err, CORDON_SYSTEM, -r, "map the ids of /etc/subuid and /etc/subgid");
	(void)fail_hint(err,
			"newuidmap and newgidmap must be set-user-id or have their capabilities; see `cordon doctor`");
	return fail_step(err, "userns");
}
