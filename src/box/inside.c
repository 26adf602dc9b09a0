/*
 * Becoming a box: see inside.h.
 *
 * init runs as root of the box's own user namespace (as the caller's mapped user where there is only one id) and forks the payload's
 * child before anything is built: the two work side by side, init on the root, the child on the network namespace and on
 * what it is. pivot_root takes the child along. They meet at the gate: the child says that it has its network, init that the
 * host's tree is gone. The child gives its rights up in an order in which each step still has what it needs: cgroup and limits first, then ids,
 * then seccomp, and behind the gate Landlock (after every open); a strict filter is last: what comes before needs its syscalls.
 */
#include "box/inside.h"

#include "base/error.h"
#include "base/fd.h"
#include "box/capture.h"
#include "box/copy.h"
#include "box/feed.h"
#include "box/link.h"
#include "box/root.h"
#include "os/caps.h"
#include "os/limits.h"
#include "os/mount.h"
#include "os/netns.h"
#include "os/probe.h"
#include "os/process.h"
#include "plan/command.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LOOKS = 64, GATE_FDS = 2 };

/* With it come Landlock's rules, if it has some, and the terminal, if there is one. */
struct gate_message {
	uint64_t root; /* the id of the mount that is the box's root; 0: unknown */
	bool has_rules;
};

struct step {
	const char *name;
	int (*run)(struct inside *in);
	unsigned layer; /* LAYER_BIT that is applied once it is done */
};

static int run_steps(struct inside *in, const struct step *steps, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (steps[i].run(in) < 0)
			return fail_step(in->err, steps[i].name);
		in->applied |= steps[i].layer;
	}
	return 0;
}

static int fail(struct inside *in, int errnum, const char *what)
{
	return cordon_fail(in->err, CORDON_SYSTEM, errnum, "%s", what);
}

static bool has(const struct inside *in, unsigned layer)
{
	return in->plan->layers & layer;
}

/* ---- init ---- */

static int setup_session(struct inside *in)
{
	umask(022);
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
		return fail(in, errno, "become non-dumpable");
	process_set_name("cordon-init");
	return 0;
}

/* As root: from the keeper's unmapped id to the namespace's own root, so that files can be made. */
static int setup_identity(struct inside *in)
{
	int r;

	if ((!in->plan->as_root && !in->plan->subuids) || in->plan->level != LEVEL_CONTAINER)
		return 0;
	if (!(in->namespaces & LAYER_BIT(USERNS)))
		return 0;
	r = caps_set_ids(0, 0, true);
	return r < 0 ? fail(in, -r, "become the box's root") : 0;
}

static int setup_names(struct inside *in)
{
	if (!(in->namespaces & LAYER_BIT(UTSNS)))
		return 0;
	if (sethostname("cordon", 6) < 0 || setdomainname("", 0) < 0)
		return fail(in, errno, "set the host name");
	return 0;
}

/* While the host's /proc is still the one at /proc: the child needs it, and init may be quicker. */
static int setup_capture(struct inside *in)
{
	if (in->capture < 0)
		return 0;
	in->proc_net = open("/proc/sys/net", O_PATH | O_DIRECTORY | O_CLOEXEC);
	return in->proc_net < 0 ? fail(in, errno, "open /proc/sys/net") : 0;
}

static int setup_gateway(struct inside *in)
{
	return in->capture >= 0 ? capture_make_namespace(in) : 0;
}

static int setup_root_begin(struct inside *in)
{
	const unsigned both = LAYER_BIT(USERNS) | LAYER_BIT(MOUNTNS);
	int r = (in->namespaces & both) == LAYER_BIT(MOUNTNS) ? mount_keep_to_ourselves() : 0;

	if (r < 0)
		return fail(in, -r, "keep mounts from the host");
	*in->root = (struct root){
		.authority = in->authority,
		.plan = in->plan,
		.prepared = in->prepared,
		.prepared_in = in->prepared_in,
		.image = in->image,
		.scratch = in->scratch,
		.scratch_path = in->scratch_path,
		.uid = in->uid,
		.gid = in->gid,
		.err = in->err,
	};
	return root_begin(in->root);
}

