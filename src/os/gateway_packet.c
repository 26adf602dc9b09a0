/*
 * What is tried on ports without a listener: see gateway.h. The sockets are opened by the payload's child, in the gateway, and read by the
 * egress process. They see what arrives over the link, from the IPv4 header on; what they send goes where its header says: every address
 * is local here, so that a packet to another arrives as if it had come from the box, and one to the box arrives there.
 *
 * The bytes are the payload's, although its kernel made them: lengths are checked, everything else is only carried.
 */
#include "os/gateway_packet.h"

#include "base/fd.h"
#include "os/gateway.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/filter.h>
#include <string.h>
#include <sys/socket.h>

const uint8_t gateway_box_mac[NETLINK_MAC] = { 2, 0, 0, 0, 0, 2 };

enum {
	IP_MIN = 20,
	TCP_MIN = 20,
	TCP_PORT = 2,
	TCP_SEQ = 4,
	TCP_ACK = 8,
	TCP_OFFSET = 12,
	TCP_FLAGS = 13,
	TCP_SUM = 16,
	FLAG_SYN = 2,
	FLAG_RST = 4,
	FLAG_ACK = 16,
	FRAGMENT = 0x1fff,
	FILTER_MAX = 32 + 2 * GATEWAY_PORTS_MAX,
};

struct filter {
	struct sock_filter code[FILTER_MAX];
	unsigned short len;
};

static void op(struct filter *f, uint16_t code, uint8_t jt, uint8_t jf, uint32_t k)
{
	f->code[f->len++] = (struct sock_filter){ code, jt, jf, k };
}

/* Not this value: go on; else the packet is not seen. */
static void drop_port(struct filter *f, uint16_t port)
{
	op(f, BPF_JMP | BPF_JEQ | BPF_K, 0, 1, port);
	op(f, BPF_RET | BPF_K, 0, 0, 0);
}

/* Only first fragments, which have the ports; X becomes the header's length, A the port. */
static void load_port(struct filter *f)
{
	op(f, BPF_LD | BPF_H | BPF_ABS, 0, 0, 6);
	op(f, BPF_JMP | BPF_JSET | BPF_K, 0, 1, FRAGMENT);
	op(f, BPF_RET | BPF_K, 0, 0, 0);
	op(f, BPF_LDX | BPF_B | BPF_MSH, 0, 0, 0);
	op(f, BPF_LD | BPF_H | BPF_IND, 0, 0, TCP_PORT);
	drop_port(f, GATEWAY_DNS_PORT);
}

/* Only what came over the link: what is replayed is not told again. */
static void build_filter(struct filter *f, int protocol, const uint16_t *ports, size_t count)
{
	op(f, BPF_LD | BPF_W | BPF_ABS, 0, 0, (uint32_t)SKF_AD_OFF + SKF_AD_IFINDEX);
	op(f, BPF_JMP | BPF_JEQ | BPF_K, 1, 0, GATEWAY_LINK);
	op(f, BPF_RET | BPF_K, 0, 0, 0);
	load_port(f);
	if (protocol == IPPROTO_TCP) {
		for (size_t i = 0; i < count; i++)
			drop_port(f, ports[i]);
		op(f, BPF_LD | BPF_B | BPF_IND, 0, 0, TCP_FLAGS);
		op(f, BPF_ALU | BPF_AND | BPF_K, 0, 0, FLAG_SYN | FLAG_ACK);
		op(f, BPF_JMP | BPF_JEQ | BPF_K, 1, 0, FLAG_SYN);
		op(f, BPF_RET | BPF_K, 0, 0, 0);
	}
	op(f, BPF_RET | BPF_K, 0, 0, GATEWAY_PACKET_SIZE);
}

/* A raw socket, not a packet socket: the kernel waits for a grace period when one of those is closed. What came before the filter was on
 * is taken out again. */
int gateway_packet_socket(int protocol, const uint16_t *ports, size_t count)
{
	auto_close int fd = socket(AF_INET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, protocol);
	struct filter f = { .len = 0 };
	struct sock_fprog program = { .filter = f.code };
	uint8_t byte;
	int on = 1;

	if (fd < 0)
		return -errno;
	if (count > GATEWAY_PORTS_MAX)
		return -EINVAL;
	build_filter(&f, protocol, ports, count);
	program.len = f.len;
	if (setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program)) < 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_LOCK_FILTER, &on, sizeof(on)) < 0 ||
	    setsockopt(fd, IPPROTO_IP, IP_HDRINCL, &on, sizeof(on)) < 0)
		return -errno;
	while (recv(fd, &byte, 1, MSG_DONTWAIT) >= 0)
		;
	return STEAL_FD(fd);
}

static uint16_t get16(const uint8_t *p)
{
	return (uint16_t)(p[0] << 8 | p[1]);
}

static void put16(uint8_t *p, uint16_t v)
{
	p[0] = (uint8_t)(v >> 8);
	p[1] = (uint8_t)v;
}

