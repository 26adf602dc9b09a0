/* Ending every descendant: see descend.h. */
#include "box/descend.h"

#include "base/clock.h"
#include "base/fd.h"
#include "base/str.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

struct entry {
	pid_t pid, parent;
	bool ours;
};

struct list {
	struct entry *v;
	size_t n, room;
	bool is_cut; /* somebody may be missing: memory or descriptors ran out, which a payload can see to */
};

static bool has_run_out(int errnum)
{
	return errnum == EMFILE || errnum == ENFILE || errnum == ENOMEM;
}

/* "PID (COMMAND) STATE PPID …"; the command may hold anything, so count from its last ')'. Zombies are left out. */
static bool read_entry(struct list *l, int proc, const char *name, struct entry *ret)
{
	char path[32], text[512], state;
	const char *p;
	int parent;
	ssize_t n;

	snprintf(path, sizeof(path), "%.15s/stat", name);
	n = fd_read_file_at(proc, path, text, sizeof(text));
	l->is_cut = l->is_cut || (n < 0 && has_run_out((int)-n));
	if (n <= 0)
		return false;
	p = strrchr(text, ')');
	if (!p || sscanf(p + 1, " %c %d", &state, &parent) != 2 || state == 'Z' || state == 'X')
		return false;
	*ret = (struct entry){ .pid = (pid_t)strtol(name, NULL, 10), .parent = parent };
	return true;
}

static void add(struct list *l, const struct entry *e)
{
	if (l->n == l->room) {
		size_t room = l->room ? l->room * 2 : 256;
		struct entry *v = realloc(l->v, room * sizeof(*v));

		if (!v) {
			l->is_cut = true; /* the next pass sees fewer */
			return;
		}
		l->v = v;
		l->room = room;
	}
	l->v[l->n++] = *e;
}

static bool is_ours(const struct list *l, pid_t pid)
{
	if (pid == getpid())
		return true;
	for (size_t i = 0; i < l->n; i++)
		if (l->v[i].pid == pid)
			return l->v[i].ours;
	return false;
}

/* Children of ours are ours, until no more are found. */
static size_t mark(struct list *l)
{
	size_t count = 0;

	for (bool again = true; again;) {
		again = false;
		for (size_t i = 0; i < l->n; i++)
			if (!l->v[i].ours && is_ours(l, l->v[i].parent)) {
				l->v[i].ours = again = true;
				count++;
			}
	}
	return count;
}

static size_t list_descendants(struct list *l)
{
	int fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;

	l->n = 0;
	l->is_cut = !d;
	if (!d) {
		fd_close(&fd);
		return 0;
	}
	while ((e = readdir(d))) {
		struct entry entry;

		if (e->d_name[0] >= '1' && e->d_name[0] <= '9' && read_entry(l, dirfd(d), e->d_name, &entry) &&
		    entry.pid != getpid())
			add(l, &entry);
	}
	closedir(d);
	return mark(l);
}

static void signal_all(const struct list *l, int sig)
{
	for (size_t i = 0; i < l->n; i++)
		if (l->v[i].ours)
			(void)kill(l->v[i].pid, sig);
}

static uint64_t fingerprint(const struct list *l)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < l->n; i++)
		if (l->v[i].ours)
			sum += (uint64_t)l->v[i].pid * (uint64_t)l->v[i].pid;
	return sum;
}

/* Whoever loses its parent comes to us: without a child there is no descendant either. */
static bool has_children(void)
{
	siginfo_t info;

	return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT | __WALL) == 0 || errno != ECHILD;
}

bool descend_end(unsigned timeout_ms)
{
	uint64_t until = clock_us() + timeout_ms * 1000ULL, before = 0;
	struct list l = { 0 };
	bool gone = false;

	while (clock_us() < until) {
		gone = !has_children() || (list_descendants(&l) == 0 && !l.is_cut);
		if (gone)
			break;
		/* The same ones twice, and stopped in between: nobody is forking any more. */
		if (fingerprint(&l) == before) { /* nobody at all: of a list that is cut */
			signal_all(&l, SIGKILL);
			before = 0;
			usleep(500);
			continue;
		}
		before = fingerprint(&l);
		signal_all(&l, SIGSTOP);
	}
	free(l.v);
	return gone;
}