/* The child takes its cgroup from the link itself. */
static bool child_takes_cgroup(const struct inside *in)
{
	return in->awaits_cgroup && !in->plan->lives;
}

/* From the keeper, which makes it meanwhile. End of file: the keeper failed, and has said why. */
static int take_cgroup(struct inside *in)
{
	struct link_message m;
	size_t n;

	*in->group = (struct cgroup)CGROUP_INIT;
	if (link_receive_fds(in->link, &m, in->group->procs, CG_TREES, &n) <= 0 || m.type != LINK_CGROUP)
		_exit(1);
	in->cgroup = in->group;
	return 0;
}

/* A box that lives needs it for every job; of another the child takes it itself. */
static int setup_cgroup(struct inside *in)
{
	return in->awaits_cgroup && !child_takes_cgroup(in) ? take_cgroup(in) : 0;
}

static int setup_root(struct inside *in)
{
	if (root_build(in->root) < 0)
		return -1;
	fd_close(&in->root->fd);
	return 0;
}

/* The child may have seen for itself, and be gone on. */
static int setup_leave(struct inside *in)
{
	int r;

	if (root_leave_host(in->err) < 0)
		return -1;
	r = fd_send(in->gate, "", 1, NULL, 0);
	return r < 0 && r != -EPIPE ? fail(in, -r, "open the gate") : 0;
}

/* The child has its network namespace, and goes on; with a gateway its loopback is up already. End of file: it failed, and has said why. */
static int setup_loopback(struct inside *in)
{
	size_t n = 0;
	char byte;
	int r;

	if (fd_recv(in->gate, &byte, 1, &in->netns, 1, &n) != 1)
		_exit(1);
	in->applied |= n ? LAYER_BIT(NETNS) : 0; /* jobs of a box that lives take it from here */
	in->no_sockets = !n && has(in, LAYER_BIT(NETNS));
	r = n && in->capture < 0 ? netns_loopback_up(in->netns) : 0;
	return r < 0 ? fail(in, -r, "bring loopback up") : 0;
}

/* init follows the child into its network. From here on init reads the link: what was for the child must have been read. */
static int setup_follow(struct inside *in)
{
	int r = in->netns >= 0 ? netns_enter(in->netns) : 0;
	size_t n;
	char byte;

	if (child_takes_cgroup(in) && fd_recv(in->gate, &byte, 1, NULL, 0, &n) != 1)
		_exit(1);
	fd_close(&in->netns);
	fd_close(&in->gate);
	return r < 0 ? fail(in, -r, "join the network namespace") : 0;
}

/* Once the box's root is the root. The host's is still to be left, which takes the kernel a grace period after it is out of sight: the child
 * looks, and goes on when it is. */
static int setup_open(struct inside *in)
{
	struct gate_message m = { .has_rules = in->rules >= 0 };
	int fds[GATE_FDS], r;
	size_t n = 0;

	if (in->plan->level == LEVEL_CONTAINER && mount_id(AT_FDCWD, "/", &m.root) < 0)
		m.root = 0;
	if (in->rules >= 0)
		fds[n++] = in->rules;
	if (in->tty_slave >= 0)
		fds[n++] = in->tty_slave;
	r = fd_send(in->gate, &m, sizeof(m), fds, n);
	fd_close(&in->rules);
	if (r == -EPIPE)
		_exit(1); /* the child failed, and has said why */
	return r < 0 ? fail(in, -r, "open the gate") : 0;
}

static int open_slave(struct inside *in, int master)
{
	char path[32];
	int number, unlocked = 0;

	if (ioctl(master, TIOCSPTLCK, &unlocked) < 0 || ioctl(master, TIOCGPTN, &number) < 0)
		return fail(in, errno, "unlock the terminal");
	snprintf(path, sizeof(path), "/dev/pts/%d", number);
	in->tty_slave = open(path, O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (in->tty_slave < 0 || fchown(in->tty_slave, in->uid, in->gid) < 0)
		return fail(in, errno, "open the terminal");
	return 0;
}

static int setup_terminal(struct inside *in)
{
	struct link_message m = { .type = LINK_TTY };
	auto_close int master = -1;
	int r;

	if (!in->plan->tty)
		return 0;
	master =
		open(in->plan->level == LEVEL_CONTAINER ? "/dev/pts/ptmx" : "/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (master < 0)
		return fail(in, errno, "open a terminal");
	if (open_slave(in, master) < 0)
		return -1;
	r = link_send(in->link, &m, master);
	return r < 0 ? fail(in, -r, "hand over the terminal") : 0;
}

static bool can_list_children(void)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)getpid());
	return access(path, R_OK) == 0;
}

