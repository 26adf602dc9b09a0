/*
 * Driving an OCI runtime: crun, runc or runsc.
 *
 * The control group is ours (os/cgroup.h), not the runtime's: made before, with its limits, so that v1, v2 and hybrid hosts are one
 * thing, its numbers are still there when the container has gone, and killing needs nobody's help. crun and runsc are started
 * in it and make none of their own; runc insists and is given the same path. The runtime is called once, detached: it ends when init
 * runs, init becomes our child (we are a subreaper), has the stream as stdin and stdout, and its end is seen by pidfd.
 */
#include "driver/oci.h"

#include "base/fd.h"
#include "base/str.h"
#include "os/netns.h"
#include "os/process.h"
#include "os/subid.h"
#include "os/userns.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { SAID_SIZE = 512, REAP_MS = 1000, HELPER_MS = 5000, TRY_S = 10, START_S = 60 };

struct oci {
	struct driver *d;
	struct oci_dir dir;
	struct cgroup_host host;
	struct cgroup cgroup;
	bool has_cgroup;
	char program[512], state[640], pid_file[512];
	struct oci_about about;
	const char *platform;   /* runsc's; NULL: its own choice */
	bool tries, was_killed; /* by another, or on the keeper's word: no reason to try again */
	int proc;               /* pidfd of init (runsc: of its sandbox) */
	int sweeper;            /* of what others left; -1: none */
	int opener;             /* oci_open_groups(), until the runtime has run */
	bool is_runc, is_gvisor;
};

static bool is_hybrid(void)
{
	return access("/sys/fs/cgroup/unified/cgroup.procs", F_OK) == 0;
}

/* ---- the group ---- */

/* runc wants one path for all trees: ours has it where every group is at the top of its tree. */
static bool is_at_top(const struct cgroup_host *host)
{
	for (int t = 0; t < CG_TREES; t++) {
		const char *rest = host->parent[t];

		if (!*rest)
			continue;
		if (!str_starts(rest, "/sys/fs/cgroup/"))
			return false;
		rest += strlen("/sys/fs/cgroup/");
		if (host->mode == CGROUP_V1)
			rest = strchr(rest, '/') ? strchr(rest, '/') + 1 : rest;
		if (strcmp(rest, "cordon") != 0)
			return false;
	}
	return true;
}

static unsigned lacking(const struct cgroup_limits *l, unsigned can)
{
	return (l->memory_bytes && !(can & CGROUP_CAN_MEMORY) ? ENGINE_LACKS_MEMORY : 0u) |
	       (l->processes && !(can & CGROUP_CAN_PIDS) ? ENGINE_LACKS_PROCESSES : 0u) |
	       (l->cpu_milli && !(can & CGROUP_CAN_CPU) ? ENGINE_LACKS_CPU : 0u) |
	       ((l->read_bps || l->write_bps) && !(can & CGROUP_CAN_IO) ? ENGINE_LACKS_DISK_RATE : 0u);
}

/* What cannot be held is told, not refused: whether it may be missing is the plan's to say. */
static int make_group(struct oci *o, struct cordon_error *err)
{
	const struct spec_limits *want = &o->d->spec.limits;
	struct cgroup_limits l = { .memory_bytes = want->memory_bytes,
				   .processes = want->processes,
				   .cpu_milli = want->cpu_milli,
				   .read_bps = want->read_bps,
				   .write_bps = want->write_bps };
	unsigned lacks;
	int r;

	cgroup_probe(&o->host);
	if (o->host.mode == CGROUP_NONE || o->host.needs_scope)
		o->host.can = 0;
	/* A process of the container is not one of the host in gVisor: its own threads would be counted. */
	if (o->is_gvisor) {
		o->host.can &= ~(unsigned)CGROUP_CAN_PIDS;
		o->d->created.lacks |= ENGINE_LACKS_INODES;
	}
	lacks = lacking(&l, o->host.can);
	o->d->created.lacks |= lacks;
	l.memory_bytes = lacks & ENGINE_LACKS_MEMORY ? 0 : l.memory_bytes;
	l.processes = lacks & ENGINE_LACKS_PROCESSES ? 0 : l.processes;
	l.cpu_milli = lacks & ENGINE_LACKS_CPU ? 0 : l.cpu_milli;
	if (lacks & ENGINE_LACKS_DISK_RATE)
		l.read_bps = l.write_bps = 0;
	if (!o->host.can)
		return 0;
	r = cgroup_create(&o->cgroup, &o->host, o->d->spec.owner, &l);
	o->has_cgroup = r == 0;
	r = r < 0 ? r : cgroup_add_later(&o->cgroup, &l);
	if (r < 0)
		return cordon_fail(err, CORDON_SYSTEM, -r, "make the control group of the container");
	if (o->is_runc)
		o->opener = oci_open_groups();
	return 0;
}

