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

enum { WATCH_PROCESSES = 4096, WATCH_DEPTH = 64, WATCH_ENTRIES = 2000000, WATCH_UNLINKED = 1 << 16 };

/* Fields 14 to 20 of its stat; the command in field 2 may hold anything, so count from its last ')'. */
struct process_stat {
	uint64_t own, waited; /* CPU time in ticks: its own, and that of children that it waited for */
	uint64_t threads;
};

static void read_stat(pid_t pid, struct process_stat *ret)
{
	char path[64], text[1024], *p;

	*ret = (struct process_stat){ 0 };
	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	if (fd_read_file_at(AT_FDCWD, path, text, sizeof(text)) <= 0)
		return;
	p = strrchr(text, ')');
	for (int field = 3; p && field <= 20; field++) {
		p = strchr(p + 1, ' ');
		if (p && (field == 14 || field == 15))
			ret->own += strtoull(p + 1, NULL, 10);
		else if (p && (field == 16 || field == 17))
			ret->waited += strtoull(p + 1, NULL, 10);
		else if (p && field == 20)
			ret->threads = strtoull(p + 1, NULL, 10);
	}
}

static uint64_t ticks_us(uint64_t ticks)
{
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

static void add_children(struct str *list, pid_t pid, const char *thread)
{
	auto_free char *text = NULL;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/task/%s/children", (int)pid, thread);
	if (fd_load_at(AT_FDCWD, path, 1 << 20, &text) > 0)
		str_add(list, text); /* each number has a blank behind it */
}

/* Who was started by a thread stands in that thread's list alone. */
static void list_children(struct str *list, pid_t pid, uint64_t threads)
{
	char path[64];
	struct dirent *e;
	DIR *d;

	snprintf(path, sizeof(path), "%d", (int)pid);
	if (threads == 1) {
		add_children(list, pid, path);
		return;
	}
	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	d = opendir(path);
	while (d && (e = readdir(d)))
		if (e->d_name[0] != '.')
			add_children(list, pid, e->d_name);
	if (d)
		closedir(d);
}

/* Descendants, one by one: the children of whoever is looked at stand behind those that are still to come. No depth is too deep. */
struct walk {
	struct str list;
	size_t at;
};

/* 0: that was all. */
static pid_t walk_next(struct walk *w)
{
	char *end = NULL;
	long pid = w->list.data ? strtol(w->list.data + w->at, &end, 10) : 0;

	if (pid <= 0)
		return 0;
	w->at = (size_t)(end - w->list.data);
	return (pid_t)pid;
}

void watch_read(pid_t root, struct watch_usage *ret)
{
	struct walk w = { 0 };
	struct process_stat stat;

	read_stat(root, &stat);
	ret->cpu_us += ticks_us(stat.waited); /* whose parents ended before them */
	list_children(&w.list, root, stat.threads);
	for (pid_t pid; ret->processes < WATCH_PROCESSES && (pid = walk_next(&w));) {
		ret->processes++;
		read_stat(pid, &stat);
		ret->cpu_us += ticks_us(stat.own + stat.waited);
		ret->memory_bytes += process_memory(pid);
		list_children(&w.list, pid, stat.threads);
	}
	str_done(&w.list);
}

struct unlinked {
	dev_t dev;
	const char *const *places;
	ino_t *seen;
	size_t count, room;
	struct watch_usage *to;
};

static bool is_new(struct unlinked *u, ino_t inode)
{
	for (size_t i = 0; i < u->count; i++)
		if (u->seen[i] == inode)
			return false;
	if (u->count == u->room) {
		size_t room = u->room ? u->room * 2 : 64;
		ino_t *seen = room <= WATCH_UNLINKED ? realloc(u->seen, room * sizeof(*seen)) : NULL;

		if (!seen) {
			u->to->inodes = WATCH_ENTRIES; /* what cannot be counted counts as over */
			return false;
		}
		u->seen = seen;
		u->room = room;
	}
	u->seen[u->count++] = inode;
	return true;
}

static bool lies_in(const struct unlinked *u, int dir, const char *name)
{
	char path[4096];
	ssize_t n = readlinkat(dir, name, path, sizeof(path) - 1);

	if (n < 0)
		return false;
	path[n] = '\0';
	for (const char *const *place = u->places; *place; place++)
		if (str_starts(path, *place) && path[strlen(*place)] == '/')
			return true;
	return false;
}

static void add_unlinked(struct unlinked *u, pid_t pid)
{
	char path[64];
	struct dirent *e;
	struct stat st;
	DIR *d;

	snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	d = opendir(path);
	while (d && (e = readdir(d)))
		if (e->d_name[0] != '.' && fstatat(dirfd(d), e->d_name, &st, 0) == 0 && S_ISREG(st.st_mode) &&
		    !st.st_nlink && st.st_dev == u->dev && lies_in(u, dirfd(d), e->d_name) && is_new(u, st.st_ino)) {
			u->to->disk_bytes += (uint64_t)st.st_blocks * 512;
			u->to->inodes++;
		}
	if (d)
		closedir(d);
}

void watch_unlinked(pid_t root, int dirfd, const char *const *places, struct watch_usage *ret)
{
	struct unlinked u = { .places = places, .to = ret };
	struct process_stat stat;
	struct walk w = { 0 };
	unsigned looks = 0;
	struct stat st;

	if (fstat(dirfd, &st) < 0)
		return;
	u.dev = st.st_dev;
	read_stat(root, &stat);
	list_children(&w.list, root, stat.threads);
	for (pid_t pid; looks < WATCH_UNLINKED && (pid = walk_next(&w)); looks++) {
		add_unlinked(&u, pid);
		read_stat(pid, &stat);
		list_children(&w.list, pid, stat.threads);
	}
	if (looks == WATCH_UNLINKED || w.list.failed)
		ret->inodes = WATCH_ENTRIES; /* what cannot be counted counts as over */
	str_done(&w.list);
	free(u.seen);
}

static int read_tree(int at, unsigned depth, struct watch_usage *ret)
{
	auto_close int fd = openat(at, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct dirent *e;
	DIR *d;

	d = fd < 0 ? NULL : fdopendir(fd);
	if (!d) {
		ret->inodes = WATCH_ENTRIES; /* what cannot be counted counts as over */
		return -errno;
	}
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
