/*
 * The upstream proxy of a corporate network: CONNECT, and what it answers. The name goes to the proxy as the box asked for it; which
 * address it has is the proxy's business. The answer is looked at without taking it from the socket, so that what follows the head stays there
 * for the relay. Runs in the egress process; the proxy is trusted no more than any other server.
 */
#include "egress/dial.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

enum { PROXY_HEAD_MAX = 8192 };

static void proxy_request(const struct conn *c, char *buf, size_t size)
{
	char place[HOSTNAME_SIZE + 16], text[ADDRESS_TEXT];

	if (c->name)
		snprintf(place, sizeof(place), "%s:%u", c->name, c->port);
	else
		snprintf(place, sizeof(place), c->address.family == AF_INET6 ? "[%s]:%u" : "%s:%u",
			 address_text(&c->address, text), c->port);
	snprintf(buf, size, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n", place, place);
}

/* True once all of it is with the kernel. */
static bool proxy_send(struct dial *dial)
{
	struct conn *c = dial->conn;
	char buf[2 * HOSTNAME_SIZE + 80];
	size_t len;
	ssize_t n;

	proxy_request(c, buf, sizeof(buf));
	len = strlen(buf);
	if (dial->proxy_sent == len)
		return true;
	n = send(c->upstream, buf + dial->proxy_sent, len - dial->proxy_sent, MSG_NOSIGNAL);
	if (n < 0 && errno != EAGAIN) {
		dial_fail(dial, -errno, NET_FAILED, "the proxy: %s", strerror(errno));
		return false;
	}
	dial->proxy_sent += n > 0 ? (size_t)n : 0;
	return dial->proxy_sent == len;
}

static void proxy_receive(struct dial *dial)
{
	struct conn *c = dial->conn;
	static char head[PROXY_HEAD_MAX + 1];
	ssize_t n = recv(c->upstream, head, PROXY_HEAD_MAX, MSG_PEEK);
	char *end;

	if (n < 0 && errno == EAGAIN)
		return;
	if (n <= 0) {
		dial_fail(dial, n < 0 ? -errno : -ECONNRESET, NET_FAILED, "the proxy closed the connection");
		return;
	}
	head[n] = '\0';
	end = strstr(head, "\r\n\r\n");
	if (!end) {
		if (n == PROXY_HEAD_MAX || memchr(head, '\0', (size_t)n))
			dial_fail(dial, -EPROTO, NET_FAILED, "the proxy's answer is no HTTP");
		return;
	}
	if (strncmp(head, "HTTP/1.1 200", 12) != 0 && strncmp(head, "HTTP/1.0 200", 12) != 0) {
		bool status = strncmp(head, "HTTP/1.", 7) == 0 && end - head >= 12;

		dial_fail(dial, -EACCES, NET_FAILED, "the proxy refused: %.3s", status ? head + 9 : "???");
		return;
	}
	if (recv(c->upstream, head, (size_t)(end + 4 - head), 0) != end + 4 - head) {
		dial_fail(dial, -EIO, NET_FAILED, "the proxy's answer went away");
		return;
	}
	dial_succeed(dial);
}

static void proxy_ready(struct loop_io *io, uint32_t events)
{
	struct dial *dial = LOOP_OWNER(io, struct dial, proxy_io);

	if (events & EPOLLOUT) {
		if (proxy_send(dial))
			(void)loop_watch(dial->conn->egress->loop, io, io->fd, EPOLLIN | EPOLLET);
	} else {
		proxy_receive(dial);
	}
}

void proxy_start(struct dial *dial)
{
	int r;

	dial->proxy_sent = 0;
	dial->proxy_io.ready = proxy_ready;
	r = loop_watch(dial->conn->egress->loop, &dial->proxy_io, dial->conn->upstream, EPOLLOUT);
	if (r < 0)
		dial_fail(dial, r, NET_FAILED, "the proxy: %s", strerror(-r));
}
