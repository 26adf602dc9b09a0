/* Limits without cgroups: see watch.h. What the payload can write into these files is numbers that the kernel formats. */
#include "box/watch.h"

#include "base/fd.h"
#include "base/str.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { WATCH_PROCESSES = 4096, WATCH_DEPTH = 64, WATCH_ENTRIES = 2000000 };

/* utime and stime are fields 14 and 15; the command in field 2 may hold anything, so count from its last ')'. */
static uint64_t process_cpu_us(pid_t pid)
{
	char path[64], text[1024], *p;
	uint64_t ticks = 0;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	if (fd_read_file_at(AT_FDCWD, path, text, sizeof(text)) <= 0)
		return 0;
	p = strrchr(text, ')');
	for (int field = 3; p && field <= 17; field++) {
		p = strchr(p + 1, ' ');
		if (p && field >= 14)
			ticks += strtoull(p + 1, NULL, 10); /* 14, 15: own; 16, 17: of children that were waited for */
	}
	return ticks * 1000000 / (uint64_t)sysconf(_SC_CLK_TCK);
}

static uint64_t process_memory(pid_t pid)
{
	char path[64], text[128], *p;

	snprintf(path, sizeof(path), "/proc/%d/statm", (int)pid);
	if (fd_read_file_at(AT_FDCWD, path, text, sizeof(text)) <= 0)
		return 0;
	p = strchr(text, ' ');
	return p ? strtoull(p + 1, NULL, 10) * (uint64_t)sysconf(_SC_PAGESIZE) : 0;
}

static void read_descendants(pid_t pid, unsigned depth, struct watch_usage *ret)
{
	char path[64];
	auto_free char *text = NULL;
	char *at;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)pid, (int)pid);
	if (depth > WATCH_DEPTH || fd_load_at(AT_FDCWD, path, 1 << 20, &text) <= 0)
		return;
	at = text;
	for (long child; ret->processes < WATCH_PROCESSES && (child = strtol(at, &at, 10)) > 0;) {
		ret->processes++;
		ret->cpu_us += process_cpu_us((pid_t)child);
		ret->memory_bytes += process_memory((pid_t)child);
		read_descendants((pid_t)child, depth + 1, ret);
	}
}

void watch_read(pid_t root, struct watch_usage *ret)
{
	read_descendants(root, 0, ret);
}

static int read_tree(int at, unsigned depth, struct watch_usage *ret)
{
	auto_close int fd = openat(at, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct dirent *e;
	DIR *d;

	d = fd < 0 ? NULL : fdopendir(fd);
	if (!d)
		return -errno;
	fd = -1;
	while (ret->inodes < WATCH_ENTRIES && (e = readdir(d))) {
		struct stat st;

		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
			continue;
		ret->inodes++;
		if (fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		ret->disk_bytes += (uint64_t)st.st_blocks * 512;
		if (S_ISDIR(st.st_mode)) {
			auto_close int sub = openat(dirfd(d), e->d_name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

			if (depth >= WATCH_DEPTH)
				ret->inodes = WATCH_ENTRIES; /* deeper than anyone needs */
			else if (sub >= 0)
				(void)read_tree(sub, depth + 1, ret);
		}
	}
	closedir(d);
	return 0;
}

int watch_tree(int dir, struct watch_usage *ret)
{
	ret->disk_bytes = ret->inodes = 0;
	return read_tree(dir, 0, ret);
}