static void read_numbers(struct oci *o)
{
	struct engine_exited *e = &o->d->exited;
	struct cgroup_usage usage = { 0 };

	if (!o->has_cgroup || cgroup_read_usage(&o->cgroup, &usage) < 0)
		return;
	e->oom = usage.oom_kills > INT32_MAX ? INT32_MAX : (int32_t)usage.oom_kills;
	e->memory_peak_bytes = usage.memory_peak_bytes;
	e->cpu_us = usage.cpu_us;
	e->process_refusals = usage.process_refusals;
}

/* ---- ids ---- */

static json_t *one_range(unsigned inside, unsigned outside)
{
	return json_pack("{s:I, s:I, s:i}", "inside", (json_int_t)inside, "outside", (json_int_t)outside, "count", 1);
}

/* An ordinary user: init is the caller, and the container's root is a subordinate id. Without any, init is the container's root, which
 * has no capability there and is the caller all the same. */
static int map_caller(struct oci *o, struct oci_config *c, struct cordon_error *err)
{
	unsigned uid = (unsigned)geteuid(), gid = (unsigned)getegid();
	uid_t subuid;
	gid_t subgid;

	if (subid_find(geteuid(), &subuid, &subgid) == 0) {
		c->uid_map = json_pack("[o, o]", one_range(0, subuid), one_range(c->uid, uid));
		c->gid_map = json_pack("[o, o]", one_range(0, subgid), one_range(c->gid, gid));
	} else {
		c->uid = c->gid = 0;
		c->uid_map = json_pack("[o]", one_range(0, uid));
		c->gid_map = json_pack("[o]", one_range(0, gid));
		snprintf(o->d->created.detail, sizeof(o->d->created.detail),
			 "no subordinate ids: uid 0 in the container");
	}
	return c->uid_map && c->gid_map ? 0 : fail_memory(err);
}

static int choose_ids(struct oci *o, struct oci_config *c, struct cordon_error *err)
{
	const struct spec *s = &o->d->spec;

	c->uid = s->uid;
	c->gid = s->gid;
	if (s->uid_map) {
		c->uid_map = json_incref(s->uid_map);
		c->gid_map = json_incref(s->gid_map);
		return 0;
	}
	if (geteuid() != 0)
		return map_caller(o, c, err);
	return cordon_fail(err, CORDON_INTERNAL, 0, "a container started by root needs a map of ids");
}

/* ---- starting ---- */

static int write_config(struct oci *o, struct cordon_error *err)
{
	char path[128];
	struct oci_config c = { .spec = &o->d->spec, .root = o->dir.root, .is_gvisor = o->is_gvisor };
	json_t *config = NULL;
	int r = choose_ids(o, &c, err);

	snprintf(path, sizeof(path), "%s%s", is_at_top(&o->host) ? "/cordon/" : "", o->d->spec.owner);
	/* Without rights over every tree it must not be given one. */
	if (o->is_runc && o->has_cgroup && !userns_is_own())
		c.cgroups_path = path;
	if (r == 0) {
		config = oci_config_new(&c);
		r = oci_dir_write(&o->dir, config, err);
	}
	json_decref(config);
	json_decref(c.uid_map);
	json_decref(c.gid_map);
	return r;
}

