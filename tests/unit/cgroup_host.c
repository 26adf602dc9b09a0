/* The probe over texts and a made-up tree: which place is taken for whom, and what is said where there is
 * none. */
#include "tap.h"

#include "base/fd.h"
#include "os/cgroup_tree.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

static char base[] = "/tmp/cordon-cgroup-test-XXXXXX";

static void put(const char *dir, const char *file, const char *text)
{
	char path[512];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", dir, file);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (fd >= 0 && write(fd, text, strlen(text)) < 0)
		perror(path);
	close(fd);
}

/* One group of a made-up v2 tree. */
static void group(const char *rel, const char *controllers, const char *passed_on, const char *procs)
{
	char dir[300];

	snprintf(dir, sizeof(dir), "%s%s", base, rel);
	mkdir(dir, 0755);
	put(dir, "cgroup.controllers", controllers);
	put(dir, "cgroup.subtree_control", passed_on);
	put(dir, "cgroup.procs", procs);
	if (*rel)
		put(dir, "cgroup.events", "populated 1\nfrozen 0\n");
}

static void probe(struct cgroup_host *host, const char *own, const struct cgroup_who *who)
{
	char mountinfo[512], self[256];

	snprintf(mountinfo, sizeof(mountinfo),
		 "22 1 254:1 / / rw,relatime shared:1 - ext4 /dev/vda1 rw\n"
		 "23 22 7:3 / /snap/x ro - squashfs /dev/loop3 ro\n"
		 "24 22 254:1 /home /home rw - ext4 /dev/vda1 rw\n"
		 "31 23 0:28 / %s rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n",
		 base);
	snprintf(self, sizeof(self), "0::%s\n", own);
	cgroup_probe_texts(host, mountinfo, self, who);
}

static const char *below(const struct cgroup_host *host)
{
	const char *parent = host->parent[CG_UNIFIED];

	return strncmp(parent, base, strlen(base)) == 0 ? parent + strlen(base) : parent;
}

static void test_v2_root(void)
{
	struct cgroup_who root = { .pid = 10, .parent = 9 };
	struct cgroup_host host;

	group("", "cpuset cpu io memory pids\n", "memory pids\n", "1\n");
	probe(&host, "/system.slice", &root);
	is_num(host.mode, CGROUP_V2, "root on v2");
	is_str(below(&host), "/cordon", "takes the top");
	is_num(host.can, 31, "with every controller");
	ok(!host.needs_leaf && !host.needs_scope && !host.why[0], "and nothing else to do");
}

/* From here on the mount is not the real root, as in a container or for a user. */
static void test_v2_delegated(void)
{
	/* Whoever is gone does not count: the parent and the stranger are processes that are there. */
	struct cgroup_who user = { .pid = 10, .parent = getpid(), .uid = 1000 };
	struct cgroup_host host;
	char ours[64], others[64];

	snprintf(ours, sizeof(ours), "%d\n10\n", (int)getpid());
	snprintf(others, sizeof(others), "1\n%d\n10\n", (int)getpid());

	put(base, "cgroup.events", "populated 1\n");
	put(base, "cgroup.subtree_control", "");
	group("/app", "cpu memory pids\n", "cpu memory pids\n", "");
	group("/app/term", "memory pids\n", "", "1\n10\n");
	probe(&host, "/app/term", &user);
	is_str(below(&host), "/app/cordon", "the nearest ancestor that passes controllers on");
	is_num(host.can, CGROUP_CAN_MEMORY | CGROUP_CAN_PIDS | CGROUP_CAN_CPU | CGROUP_CAN_KILL, "without io");
	ok(strstr(host.why, "not delegated: io"), "which is told");
	ok(strstr(host.remedy, "Delegate="), "with its remedy");

	put(base, "app/term/cgroup.procs", "10\n");
	probe(&host, "/app/term", &user);
	ok(strcmp(below(&host), "/app/term/cordon") == 0 && host.needs_leaf,
	   "but a group that is ours alone comes first");
	put(base, "app/term/cgroup.procs", ours);
	probe(&host, "/app/term", &user);
	ok(strcmp(below(&host), "/app/cordon") == 0 && !host.needs_leaf, "and our parent is not moved without need");

	put(base, "app/cgroup.subtree_control", "");
	probe(&host, "/app/term", &user);
	is_str(below(&host), "/app/term/cordon", "our own group, where only our parent lives beside us");
	ok(host.needs_leaf, "by way of a leaf");

	put(base, "app/term/cgroup.procs", others);
	probe(&host, "/app/term", &user);
	is_num(host.mode, CGROUP_NONE, "not where others live");
	ok(strstr(host.why, "other processes"), "which is told");
	ok(strstr(host.remedy, "init/cgroup.procs"), "with its remedy");

	group("/app/term", "pids\n", "", "10\n");
	probe(&host, "/app/term", &user);
	ok(host.mode == CGROUP_NONE && strstr(host.why, "not delegated: memory cpu io") &&
		   strstr(host.remedy, "Delegate="),
	   "ours alone, but without memory: that is the reason, and not others: %s", host.why);

	probe(&host, "/app/hidden", &user);
	ok(host.mode == CGROUP_NONE &&
		   strstr(host.remedy, "loginctl enable-linger 1000 && systemctl start user@1000") &&
		   strstr(host.remedy, "systemd-run --user --scope"),
	   "no group: a user manager, by systemd's commands");
	probe(&host, "/../outside", &user);
	is_num(host.mode, CGROUP_NONE, "a group outside of our namespace");
}

