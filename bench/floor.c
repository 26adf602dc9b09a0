/*
 * The layers and nothing else: what any program would pay for the box that cordon builds. The same namespaces, root, group, filter and rules, by cordon's own
 * functions, one after the other, with one process that waits outside and pid 1 inside. No keeper, no deadline, no result, no output that is
 * looked at, no undoing by somebody else: what cordon costs beyond this is what it adds, and what a rate is bounded by.
 *
 *	floor COMMAND ARG…
 */
#include "base/fd.h"
#include "box/inside.h"
#include "box/root.h"
#include "cordon.h"
#include "os/caps.h"
#include "os/cgroup.h"
#include "os/limits.h"
#include "os/netns.h"
#include "os/process.h"
#include "os/seccomp.h"
#include "os/userns.h"

#include <fcntl.h>
#include <linux/sched.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static struct cordon_error err;
static struct cordon_plan *plan;
static struct cgroup group = CGROUP_INIT;

static _Noreturn void die(const char *what)
{
	fprintf(stderr, "floor: %s: %s\n", what, err.message);
	_exit(1);
}

static void check(int r, const char *what)
{
	if (r < 0)
		die(what);
}

static _Noreturn void become_payload(int gate)
{
	struct inside in = { .plan = plan, .rules = -1, .err = &err };
	const struct process_limits limits = { .file_size_bytes = plan->limits.file_size_bytes, .cpu_seconds = 31 };
	const struct seccomp_filter filter = seccomp_choose(&plan->seccomp);

	check(cgroup_join(&group), "cgroup");
	check(setsid(), "session");
	check(process_new_keyring(), "keyring");
	check(limits_apply(&limits), "limits");
	check(limits_open_files(plan->limits.open_files), "open files");
	check(caps_lock(0), "bounding set");
	check(caps_set_ids(PLAN_UID, PLAN_GID, plan->as_root), "ids");
	check(caps_set(0), "capabilities");
	check(process_no_new_privs(), "no_new_privs");
	check(chdir(plan->home), "workdir");
	check(inside_landlock(&in), "landlock");
	check(seccomp_install(&filter, plan->seccomp.notify), "seccomp");
	fd_close(&gate);
	execve(plan->argv.v[0], plan->argv.v, plan->env.v);
	die("exec");
}

static _Noreturn void become_init(int gate)
{
	struct root root = {
		.plan = plan, .uid = PLAN_UID, .gid = PLAN_GID, .image = -1, .scratch = -1, .authority = -1, .err = &err
	};
	int status = 0, sock;
	char byte;
	pid_t pid;

	if (read(gate, &byte, 1) != 1)
		_exit(1);
	(void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	check(plan->as_root ? caps_set_ids(0, 0, true) : 0, "identity");
	check(sethostname("cordon", 6), "names");
	sock = netns_socket();
	check(netns_loopback_up(sock), "loopback");
	fd_close(&sock);
	check(root_begin(&root), "root");
	check(root_build(&root), "root");
	check(root_leave_host(&err), "leave");
	fd_close(&root.fd);
	pid = fork();
	if (pid == 0)
		become_payload(gate);
	check(pid, "fork");
	check(waitpid(pid, &status, 0), "wait");
	_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 128);
}

static void map(pid_t pid)
{
	const uid_t base = 1500000000 + (uid_t)getpid();
	const struct id_range two[] = { { 0, base + 1, 1 }, { PLAN_UID, base, 1 } };
	const struct id_range uid = { PLAN_UID, plan->caller_uid, 1 }, gid = { PLAN_GID, plan->caller_gid, 1 };

	if (plan->as_root)
		check(userns_write_maps(pid, two, 2, two, 2, false), "maps");
	else
		check(userns_write_maps(pid, &uid, 1, &gid, 1, true), "maps");
}

static void make_group(void)
{
	const struct plan_limits *l = &plan->limits;
	const struct cgroup_limits limits = { .memory_bytes = l->memory_bytes, .processes = l->processes };
	char name[64];

	if (!(plan->layers & LAYER_BIT(CGROUP)))
		return;
	snprintf(name, sizeof(name), "floor-%d", (int)getpid());
	check(cgroup_create(&group, &plan->cgroup, name, &limits), "group");
}

int main(int argc, char **argv)
{
	const uint64_t namespaces = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS |
				    CLONE_NEWCGROUP | CLONE_NEWNET;
	struct cordon_job job = { .size = sizeof(job), .argv = (const char *const *)argv + 1 };
	struct cordon_policy *policy = NULL;
	struct cgroup_usage usage;
	int gate[2], init = -1, status = 0;
	pid_t pid;

	if (argc < 2)
		return 2;
	check(cordon_policy_new(&policy, &err), "policy");
	check(cordon_plan_new(&plan, policy, &job, &err), "plan");
	check(pipe2(gate, O_CLOEXEC), "pipe");
	make_group();
	pid = process_clone(namespaces, &init);
	check(pid, "clone");
	if (pid == 0)
		become_init(gate[0]);
	map(pid);
	check(write(gate[1], "", 1) == 1 ? 0 : -1, "gate");
	check(process_wait(init, &status), "wait");
	(void)cgroup_read_usage(&group, &usage);
	check(cgroup_destroy(&group), "remove the group");
	return status ? 1 : 0;
}
