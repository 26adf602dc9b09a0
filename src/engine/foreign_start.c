/*
 * Starting a foreign box: its root, laid out as a native one's in a mount namespace of the keeper's own, so that files mean the same and
 * nothing of it outlives the keeper and its children; the specification for the driver; the driver; the job for init. Runs in the keeper,
 * as root; for an ordinary user's box the root and the specification are made in the stage (foreign_user.c).
 */
#include "engine/foreign_state.h"

#include "base/error.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/path.h"
#include "box/root.h"
#include "os/process.h"
#include "plan/engine.h"
#include "stream/job.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- the root ---- */

int foreign_lay_root(struct foreign *f, struct cordon_error *err)
{
	/* Not /run, where runtimes have their state; the programs that are still to be executed must stay in sight. */
	static const char *const all[] = { "/boot", "/root", "/srv", "/mnt" };
	const char *places[ARRAY_LEN(all) + 1] = { NULL };
	struct root r = { .for_runtime = true,
			  .plan = f->plan,
			  .prepared = f->k->prepared.mounts,
			  .image = f->k->prepared.image,
			  .scratch = f->k->prepared.scratch,
			  .scratch_path = f->k->prepared.scratch_path,
			  .authority = f->net.authority,
			  .uid = f->k->prepared.uid,
			  .gid = f->k->prepared.gid,
			  .err = err };
	size_t n = 0;

	for (size_t i = 0; i < ARRAY_LEN(all); i++)
		if (!path_is_within(f->plan->init, all[i]) && !path_is_within(f->plan->driver, all[i]) &&
		    (!f->plan->network.egress || !path_is_within(f->plan->network.egress, all[i])))
			places[n++] = all[i];
	if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0) {
		cordon_fail(err, CORDON_SYSTEM, errno, "make a mount namespace for the root");
		return fail_step(err, "root");
	}
	umask(022);
	n = root_build_at(&r, places, &f->root) < 0;
	fd_close(&r.fd);
	fd_close(&f->net.authority);
	if (chdir("/") < 0)
		return cordon_fail(err, CORDON_SYSTEM, errno, "leave the root");
	return n ? -1 : 0;
}

/* ---- the specification ---- */

static void spec_map(struct json *j, const char *key, unsigned id)
{
	const unsigned rows[][2] = { { 0, id + 1 }, { PLAN_UID, id } };

	json_array(j, key);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		json_object(j, NULL);
		json_uint(j, "inside", rows[i][0]);
		json_uint(j, "outside", rows[i][1]);
		json_uint(j, "count", 1);
		json_end_object(j);
	}
	json_end_array(j);
}

static void spec_limits(struct json *j, const struct plan_limits *l)
{
	json_object(j, "limits");
	json_uint(j, "memory_bytes", l->memory_bytes);
	json_uint(j, "cpu_milli", l->cpu_milli);
	json_uint(j, "processes", l->processes + 1); /* init is in the group, too */
	json_uint(j, "core_bytes", 1);
	json_uint(j, "read_bps", l->read_bps);
	json_uint(j, "write_bps", l->write_bps);
	json_end_object(j);
}

static void spec_mount(struct json *j, const struct foreign *f, const char *dest, bool writable)
{
	auto_free char *path = str_printf("%s%s", f->root, dest);

	json_object(j, NULL);
	json_string(j, "source", path);
	json_string(j, "dest", dest);
	json_bool(j, "writable", writable);
	json_end_object(j);
}

static bool is_below(const struct plan_mount *m, const struct plan_mount *other)
{
	return m != other && path_is_within(m->dest, other->dest);
}

/*
 * A mount of the tree for a kernel of its own. Not one below another: that comes with it, and on the way to it lie directories of the host's,
 * which anybody who may write there can swap for a link while the runtime looks it up by name. The tree itself is read-only where it has to
 * be; what is said here only must not be narrower than what lies below.
 */
static void spec_tree_mount(struct json *j, const struct foreign *f, const struct plan_mount *m)
{
	const struct cordon_plan *p = f->plan;
	bool writable = m->writable, has_parent = false;

	for (size_t i = 0; i < p->mount_count; i++) {
		has_parent = has_parent || is_below(m, &p->mounts[i]);
		writable = writable || (is_below(&p->mounts[i], m) && p->mounts[i].writable);
	}
	if (!has_parent)
		spec_mount(j, f, m->dest, writable);
}

/*
 * Of the tree, what a runtime would hide with its own: /dev/shm, which counts against the same size as the home. A kernel of its own has
 * more: it lays memory of no bound over an empty /tmp, and takes what is no mount for nobody's but its own, so that it would not see
 * what changes outside.
 */
static void spec_mounts(struct json *j, const struct foreign *f)
{
	const struct cordon_plan *p = f->plan;

	json_array(j, "mounts");
	spec_mount(j, f, "/dev/shm", true);
	if (p->engine->own_kernel) {
		spec_mount(j, f, "/tmp", true);
		for (size_t i = 0; i < p->mount_count; i++)
			spec_tree_mount(j, f, &p->mounts[i]);
	}
	json_end_array(j);
}

