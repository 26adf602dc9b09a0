/* rtnetlink: see netlink.h. */
#include "os/netlink.h"

#include "base/fd.h"

#include <errno.h>
#include <linux/fib_rules.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <linux/sockios.h>
#include <linux/veth.h>
#include <net/if.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

int netlink_open(struct netlink *nl)
{
	*nl = (struct netlink){ .fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE) };
	return nl->fd < 0 ? -errno : 0;
}

void netlink_done(struct netlink *nl)
{
	fd_close(&nl->fd);
}

int netlink_namespace(const struct netlink *nl)
{
	int fd = ioctl(nl->fd, SIOCGSKNS); /* close-on-exec by itself */

	return fd < 0 ? -errno : fd;
}

/* Room for len bytes at the end of the batch, zeroed up to the next boundary of 4; NULL when full. */
static void *reserve(struct netlink *nl, size_t len)
{
	size_t aligned = NLMSG_ALIGN(len);
	void *at = nl->batch + nl->used;

	if (nl->overflow || aligned > sizeof(nl->batch) - nl->used) {
		nl->overflow = true;
		return NULL;
	}
	memset(at, 0, aligned);
	nl->used += aligned;
	return at;
}

static void begin(struct netlink *nl, uint16_t type, uint16_t flags, const void *body, size_t len)
{
	size_t at = nl->used;
	char *p = reserve(nl, NLMSG_HDRLEN + len);
	struct nlmsghdr head = { .nlmsg_type = type, .nlmsg_flags = (uint16_t)(NLM_F_REQUEST | flags) };

	if (!p)
		return;
	head.nlmsg_seq = ++nl->seq;
	nl->last = at;
	memcpy(p, &head, sizeof(head));
	memcpy(p + NLMSG_HDRLEN, body, len);
}

static void end(struct netlink *nl)
{
	uint32_t len = (uint32_t)(nl->used - nl->last);

	if (!nl->overflow)
		memcpy(nl->batch + nl->last + offsetof(struct nlmsghdr, nlmsg_len), &len, sizeof(len));
}

static void put(struct netlink *nl, uint16_t type, const void *data, size_t len)
{
	struct rtattr head = { .rta_len = (uint16_t)RTA_LENGTH(len), .rta_type = type };
	char *p = reserve(nl, RTA_LENGTH(len));

	if (!p)
		return;
	memcpy(p, &head, sizeof(head));
	memcpy(p + RTA_LENGTH(0), data, len);
}

static void put_u32(struct netlink *nl, uint16_t type, uint32_t value)
{
	put(nl, type, &value, sizeof(value));
}

static void put_text(struct netlink *nl, uint16_t type, const char *text)
{
	put(nl, type, text, strlen(text) + 1);
}

/* An attribute that holds attributes: what is added until nest_end(). */
static size_t nest(struct netlink *nl, uint16_t type)
{
	size_t at = nl->used;

	put(nl, type | NLA_F_NESTED, "", 0);
	return at;
}

static void nest_end(struct netlink *nl, size_t at)
{
	uint16_t len = (uint16_t)(nl->used - at);

	if (!nl->overflow)
		memcpy(nl->batch + at + offsetof(struct rtattr, rta_len), &len, sizeof(len));
}

void netlink_link_set(struct netlink *nl, int index, unsigned flags)
{
	struct ifinfomsg body = { .ifi_index = index, .ifi_flags = flags, .ifi_change = flags };

	begin(nl, RTM_NEWLINK, 0, &body, sizeof(body));
	end(nl);
}

/* One queue each: the default is one per processor, and every queue has its own directories in sysfs. */
static void put_end(struct netlink *nl, const struct netlink_end *e, unsigned mtu)
{
	put_text(nl, IFLA_IFNAME, e->name);
	put(nl, IFLA_ADDRESS, e->mac, NETLINK_MAC);
	put_u32(nl, IFLA_NUM_TX_QUEUES, 1);
	put_u32(nl, IFLA_NUM_RX_QUEUES, 1);
	if (mtu)
		put_u32(nl, IFLA_MTU, mtu);
}