/* The length of the IPv4 header, if all of it and `more` bytes behind it are there; else 0. */
static size_t ip_header(const uint8_t *data, size_t len, size_t more)
{
	size_t head = len >= IP_MIN && data[0] >> 4 == 4 ? (size_t)(data[0] & 15) * 4 : 0;

	return head >= IP_MIN && len >= head + more ? head : 0;
}

/* A SYN with its whole header; *ret_tcp is that header's length. */
static size_t syn_header(const uint8_t *data, size_t len, size_t *ret_tcp)
{
	size_t head = ip_header(data, len, TCP_MIN), tcp;

	if (!head || data[9] != IPPROTO_TCP || (data[head + TCP_FLAGS] & (FLAG_SYN | FLAG_ACK)) != FLAG_SYN)
		return 0;
	tcp = (size_t)(data[head + TCP_OFFSET] >> 4) * 4;
	*ret_tcp = tcp;
	return tcp >= TCP_MIN && len >= head + tcp ? head : 0;
}

int gateway_read(int packets, uint8_t data[static GATEWAY_PACKET_SIZE], struct gateway_attempt *ret)
{
	size_t head, tcp;
	ssize_t got;

	do
		got = recv(packets, data, GATEWAY_PACKET_SIZE, MSG_DONTWAIT);
	while (got < 0 && errno == EINTR);
	if (got < 0)
		return -errno;
	head = ip_header(data, (size_t)got, 4);
	if (!head || (data[9] == IPPROTO_TCP && !syn_header(data, (size_t)got, &tcp)))
		return -EBADMSG;
	ret->protocol = data[9];
	memcpy(&ret->from, data + 12, 4);
	memcpy(&ret->to, data + 16, 4);
	ret->from_port = get16(data + head);
	ret->to_port = get16(data + head + 2);
	return (int)got;
}

static uint32_t sum_up(const uint8_t *p, size_t len, uint32_t sum)
{
	for (size_t i = 0; i + 1 < len; i += 2)
		sum += get16(p + i);
	return len % 2 ? sum + (uint32_t)(p[len - 1] << 8) : sum;
}

static uint16_t fold(uint32_t sum)
{
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)~sum;
}

/* Lengths and both checksums of a packet that ends with its TCP header: a packet between two namespaces has no sum yet. */
static void finish(uint8_t *data, size_t head, size_t tcp)
{
	put16(data + 2, (uint16_t)(head + tcp));
	put16(data + 10, 0);
	put16(data + 10, fold(sum_up(data, head, 0)));
	put16(data + head + TCP_SUM, 0);
	put16(data + head + TCP_SUM, fold(sum_up(data + head, tcp, sum_up(data + 12, 8, IPPROTO_TCP + (uint32_t)tcp))));
}

/* To where the header says. */
static int send_packet(int packets, const uint8_t *data, size_t len)
{
	struct sockaddr_in to = { .sin_family = AF_INET };
	ssize_t sent;

	memcpy(&to.sin_addr, data + 16, 4);
	do
		sent = sendto(packets, data, len, MSG_DONTWAIT, (const struct sockaddr *)&to, sizeof(to));
	while (sent < 0 && errno == EINTR);
	return sent < 0 ? -errno : 0;
}

/* Data in a SYN is left out; its sender sends it again. */
int gateway_replay(int packets, const uint8_t *data, size_t len)
{
	uint8_t copy[GATEWAY_PACKET_SIZE];
	size_t tcp = 0, head = syn_header(data, len, &tcp);

	if (!head || head + tcp > sizeof(copy))
		return -EBADMSG;
	memcpy(copy, data, head + tcp);
	finish(copy, head, tcp);
	return send_packet(packets, copy, head + tcp);
}

int gateway_refuse(int packets, const uint8_t *data, size_t len)
{
	uint8_t answer[IP_MIN + TCP_MIN] = { 0x45, [6] = 0x40, [8] = 64, [9] = IPPROTO_TCP };
	uint8_t *reset = answer + IP_MIN;
	size_t tcp = 0, head = syn_header(data, len, &tcp);
	const uint8_t *syn = data + head;
	uint32_t next;

	if (!head)
		return -EBADMSG;
	memcpy(answer + 12, data + 16, 4);
	memcpy(answer + 16, data + 12, 4);
	memcpy(reset, syn + 2, 2);
	memcpy(reset + 2, syn, 2);
	memcpy(&next, syn + TCP_SEQ, sizeof(next));
	next = htonl(ntohl(next) + 1);
	memcpy(reset + TCP_ACK, &next, sizeof(next));
	reset[TCP_OFFSET] = TCP_MIN / 4 << 4;
	reset[TCP_FLAGS] = FLAG_RST | FLAG_ACK;
	finish(answer, IP_MIN, TCP_MIN);
	return send_packet(packets, answer, sizeof(answer));
}
