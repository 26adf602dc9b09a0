/*
 * Where the time of a run goes: linked in front of cordon's own objects with the linker's --wrap, so that the command itself
 * carries no hook. Each wrapped function notes when it began and ended, in memory that front, keeper, init and the payload's child
 * share; when the front ends, everything is written to the file that STEPS_OUT names, one line per call:
 *
 *	PROCESS DEPTH BEGIN_NS END_NS CPU_NS NAME
 *
 * PROCESS counts front, keeper, init, payload as they appear. Every argument that passes here is an integer or a pointer, so that
 * six longs carry any of them. A function that cordon has no more is weak, and never
 * called. What does not return (execve) ends where the next one sees it.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "steps.h"

enum { EVENTS_MAX = 8192 };

struct event {
	const char *name;
	uint64_t begin_ns, end_ns, cpu_ns;
	int process;
	int depth;
};

struct shared {
	atomic_uint count;
	atomic_int processes;
	struct event events[EVENTS_MAX];
};

static struct shared *shared;
static int own_process = -1, depth;
static pid_t own_pid, first_pid;

static uint64_t now_ns(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

/* In the raw: glibc's getpid() would do, but pid 1 of a new namespace must not be taken for a process seen before. */
static void know_process(void)
{
	pid_t pid = (pid_t)syscall(SYS_getpid);

	if (pid != own_pid || own_process < 0) {
		own_pid = pid;
		own_process = atomic_fetch_add(&shared->processes, 1);
		depth = 0;
	}
}

static struct event *begin(const char *name)
{
	unsigned i = atomic_fetch_add(&shared->count, 1);
	struct event *e = &shared->events[i < EVENTS_MAX ? i : EVENTS_MAX - 1];

	e->name = name;
	e->process = own_process;
	e->depth = depth++;
	e->begin_ns = now_ns(CLOCK_MONOTONIC);
	e->cpu_ns = now_ns(CLOCK_THREAD_CPUTIME_ID);
	return e;
}

static void end(struct event *e)
{
	e->cpu_ns = now_ns(CLOCK_THREAD_CPUTIME_ID) - e->cpu_ns;
	e->end_ns = now_ns(CLOCK_MONOTONIC);
	depth--;
}

static void end_plain(struct event *e, long result)
{
	(void)result;
	end(e);
}

/* fork and clone return twice; the child counts anew. */
static void end_forking(struct event *e, long result)
{
	if ((int)result) {
		end(e);
		return;
	}
	own_process = -1;
	know_process();
	end(begin("born"));
}

#define WRAP(f, end_it)                                                 \
	long __wrap_##f(long, long, long, long, long, long);            \
	long __wrap_##f(long a, long b, long c, long d, long e, long g) \
	{                                                               \
		struct event *event = begin(#f);                        \
		long r = __real_##f(a, b, c, d, e, g);                  \
                                                                        \
		end_it(event, r);                                       \
		return r;                                               \
	}
#define REAL(f) long __real_##f(long, long, long, long, long, long);
#define CORDON(f) __attribute__((weak)) REAL(f) WRAP(f, end_plain)
#define LIBC(f) REAL(f) WRAP(f, end_plain)
#define FORKING(f) REAL(f) WRAP(f, end_forking)
STEPS_CORDON(CORDON)
STEPS_LIBC(LIBC)
STEPS_FORKING(FORKING)

__attribute__((constructor)) static void steps_begin(void)
{
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (shared == MAP_FAILED)
		_exit(125);
	know_process();
	first_pid = own_pid;
	end(begin("main"));
}

__attribute__((destructor)) static void steps_end(void)
{
	const char *path = getenv("STEPS_OUT");
	FILE *out = path ? fopen(path, "ae") : NULL;
	unsigned n = atomic_load(&shared->count);

	if (!out || own_pid != first_pid)
		return;
	end(begin("end"));
	fprintf(out, "run\n");
	for (unsigned i = 0; i < n + 1 && i < EVENTS_MAX; i++) {
		const struct event *e = &shared->events[i];

		fprintf(out, "%d %d %" PRIu64 " %" PRIu64 " %" PRIu64 " %s\n", e->process, e->depth, e->begin_ns,
			e->end_ns, e->cpu_ns, e->name);
	}
	fclose(out);
}
