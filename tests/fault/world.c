/*
 * Tells all that a payload can see of the box it is in, one fact a line and the same in every run: whoever compares two of these
 * notices each wall that is missing. Arguments: the host's namespaces ("mnt:[4026531841]"), so that "own" can be told from "host's".
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

static void status(void)
{
	static const char *const keys[] = { "Umask:",  "Uid:",    "Gid:",    "Groups:",  "CapInh:",   "CapPrm:",
					    "CapEff:", "CapBnd:", "CapAmb:", "NoNewPr",  "Seccomp",   "SigBlk:",
					    "SigIgn:", "SigCgt:", "NSpid:",  "Threads:", "TracerPid:" };
	char line[512];
	FILE *f = fopen("/proc/self/status", "r");

	while (f && fgets(line, sizeof(line), f))
		for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
			if (strncmp(line, keys[i], strlen(keys[i])) == 0)
				printf("status %s", line);
	printf("securebits %d dumpable %d\n", prctl(PR_GET_SECUREBITS), prctl(PR_GET_DUMPABLE));
	if (f)
		fclose(f);
}

static void namespaces(int argc, char **argv)
{
	static const char *const names[] = { "cgroup", "ipc", "mnt", "net", "pid", "user", "uts" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		char path[64], target[128] = "";
		const char *whose = "own";

		snprintf(path, sizeof(path), "/proc/self/ns/%s", names[i]);
		if (readlink(path, target, sizeof(target) - 1) < 0)
			whose = strerror(errno);
		for (int a = 1; a < argc; a++)
			if (strcmp(argv[a], target) == 0)
				whose = "the host's";
		printf("namespace %s %s\n", names[i], whose);
	}
}

static void identity(void)
{
	struct utsname uts;
	char cwd[4096] = "";

	uname(&uts);
	printf("name '%s' '%s'\n", uts.nodename, uts.domainname);
	printf("cwd %s\n", getcwd(cwd, sizeof(cwd)) ? cwd : "none");
	printf("session %s, group %s, parent %s, tty %s\n", getsid(0) == getpid() ? "own" : "shared",
	       getpgid(0) == getpid() ? "own" : "shared", getppid() == 1 ? "init" : "another",
	       open("/dev/tty", O_RDONLY | O_CLOEXEC) < 0 ? strerror(errno) : "there");
	for (char **e = environ; *e; e++)
		printf("env %s\n", *e);
}

static void descriptors(void)
{
	for (int fd = 0; fd < 256; fd++) {
		struct stat st;

		if (fstat(fd, &st) == 0)
			printf("fd %d type %o flags %o\n", fd, st.st_mode & S_IFMT, fcntl(fd, F_GETFL) & O_ACCMODE);
	}
}

static void limits(void)
{
	for (int i = 0; i < RLIM_NLIMITS; i++) {
		struct rlimit l;

		if (getrlimit((__rlimit_resource_t)i, &l) == 0)
			printf("rlimit %d %lld %lld\n", i, (long long)l.rlim_cur, (long long)l.rlim_max);
	}
}

/* "ID PARENT MAJ:MIN ROOT POINT OPTIONS … - TYPE SOURCE SUPER": the numbers differ from run to run. */
static void mounts(void)
{
	char line[4096];
	FILE *f = fopen("/proc/self/mountinfo", "r");

	while (f && fgets(line, sizeof(line), f)) {
		char point[1024], options[1024], *type = strstr(line, " - "), *uid = strstr(line, ",uid=");

		if (uid)
			memcpy(uid, "\n", 2);
		if (sscanf(line, "%*s %*s %*s %*s %1023s %1023s", point, options) == 2)
			printf("mount %s %s %s%s", point, options, type ? type + 3 : "?\n", uid ? "" : "");
	}
	if (f)
		fclose(f);
}

