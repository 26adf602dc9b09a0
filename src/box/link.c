/* Messages between front, keeper and init: see link.h. */
#include "box/link.h"

#include "base/fd.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>

static size_t link_size(enum link_type type)
{
	const size_t head = offsetof(struct link_message, error);

	switch (type) {
	case LINK_ERROR:
		return head + sizeof(struct cordon_error);
	case LINK_STARTED:
		return head + sizeof(unsigned);
	case LINK_EXITED:
		return head + sizeof(struct link_exit);
	case LINK_SIGNAL:
	case LINK_WINDOW:
	case LINK_END:
		return head + sizeof(int);
	case LINK_FILE:
		return head + sizeof(struct link_file);
	case LINK_PROGRESS:
		return head + sizeof(struct link_progress);
	case LINK_JOB:
		return head + sizeof(struct link_job);
	case LINK_STATS:
		return head + sizeof(struct link_stats);
	case LINK_MAPPED:
	case LINK_CGROUP:
	case LINK_TTY:
	case LINK_COLLECT:
	case LINK_COLLECTED:
	case LINK_REPORT:
	case LINK_OPENED:
	case LINK_STAT:
	case LINK_PAUSE:
	case LINK_RESUME:
		break;
	}
	return head;
}

int link_send_fds(int sock, const struct link_message *m, const int *fds, size_t n)
{
	return fd_send(sock, m, link_size(m->type), fds, n);
}

int link_send(int sock, const struct link_message *m, int fd)
{
	return link_send_fds(sock, m, &fd, fd >= 0);
}

int link_send_now(int sock, const struct link_message *m)
{
	return send(sock, m, link_size(m->type), MSG_NOSIGNAL | MSG_DONTWAIT) < 0 ? -errno : 0;
}

int link_send_report(int sock, const struct link_report *report)
{
	struct link_message m = { .type = LINK_REPORT };
	int r = link_send(sock, &m, -1);

	return r < 0 ? r : fd_send(sock, report, sizeof(*report), NULL, 0);
}

int link_receive_report(int sock, struct link_report *ret_report)
{
	size_t none;
	ssize_t n = fd_recv(sock, ret_report, sizeof(*ret_report), NULL, 0, &none);

	return n == sizeof(*ret_report) ? 0 : n < 0 ? (int)n : -EPROTO;
}

int link_receive_fds(int sock, struct link_message *m, int *fds, size_t max, size_t *ret_n)
{
	ssize_t n;

	*ret_n = 0;
	memset(m, 0, offsetof(struct link_message, error));
	n = fd_recv(sock, m, sizeof(*m), fds, max, ret_n);
	if (n < 0)
		return n == -ECONNRESET ? 0 : (int)n;
	if (n > 0 && (size_t)n >= sizeof(m->type) && (size_t)n == link_size(m->type))
		return 1;
	for (size_t i = 0; i < *ret_n; i++)
		fd_close(&fds[i]);
	*ret_n = 0;
	return n == 0 ? 0 : -EPROTO;
}

int link_peek(int sock, struct link_message *m)
{
	ssize_t n = recv(sock, m, sizeof(*m), MSG_PEEK | MSG_DONTWAIT);

	if (n <= 0)
		return n == 0 || errno == ECONNRESET ? 0 : -errno;
	return (size_t)n >= sizeof(m->type) && (size_t)n == link_size(m->type) ? 1 : -EPROTO;
}

int link_receive(int sock, struct link_message *m, int *ret_fd)
{
	size_t n;
	int fd = -1, r = link_receive_fds(sock, m, &fd, 1, &n);

	*ret_fd = n ? fd : -1;
	return r;
}