/* The arguments before the verb. */
static size_t common_args(const struct oci *o, const char **argv)
{
	size_t n = 0;

	argv[n++] = o->d->engine;
	argv[n++] = "--root";
	argv[n++] = o->state;
	if (o->is_gvisor) {
		argv[n++] = "--ignore-cgroups";
		argv[n++] = o->d->spec.netns ? "--network=sandbox" : "--network=none";
		argv[n++] = "--host-uds=none";
		if (o->about.has_overlay)
			argv[n++] = "--overlay2=none"; /* what is written belongs into the mounts, which have a size */
		if (o->platform) {
			argv[n++] = "--platform";
			argv[n++] = o->platform;
		}
		if (geteuid() != 0)
			argv[n++] = "--rootless";
	} else if (!o->is_runc) {
		argv[n++] = "--cgroup-manager=disabled";
	}
	return n;
}

static void fill_call(const struct oci *o, struct oci_call *call, const char *const *argv)
{
	*call = (struct oci_call){ .program = o->program,
				   .argv = argv,
				   .stdio = -1,
				   .hide_settings = o->is_gvisor && o->d->spec.netns,
				   .hide_unified = geteuid() == 0 && strcmp(o->d->engine, "crun") == 0 && is_hybrid() };
}

static int start_runtime(struct oci *o, struct cordon_error *err)
{
	const char *argv[24];
	size_t n = common_args(o, argv);
	char said[SAID_SIZE] = "";
	struct oci_call call;
	int r;

	argv[n++] = "run";
	argv[n++] = "--detach";
	argv[n++] = "--pid-file";
	argv[n++] = o->pid_file;
	argv[n++] = "--bundle";
	argv[n++] = o->dir.path;
	argv[n++] = o->d->spec.owner;
	argv[n] = NULL;
	fill_call(o, &call, argv);
	call.stdio = o->d->stream;
	call.driver = o->d;
	call.said = said;
	call.said_size = sizeof(said);
	call.cgroup = o->has_cgroup && !(o->is_runc && (is_at_top(&o->host) || userns_is_own())) ? &o->cgroup : NULL;
	call.timeout_us = 1000000ull * (o->tries ? TRY_S : START_S);
	r = oci_call(&call);
	o->was_killed = r == -ECANCELED || (r > 0 && WIFSIGNALED(r));
	if (r == 0)
		return 0;
	if (r == -ECANCELED)
		return cordon_fail(err, CORDON_SYSTEM, 0, "cancelled while %s started the container", o->d->engine);
	read_numbers(o);
	if (r == -ETIMEDOUT)
		return cordon_fail(err, CORDON_SYSTEM, 0, "%s did not start the container within %d s", o->d->engine,
				   o->tries ? TRY_S : START_S);
	if (r < 0)
		return cordon_fail(err, CORDON_SYSTEM, -r, "call %s", o->program);
	if (o->d->exited.oom) {
		cordon_fail(err, CORDON_SYSTEM, 0, "limits.memory is too small for %s to start in", o->d->engine);
		return fail_hint(err, "give the box more memory: 64M does for %s", o->d->engine);
	}
	if (WIFSIGNALED(r))
		return cordon_fail(err, CORDON_SYSTEM, 0, "%s was killed by signal %d: %s", o->d->engine, WTERMSIG(r),
				   said);
	cordon_fail(err, CORDON_SYSTEM, 0, "%s could not start the container: %s", o->d->engine,
		    *said ? said : "it did not say why");
	return strstr(said, "hybrid mode")
		       ? fail_hint(err, "only root can hide the second tree of this host from %s; runc does without",
				   o->d->engine)
		       : -1;
}

/* Processes of the runtime that became ours; one that nobody waits for looks alive to the runtime, which would wait for its end. */
static void reap(void)
{
	const struct timespec pause = { .tv_nsec = 1000000 };
	int status;
	pid_t pid;

	for (int i = 0; i < REAP_MS; i++) {
		while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
			;
		if (pid < 0)
			break;
		nanosleep(&pause, NULL);
	}
}

/* The same while the container runs: crun's helper is in the group, and as long as nobody has waited for it it counts there. */
static void reap_helpers(const struct oci *o)
{
	siginfo_t who = { 0 };

	while (waitid(P_ALL, 0, &who, WEXITED | WNOHANG | WNOWAIT) == 0 && who.si_pid &&
	       who.si_pid != o->d->created.init_pid) {
		(void)waitid(P_PID, (id_t)who.si_pid, &who, WEXITED | WNOHANG);
		who = (siginfo_t){ 0 };
	}
}

