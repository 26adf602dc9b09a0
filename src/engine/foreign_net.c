/*
 * The network of a foreign box: the same egress process as a native one's, and the gateway behind its link (os/gateway.h). A process of the
 * keeper's own makes the gateway, since its maker must be in the box's network namespace, and the keeper stays in the host's:
 *
 *	given    as root, before a runtime is called: in a fresh namespace, which the runtime is told of. It belongs to the host's user
 *	         namespace, so that nobody in the container has any right over it.
 *	entered  once init is there and before it has its job: in the namespace that the engine made, which is empty. Works where the keeper
 *	         has rights over it: as root, and where the container's user namespace is the caller's own.
 *	linked   an ordinary user's container of root's daemon: init lays the link from its side, to a gateway in a user namespace of the
 *	         caller's (foreign_link.c). It has the right to before there is a payload, and none after.
 *
 * The sockets go to egress, the namespace to the keeper, and the maker ends before there is a payload. Egress starts
 * first of all: engines take long enough. Runs in the keeper, with the caller's rights.
 */
#include "engine/foreign_state.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "box/capture.h"
#include "os/netns.h"
#include "os/process.h"
#include "plan/engine.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { MAKE_US = 30000000, LOOK_MS = 100 }; /* it takes milliseconds; this is for a host that hangs */

/* ---- the maker ---- */

/* Who makes the gateway's other end: nobody but ourselves, or init. */
struct way {
	const struct netns_of *into;
	const struct foreign_link_to *init;
};

static int make(const struct foreign *f, const struct foreign_link_to *init, struct cordon_error *err)
{
	const struct capture_options with = { .rules = &f->plan->network.config.rules,
					      .settings = -1,
					      .elsewhere = -1,
					      .to = f->k->egress.capture,
					      .wanted = -1,
					      .link = init ? foreign_link_ask : NULL,
					      .arg = (void *)(uintptr_t)init };

	return capture_make(&with, err);
}

static int make_given(const struct foreign *f, int *ret_netns, struct cordon_error *err)
{
	int r = netns_enter_new();

	if (r < 0)
		return cordon_fail(err, CORDON_SYSTEM, -r, "make a network namespace");
	if (make(f, NULL, err) < 0)
		return -1;
	*ret_netns = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	return *ret_netns < 0 ? cordon_fail(err, CORDON_SYSTEM, errno, "hold the network namespace") : 0;
}

static int make_entered(const struct foreign *f, const struct netns_of *into, struct cordon_error *err)
{
	int r = netns_enter_of(into);

	if (r == 0)
		return make(f, NULL, err);
	cordon_fail(err, CORDON_UNAVAILABLE, -r, "enter the network namespace of %s's container",
		    f->plan->engine->name);
	return fail_hint(err, "run cordon as root or with a daemon of one's own; or use --net none");
}

static int make_linked(const struct foreign *f, const struct foreign_link_to *init, struct cordon_error *err)
{
	return make(f, init, err) < 0 ? -1 : foreign_link_finish(init, err);
}

static _Noreturn void become_maker(const struct foreign *f, const struct way *way, int said)
{
	struct cordon_error err = { 0 };
	int netns = -1;

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	process_set_name("cordon-gateway");
	if (way->init)
		(void)make_linked(f, way->init, &err);
	else
		(void)(way->into ? make_entered(f, way->into, &err) : make_given(f, &netns, &err));
	(void)fd_send(said, &err, sizeof(err), &netns, netns >= 0);
	_exit(0);
}

static int start_maker(struct foreign *f, const struct way *way, struct cordon_error *err)
{
	int pair[2], r;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0) {
		r = -errno;
	} else {
		r = process_clone(way->init ? CLONE_NEWUSER : 0, &f->net.maker);
		if (r == 0)
			become_maker(f, way, pair[1]);
		fd_close(&pair[1]);
		f->net.said = pair[0];
	}
	if (r >= 0)
		return 0;
	cordon_fail(err, CORDON_SYSTEM, -r, "start the gateway's maker");
	return fail_step(err, "network");
}

/* ---- the container's namespaces ---- */

/*
 * The process that the engine speaks of runs the very file that we gave it, in the place that only this container has: so it is on this
 * machine, and the container's init, not another box's. 0 or -errno.
 */
static int check_init(const struct foreign *f, int pid)
{
	struct stat theirs, ours;
	char path[64], place[256];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/exe", pid);
	n = readlink(path, place, sizeof(place) - 1);
	if (n < 0 || stat(path, &theirs) < 0 || stat(f->plan->init, &ours) < 0)
		return -errno;
	place[n] = '\0';
	if (f->net.init_path[0] && strcmp(place, f->net.init_path) != 0)
		return -ESRCH;
	return theirs.st_dev == ours.st_dev && theirs.st_ino == ours.st_ino ? 0 : -ESRCH;
}

