/* Starting and ending the egress process: see egress.h. Runs in the keeper, with the caller's rights. */
#include "box/egress.h"

#include "base/error.h"
#include "base/fd.h"
#include "net/start.h"
#include "os/process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	END_MS = 5000,           /* for telling the rest, which thousands of connections on a busy host take */
	EGRESS_ID = 0x61000000u, /* plus the keeper's pid: nobody else on the host has this id */
};

static int open_pair(int *ret_ours, int *ret_theirs)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return -errno;
	*ret_ours = pair[0];
	*ret_theirs = pair[1];
	return 0;
}

static int write_config(const struct net_config *config)
{
	auto_close int fd = memfd_create("cordon-egress", MFD_CLOEXEC);
	auto_str struct str text = { 0 };
	int r;

	if (fd < 0)
		return -errno;
	r = net_config_encode(config, &text);
	r = r < 0 ? r : fd_write_all(fd, text.data, text.len);
	return r < 0 ? r : STEAL_FD(fd);
}

int egress_prepare(struct egress_process *e, const struct cordon_plan *plan, struct cordon_error *err)
{
	int r;

	if (!plan->network.is_on)
		return 0;
	r = open_pair(&e->capture, &e->theirs);
	if (r == 0 && plan->network.intercepts)
		r = open_pair(&e->authority, &e->certificates);
	if (r == 0)
		r = e->config = write_config(&plan->network.config);
	if (r >= 0 && !plan->network.intercepts) {
		e->wanted = epoll_create1(EPOLL_CLOEXEC);
		r = e->wanted < 0 ? -errno : 0;
	}
	if (r >= 0)
		return 0;
	cordon_fail(err, CORDON_SYSTEM, -r, "prepare the egress process");
	return fail_step(err, "egress");
}

bool egress_is_started(const struct egress_process *e)
{
	return e->process >= 0;
}

int egress_fd(const struct egress_process *e)
{
	return egress_is_started(e) ? e->process : e->wanted;
}

enum { FDS = 4, HIGH = 64 };

/* Each to its number, from copies that are out of the way; those that are not there are closed. */
static int place_fds(posix_spawn_file_actions_t *a, const int from[FDS], int high[FDS])
{
	static const int to[FDS] = { NET_START_CONFIG, NET_START_EVENTS, NET_START_CAPTURE, NET_START_AUTHORITY };
	int r = 0;

	for (int i = 0; r == 0 && i < 3; i++)
		r = posix_spawn_file_actions_addopen(a, i, "/dev/null", O_RDWR, 0);
	for (size_t i = 0; r == 0 && i < FDS; i++) {
		high[i] = from[i] < 0 ? -1 : fcntl(from[i], F_DUPFD_CLOEXEC, HIGH);
		if (from[i] >= 0 && high[i] < 0)
			r = errno;
		else
			r = high[i] < 0 ? posix_spawn_file_actions_addclose(a, to[i])
					: posix_spawn_file_actions_adddup2(a, high[i], to[i]);
	}
	return -r;
}

/* Without a copy of our memory, which it would only throw away. */
static int spawn(struct egress_process *e, const struct cordon_plan *plan, int events)
{
	const int from[FDS] = { e->config, events, e->theirs, e->certificates };
	int high[FDS] = { -1, -1, -1, -1 }, r;
	posix_spawn_file_actions_t actions;
	char name[] = "cordon-egress", ids[32];
	char *const argv[] = { name, plan->as_root ? ids : NULL, NULL }, *const env[] = { NULL };
	pid_t pid;

	snprintf(ids, sizeof(ids), "%u:%u", EGRESS_ID + (unsigned)getpid(), EGRESS_ID + (unsigned)getpid());
	if (posix_spawn_file_actions_init(&actions) != 0)
		return -ENOMEM;
	r = place_fds(&actions, from, high);
	if (r == 0)
		r = -posix_spawn(&pid, plan->network.egress, &actions, NULL, argv, env);
	(void)posix_spawn_file_actions_destroy(&actions);
	for (size_t i = 0; i < FDS; i++)
		fd_close(&high[i]);
	if (r < 0)
		return r;
	e->process = process_open(pid);
	if (e->process >= 0)
		return 0;
	(void)kill(pid, SIGKILL);
	(void)waitpid(pid, NULL, 0);
	return e->process;
}

int egress_start(struct egress_process *e, const struct cordon_plan *plan, int events, struct cordon_error *err)
{
	int r;

	if (!plan->network.is_on)
		return 0;
	r = spawn(e, plan, events);
	fd_close(&e->theirs);
	fd_close(&e->certificates);
	fd_close(&e->config);
	fd_close(&e->authority);
	fd_close(&e->wanted);
	fd_close(&events); /* what egress and the front say to each other is theirs, and ends with either */
	if (r == 0)
		return 0;
	cordon_fail(err, CORDON_SYSTEM, -r, "the egress process could not be executed");
	return fail_step(err, "egress");
}

/* It may have served the box before it went, and been taken over: what it says is text, and never that of another step. */
bool egress_said(const struct egress_process *e, struct cordon_error *ret)
{
	struct cordon_error said;
	ssize_t n = recv(e->capture, &said, sizeof(said), MSG_DONTWAIT);

	if (n < 0 && errno == ECONNRESET) /* it left without having read all: that is told first, once */
		n = recv(e->capture, &said, sizeof(said), MSG_DONTWAIT);
	if (n != (ssize_t)sizeof(said) || said.code == CORDON_OK)
		return false;
	fail_clean(&said);
	*ret = said;
	if (said.code < 0 || said.code > CORDON_INTERNAL || said.code == CORDON_NOT_FOUND ||
	    said.code == CORDON_NOT_EXECUTABLE)
		ret->code = CORDON_SYSTEM;
	memset(ret->step, 0, sizeof(ret->step));
	(void)fail_step(ret, "egress");
	return true;
}

bool egress_failed(struct egress_process *e, struct cordon_error *err)
{
	int status = 0;

	(void)process_wait(e->process, &status);
	fd_close(&e->process);
	if (egress_said(e, err))
		return false;
	if (WIFSIGNALED(status))
		cordon_fail(err, CORDON_SYSTEM, 0,
			    "the egress process was killed by signal %d: from then on the box had no network",
			    WTERMSIG(status));
	else
		cordon_fail(err, CORDON_SYSTEM, 0,
			    "the egress process ended with status %d: from then on the box had no network",
			    WEXITSTATUS(status));
	(void)fail_step(err, "egress");
	return true;
}

bool egress_leave(struct egress_process *e, const struct cordon_plan *plan, int events)
{
	struct pollfd wanted = { .fd = e->wanted, .events = POLLIN };
	struct cordon_error ignored = { 0 }; /* there is no box any more that would miss it */

	if (e->wanted >= 0 && poll(&wanted, 1, 0) == 1)
		(void)egress_start(e, plan, events, &ignored);
	fd_close(&e->wanted);
	fd_close(&e->capture);
	return egress_is_started(e);
}

void egress_end(struct egress_process *e)
{
	struct pollfd p = { .fd = e->process, .events = POLLIN };

	if (e->process >= 0)
		(void)poll(&p, 1, END_MS);
	process_end(&e->process);
}
