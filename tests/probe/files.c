/* Files: opening, making, modes, searching. */
#include "probe.h"

#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/time.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>
#include <utime.h>

static int finish(int fd)
{
	if (fd < 0)
		return -errno;
	close(fd);
	return 0;
}

/* open PATH r|w|rw|create|tmpfile|dir [MODE] */
static int act_open(char **argv)
{
	static const struct {
		const char *name;
		int flags;
	} ways[] = {
		{ "r", O_RDONLY },
		{ "w", O_WRONLY },
		{ "rw", O_RDWR },
		{ "create", O_WRONLY | O_CREAT },
		{ "tmpfile", O_WRONLY | O_TMPFILE },
		{ "dir", O_RDONLY | O_DIRECTORY },
		{ "path", O_PATH },
	};

	for (size_t i = 0; i < ARRAY_LEN(ways); i++)
		if (strcmp(ways[i].name, argv[1]) == 0)
			return finish(open(argv[0], ways[i].flags | O_NONBLOCK | O_NOCTTY,
					   (mode_t)(argv[2] ? number(argv[2]) : 0644)));
	return -EINVAL;
}

static int act_read(char **argv)
{
	char buf[4096];
	int fd = open(argv[0], O_RDONLY | O_NONBLOCK | O_NOCTTY);
	ssize_t n = fd < 0 ? -1 : read(fd, buf, sizeof(buf) - 1);

	if (n < 0)
		return -errno;
	buf[n] = '\0';
	buf[strcspn(buf, "\n")] = '\0';
	printf("ok %s\n", buf);
	return ANSWERED;
}

/* write PATH TEXT: into what is there. */
static int act_write(char **argv)
{
	int fd = open(argv[0], O_WRONLY | O_NONBLOCK | O_NOCTTY);

	if (fd < 0 || write(fd, argv[1], strlen(argv[1])) < 0)
		return -errno;
	return finish(fd);
}

static int act_chmod(char **argv)
{
	return check(chmod(argv[0], (mode_t)number(argv[1])));
}
static int act_fchmod(char **argv)
{
	int fd = open(argv[0], O_RDONLY);

	return fd < 0 ? -errno : check(fchmod(fd, (mode_t)number(argv[1])));
}
static int act_fchmodat(char **argv)
{
	return check(syscall(SYS_fchmodat, AT_FDCWD, argv[0], number(argv[1])));
}
static int act_fchmodat2(char **argv)
{
	return check(syscall(452, AT_FDCWD, argv[0], number(argv[1]), 0));
}
static int act_creat(char **argv)
{
	return finish(creat(argv[0], (mode_t)number(argv[1])));
}
static int act_mkdir(char **argv)
{
	return check(mkdir(argv[0], (mode_t)number(argv[1])));
}
static int act_mknod(char **argv)
{
	return check(mknod(argv[0], (mode_t)number(argv[1]), makedev(1, 3)));
}
/* high PATH MODE: a mode with bits above the 32 that the kernel looks at. */
static int act_chmod_high(char **argv)
{
	return check(syscall(SYS_fchmodat, AT_FDCWD, argv[0], (unsigned long)number(argv[1]) | 0x100000000UL));
}
static int act_setcap(char **argv)
{
	const uint32_t data[5] = { 0x02000001, 1u << 21 /* CAP_SYS_ADMIN */, 0, 0, 0 };

	return check(setxattr(argv[0], "security.capability", data, sizeof(data), 0));
}
static int act_setxattr(char **argv)
{
	return check(setxattr(argv[0], argv[1], "x", 1, 0));
}
/* utime PATH, …: its times become the beginning of 1970, by each call that can. */
static int act_utime(char **argv)
{
	const struct utimbuf times = { 1, 2 };

#ifdef SYS_utime
	return check(syscall(SYS_utime, argv[0], &times));
#else
	return check(utime(argv[0], &times));
#endif
}
static int act_utimes(char **argv)
{
	const struct timeval times[2] = { { 1, 0 }, { 2, 0 } };

#ifdef SYS_utimes
	return check(syscall(SYS_utimes, argv[0], times));
#else
	return check(utimes(argv[0], times));
#endif
}
static int act_futimesat(char **argv)
{
	const struct timeval times[2] = { { 1, 0 }, { 2, 0 } };

#ifdef SYS_futimesat
	return check(syscall(SYS_futimesat, AT_FDCWD, argv[0], times));
#else
	return check(utimes(argv[0], times));
#endif
}
static int act_utimensat(char **argv)
{
	const struct timespec times[2] = { { 1, 0 }, { 2, 0 } };

	return check(utimensat(AT_FDCWD, argv[0], times, AT_SYMLINK_NOFOLLOW));
}
/* By an fd that can only be read from. */
static int act_futimens(char **argv)
{
	const struct timespec times[2] = { { 1, 0 }, { 2, 0 } };
	int fd = open(argv[0], O_RDONLY | O_NONBLOCK);

	return fd < 0 ? -errno : check(futimens(fd, times));
}
/* Without times: now. The kernel asks for the right to write. */
static int act_touch(char **argv)
{
	return check(utimensat(AT_FDCWD, argv[0], NULL, 0));
}
/* By way of /proc, as libc does for what is open as O_PATH. */
static int act_chmod_path(char **argv)
{
	char link[64];
	int fd = open(argv[0], O_PATH);

	if (fd < 0)
		return -errno;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	return check(chmod(link, (mode_t)number(argv[1])));
}
/* From a directory that is open. */
static int act_chmod_dir(char **argv)
{
	int dir = open(argv[0], O_PATH | O_DIRECTORY);

	return dir < 0 ? -errno : check(syscall(SYS_fchmodat, dir, argv[1], number(argv[2])));
}
/* chown PATH …: to the owner that it has. */
static int act_chown(char **argv)
{
	return check(chown(argv[0], getuid(), getgid()));
}
static int act_lchown(char **argv)
{
	return check(lchown(argv[0], getuid(), getgid()));
}
static int act_fchownat(char **argv)
{
	return check(syscall(SYS_fchownat, AT_FDCWD, argv[0], getuid(), getgid(), 0));
}
static int act_removexattr(char **argv)
{
	return check(removexattr(argv[0], argv[1]));
}
/* chmod-race OWN FOREIGN MODE SECONDS: changes OWN, while the path in memory is turned into FOREIGN and back by another process. Says how
 * often it worked. */