/* runc and runsc have made more than a directory: groups, a second process. */
static void delete (struct oci *o)
{
	const char *argv[24];
	size_t n = common_args(o, argv);
	struct oci_call call;

	argv[n++] = "delete";
	argv[n++] = "--force";
	argv[n++] = o->d->spec.owner;
	argv[n] = NULL;
	fill_call(o, &call, argv);
	if (o->program[0] && o->state[0])
		(void)oci_call(&call);
}

/* What hung or failed on its way has the stream, too: nothing of it may be there when the next one starts. */
static void clear_away(struct oci *o)
{
	if (o->has_cgroup)
		(void)cgroup_kill(&o->cgroup);
	reap();
	delete (o);
}

/* The installation's choice, and nothing else. */
static int start_chosen(struct oci *o, struct cordon_error *err)
{
	struct cordon_error why = { 0 };

	if (oci_about_check(&o->about, o->platform, err) < 0)
		return -1;
	o->tries = strcmp(o->platform, "kvm") == 0;
	if (start_runtime(o, &why) == 0)
		return 0;
	*err = why;
	if (o->d->is_gone || o->d->exited.oom || o->was_killed)
		return -1;
	cordon_fail(err, CORDON_UNAVAILABLE, 0, "platform '%s' of runsc does not start here: %s", o->platform,
		    why.message);
	return fail_hint(err, "runsc_platform: auto takes the first that works (`cordon config show`)");
}

/* gVisor has several ways to catch what the payload does, and a host may refuse the first: the next one is tried, and the first error told. One
 * that has worked before is the only one: what it refuses now the others would, too, and if it was the host, the next box tries them all. */
static int start_somehow(struct oci *o, struct cordon_error *err)
{
	struct cordon_error first = { 0 }, later = { 0 };
	const struct oci_about *a = &o->about;

	for (size_t i = 0; i < a->platform_count; i++) {
		struct cordon_error *why = first.code ? &later : &first;

		o->platform = a->platforms[i];
		if ((*a->settled && strcmp(o->platform, a->settled) != 0) || oci_about_check(a, o->platform, why) < 0)
			continue;
		if (start_runtime(o, why) == 0) {
			if (!*a->settled)
				oci_about_settle(o->dir.top, o->d->engine, o->program, a, o->platform);
			return 0;
		}
		if (o->d->is_gone || o->d->exited.oom || o->was_killed)
			break;
		clear_away(o);
		o->tries = true; /* one that hangs is given up soon: on some hosts KVM is there and does not work */
	}
	if (*a->settled && !o->was_killed)
		oci_about_settle(o->dir.top, o->d->engine, o->program, a, NULL);
	*err = first;
	return -1;
}

static int start_container(struct oci *o, struct cordon_error *err)
{
	o->platform = o->is_gvisor ? o->d->spec.platform : NULL;
	if (o->platform)
		return start_chosen(o, err);
	return o->about.platform_count ? start_somehow(o, err) : start_runtime(o, err);
}

/* runc without rights over every tree makes groups where it can, and refuses to be told which. init is taken out of them into ours,
 * before it has a child. */
static int fetch_init(struct oci *o, long pid, struct cordon_error *err)
{
	for (int t = 0; t < CG_TREES; t++)
		if (o->cgroup.procs[t] >= 0 && dprintf(o->cgroup.procs[t], "%ld", pid) < 0)
			return cordon_fail(err, CORDON_SYSTEM, errno, "move the container into its control group");
	return 0;
}

/* gVisor has watches of its own, of which the host knows nothing. */
static int limit_init(const struct oci *o, struct cordon_error *err)
{
	int r = o->is_gvisor || !o->d->spec.uid_map ? 0 : userns_limit_inotify(o->proc);

	return r < 0 && r != -ENOENT ? cordon_fail(err, CORDON_SYSTEM, -r, "limit the container's inotify instances")
				     : 0;
}