void netlink_veth_new(struct netlink *nl, const struct netlink_veth *veth)
{
	struct ifinfomsg body = { .ifi_index = veth->end.index, .ifi_flags = veth->flags, .ifi_change = veth->flags };
	struct ifinfomsg other = { .ifi_index = veth->peer.index };
	size_t info, data, peer;
	char *p;

	begin(nl, RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL, &body, sizeof(body));
	put_end(nl, &veth->end, veth->mtu);
	info = nest(nl, IFLA_LINKINFO);
	put_text(nl, IFLA_INFO_KIND, "veth");
	data = nest(nl, IFLA_INFO_DATA);
	peer = nest(nl, VETH_INFO_PEER);
	p = reserve(nl, sizeof(other));
	if (p)
		memcpy(p, &other, sizeof(other));
	put_end(nl, &veth->peer, veth->mtu);
	put_u32(nl, IFLA_NET_NS_FD, (uint32_t)veth->peer_netns);
	nest_end(nl, peer);
	nest_end(nl, data);
	nest_end(nl, info);
	end(nl);
}

void netlink_link_conf(struct netlink *nl, int index, int key, uint32_t value)
{
	struct ifinfomsg body = { .ifi_index = index };
	size_t spec, family, conf;

	begin(nl, RTM_SETLINK, 0, &body, sizeof(body));
	spec = nest(nl, IFLA_AF_SPEC);
	family = nest(nl, AF_INET);
	conf = nest(nl, IFLA_INET_CONF);
	put_u32(nl, (uint16_t)key, value);
	nest_end(nl, conf);
	nest_end(nl, family);
	nest_end(nl, spec);
	end(nl);
}

void netlink_address_new(struct netlink *nl, int index, struct in_addr address, unsigned bits)
{
	struct ifaddrmsg body = {
		.ifa_family = AF_INET,
		.ifa_prefixlen = (unsigned char)bits,
		.ifa_scope = RT_SCOPE_UNIVERSE,
		.ifa_index = (unsigned)index,
	};

	begin(nl, RTM_NEWADDR, NLM_F_CREATE | NLM_F_EXCL, &body, sizeof(body));
	put(nl, IFA_LOCAL, &address, sizeof(address));
	put(nl, IFA_ADDRESS, &address, sizeof(address));
	end(nl);
}

void netlink_neighbour_new(struct netlink *nl, int index, struct in_addr address, const uint8_t *mac)
{
	struct ndmsg body = { .ndm_family = AF_INET, .ndm_ifindex = index, .ndm_state = NUD_PERMANENT };

	begin(nl, RTM_NEWNEIGH, NLM_F_CREATE | NLM_F_EXCL, &body, sizeof(body));
	put(nl, NDA_DST, &address, sizeof(address));
	put(nl, NDA_LLADDR, mac, NETLINK_MAC);
	end(nl);
}

void netlink_route_new(struct netlink *nl, const struct netlink_route *route)
{
	struct rtmsg body = {
		.rtm_family = AF_INET,
		.rtm_dst_len = route->bits,
		.rtm_table = route->table,
		.rtm_protocol = RTPROT_BOOT,
		.rtm_scope = route->scope,
		.rtm_type = route->type,
	};

	begin(nl, RTM_NEWROUTE, NLM_F_CREATE | NLM_F_EXCL, &body, sizeof(body));
	if (route->bits)
		put(nl, RTA_DST, &route->to, sizeof(route->to));
	if (route->via.s_addr)
		put(nl, RTA_GATEWAY, &route->via, sizeof(route->via));
	put_u32(nl, RTA_OIF, (uint32_t)route->index);
	end(nl);
}

void netlink_rule_change(struct netlink *nl, const struct netlink_rule *rule, bool add)
{
	struct fib_rule_hdr body = { .family = AF_INET, .table = rule->table, .action = rule->action };

	begin(nl, add ? RTM_NEWRULE : RTM_DELRULE, add ? NLM_F_CREATE | NLM_F_EXCL : 0, &body, sizeof(body));
	put_u32(nl, FRA_PRIORITY, rule->priority);
	if (rule->protocol)
		put(nl, FRA_IP_PROTO, &rule->protocol, sizeof(rule->protocol));
	if (rule->from_link)
		put_text(nl, FRA_IIFNAME, rule->from_link);
	if (rule->unmarked) {
		put_u32(nl, FRA_FWMARK, 0);
		put_u32(nl, FRA_FWMASK, UINT32_MAX);
	}
	end(nl);
}

