/*
 * init's end of the box's link, where the keeper has no rights over the container's network namespace: see stream/link.h. Before anything else:
 * what it has of rights is gone for good, from every set, and looked for again, before it says READY. Runs as root of the container,
 * with CAP_NET_ADMIN, CAP_SETUID, CAP_SETGID and CAP_SETPCAP; afterwards as the payload's user with nothing.
 */
#include "inner/inner.h"

#include "base/error.h"
#include "base/fd.h"
#include "base/path.h"
#include "os/caps.h"
#include "os/gateway.h"
#include "stream/link.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* Beside init's own file, `self`. -ENOENT: there is no such socket. */
static int open_socket(const char *self)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	auto_close int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	snprintf(at.sun_path, sizeof(at.sun_path), "%.*s" ENGINE_LINK_NAME, (int)(path_name(self) - self), self);
	if (fd < 0 || connect(fd, (const struct sockaddr *)&at, sizeof(at)) < 0)
		return -errno;
	return STEAL_FD(fd);
}

static int answer(int fd, int r, const char *what)
{
	struct stream_linked m = { .type = STREAM_LINKED, .errnum = -r };

	snprintf(m.what, sizeof(m.what), "%s", r < 0 ? what : "");
	return send(fd, &m, sizeof(m), MSG_NOSIGNAL) == (ssize_t)sizeof(m) ? r : -EPIPE;
}

static int receive(int fd, uint32_t type, struct stream_link *ret, int *ret_netns)
{
	size_t n = 0;
	ssize_t got = fd_recv(fd, ret, sizeof(*ret), ret_netns, ret_netns ? 1 : 0, &n);

	if (got != (ssize_t)sizeof(*ret) || ret->type != type || (ret_netns && n != 1))
		return -EPROTO;
	ret->gateway[sizeof(ret->gateway) - 1] = ret->box[sizeof(ret->box) - 1] = '\0';
	return 0;
}

static int lay_link(int fd, struct stream_link *ret)
{
	int netns = -1, r = receive(fd, STREAM_LINK, ret, &netns);
	struct gateway_options o = { .gateway_address = ret->gateway,
				     .box_address = ret->box,
				     .link_bits = ret->bits,
				     .settings = -1,
				     .elsewhere = -1 };

	if (r < 0)
		return r;
	r = ret->uid && ret->gid ? gateway_link(&o, netns) : -EINVAL;
	fd_close(&netns);
	return answer(fd, r, "lay the link");
}

/* The order matters: the bounding set takes CAP_SETPCAP, ids the other two, and without ids nothing is left to take away from. */
static int give_up(const struct stream_link *m)
{
	int r = caps_bound(0);

	r = r < 0 ? r : caps_set_ids(m->uid, m->gid, true);
	r = r < 0 ? r : caps_set(0);
	return r < 0 ? r : caps_are_none() ? 0 : -EPERM;
}

static int finish(int fd, const struct stream_link *m)
{
	struct stream_link up;
	int r = receive(fd, STREAM_LINK_UP, &up, NULL), dropped;

	r = r < 0 ? r : gateway_link_wait();
	dropped = give_up(m);
	return answer(fd, r < 0 ? r : dropped, r < 0 ? "wait for the link" : "give rights up");
}

int inner_network(const char *self, struct cordon_error *err)
{
	auto_close int fd = getuid() == 0 ? open_socket(self) : -ENOENT;
	struct stream_link m = { 0 };
	int r;

	if (fd == -ENOENT)
		return 0;
	r = fd < 0 ? fd : lay_link(fd, &m);
	r = r < 0 ? r : finish(fd, &m);
	return r < 0 ? cordon_fail(err, CORDON_SYSTEM, -r, "lay the box's link to its network") : 0;
}