static void test_v2_scope(void)
{
	struct cgroup_who user = { .pid = 10, .parent = 9, .uid = 1000, .has_bus = true };
	struct cgroup_host host;

	group("/user.slice", "memory pids\n", "memory pids\n", "");
	group("/user.slice/user-1000.slice", "memory pids\n", "memory pids\n", "");
	group("/user.slice/user-1000.slice/user@1000.service", "cpu memory pids\n", "", "7\n");
	probe(&host, "/app/hidden", &user);
	ok(host.mode == CGROUP_V2 && host.needs_scope, "a login asks systemd");
	is_num(host.can, CGROUP_CAN_MEMORY | CGROUP_CAN_PIDS | CGROUP_CAN_CPU | CGROUP_CAN_KILL,
	       "and expects what its manager has");
	ok(cgroup_create(&(struct cgroup)CGROUP_INIT, &host, "x", &(struct cgroup_limits){ 0 }) == -EOPNOTSUPP,
	   "nothing can be made before the scope");
	ok(strstr(host.remedy, "Delegate=") && strstr(host.remedy, "as uid 1000: systemctl --user daemon-reexec"),
	   "what it lacks has a remedy that reaches a manager that runs already: %s", host.remedy);
	group("/user.slice/user-1000.slice/user@1000.service", "pids\n", "", "7\n");
	probe(&host, "/app/hidden", &user);
	ok(host.mode == CGROUP_NONE && strstr(host.why, "not delegated: memory cpu io") &&
		   strstr(host.remedy, "Delegate="),
	   "a manager without memory is none, and another scope of its would not help: %s", host.why);
	user.has_bus = false;
	probe(&host, "/app/hidden", &user);
	is_num(host.mode, CGROUP_NONE, "without a manager there is nothing");
}

static void test_v1(void)
{
	struct cgroup_who user = { .pid = 10, .parent = 9, .uid = 1000 };
	struct cgroup_host host;
	char mountinfo[1024], self[] = "4:memory:/a\n3:cpu,cpuacct:/b\n2:pids:/\n0::/\n", own[300];

	snprintf(own, sizeof(own), "%s/v1", base);
	mkdir(own, 0755);
	snprintf(mountinfo, sizeof(mountinfo),
		 "1 0 0:9 / %s rw - cgroup cgroup rw,memory\n"
		 "2 0 0:8 / %s rw - cgroup cgroup rw,cpu,cpuacct\n"
		 "3 0 0:7 / /nonexistent ro - cgroup cgroup rw,pids\n"
		 "4 0 0:6 / /nowhere rw - cgroup cgroup rw,name=systemd\n"
		 "nonsense\n\n5 0 - cgroup\n",
		 own, own);
	cgroup_probe_texts(&host, mountinfo, self, &user);
	is_num(host.mode, CGROUP_V1, "v1");
	is_num(host.can, CGROUP_CAN_MEMORY | CGROUP_CAN_CPU, "what is writable counts");
	is_str(host.parent[CG_PIDS], "", "what is not does not");
	is_str(host.parent[CG_CPUACCT], "", "cpuacct beside cpu needs no tree of its own");
	ok(strstr(host.why, "pids") && strstr(host.why, "blkio") && !strstr(host.why, "memory"),
	   "and the rest is told: %s", host.why);
	ok(host.remedy[0], "with a remedy");
}

static void test_nothing(void)
{
	struct cgroup_host host;
	char mountinfo[] = "1 0 254:0 / / rw - ext4 /dev/vda rw", self[] = "";

	cgroup_probe_texts(&host, mountinfo, self, &(struct cgroup_who){ 0 });
	ok(host.mode == CGROUP_NONE && strstr(host.why, "no cgroup file system"), "no cgroup file system at all");
}