/* One datagram of answers. 1: the last request was answered; *first keeps the first failure. */
static int read_answers(struct netlink *nl, int *first)
{
	char buf[4096] __attribute__((aligned(8)));
	ssize_t got;
	size_t left;

	do
		got = recv(nl->fd, buf, sizeof(buf), MSG_TRUNC);
	while (got < 0 && errno == EINTR);
	if (got < 0)
		return -errno;
	if ((size_t)got > sizeof(buf))
		return -EMSGSIZE;
	left = (size_t)got;
	for (const char *at = buf; left >= sizeof(struct nlmsghdr) + sizeof(struct nlmsgerr);) {
		struct nlmsghdr head;
		struct nlmsgerr answer;

		memcpy(&head, at, sizeof(head));
		memcpy(&answer, at + NLMSG_HDRLEN, sizeof(answer));
		if (head.nlmsg_type != NLMSG_ERROR || head.nlmsg_len > left)
			return -EPROTO;
		if (answer.error && !*first)
			*first = answer.error;
		if (head.nlmsg_seq == nl->seq)
			return 1;
		if (NLMSG_ALIGN(head.nlmsg_len) >= left)
			return 0;
		at += NLMSG_ALIGN(head.nlmsg_len);
		left -= NLMSG_ALIGN(head.nlmsg_len);
	}
	return 0;
}

int netlink_commit(struct netlink *nl)
{
	const struct sockaddr_nl kernel = { .nl_family = AF_NETLINK };
	size_t len = nl->used;
	int first = 0, r;
	uint16_t flags;
	ssize_t sent;
	char *at;

	nl->used = 0;
	if (nl->overflow) {
		nl->overflow = false;
		return -EMSGSIZE;
	}
	if (!len)
		return 0;
	at = nl->batch + nl->last + offsetof(struct nlmsghdr, nlmsg_flags);
	memcpy(&flags, at, sizeof(flags));
	flags |= NLM_F_ACK;
	memcpy(at, &flags, sizeof(flags));
	do
		sent = sendto(nl->fd, nl->batch, len, 0, (const struct sockaddr *)&kernel, sizeof(kernel));
	while (sent < 0 && errno == EINTR);
	if (sent < 0)
		return -errno;
	do
		r = read_answers(nl, &first);
	while (r == 0);
	return r < 0 ? r : first;
}

int netlink_link_flags(struct netlink *nl, int index, unsigned *ret_flags)
{
	const struct sockaddr_nl kernel = { .nl_family = AF_NETLINK };
	struct {
		struct nlmsghdr head;
		struct ifinfomsg link;
	} ask = {
		.head = { .nlmsg_len = sizeof(ask),
			  .nlmsg_type = RTM_GETLINK,
			  .nlmsg_flags = NLM_F_REQUEST,
			  .nlmsg_seq = ++nl->seq },
		.link = { .ifi_family = AF_UNSPEC, .ifi_index = index },
	};
	char answer[8192] __attribute__((aligned(8)));
	struct nlmsghdr head;
	struct ifinfomsg link;
	ssize_t n;

	do
		n = sendto(nl->fd, &ask, sizeof(ask), 0, (const struct sockaddr *)&kernel, sizeof(kernel));
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	do
		n = recv(nl->fd, answer, sizeof(answer), 0);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	if ((size_t)n < NLMSG_HDRLEN + sizeof(link))
		return -EBADMSG;
	memcpy(&head, answer, sizeof(head));
	if (head.nlmsg_type != RTM_NEWLINK || head.nlmsg_seq != nl->seq)
		return -ENODEV;
	memcpy(&link, answer + NLMSG_HDRLEN, sizeof(link));
	*ret_flags = link.ifi_flags;
	return 0;
}
