/* A real group on this host: limits hold, the kernel's account is read, kill and clean-up leave nothing. */
#include "tap.h"

#include "base/owner.h"
#include "os/cgroup_tree.h"
#include "os/process.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static struct cgroup_host host;
static char name[OWNER_NAME_MAX];

static bool left_behind(const char *which)
{
	bool any = false;
	struct stat st;
	char path[400];

	for (int t = 0; t < CG_TREES; t++) {
		snprintf(path, sizeof(path), "%s/%s", host.parent[t], which);
		any |= host.parent[t][0] && stat(path, &st) == 0;
	}
	return any;
}

/* Runs fn in a child that has joined; its wait status. */
static int run_inside(const struct cgroup *cg, void (*fn)(void))
{
	int status = -1;
	pid_t pid = fork();

	if (pid == 0) {
		if (cgroup_join(cg) < 0)
			_exit(99);
		fn();
		_exit(0);
	}
	waitpid(pid, &status, 0);
	return status;
}

static void eat_memory(void)
{
	for (int i = 0; i < 64; i++) {
		char *p = mmap(NULL, 4 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (p != MAP_FAILED)
			memset(p, 1, 4 << 20);
	}
}

static void fork_many(void)
{
	int refused = 0;

	for (int i = 0; i < 20; i++) {
		pid_t pid = fork();

		if (pid == 0) {
			sleep(5);
			_exit(0);
		}
		refused += pid < 0;
	}
	_exit(refused);
}

static void burn(void)
{
	for (volatile unsigned long i = 0; i < 30000000; i++)
		;
}

static void test_limits(void)
{
	struct cgroup_limits limits = { .memory_bytes = 32 << 20, .processes = 8, .cpu_milli = 1000 };
	struct cgroup cg;
	struct cgroup_usage usage;
	int status;

	if (host.can & CGROUP_CAN_IO)
		limits.read_bps = limits.write_bps = 100 << 20;
	if (!ok(cgroup_create(&cg, &host, name, &limits) == 0, "a group with every limit"))
		return;
	ok(cgroup_create(&(struct cgroup)CGROUP_INIT, &host, name, &limits) == -EEXIST,
	   "the same name twice is refused");
	ok(cgroup_add_later(&cg, &limits) == 0, "what v1 has trees of its own for comes later");
	status = run_inside(&cg, burn);
	ok(WIFEXITED(status) && WEXITSTATUS(status) == 0, "a process that behaves ends by itself");
	ok(cgroup_read_cpu_us(&cg) > 1000, "its CPU time is accounted");
	ok(cgroup_read_usage(&cg, &usage) == 0 && usage.oom_kills == 0 && usage.process_refusals == 0,
	   "no limit was hit so far");

	status = run_inside(&cg, eat_memory);
	ok(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL, "256 MB in a group of 32 is killed");
	cgroup_read_usage(&cg, &usage);
	ok(usage.oom_kills >= 1, "the kernel counts the kill");
	ok(usage.memory_peak_bytes > 16 << 20 && usage.memory_peak_bytes <= 33 << 20,
	   "the peak is near the limit: %" PRIu64, usage.memory_peak_bytes);

	status = run_inside(&cg, fork_many);
	is_num(WEXITSTATUS(status), 13, "of 20 forks 7 fit beside their parent in 8");
	cgroup_read_usage(&cg, &usage);
	ok(usage.process_refusals >= 1, "the kernel counts the refusals");
	ok(cgroup_kill(&cg) == 0, "kill leaves the group empty");
	ok(cgroup_destroy(&cg) == 0, "destroy");
	ok(cgroup_destroy(&cg) == 0, "destroy is idempotent");
	ok(!left_behind(name), "nothing is left");
}

static void sleep_long(void)
{
	signal(SIGTERM, SIG_IGN);
	if (fork() == 0)
		setsid();
	raise(SIGSTOP);
	sleep(100);
}

static void test_kill_stopped(void)
{
	struct cgroup_limits limits = { .processes = 16 };
	struct cgroup cg;
	pid_t pid;
	int status;

	if (!ok(cgroup_create(&cg, &host, name, &limits) == 0, "a group for the kill"))
		return;
	pid = fork();
	if (pid == 0) {
		if (cgroup_join(&cg) == 0)
			sleep_long();
		_exit(99);
	}
	waitpid(pid, &status, WUNTRACED);
	ok(cgroup_freeze(&cg, true) == 0 || cg.dir[CG_UNIFIED] < 0, "freeze");
	/* The killed child stays a zombie until we wait, and zombies do not count. */
	ok(cgroup_kill(&cg) == 0, "stopped, frozen and detached processes die");
	waitpid(pid, &status, 0);
	ok(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL, "by SIGKILL");
	ok(cgroup_destroy(&cg) == 0 && !left_behind(name), "nothing is left");
}

/* Without cgroup.kill: the group as a kernel before 5.14 or a plain v1 host shows it. */
static void test_kill_each(void)
{
	struct cgroup_limits limits = { .processes = 64 };
	struct cgroup cg;
	int unified, status;
	pid_t pid;

	if (host.mode != CGROUP_V1) {
		skip("no v1 tree to kill by pids in");
		return;
	}
	if (!ok(cgroup_create(&cg, &host, name, &limits) == 0, "a group for the slow kill"))
		return;
	pid = fork();
	if (pid == 0) {
		if (cgroup_join(&cg) < 0)
			_exit(99);
		for (;;) /* forks as fast as it can; the children end at once */
			if (fork() == 0)
				_exit(0);
			else
				while (waitpid(-1, NULL, WNOHANG) > 0)
					;
	}
	usleep(20000);
	unified = cg.dir[CG_UNIFIED];
	cg.dir[CG_UNIFIED] = -1;
	ok(cgroup_kill(&cg) == 0, "a fork loop dies without cgroup.kill");
	cg.dir[CG_UNIFIED] = unified;
	waitpid(pid, &status, 0);
	ok(WIFSIGNALED(status), "it was killed");
	ok(cgroup_destroy(&cg) == 0 && !left_behind(name), "nothing is left");
}

static void make_everywhere(const char *which)
{
	char path[400];

	for (int t = 0; t < CG_TREES; t++) {
		snprintf(path, sizeof(path), "%s/%s", host.parent[t], which);
		if (host.parent[t][0])
			mkdir(path, 0755);
	}
}

static void test_sweep(void)
{
	const char *dead = "cordon-4194303-1-00000000", *foreign = "cordon-test-foreign";
	struct cgroup_limits limits = { .processes = 8 };
	struct cgroup cg, orphan = CGROUP_INIT;
	char path[400];
	int status;
	pid_t pid = fork();

	if (pid == 0)
		_exit(pause());
	make_everywhere(dead);
	make_everywhere(foreign);
	snprintf(path, sizeof(path), "%s/%s/cgroup.procs",
		 host.parent[CG_UNIFIED][0] ? host.parent[CG_UNIFIED] : host.parent[CG_PIDS], dead);
	orphan.procs[0] = open(path, O_WRONLY | O_CLOEXEC);
	dprintf(orphan.procs[0], "%d", (int)pid);
	close(orphan.procs[0]);
	ok(cgroup_create(&cg, &host, name, &limits) == 0, "a living group beside an orphan");
	cgroup_sweep(&host, 0);
	ok(!left_behind(dead), "the orphan of another boot is gone");
	waitpid(pid, &status, 0);
	ok(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL, "and what was in it is dead");
	ok(left_behind(foreign), "a name that is not an owner's stays");
	ok(left_behind(name), "a living owner's group stays");
	cgroup_destroy(&cg);
	ok(cgroup_destroy_named(&host, foreign) == 0 && !left_behind(foreign), "destroy by name");
	ok(cgroup_destroy_named(&host, "../x") == -EINVAL, "names have no slash");
}

/* How many processes a group of the unified tree lists: those that are told are never more than one here. */
static int listed(const struct cgroup *cg)
{
	int fd = openat(cg->dir[CG_UNIFIED], "cgroup.procs", O_RDONLY | O_CLOEXEC);
	char text[64];
	ssize_t n = read(fd, text, sizeof(text));

	close(fd);
	return n < 0 ? -1 : n > 0;
}

/* A child that goes on as long as the test holds the pipe. */
static pid_t born_in(const struct cgroup *cg, int wait, int hold)
{
	pid_t pid = process_clone_into(0, cg->dir[CG_UNIFIED], NULL);
	char byte;

	if (pid)
		return pid;
	close(hold);
	_exit((int)read(wait, &byte, 1));
}

static void test_born_inside(void)
{
	struct cgroup_limits limits = { .processes = 8, .kill = true };
	struct cgroup cg;
	int gate[2], status = -1;
	pid_t pid;

	if (!host.parent[CG_UNIFIED][0]) {
		skip("no unified tree here");
		return;
	}
	ok(process_clone_into(0, -1, NULL) < 0, "no group, no child");
	ok(cgroup_create(&cg, &host, name, &limits) == 0 && pipe2(gate, O_CLOEXEC) == 0, "a group in the unified tree");
	is_num(listed(&cg), 0, "nobody is in it");
	pid = born_in(&cg, gate[0], gate[1]);
	ok(pid > 0 && listed(&cg) == 1, "a child is, from its birth");
	close(gate[0]);
	close(gate[1]);
	waitpid(pid, &status, 0);
	ok(WIFEXITED(status) && WEXITSTATUS(status) == 0, "and ends as any other");
	ok(cgroup_destroy(&cg) == 0, "the group is removed");
}

static void test_refusals(void)
{
	struct cgroup_host poor = host;
	struct cgroup_limits limits = { .memory_bytes = 1 << 30 };
	struct cgroup cg;

	poor.can &= ~(unsigned)CGROUP_CAN_MEMORY;
	ok(cgroup_create(&cg, &poor, name, &limits) == -EOPNOTSUPP, "a limit without its controller is refused");
	ok(cgroup_destroy(&cg) == 0, "what was never made can be destroyed");
	ok(cgroup_create(&cg, &host, "a/b", &(struct cgroup_limits){ 0 }) == -EINVAL, "a name is not a path");
}

static unsigned open_fds(void)
{
	DIR *dir = opendir("/proc/self/fd");
	unsigned n = 0;

	while (dir && readdir(dir))
		n++;
	if (dir)
		closedir(dir);
	return n;
}

int main(void)
{
	unsigned fds;

	cgroup_probe(&host);
	owner_name(name);
	if (host.mode == CGROUP_NONE || host.needs_scope || !(host.can & CGROUP_CAN_MEMORY)) {
		skip("no groups here: %s", host.why);
		return done_testing();
	}
	fds = open_fds();
	test_limits();
	test_kill_stopped();
	test_kill_each();
	test_sweep();
	test_born_inside();
	test_refusals();
	is_num(open_fds(), fds, "no fd is left open");
	return done_testing();
}
