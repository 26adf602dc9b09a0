/*
 * Questions to the gateway's DNS socket over UDP: see gateway.h. Runs in the egress process, or in the process inside that carries them there.
 * The bytes are the payload's and only carried here.
 */
#include "os/gateway.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

union pktinfo_space {
	struct cmsghdr align;
	char space[CMSG_SPACE(sizeof(struct in_pktinfo))];
};

int gateway_asked(int dns_udp, void *data, size_t size, struct gateway_query *ret)
{
	union pktinfo_space control;
	struct iovec iov = { .iov_base = data, .iov_len = size };
	struct msghdr msg = { .msg_name = &ret->from,
			      .msg_namelen = sizeof(ret->from),
			      .msg_iov = &iov,
			      .msg_iovlen = 1,
			      .msg_control = control.space,
			      .msg_controllen = sizeof(control.space) };
	ssize_t n = recvmsg(dns_udp, &msg, MSG_DONTWAIT);
	struct in_pktinfo info;
	struct cmsghdr *c;

	/* An answer that found nobody is told by the next call, and is no question. */
	if (n < 0)
		return errno == EINTR || errno == ECONNREFUSED ? -EBADMSG : -errno;
	c = CMSG_FIRSTHDR(&msg);
	if (msg.msg_flags & (MSG_TRUNC | MSG_CTRUNC) || msg.msg_namelen != sizeof(ret->from) || !c ||
	    c->cmsg_level != IPPROTO_IP || c->cmsg_type != IP_PKTINFO)
		return -EBADMSG;
	memcpy(&info, CMSG_DATA(c), sizeof(info));
	ret->to = info.ipi_addr;
	return (int)n;
}

void gateway_answer(int dns_udp, const struct gateway_query *query, const void *data, size_t len)
{
	union pktinfo_space control = { .space = { 0 } };
	struct in_pktinfo info = { .ipi_spec_dst = query->to };
	struct sockaddr_in to = query->from;
	struct iovec iov = { .iov_base = (void *)(uintptr_t)data, .iov_len = len };
	struct msghdr msg = { .msg_name = &to,
			      .msg_namelen = sizeof(to),
			      .msg_iov = &iov,
			      .msg_iovlen = 1,
			      .msg_control = control.space,
			      .msg_controllen = sizeof(control.space) };
	struct cmsghdr *c = CMSG_FIRSTHDR(&msg);

	c->cmsg_level = IPPROTO_IP;
	c->cmsg_type = IP_PKTINFO;
	c->cmsg_len = CMSG_LEN(sizeof(info));
	memcpy(CMSG_DATA(c), &info, sizeof(info));
	(void)sendmsg(dns_udp, &msg, MSG_DONTWAIT | MSG_NOSIGNAL);
}