/* Of the keeper's descriptors, as everybody who may look finds it: the runtime is no child of ours. */
static void spec_netns(struct json *j, const struct foreign *f)
{
	char path[64];

	if (f->net.netns < 0)
		return;
	snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)getpid(), f->net.netns);
	json_string(j, "netns", path);
}

/* A user's driver is root of its namespace, and must not take itself for the host's. */
static void spec_dir(struct json *j, const struct cordon_plan *p)
{
	auto_free char *dir = engine_directory(p->caller_uid);

	if (!p->as_root)
		json_string(j, "dir", dir);
}

static void spec_root(struct json *j, const struct foreign *f)
{
	json_string(j, "rootfs", f->root);
	if (f->plan->engine_platform)
		json_string(j, "platform", f->plan->engine_platform);
	spec_dir(j, f->plan);
	json_uint(j, "uid", f->plan->engine->own_kernel ? 0 : PLAN_UID);
	json_uint(j, "gid", f->plan->engine->own_kernel ? 0 : PLAN_GID);
	spec_mounts(j, f);
	spec_netns(j, f);
	json_object(j, "userns");
	spec_map(j, "uid", f->k->prepared.uid);
	spec_map(j, "gid", f->k->prepared.gid);
	json_end_object(j);
}

/* A runtime gets no filter of its own: of two filters the one that says "errno" wins over the one that tells, and init's is the narrower. */
int foreign_write_spec(const struct foreign *f)
{
	auto_close int fd = memfd_create("cordon-engine", MFD_CLOEXEC);
	struct json j = { 0 };
	auto_free char *text = NULL;
	int r;

	json_object(&j, NULL);
	json_string(&j, "owner", f->k->owner);
	json_string(&j, "init", f->plan->init);
	spec_limits(&j, &f->plan->limits);
	if (f->plan->engine->makes_root)
		spec_root(&j, f);
	else
		foreign_describe_image(f, &j);
	json_end_object(&j);
	text = json_take(&j);
	if (fd < 0 || !text)
		return fd < 0 ? -errno : -ENOMEM;
	r = fd_write_all(fd, text, strlen(text));
	return r < 0 ? r : STEAL_FD(fd);
}

/* ---- the driver ---- */

/*
 * On v2 groups with limits need a place that holds no process of its own (os/cgroup_v2.c). It is made here, where the caller is himself:
 * a user's scope is asked for, and the keeper steps into a leaf of it; so it does where root is in a container that has a tree of its own. The
 * driver comes after and finds it.
 */
static int settle_group(struct foreign *f, struct cordon_error *err)
{
	struct cgroup_host *host = &f->plan->cgroup;
	const struct cgroup_limits limits = { .memory_bytes = f->plan->limits.memory_bytes,
					      .processes = f->plan->limits.processes };
	struct cgroup group = CGROUP_INIT;
	struct cordon_error unsaid = { 0 };
	int r;

	if (!host->needs_scope && !host->needs_leaf)
		return 0;
	(void)prepare_scope(f->plan, f->k->owner, &unsaid);
	f->plan->limits_by_watch = false; /* nobody does */
	if (host->mode != CGROUP_V2 || !host->needs_leaf)
		return 0; /* what cannot be held is the driver's to say */
	r = cgroup_create(&group, host, f->k->owner, &limits);
	if (r < 0) {
		cordon_fail(err, CORDON_SYSTEM, -r, "make a place for control groups");
		return fail_step(err, "cgroup");
	}
	(void)cgroup_destroy(&group);
	return 0;
}

_Noreturn void foreign_become_driver(const struct foreign *f, const int from[3])
{
	static const int to[] = { ENGINE_FD_SPEC, ENGINE_FD_STREAM, ENGINE_FD_CONTROL };
	char *const argv[] = { (char *)(uintptr_t)f->plan->engine->driver, (char *)(uintptr_t)f->plan->engine->name,
			       NULL };
	int null = open("/dev/null", O_RDWR | O_CLOEXEC), high[3], keep[3];

	for (size_t i = 0; i < ARRAY_LEN(to); i++) {
		high[i] = fcntl(from[i], F_DUPFD_CLOEXEC, 64);
		if (high[i] < 0)
			_exit(127);
	}
	for (int i = 0; i < 3; i++)
		if (dup2(null, i) < 0)
			_exit(127);
	for (size_t i = 0; i < ARRAY_LEN(to); i++) {
		if (dup2(high[i], to[i]) < 0)
			_exit(127);
		keep[i] = to[i];
	}
	(void)process_close_others(keep, ARRAY_LEN(keep));
	execve(f->plan->driver, argv, environ);
	_exit(127);
}