static int act_chmod_race(char **argv)
{
	char *path = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	time_t end = time(NULL) + number(argv[3]);
	unsigned long done = 0, refused = 0;
	pid_t pid;

	if (path == MAP_FAILED || (pid = fork()) < 0)
		return -errno;
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;) {
			memcpy(path, argv[0], strlen(argv[0]) + 1);
			memcpy(path, argv[1], strlen(argv[1]) + 1);
		}
	}
	while (time(NULL) < end) {
		if (chmod(path, (mode_t)number(argv[2])) == 0)
			done++;
		else
			refused++;
	}
	kill(pid, SIGKILL);
	printf("ok %s %s\n", done ? "done" : "never", refused ? "refused" : "never");
	return ANSWERED;
}
/* chmod-loop PATH MODE SECONDS: all the time, whatever it is. */
static int act_chmod_loop(char **argv)
{
	time_t end = time(NULL) + number(argv[2]);
	unsigned long done = 0, refused = 0;

	while (time(NULL) < end) {
		if (chmod(argv[0], (mode_t)number(argv[1])) == 0)
			done++;
		else
			refused++;
	}
	printf("ok %s %s\n", done ? "done" : "never", refused ? "refused" : "never");
	return ANSWERED;
}
static int act_rename(char **argv)
{
	return check(rename(argv[0], argv[1]));
}
/* exchange A B: each takes the other's place, in one step. */
static int act_exchange(char **argv)
{
	return check(renameat2(AT_FDCWD, argv[0], AT_FDCWD, argv[1], 2 /* RENAME_EXCHANGE */));
}
static int act_link(char **argv)
{
	return check(link(argv[0], argv[1]));
}
static int act_symlink(char **argv)
{
	return check(symlink(argv[0], argv[1]));
}
static int act_unlink(char **argv)
{
	return check(remove(argv[0]));
}
static int act_truncate(char **argv)
{
	return check(truncate(argv[0], 0));
}
static int act_access(char **argv)
{
	return check(faccessat(AT_FDCWD, argv[0], F_OK, AT_SYMLINK_NOFOLLOW));
}
static int act_chdir(char **argv)
{
	return check(chdir(argv[0]));
}
static int act_readlink(char **argv)
{
	char buf[4096];
	ssize_t n = readlink(argv[0], buf, sizeof(buf) - 1);

	if (n < 0)
		return -errno;
	buf[n] = '\0';
	printf("ok %s\n", buf);
	return ANSWERED;
}

/* swap A B SECONDS: exchanges them as fast as it can. For races. */
static int act_swap(char **argv)
{
	long n = number(argv[2]);

	alarm((unsigned)n);
	for (;;)
		if (renameat2(AT_FDCWD, argv[0], AT_FDCWD, argv[1], 2) < 0)
			return -errno;
}