/* Limits and account of v2 over plain files that stand for the kernel's. */
static void test_v2_files(void)
{
	struct cgroup_limits limits = { .memory_bytes = 1 << 20, .processes = 7, .cpu_milli = 1500 };
	struct cgroup_host host = { .mode = CGROUP_V2 };
	struct cgroup cg = CGROUP_INIT;
	struct cgroup_usage usage;
	char text[64];

	cg.host = &host;
	cg.dir[CG_UNIFIED] = open(base, O_PATH | O_DIRECTORY | O_CLOEXEC);
	ok(cgroup_write_limits(&cg, &limits) == -ENOENT, "a controller that is not enabled shows as ENOENT");
	put(base, "memory.max", "");
	put(base, "memory.swap.max", "");
	put(base, "pids.max", "");
	put(base, "cpu.max", "");
	ok(cgroup_write_limits(&cg, &limits) == 0, "limits of v2; an old kernel without memory.oom.group is fine");
	fd_read_file_at(cg.dir[CG_UNIFIED], "memory.max", text, sizeof(text));
	is_str(text, "1048576", "memory.max");
	fd_read_file_at(cg.dir[CG_UNIFIED], "memory.swap.max", text, sizeof(text));
	is_str(text, "0", "memory.swap.max");
	fd_read_file_at(cg.dir[CG_UNIFIED], "pids.max", text, sizeof(text));
	is_str(text, "7", "pids.max");
	fd_read_file_at(cg.dir[CG_UNIFIED], "cpu.max", text, sizeof(text));
	is_str(text, "150000 100000", "cpu.max");
	limits.cpu_milli = 5;
	cgroup_write_limits(&cg, &limits);
	fd_read_file_at(cg.dir[CG_UNIFIED], "cpu.max", text, sizeof(text));
	ok(strncmp(text, "5000 1000000", 12) == 0, "a small share gets a long period");

	put(base, "memory.current", "4096\n");
	put(base, "memory.events", "low 0\nhigh 0\nmax 9\noom 3\noom_kill 2\noom_group_kill 1\n");
	put(base, "pids.events", "max 5\n");
	put(base, "cpu.stat", "usage_usec 1234\nuser_usec 1000\n");
	ok(cgroup_read_usage(&cg, &usage) == 0, "usage of v2");
	ok(usage.cpu_us == 1234 && usage.oom_kills == 2 && usage.process_refusals == 5, "its numbers");
	is_num(usage.memory_peak_bytes, 4096, "before 5.19 a sample stands for the peak");
	put(base, "memory.peak", "8192\n");
	cgroup_read_usage(&cg, &usage);
	is_num(usage.memory_peak_bytes, 8192, "memory.peak where it is");
	cgroup_close(&cg);
}

static void test_disks(void)
{
	char text[] =
		"major minor  #blocks  name\n\n"
		"   7        0      65536 loop0\n"
		" 259        0  500107608 nvme0n1\n 259        1     524288 nvme0n1p1\n 259        2     1 nvme0n1p12\n"
		"   8        0  500107608 sda\n   8        1  500107607 sda1\n   8      160        10 sdaa\n"
		" 253        1       1000 dm-1\n 253       10       1000 dm-10\n"
		" 179        0       1000 mmcblk0\n 179        1        999 mmcblk0p1\n 179        8       1 "
		"mmcblk0boot0\n"
		"  11        0       1024 sr0\n 252        0       1024 zram0\n";
	const dev_t want[] = { makedev(259, 0),  makedev(8, 0),   makedev(8, 160), makedev(253, 1),
			       makedev(253, 10), makedev(179, 0), makedev(179, 8) };
	struct cgroup_disks walk = { .rest = text };
	size_t n = 0;
	dev_t disk;

	while (cgroup_next_disk(&walk, &disk)) {
		ok(n < sizeof(want) / sizeof(*want) && disk == want[n], "disk %u:%u", major(disk), minor(disk));
		n++;
	}
	is_num(n, sizeof(want) / sizeof(*want), "whole disks, each once; no loop, CD or zram device");
}

int main(void)
{
	char command[64];

	if (!mkdtemp(base))
		return 1;
	test_v2_root();
	test_v2_delegated();
	test_v2_scope();
	test_v1();
	test_nothing();
	test_v2_files();
	is_num(cgroup_controllers("cpuset hugetlb rdma\n"), 0, "cpuset is not cpu");
	is_num(cgroup_controllers("cpuset cpu\n"), CGROUP_CAN_CPU, "the last word counts too");
	test_disks();
	snprintf(command, sizeof(command), "rm -rf %s", base);
	return system(command) || done_testing();
}
