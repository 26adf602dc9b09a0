/*
 * The link of a container's network that init lays itself: see stream/link.h. A socket on the shelf, which the daemon lays into the container.
 * Whoever comes there must be the process that the daemon named, and root: nobody else could use what it is for. It serves one, and goes.
 *
 * The payload finds the place of a socket that nobody listens to. Runs in the keeper and its maker, with the caller's rights.
 */
#include "engine/foreign_state.h"

#include "base/error.h"
#include "base/fd.h"
#include "net/config.h"
#include "plan/engine.h"
#include "stream/link.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

enum { ANSWER_SECONDS = 20 };

int foreign_link_open(struct foreign *f, struct cordon_error *err)
{
	auto_close int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct sockaddr_un at = { .sun_family = AF_UNIX };

	if (!f->plan->network.is_on || f->plan->as_root)
		return 0;
	/* A path through the descriptor: the shelf's own may be longer than a socket's can be. */
	snprintf(at.sun_path, sizeof(at.sun_path), "/proc/self/fd/%d/" SHELF_LINK, f->shelf.fd);
	if (fd < 0 || bind(fd, (const struct sockaddr *)&at, sizeof(at)) < 0 || listen(fd, 1) < 0 ||
	    fchmodat(f->shelf.fd, SHELF_LINK, 0666, 0) < 0) {
		cordon_fail(err, CORDON_SYSTEM, errno, "make the socket '%s/" SHELF_LINK "'", f->shelf.path);
		return fail_step(err, "network");
	}
	f->net.link = STEAL_FD(fd);
	return 0;
}

static bool is_init(const struct foreign *f, int socket)
{
	struct ucred who = { 0 };
	socklen_t len = sizeof(who);

	return getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &who, &len) == 0 && who.pid == f->net.init_pid &&
	       who.pid > 0 && who.uid == 0;
}

void foreign_link_serve(struct foreign *f)
{
	auto_close int init = accept4(f->net.link, NULL, NULL, SOCK_CLOEXEC);
	const struct foreign_link_to to = { .socket = init, .uid = f->k->prepared.uid, .gid = f->k->prepared.gid };
	struct cordon_error err = { 0 };

	if (init < 0 || !is_init(f, init))
		return;
	fd_close(&f->net.link);
	(void)unlinkat(f->shelf.fd, SHELF_LINK, 0);
	if (foreign_net_link(f, &to, &err) == 0) {
		f->net.has_link = true;
		return;
	}
	foreign_fail(f, &err);
}

/* ---- in the maker ---- */

static int hear(int socket, struct stream_linked *ret)
{
	const struct timeval limit = { .tv_sec = ANSWER_SECONDS };

	(void)setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	if (recv(socket, ret, sizeof(*ret), 0) != (ssize_t)sizeof(*ret) || ret->type != STREAM_LINKED)
		return -EPROTO;
	ret->what[sizeof(ret->what) - 1] = '\0';
	return ret->errnum ? -ret->errnum : 0;
}

int foreign_link_ask(void *arg, int gateway_netns)
{
	const struct foreign_link_to *to = arg;
	struct stream_link m = { .type = STREAM_LINK, .uid = to->uid, .gid = to->gid, .bits = NET_LINK_BITS };
	struct stream_linked said;
	int r;

	snprintf(m.gateway, sizeof(m.gateway), "%s", NET_GATEWAY_ADDRESS);
	snprintf(m.box, sizeof(m.box), "%s", NET_BOX_ADDRESS);
	r = fd_send(to->socket, &m, sizeof(m), &gateway_netns, 1);
	return r < 0 ? r : hear(to->socket, &said);
}

int foreign_link_finish(const struct foreign_link_to *to, struct cordon_error *err)
{
	const struct stream_link m = { .type = STREAM_LINK_UP };
	struct stream_linked said = { 0 };
	int r = fd_send(to->socket, &m, sizeof(m), NULL, 0);

	r = r < 0 ? r : hear(to->socket, &said);
	return r < 0 ? cordon_fail(err, CORDON_SYSTEM, -r, "%s, in the container",
				   said.what[0] ? said.what : "finish the link")
		     : 0;
}