static int spawn(struct foreign *f, struct cordon_error *err)
{
	auto_close int spec = foreign_has_stage(f) ? -1 : foreign_write_spec(f), their_stream = -1, their_control = -1;
	int stream[2], control[2], r = spec < 0 && !foreign_has_stage(f) ? spec : 0;

	if (r == 0 && socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, stream) < 0)
		r = -errno;
	if (r == 0) {
		f->stream = stream[0];
		their_stream = stream[1];
		r = socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, control) < 0 ? -errno : 0;
	}
	if (r == 0) {
		f->control = control[0];
		their_control = control[1];
		r = fd_set_nonblock(f->stream, true);
	}
	if (r == 0 && foreign_has_stage(f))
		return foreign_clone_stage(f, their_stream, their_control, err);
	if (r == 0)
		r = process_clone(0, &f->driver);
	if (r == 0 && f->driver < 0)
		foreign_become_driver(f, (int[]){ spec, their_stream, their_control });
	if (r > 0)
		return 0;
	cordon_fail(err, CORDON_SYSTEM, -r, "start the driver of %s", f->plan->engine->name);
	return fail_step(err, "engine");
}

static int lay_out(struct foreign *f, struct cordon_error *err)
{
	if (!f->plan->engine->makes_root)
		return foreign_shelve(f, err);
	return foreign_has_stage(f) ? 0 : foreign_lay_root(f, err);
}

int foreign_start(struct foreign *f, struct cordon_error *err)
{
	if (keeper_take_name(f->k, err) < 0 || prepare_box(f->plan, f->k->owner, &f->k->prepared, err) < 0 ||
	    foreign_net_start(f, err) < 0 || lay_out(f, err) < 0 || foreign_net_made(f, err) < 0 ||
	    (f->plan->engine->makes_root && settle_group(f, err) < 0) || spawn(f, err) < 0)
		return -1;
	fd_close(&f->net.authority); /* the stage's, where there is one */
	(void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	return 0;
}

/* ---- the job ---- */

static int grant(struct strv *to, const char *access, const char *path)
{
	return strv_add_take(to, str_printf("%s %s", access, path));
}

/* As for a native box: the whole root may be read, and what is writable be written. */
static int add_grants(const struct cordon_plan *p, struct strv *to)
{
	int r = grant(to, "rx", "/") | grant(to, "rwx", "/tmp") | grant(to, "rwx", p->home) | grant(to, "rwd", "/dev") |
		grant(to, "rw", "/proc");

	for (size_t i = 0; i < p->mount_count; i++)
		r |= grant(to, p->mounts[i].writable ? "rwx" : "rx", p->mounts[i].dest);
	for (size_t i = 0; i < p->private_count; i++)
		r |= grant(to, "rwx", p->privates[i].dest);
	return r;
}

static int add_paths(const struct cordon_plan *p, struct stream_job *job)
{
	int r = strv_add(&job->disks, "/tmp") | strv_add(&job->disks, p->home);

	for (size_t i = 0; i < p->private_count; i++)
		r |= strv_add(&job->disks, p->privates[i].dest);
	for (size_t i = 0; i < p->out_count; i++)
		r |= strv_add(&job->outs, p->outs[i].box);
	return r;
}

void foreign_send_job(struct foreign *f)
{
	const struct cordon_plan *p = f->plan;
	auto_str struct str body = { 0 };
	struct stream_job job = {
		.flags = (p->seccomp.strict ? STREAM_STRICT : 0u) |
			 (p->layers & LAYER_BIT(LANDLOCK) ? STREAM_LANDLOCK : 0u) |
			 (p->engine->tells_denials ? STREAM_NOTIFY_NEEDED : 0u) |
			 (p->engine->makes_root ? 0u : STREAM_IMAGE_ENV) | (p->tty ? STREAM_TTY : 0u),
		.open_files = p->limits.open_files,
		.file_size_bytes = p->limits.file_size_bytes,
		/* Another kernel's clock goes on while its control group is held back. */
		.cpu_seconds = p->engine->own_kernel ? UINT64_MAX : (p->limits.cpu_time_ms + 999) / 1000 + 1,
		.window = f->window,
		.uid = p->engine->own_kernel ? PLAN_UID : 0,
		.gid = p->engine->own_kernel ? PLAN_GID : 0,
		.processes = !f->counts_processes    ? 0
			     : p->engine->own_kernel ? p->limits.processes
						     : p->limits.processes + 1, /* init has the same id */
		.copy_bytes = p->limits.disk_bytes,
		.copy_files = p->limits.inodes,
		.out_bytes = p->out_max_bytes,
		.workdir = strdup(p->workdir),
		.path = strdup(p->path),
	};

	if (!job.workdir || !job.path || strv_copy(&job.argv, &p->argv) < 0 || strv_copy(&job.env, &p->env) < 0 ||
	    add_grants(p, &job.grants) < 0 || add_paths(p, &job) < 0 ||
	    (!p->engine->makes_root && foreign_add_checks(f, &job.checks) < 0) ||
	    (p->lives                 ? strv_copy(&job.ins, &f->job.texts.ins)
	     : !p->engine->makes_root ? foreign_add_ins(p, &job.ins)
				      : 0) < 0)
		body.failed = true;
	stream_job_put(&body, &job);
	stream_job_done(&job);
	f->queue.failed = f->queue.failed || body.failed;
	frame_put(&f->queue, FRAME_JOB, body.data, body.len);
	f->copy.is_on = !p->engine->makes_root && !p->lives;
	if (!f->copy.is_on && f->files < 0)
		frame_put(&f->queue, FRAME_START, NULL, 0);
	f->has_job = true;
}