static int find_init(struct oci *o, struct cordon_error *err)
{
	char text[32];
	ssize_t n = fd_read_file_at(AT_FDCWD, o->pid_file, text, sizeof(text));
	long pid = n > 0 ? strtol(text, NULL, 10) : 0;

	if (pid <= 0)
		return cordon_fail(err, CORDON_SYSTEM, n < 0 ? (int)-n : 0, "%s did not say which process it started",
				   o->d->engine);
	o->proc = (int)syscall(SYS_pidfd_open, (pid_t)pid, 0);
	if (o->proc < 0)
		return cordon_fail(err, CORDON_SYSTEM, errno, "find the container's process %ld", pid);
	o->d->created.init_pid = (int32_t)pid;
	if (limit_init(o, err) < 0)
		return -1;
	return o->is_runc && o->has_cgroup && userns_is_own() ? fetch_init(o, pid, err) : 0;
}

/* "crun 1.8.1", "runsc 20221219.0 (ptrace)" */
static void tell_version(const struct oci *o)
{
	struct engine_created *c = &o->d->created;
	const char *platform = o->platform;

	snprintf(c->version, sizeof(c->version), "%s%s%s%s%s%s", o->d->engine, *o->about.version ? " " : "",
		 o->about.version, platform ? " (" : "", platform ? platform : "", platform ? ")" : "");
}

static int start(struct oci *o, struct cordon_error *err)
{
	struct driver *d = o->d;

	if (oci_find(d, d->engine, o->program, sizeof(o->program), err) < 0 || oci_dir_make(&o->dir, d, err) < 0)
		return -1;
	snprintf(o->state, sizeof(o->state), "%s/%s", o->dir.path, d->engine);
	snprintf(o->pid_file, sizeof(o->pid_file), "%s/pid", o->dir.path);
	oci_about(o->dir.top, d->engine, o->program, &o->about);
	if (oci_dir_root(&o->dir, d, err) < 0 || make_group(o, err) < 0 || write_config(o, err) < 0 ||
	    start_container(o, err) < 0 || find_init(o, err) < 0)
		return -1;
	process_end(&o->opener);
	close(d->stream); /* its end is the container's alone */
	d->stream = -1;
	d->created.is_local = 1;
	snprintf(d->created.id, sizeof(d->created.id), "%s", d->spec.owner);
	tell_version(o);
	return 0;
}

/* ---- running and ending ---- */

static void kill_all(struct oci *o)
{
	if (o->proc >= 0)
		(void)process_signal(o->proc, SIGKILL);
	if (o->has_cgroup)
		(void)cgroup_kill(&o->cgroup);
}

static void oci_kill(struct driver *d)
{
	kill_all(d->state);
}

static void oci_stats(struct driver *d)
{
	struct oci *o = d->state;

	read_numbers(o);
	if (o->has_cgroup)
		cgroup_read_now(&o->cgroup, &d->exited.memory_bytes, &d->exited.processes);
}

static int set_paused(struct oci *o, bool paused, struct cordon_error *err)
{
	int r = o->has_cgroup ? cgroup_pause(&o->cgroup, paused) : -EOPNOTSUPP;

	return r < 0 ? cordon_fail(err, CORDON_UNAVAILABLE, -r, "pause a container of %s on this host", o->d->engine)
		     : 0;
}

static int oci_pause(struct driver *d, struct cordon_error *err)
{
	return set_paused(d->state, true, err);
}

static int oci_resume(struct driver *d, struct cordon_error *err)
{
	return set_paused(d->state, false, err);
}

static void wait_for_end(struct oci *o)
{
	struct engine_exited *e = &o->d->exited;
	struct pollfd fds[2];
	int status = 0, pause_ms = 1;

	do {
		fds[0] = (struct pollfd){ .fd = o->proc, .events = POLLIN };
		fds[1] = (struct pollfd){ .fd = o->d->is_gone ? -1 : o->d->control, .events = POLLIN };
		(void)poll(fds, ARRAY_LEN(fds), pause_ms < HELPER_MS ? pause_ms : -1);
		reap_helpers(o); /* which may end after the runtime */
		pause_ms = pause_ms < HELPER_MS ? pause_ms * 4 : pause_ms;
		if (fds[1].revents)
			driver_obey(o->d);
	} while (!fds[0].revents);
	e->has_status = process_wait(o->proc, &status) == 0;
	e->status = status;
	/* gVisor's sandbox ends as a shell would: a signal is 128 and its number. */
	if (o->is_gvisor && e->has_status && WIFEXITED(status) && WEXITSTATUS(status) > 128)
		e->status = WEXITSTATUS(status) - 128;
	fd_close(&o->proc);
}