/* ---- searching ---- */

static char needle[256];
static size_t needle_len;
static unsigned long searched;

static void search_file(const char *path)
{
	static char buf[(1 << 20) + 1];
	size_t have = 0;
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW);

	if (fd < 0)
		return;
	searched++;
	while (have < sizeof(buf) - 1) {
		ssize_t n = read(fd, buf + have, sizeof(buf) - 1 - have);

		if (n <= 0)
			break;
		have += (size_t)n;
	}
	close(fd);
	if (memmem(buf, have, needle, needle_len))
		printf("found %s\n", path);
	memset(buf, 0, have);
}

static int visit(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	char target[4096];
	ssize_t n;

	(void)ftw;
	if (type == FTW_SL) {
		n = readlink(path, target, sizeof(target) - 1);
		if (n > 0 && memmem(target, (size_t)n, needle, needle_len))
			printf("found in link %s\n", path);
	} else if (type == FTW_F && (S_ISREG(st->st_mode) || st->st_mode == 0) && !strstr(path, "/mem") &&
		   !strstr(path, "kmsg") && !strstr(path, "/kcore") && !strstr(path, "/pagemap")) {
		search_file(path);
	}
	return 0;
}

/* search HEX DIR…: every readable file below that holds the text. In hex, so that our own arguments do not. */
static int act_search(char **argv)
{
	for (const char *p = argv[0]; p[0] && p[1] && needle_len < sizeof(needle); p += 2) {
		const char pair[3] = { p[0], p[1], '\0' };

		needle[needle_len++] = (char)strtoul(pair, NULL, 16);
	}
	while (*++argv)
		(void)nftw(*argv, visit, 16, FTW_PHYS);
	printf("searched %s\n", searched > 20 ? "many" : searched ? "some" : "none");
	return ANSWERED;
}

/* ---- memory that becomes a program ---- */

static int act_mmap_wx(char **argv)
{
	(void)argv;
	return mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED
		       ? -errno
		       : 0;
}
static int act_mmap_x(char **argv)
{
	(void)argv;
	return mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED ? -errno : 0;
}
static int act_mprotect_x(char **argv)
{
	void *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)argv;
	return p == MAP_FAILED ? -errno : check(mprotect(p, 4096, PROT_READ | PROT_EXEC));
}
/* mmap-file PATH: as the loader would map a program. */
static int act_mmap_file(char **argv)
{
	int fd = open(argv[0], O_RDONLY);

	if (fd < 0)
		return -errno;
	return mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) == MAP_FAILED ? -errno : 0;
}

const struct act file_acts[] = {
	{ "open", 2, act_open },
	{ "read", 1, act_read },
	{ "write", 2, act_write },
	{ "chmod", 2, act_chmod },
	{ "fchmod", 2, act_fchmod },
	{ "fchmodat", 2, act_fchmodat },
	{ "fchmodat2", 2, act_fchmodat2 },
	{ "chmod-high", 2, act_chmod_high },
	{ "creat", 2, act_creat },
	{ "mkdir", 2, act_mkdir },
	{ "mknod", 2, act_mknod },
	{ "setcap", 1, act_setcap },
	{ "setxattr", 2, act_setxattr },
	{ "removexattr", 2, act_removexattr },
	{ "utime", 1, act_utime },
	{ "utimes", 1, act_utimes },
	{ "futimesat", 1, act_futimesat },
	{ "utimensat", 1, act_utimensat },
	{ "futimens", 1, act_futimens },
	{ "touch", 1, act_touch },
	{ "chmod-path", 2, act_chmod_path },
	{ "chmod-dir", 3, act_chmod_dir },
	{ "chown", 1, act_chown },
	{ "lchown", 1, act_lchown },
	{ "fchownat", 1, act_fchownat },
	{ "chmod-race", 4, act_chmod_race },
	{ "chmod-loop", 3, act_chmod_loop },
	{ "rename", 2, act_rename },
	{ "exchange", 2, act_exchange },
	{ "link", 2, act_link },
	{ "symlink", 2, act_symlink },
	{ "unlink", 1, act_unlink },
	{ "truncate", 1, act_truncate },
	{ "access", 1, act_access },
	{ "chdir", 1, act_chdir },
	{ "readlink", 1, act_readlink },
	{ "swap", 3, act_swap },
	{ "search", 2, act_search },
	{ "mmap-wx", 0, act_mmap_wx },
	{ "mmap-x", 0, act_mmap_x },
	{ "mprotect-x", 0, act_mprotect_x },
	{ "mmap-file", 1, act_mmap_file },
	{ NULL, 0, NULL },
};
