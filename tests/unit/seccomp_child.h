/*
 * A child under a filter, and a parent that answers its listener: for the tests that ask the kernel itself.
 */
#ifndef TESTS_SECCOMP_CHILD_H
#define TESTS_SECCOMP_CHILD_H

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/str.h"
#include "os/seccomp.h"

struct child {
	pid_t pid;
	int listener; /* -1 without notify */
};

/* Memory that a child and its parent share; zeroed. */
static inline void *child_shared(size_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		abort();
	return p;
}

static inline void child_become(const struct seccomp_options *o, int sock)
{
	struct seccomp_filter f;
	int fd;

	if (!o)
		return;
	f = seccomp_choose(o);
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	fd = seccomp_install(&f, o->notify);
	if (fd < 0 || (o->notify && fd_send(sock, "", 1, &fd, 1) < 0))
		_exit(99);
	if (o->notify)
		close(fd);
}

/* Runs body(arg) in a child; with options, under their filter. The status is what body returns; 99: no filter. */
static inline struct child child_start(const struct seccomp_options *o, int (*body)(void *arg), void *arg)
{
	struct child c = { .listener = -1 };
	size_t n = 0;
	int sock[2];
	char byte;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sock) < 0)
		abort();
	c.pid = fork();
	if (c.pid == 0) {
		close(sock[0]);
		child_become(o, sock[1]);
		_exit(body(arg));
	}
	close(sock[1]);
	if (o && o->notify)
		fd_recv(sock[0], &byte, 1, &c.listener, 1, &n);
	close(sock[0]);
	return c;
}

/* What the table says; execve goes on. */
static inline void child_answer(int listener, const struct seccomp_event *e)
{
	const struct seccomp_options none = { 0 };
	struct seccomp_reason reason;

	seccomp_explain(e->nr, &none, &reason);

	if (e->nr == SYS_execve || e->nr == SYS_execveat)
		seccomp_continue(listener, e->id);
	else
		seccomp_refuse(listener, e->id, reason.errnum);
}

/* Answers every event, after showing it to seen() (may be NULL), until the child has ended; its wait status. */
static inline int child_serve(struct child *c, void (*seen)(void *arg, const struct seccomp_event *e), void *arg)
{
	struct seccomp_event event;
	int status;

	while (waitpid(c->pid, &status, c->listener >= 0 ? WNOHANG : 0) == 0) {
		struct pollfd p = { .fd = c->listener, .events = POLLIN };

		if (poll(&p, 1, 20) < 1 || !(p.revents & POLLIN) || seccomp_receive(c->listener, &event) < 0)
			continue;
		if (seen)
			seen(arg, &event);
		child_answer(c->listener, &event);
	}
	fd_close(&c->listener);
	return status;
}

/* child_start() and child_serve() in one. */
static inline int child_run(const struct seccomp_options *o, int (*body)(void *arg), void *arg)
{
	struct child c = child_start(o, body, arg);

	return child_serve(&c, NULL, NULL);
}

#endif