static int find_namespaces(const struct foreign *f, struct netns_of *ret, struct cordon_error *err)
{
	const char *name = f->plan->engine->name;
	int pid = f->net.init_pid, r;
	auto_close int process = pid > 0 ? (int)syscall(SYS_pidfd_open, pid, 0) : -1;

	r = process < 0 ? -ESRCH : check_init(f, pid);
	if (r == -EACCES || r == -EPERM) {
		cordon_fail(err, CORDON_UNAVAILABLE, 0,
			    "the container of %s is another user's: its network cannot be entered", name);
		return fail_hint(err, "use a service of one's own, --engine docker, or root; or --net none");
	}
	if (r < 0) {
		cordon_fail(err, CORDON_UNAVAILABLE, 0, "the container of %s is not to be found on this machine", name);
		return fail_hint(err, "a network needs a daemon on this machine; or use --net none");
	}
	r = netns_of(pid, process, ret);
	if (r == 0)
		return 0;
	cordon_fail(err, CORDON_UNAVAILABLE, -r, "the network namespace of %s's container", name);
	return fail_hint(err, "a network needs one that the container has to itself and that the caller may enter; or "
			      "use --net none");
}

/* ---- the keeper ---- */

int foreign_net_start(struct foreign *f, struct cordon_error *err)
{
	const struct way given = { 0 };
	struct foreign_net *n = &f->net;

	if (!f->plan->network.is_on)
		return 0;
	if (egress_prepare(&f->k->egress, f->plan, err) < 0)
		return -1;
	n->authority = STEAL_FD(f->k->egress.authority); /* it is ours: the root is laid out here */
	if (egress_start(&f->k->egress, f->plan, f->k->fds->events, err) < 0)
		return -1;
	if (plan_engine_network(f->plan) != ENGINE_NETWORK_GIVEN)
		return 0;
	return start_maker(f, &given, err);
}

/* Until the maker has spoken, or time is up. False: the caller wants nothing of it any more; what he said is still there. */
static bool await_maker(const struct foreign *f)
{
	const uint64_t until_us = clock_us() + MAKE_US;
	struct pollfd p[] = { { .fd = f->net.said, .events = POLLIN },
			      { .fd = f->k->front_gone ? -1 : f->k->fds->front, .events = POLLRDHUP } };

	while (clock_us() < until_us) {
		(void)poll(p, ARRAY_LEN(p), LOOK_MS);
		if (p[0].revents)
			break;
		if (p[1].revents || foreign_is_unwanted(f))
			return false;
	}
	return true;
}

int foreign_net_made(struct foreign *f, struct cordon_error *err)
{
	struct foreign_net *n = &f->net;
	struct pollfd p = { .fd = n->said, .events = POLLIN };
	struct cordon_error said = { 0 };
	size_t fds = 0;

	if (n->maker < 0)
		return 0;
	if (!await_maker(f)) {
		f->k->report.cancelled = true;
		process_end(&n->maker);
		fd_close(&n->said);
		return -1;
	}
	if (poll(&p, 1, 0) != 1)
		cordon_fail(&said, CORDON_SYSTEM, ETIMEDOUT, "make the gateway");
	else if (fd_recv(n->said, &said, sizeof(said), &n->netns, 1, &fds) != (ssize_t)sizeof(said))
		cordon_fail(&said, CORDON_SYSTEM, 0, "the gateway's maker ended without a word");
	process_end(&n->maker);
	fd_close(&n->said);
	if (said.code == CORDON_OK)
		return 0;
	*err = said;
	return fail_step(err, "network");
}

int foreign_net_enter(struct foreign *f, struct cordon_error *err)
{
	struct netns_of into = NETNS_OF_INIT;
	const struct way way = { .into = &into };
	int r;

	if (!f->plan->network.is_on || plan_engine_network(f->plan) != ENGINE_NETWORK_ENTERED || f->net.has_link)
		return 0;
	if (f->net.is_linked)
		r = cordon_fail(err, CORDON_SYSTEM, 0, "init did not lay the link of the box's network");
	else
		r = find_namespaces(f, &into, err);
	if (r < 0)
		return fail_step(err, "network");
	r = start_maker(f, &way, err);
	netns_of_close(&into);
	return r < 0 ? r : foreign_net_made(f, err);
}

int foreign_net_link(struct foreign *f, const struct foreign_link_to *to, struct cordon_error *err)
{
	const struct way way = { .init = to };

	return start_maker(f, &way, err) < 0 ? -1 : foreign_net_made(f, err);
}

void foreign_net_done(struct foreign *f)
{
	process_end(&f->net.maker);
	fd_close(&f->net.said);
	fd_close(&f->net.netns);
	fd_close(&f->net.authority);
	fd_close(&f->net.link);
}