/* Process level: no root of its own, only the private directory on the host. */
static int setup_work(struct inside *in)
{
	struct root r = { .plan = in->plan, .home = in->plan->home, .uid = in->uid, .gid = in->gid, .err = in->err };
	int status;

	if (!in->cgroup && !can_list_children()) {
		cordon_fail(in->err, CORDON_UNAVAILABLE, 0,
			    "this kernel does not list a process's children, and there is no cgroup to end them by");
		return fail_hint(in->err,
				 "a kernel with CONFIG_PROC_CHILDREN, a delegated cgroup, or --level container");
	}
	r.fd = open(in->work, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (r.fd < 0)
		return fail(in, errno, "open the private directory");
	status = copy_code(&r) < 0 || root_copy_in(&r) < 0 ? -1 : 0;
	fd_close(&r.fd);
	return status;
}

int inside_begin(struct inside *in)
{
	static const struct step steps[] = {
		{ "session", setup_session, 0 }, { "identity", setup_identity, 0 }, { "names", setup_names, 0 },
		{ "capture", setup_capture, 0 }, { "cgroup", setup_cgroup, 0 },
	};

	in->applied |= in->namespaces;
	return run_steps(in, steps, ARRAY_LEN(steps));
}

int inside_setup(struct inside *in)
{
	static const struct step steps[] = {
		{ "network", setup_gateway, 0 },
		{ "root", setup_root_begin, 0 },
		{ "root", setup_root, 0 },
		{ "terminal", setup_terminal, 0 },
		{ "loopback", setup_loopback, 0 },
		{ "landlock", inside_rules, 0 }, /* before the host is left, which takes the kernel a while */
		{ "gate", setup_open, 0 },
		{ "root: leave", setup_leave, 0 },
		{ "network", setup_follow, 0 },
	};
	static const struct step process_steps[] = {
		{ "work", setup_work, 0 },     { "terminal", setup_terminal, 0 },
		{ "meet", setup_loopback, 0 }, /* without a namespace of its own */
		{ "gate", setup_open, 0 },     { "follow", setup_follow, 0 },
	};

	if (in->plan->level == LEVEL_PROCESS)
		return run_steps(in, process_steps, ARRAY_LEN(process_steps));
	return run_steps(in, steps, ARRAY_LEN(steps));
}

/* ---- the payload's child ---- */

static int fail_netns(struct inside *in, int errnum)
{
	char why[512], remedy[512];

	probe_explain_clone(errnum, CLONE_NEWNET, why, sizeof(why), remedy, sizeof(remedy));
	cordon_fail(in->err, CORDON_UNAVAILABLE, errnum, "a network namespace is refused (%s)", why);
	return fail_hint(in->err, "%s", remedy);
}

/* A network namespace is most of what namespaces cost: made here, while init builds the root. */
static int payload_network(struct inside *in)
{
	bool captures = in->capture >= 0;
	int r;

	if (!has(in, LAYER_BIT(NETNS)))
		return 0;
	r = netns_enter_new();
	in->no_sockets = r < 0 && !captures && (in->plan->may_degrade & LAYER_BIT(NETNS));
	if (r < 0)
		return in->no_sockets ? 0 : fail_netns(in, -r);
	if (captures && capture_open(in) < 0)
		return -1;
	in->netns = netns_socket();
	if (in->netns < 0)
		return fail(in, -in->netns, "hold the network namespace");
	in->applied |= LAYER_BIT(NETNS);
	return 0;
}

static int payload_cgroup(struct inside *in)
{
	int r = 0;

	if (child_takes_cgroup(in) && take_cgroup(in) == 0)
		r = fd_send(in->gate, "", 1, NULL, 0);
	if (r < 0)
		return fail(in, -r, "meet init");
	if (!in->cgroup)
		return 0;
	in->applied |= LAYER_BIT(CGROUP);
	r = in->born_there ? cgroup_join_rest(in->cgroup) : cgroup_join(in->cgroup);
	return r < 0 ? fail(in, -r, "join the cgroup") : 0;
}

/* Its top is the group that the child is in by now. */
static int payload_cgroup_namespace(struct inside *in)
{
	char why[512], remedy[512];
	int errnum;

	if (!has(in, LAYER_BIT(CGROUPNS)) || (in->namespaces & LAYER_BIT(CGROUPNS)))
		return 0;
	if (unshare(CLONE_NEWCGROUP) == 0) {
		in->applied |= LAYER_BIT(CGROUPNS);
		return 0;
	}
	errnum = errno;
	if (in->plan->may_degrade & LAYER_BIT(CGROUPNS))
		return 0; /* not applied: the keeper tells it */
	probe_explain_clone(errnum, CLONE_NEWCGROUP, why, sizeof(why), remedy, sizeof(remedy));
	cordon_fail(in->err, CORDON_UNAVAILABLE, errnum, "a cgroup namespace is refused (%s)", why);
	return fail_hint(in->err, "%s", remedy);
}

/* init needs no more than this of us, and brings loopback up. */
static int payload_ready(struct inside *in)
{
	int r = fd_send(in->gate, "", 1, &in->netns, in->netns >= 0);

	fd_close(&in->netns);
	return r < 0 ? fail(in, -r, "meet init") : 0;
}

static int payload_scheduling(struct inside *in)
{
	int r;

	process_restore_signals();
	r = process_reset_scheduling();
	return r < 0 ? fail(in, -r, "reset the priority") : 0;
}

/* Not first: a session is a scheduling group of its own (autogroup), and starts at the end of the queue. */
static int payload_session(struct inside *in)
{
	int r;

	if (setsid() < 0)
		return fail(in, errno, "setsid");
	r = process_new_keyring();
	if (r < 0 && r != -ENOSYS)
		return fail(in, -r, "get a keyring of its own");
	/* Holds nothing of the host's tree; where pivot_root finds it, it goes along. */
	return chdir("/") < 0 ? fail(in, errno, "leave the caller's directory") : 0;
}

static int payload_stdio(struct inside *in)
{
	for (int i = 0; i < 3; i++)
		if (dup2(in->tty_slave >= 0 ? in->tty_slave : in->stdio[i], i) < 0)
			return fail(in, errno, "set up stdio");
	umask(022);
	return 0;
}

static int payload_limits(struct inside *in)
{
	const struct plan_limits *l = &in->plan->limits;
	bool watch = in->plan->limits_by_watch;
	struct process_limits limits = {
		.file_size_bytes = l->file_size_bytes,
		.cpu_seconds = (l->cpu_time_ms + 999) / 1000 + 1,
		.data_bytes = watch ? l->memory_bytes : 0,
		.processes = watch ? l->processes : 0,
	};
	int r = limits_apply(&limits);

	return r < 0 ? fail(in, -r, "set resource limits") : 0;
}

static int payload_workdir(struct inside *in)
{
	const char *dir = in->plan->workdir;

	if (in->work && strcmp(dir, in->plan->home) == 0)
		dir = in->work;
	if (chdir(dir) == 0)
		return 0;
	cordon_fail(in->err, errno == ENOENT ? CORDON_INVALID : CORDON_SYSTEM, errno, "working directory '%s'", dir);
	return fail_hint(in->err, "the box sees its home '%s', /tmp and what is mounted with --ro and --rw",
			 in->plan->home);
}

static int payload_identity(struct inside *in)
{
	bool privileged = in->plan->level == LEVEL_CONTAINER || in->plan->as_root;
	int r = 0;

	if (privileged) {
		r = caps_lock(0);
		r = r < 0 ? r : caps_set_ids(in->uid, in->gid, in->plan->as_root || in->plan->subuids);
	}
	r = r < 0 ? r : caps_set(0);
	return r < 0 ? fail(in, -r, "drop to the unprivileged user") : 0;
}

static int payload_no_new_privs(struct inside *in)
{
	int r = process_no_new_privs();

	return r < 0 ? fail(in, -r, "set no_new_privs") : 0;
}

/* Installing a filter takes the kernel a while, in which a box's root is not ready anyway. What comes behind the gate passes the filter,
 * but for the strict one. */
static bool is_filtered_early(const struct inside *in)
{
	return in->plan->level == LEVEL_CONTAINER && !in->plan->seccomp.strict;
}

static int install_filter(struct inside *in)
{
	struct seccomp_options chosen = in->plan->seccomp;
	struct seccomp_filter filter;
	int r;

	chosen.no_sockets = chosen.no_sockets || in->no_sockets;
	filter = seccomp_choose(&chosen);
	if (!has(in, LAYER_BIT(SECCOMP)))
		return 0;
	r = seccomp_install(&filter, in->plan->seccomp.notify);
	if (r < 0 && in->plan->level == LEVEL_CONTAINER && (in->plan->may_degrade & LAYER_BIT(SECCOMP)))
		return 0; /* not applied: the keeper tells it */
	if (r < 0) {
		cordon_fail(in->err, CORDON_UNAVAILABLE, -r, "install the seccomp filter");
		return fail_hint(
			in->err,
			"the kernel needs CONFIG_SECCOMP_FILTER, 5.0 or later, and no listener of another filter%s",
			in->plan->level == LEVEL_CONTAINER ? "; --degrade seccomp accepts a weaker box"
							   : "; process level cannot do without it");
	}
	in->applied |= LAYER_BIT(SECCOMP);
	if (in->plan->seccomp.notify)
		in->listener = r;
	return 0;
}

static int payload_seccomp_early(struct inside *in)
{
	return is_filtered_early(in) ? install_filter(in) : 0;
}

static int payload_seccomp(struct inside *in)
{
	return is_filtered_early(in) ? 0 : install_filter(in);
}

/* As long as the host's root lies on top of the box's, ".." at the root leads there. */
static bool host_is_gone(uint64_t root)
{
	uint64_t here = 0, above = 0;

	return mount_id(AT_FDCWD, "/", &here) == 0 && mount_id(AT_FDCWD, "/..", &above) == 0 && here == root &&
	       above == root;
}

/* Before any path: ".." at the root must not lead into the host's tree. init tells when it has left it; it is out of sight before that, and
 * seeing it is enough. End of file: init failed, and has said why. */
static int payload_gate(struct inside *in)
{
	struct gate_message m;
	int fds[GATE_FDS];
	size_t n = 0, none;
	bool alone;
	char byte;

	if (fd_recv(in->gate, &m, sizeof(m), fds, GATE_FDS, &n) != sizeof(m) || n < m.has_rules)
		_exit(127);
	in->rules = m.has_rules ? fds[0] : -1;
	in->tty_slave = n > m.has_rules ? fds[m.has_rules] : -1;
	alone = in->plan->level == LEVEL_PROCESS;
	for (int i = 0; m.root && !alone && i < LOOKS; i++) {
		alone = host_is_gone(m.root);
		if (!alone)
			(void)sched_yield();
	}
	if (!alone && fd_recv(in->gate, &byte, 1, NULL, 0, &none) != 1)
		_exit(127);
	fd_close(&in->gate);
	if (in->tty_slave >= 0 && ioctl(in->tty_slave, TIOCSCTTY, 0) < 0)
		return fail(in, errno, "take the terminal");
	return 0;
}

static int payload_started(struct inside *in)
{
	struct link_message m = { .type = LINK_STARTED, .layers = in->applied };
	int r = link_send(in->link, &m, in->listener);

	fd_close(&in->listener);
	if (r < 0)
		return fail(in, -r, "report the start");
	r = has(in, LAYER_BIT(RLIMITS)) ? limits_open_files(in->plan->limits.open_files) : 0;
	return r < 0 ? fail(in, -r, "set resource limits") : 0;
}

/* In the box's PATH, and with an error that says what was looked for. */
static int payload_exec(struct inside *in)
{
	char *const *argv = in->plan->argv.v, *const *env = in->plan->env.v;
	const char *name = argv[0];
	int seen = -process_exec(in->plan->path, argv, env);

	if (seen == ENOENT && strchr(name, '/') && access(name, F_OK) == 0)
		return cordon_fail(in->err, CORDON_NOT_FOUND, 0,
				   "'%s' is there, but the interpreter of its first line, or its loader, is not", name);
	if (seen == ENOENT) {
		cordon_fail(in->err, CORDON_NOT_FOUND, 0, "'%s' was not found in the box", name);
		return fail_hint(in->err, "the box sees %s and what is mounted with --ro and --rw; PATH is %s",
				 in->plan->root ? "its root" : "the host's /usr", in->plan->path);
	}
	return cordon_fail(in->err, CORDON_NOT_EXECUTABLE, seen, "'%s' cannot be executed", name);
}

/* Files that come with a job, with the payload's own rights; without a command that was all. */
static int payload_files(struct inside *in)
{
	if (in->files >= 0 && feed_take(in->plan, in->paths, in->files, in->err) < 0)
		return -1;
	fd_close(&in->files);
	if (!in->plan->argv.n)
		_exit(0);
	return 0;
}

/* A box that lives has no payload yet: its network is made as for one. */
static int payload_leave(struct inside *in)
{
	(void)in;
	_exit(0);
}

static int inside_become_nobody(struct inside *in)
{
	static const struct step steps[] = {
		{ "network", payload_network, 0 },
		{ "ready", payload_ready, 0 },
		{ "gate", payload_gate, 0 },
		{ "leave", payload_leave, 0 },
	};

	return run_steps(in, steps, ARRAY_LEN(steps));
}

int inside_become_job(struct inside *in)
{
	static const struct step steps[] = {
		{ "scheduling", payload_scheduling, 0 },
		{ "cgroup", payload_cgroup, 0 },
		{ "payload session", payload_session, 0 },
		{ "limits", payload_limits, LAYER_BIT(RLIMITS) },
		{ "payload identity", payload_identity, 0 },
		{ "copy in", payload_files, 0 },
		{ "stdio", payload_stdio, 0 },
		{ "workdir", payload_workdir, 0 },
		{ "no_new_privs", payload_no_new_privs, LAYER_BIT(NO_NEW_PRIVS) },
		{ "landlock", inside_landlock, 0 },
		{ "seccomp", install_filter, 0 },
		{ "started", payload_started, 0 },
		{ "exec", payload_exec, 0 },
	};

	return run_steps(in, steps, ARRAY_LEN(steps));
}

int inside_become_payload(struct inside *in)
{
	static const struct step steps[] = {
		{ "network", payload_network, 0 },
		{ "ready", payload_ready, 0 },
		{ "scheduling", payload_scheduling, 0 },
		{ "cgroup", payload_cgroup, 0 }, /* a real-time process could not join */
		{ "cgroup namespace", payload_cgroup_namespace, 0 },
		{ "payload session", payload_session, 0 },
		{ "limits", payload_limits, LAYER_BIT(RLIMITS) },
		{ "payload identity", payload_identity, 0 },
		{ "no_new_privs", payload_no_new_privs, LAYER_BIT(NO_NEW_PRIVS) },
		{ "seccomp", payload_seccomp_early, 0 },
		{ "gate", payload_gate, 0 },
		{ "stdio", payload_stdio, 0 },
		{ "workdir", payload_workdir, 0 },  /* with the payload's own rights */
		{ "landlock", inside_landlock, 0 }, /* after every open */
		{ "seccomp", payload_seccomp, 0 },  /* last: what comes before needs its syscalls */
		{ "started", payload_started, 0 },
		{ "exec", payload_exec, 0 },
	};

	if (in->plan->lives)
		return inside_become_nobody(in);
	return run_steps(in, steps, ARRAY_LEN(steps));
}