static int oci_carry(struct driver *d, struct cordon_error *err)
{
	struct oci *o = d->state;

	(void)err;
	/* What others have left: now, while the payload starts without us. */
	o->sweeper = oci_dir_sweep(d);
	cgroup_sweep(&o->host, o->has_cgroup);
	if (!o->is_gvisor)
		oci_dir_slim(&o->dir);
	wait_for_end(o);
	read_numbers(o);
	return 0;
}

/* What a container that has ended leaves: runc groups in trees that are not ours, runsc a second process, which has gone with its group. */
static bool is_more_left(const struct oci *o)
{
	char path[128];

	if (o->is_gvisor && o->has_cgroup)
		return false;
	if (!o->is_runc || !o->has_cgroup || !is_at_top(&o->host))
		return o->is_runc || o->is_gvisor;
	snprintf(path, sizeof(path), "/cordon/%s", o->d->spec.owner);
	return oci_remove_groups(path) < 0;
}

static void undo(struct oci *o, bool is_clean)
{
	int status;

	kill_all(o);
	if (o->proc >= 0)
		(void)process_wait(o->proc, &status);
	fd_close(&o->proc);
	reap();
	if (!is_clean || is_more_left(o))
		delete (o);
	/* A runc that was killed on its way knows nothing of what it has made. */
	if (!is_clean && o->is_runc && is_at_top(&o->host))
		(void)is_more_left(o);
	else if (o->is_runc && userns_is_own())
		oci_remove_below(o->d->spec.owner);
	reap();
	if (o->has_cgroup)
		(void)cgroup_destroy(&o->cgroup);
	oci_dir_remove(&o->dir);
}

static void oci_destroy(struct driver *d, bool is_clean)
{
	struct oci *o = d->state;

	if (!o)
		return;
	process_end(&o->opener);
	oci_dir_swept(&o->sweeper);
	undo(o, is_clean);
	free(o);
	d->state = NULL;
}

/*
 * gVisor takes orders over an abstract socket in the network namespace that it is called in, from everybody who can reach it: its sandbox
 * cannot tell one caller's id from another's. In one of the driver's own nobody can. The container's is given by its path.
 */
static int hide_orders(struct cordon_error *err)
{
	int r = netns_enter_new();

	if (r == 0)
		return 0;
	cordon_fail(err, CORDON_UNAVAILABLE, -r, "make a network namespace for gVisor's own socket");
	return fail_hint(err, "without one every user of this host could give orders to the box; see `cordon doctor`");
}

static int oci_create(struct driver *d, struct cordon_error *err)
{
	struct oci *o = d->state = calloc(1, sizeof(*o));

	if (!o)
		return fail_memory(err);
	*o = (struct oci){ .d = d,
			   .cgroup = CGROUP_INIT,
			   .proc = -1,
			   .sweeper = -1,
			   .opener = -1,
			   .is_runc = strcmp(d->engine, "runc") == 0,
			   .is_gvisor = strcmp(d->engine, "runsc") == 0 };
	if (d->spec.seccomp)
		return cordon_fail(err, CORDON_INVALID, 0, "%s gets no seccomp filter: it is init's", d->engine);
	if (o->is_gvisor && hide_orders(err) < 0)
		return -1;
	return start(o, err);
}

static int oci_probe(struct driver *d, char version[DRIVER_VERSION_MAX], struct cordon_error *err)
{
	struct oci_about about;
	char program[256];

	if (oci_find(d, d->engine, program, sizeof(program), err) < 0)
		return -1;
	oci_about(NULL, d->engine, program, &about);
	snprintf(version, DRIVER_VERSION_MAX, "%s (%s)", *about.version ? about.version : "unknown version", program);
	return 0;
}

const struct driver_ops oci_ops = {
	.create = oci_create,
	.carry = oci_carry,
	.destroy = oci_destroy,
	.stats = oci_stats,
	.pause = oci_pause,
	.resume = oci_resume,
	.kill = oci_kill,
	.probe = oci_probe,
	.remove = oci_dir_remove_of,
	.sweep = oci_dir_sweep_now,
};