static int compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void directory(const char *path)
{
	char *names[4096];
	size_t n = 0;
	struct dirent *e;
	DIR *d = opendir(path);

	while (d && n < 4096 && (e = readdir(d)))
		names[n++] = strdup(e->d_name);
	qsort(names, n, sizeof(*names), compare);
	for (size_t i = 0; i < n; i++) {
		char full[4096];
		struct stat st;

		snprintf(full, sizeof(full), "%s/%s", path, names[i]);
		if (strcmp(names[i], "..") != 0 && lstat(full, &st) == 0)
			printf("entry %s %o %u %u %lld\n", full, st.st_mode, st.st_uid, st.st_gid,
			       S_ISREG(st.st_mode) ? (long long)st.st_size : 0LL);
	}
	if (d)
		closedir(d);
}

static void space(const char *path)
{
	struct statvfs fs;

	if (statvfs(path, &fs) == 0)
		printf("space %s %llu %llu\n", path, (unsigned long long)fs.f_blocks * fs.f_bsize,
		       (unsigned long long)fs.f_files);
}

static void groups(void)
{
	char line[512];
	FILE *f = fopen("/proc/self/cgroup", "r");

	while (f && fgets(line, sizeof(line), f)) {
		char *colon = strchr(line, ':'), *path = colon ? strchr(colon + 1, ':') : NULL;

		if (path)
			printf("cgroup %.*s %s\n", (int)(path - colon), colon,
			       strstr(path, "/cordon-") ? "the box's" : "another");
	}
	if (f)
		fclose(f);
}

static void act(const char *what, long r)
{
	printf("act %s: %s\n", what, r >= 0 ? "done" : strerror(errno));
}

static void acts(void)
{
	struct sockaddr_in nobody = { .sin_family = AF_INET,
				      .sin_port = htons(1),
				      .sin_addr = { htonl(INADDR_LOOPBACK) } };
	struct sockaddr_in outside = { .sin_family = AF_INET,
				       .sin_port = htons(80),
				       .sin_addr = { htonl(0xc0000201) } };
	struct ifreq lo = { .ifr_name = "lo" };
	int s = socket(AF_INET, SOCK_DGRAM, 0), t = socket(AF_INET, SOCK_STREAM, 0);

	act("write /usr", open("/usr/.world", O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
	act("write /", open("/.world", O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
	act("write /tmp", open("/tmp/.world", O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
	(void)unlink("/tmp/.world"); /* a later job of the same box would find it */
	act("write /proc/sys", open("/proc/sys/kernel/hostname", O_WRONLY | O_CLOEXEC));
	act("mount", mount("none", "/tmp", "tmpfs", 0, NULL));
	act("unshare", syscall(SYS_unshare, 0x10000000));
	act("chroot", chroot("/tmp"));
	act("packet socket", socket(AF_PACKET, SOCK_RAW, 0));
	act("ptrace", syscall(SYS_ptrace, 16, 1, 0, 0));
	act("connect to itself", connect(t, (struct sockaddr *)&nobody, sizeof(nobody)));
	act("connect outside", connect(s, (struct sockaddr *)&outside, sizeof(outside)));
	printf("loopback %s\n", ioctl(s, SIOCGIFFLAGS, &lo) == 0 && lo.ifr_flags & IFF_UP ? "up" : "down");
}

/* A domain holds at most 16 rulesets: what is left tells how many there were. */
static void landlock(void)
{
	unsigned long long attr[2] = { 1, 0 };
	int fd = (int)syscall(SYS_landlock_create_ruleset, attr, sizeof(attr[0]), 0), left = 0;

	while (fd >= 0 && left < 32 && syscall(SYS_landlock_restrict_self, fd, 0) == 0)
		left++;
	printf("landlock %d more\n", left);
}

int main(int argc, char **argv)
{
	descriptors();
	status();
	namespaces(argc, argv);
	identity();
	limits();
	mounts();
	groups();
	space("/tmp");
	space("/dev/shm");
	space(getenv("HOME") ? getenv("HOME") : "/");
	directory("/");
	directory("/etc");
	directory("/dev");
	directory("/home");
	directory("/tmp");
	acts();
	landlock();
	return fflush(stdout) ? 1 : 0;
}
