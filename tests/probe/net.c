/* Sockets and terminals. */
#include "probe.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

/* "@name" is an abstract address. */
static socklen_t unix_address(const char *text, struct sockaddr_un *ret)
{
	size_t n = strnlen(text, sizeof(ret->sun_path) - 1);

	*ret = (struct sockaddr_un){ .sun_family = AF_UNIX };
	memcpy(ret->sun_path, text, n);
	if (*text == '@')
		ret->sun_path[0] = '\0';
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n + (*text != '@'));
}

static int act_connect_unix(char **argv)
{
	struct sockaddr_un sa;
	socklen_t n = unix_address(argv[0], &sa);
	int fd = socket(AF_UNIX, argv[1] && strcmp(argv[1], "dgram") == 0 ? SOCK_DGRAM : SOCK_STREAM, 0);

	return fd < 0 ? -errno : check(connect(fd, (struct sockaddr *)&sa, n));
}

/* listen-unix ADDRESS: says "ready", then what a client says. */
static int act_listen_unix(char **argv)
{
	struct sockaddr_un sa;
	socklen_t n = unix_address(argv[0], &sa);
	int fd = socket(AF_UNIX, SOCK_STREAM, 0), client;

	if (fd < 0 || bind(fd, (struct sockaddr *)&sa, n) < 0 || listen(fd, 8) < 0)
		return -errno;
	puts("ready");
	while ((client = accept(fd, NULL, NULL)) >= 0) {
		puts("visited");
		close(client);
	}
	return -errno;
}

static int inet_address(const char *host, const char *port, struct sockaddr_storage *ret, socklen_t *ret_len)
{
	struct sockaddr_in *four = (struct sockaddr_in *)ret;
	struct sockaddr_in6 *six = (struct sockaddr_in6 *)ret;

	*ret = (struct sockaddr_storage){ 0 };
	if (inet_pton(AF_INET, host, &four->sin_addr) == 1) {
		four->sin_family = AF_INET;
		four->sin_port = htons((in_port_t)number(port));
		*ret_len = sizeof(*four);
		return AF_INET;
	}
	if (inet_pton(AF_INET6, host, &six->sin6_addr) != 1)
		return -1;
	six->sin6_family = AF_INET6;
	six->sin6_port = htons((in_port_t)number(port));
	*ret_len = sizeof(*six);
	return AF_INET6;
}

/* connect HOST PORT [PROTOCOL] */
static int act_connect(char **argv)
{
	struct sockaddr_storage sa;
	socklen_t n;
	int family = inet_address(argv[0], argv[1], &sa, &n);
	int fd = socket(family, SOCK_STREAM, argv[2] ? (int)number(argv[2]) : 0);

	if (fd < 0)
		return -errno;
	alarm(5);
	return check(connect(fd, (struct sockaddr *)&sa, n));
}

/* fastopen HOST PORT: a connection by sendto(), without connect(). */
static int act_fastopen(char **argv)
{
	struct sockaddr_storage sa;
	socklen_t n;
	int family = inet_address(argv[0], argv[1], &sa, &n), fd = socket(family, SOCK_STREAM, 0);

	return fd < 0 ? -errno : check(sendto(fd, "x", 1, MSG_FASTOPEN | MSG_NOSIGNAL, (struct sockaddr *)&sa, n));
}

/* udp HOST PORT TEXT: sends, and waits a second for an answer. */
static int act_udp(char **argv)
{
	struct sockaddr_storage sa;
	socklen_t n;
	int family = inet_address(argv[0], argv[1], &sa, &n), fd = socket(family, SOCK_DGRAM, 0);
	struct pollfd p = { .fd = fd, .events = POLLIN };
	char buf[64];

	if (fd < 0 || connect(fd, (struct sockaddr *)&sa, n) < 0 || send(fd, argv[2], strlen(argv[2]), 0) < 0)
		return -errno;
	if (poll(&p, 1, 1000) <= 0)
		return -ETIMEDOUT;
	return check(recv(fd, buf, sizeof(buf), 0));
}

/* own-loopback: a server and a client of its own. */
static int act_own_loopback(char **argv)
{
	struct sockaddr_in sa = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
	socklen_t n = sizeof(sa);
	int server = socket(AF_INET, SOCK_STREAM, 0), client = socket(AF_INET, SOCK_STREAM, 0);

	(void)argv;
	if (server < 0 || client < 0 || bind(server, (struct sockaddr *)&sa, sizeof(sa)) < 0 || listen(server, 1) < 0 ||
	    getsockname(server, (struct sockaddr *)&sa, &n) < 0)
		return -errno;
	return check(connect(client, (struct sockaddr *)&sa, n));
}

/* socket FAMILY TYPE PROTOCOL, socketpair FAMILY TYPE */
static int act_socket(char **argv)
{
	return check(socket((int)number(argv[0]), (int)number(argv[1]), (int)number(argv[2])));
}
/* The same with bits above the 32 that the kernel looks at. */
static int act_socket_high(char **argv)
{
	return check(
		syscall(SYS_socket, (unsigned long)number(argv[0]) | 0x100000000UL, number(argv[1]), number(argv[2])));
}
static int act_socketpair(char **argv)
{
	int pair[2];

	return check(socketpair((int)number(argv[0]), (int)number(argv[1]), 0, pair));
}

/* pair-sendto PATH TYPE: one end of a pair sends to a socket that has nothing to do with it; pair-connect: connects. */
static int act_pair_sendto(char **argv)
{
	struct sockaddr_un sa;
	socklen_t n = unix_address(argv[0], &sa);
	int pair[2];

	if (socketpair(AF_UNIX, (int)number(argv[1]), 0, pair) < 0)
		return -errno;
	return check(sendto(pair[0], "visited", 7, 0, (struct sockaddr *)&sa, n));
}
static int act_pair_connect(char **argv)
{
	struct sockaddr_un sa;
	socklen_t n = unix_address(argv[0], &sa);
	int pair[2];

	if (socketpair(AF_UNIX, (int)number(argv[1]), 0, pair) < 0)
		return -errno;
	return check(connect(pair[0], (struct sockaddr *)&sa, n));
}

/* ---- terminals ---- */

/* pty-ioctl REQUEST: on a terminal of its own that it controls; the answer says whether what was typed in can be read. */
static int act_pty_ioctl(char **argv)
{
	int master = posix_openpt(O_RDWR | O_NOCTTY);
	pid_t pid;

	if (master < 0 || grantpt(master) < 0 || unlockpt(master) < 0)
		return -errno;
	pid = fork();
	if (pid == 0) {
		int slave, r;
		char c = 'x';

		setsid();
		slave = open(ptsname(master), O_RDWR | O_NOCTTY);
		if (slave < 0 || ioctl(slave, TIOCSCTTY, 0) < 0)
			_exit(errno);
		r = (int)syscall(SYS_ioctl, slave, strtoul(argv[0], NULL, 0), &c);
		_exit(r < 0 ? errno : 0);
	} else {
		int status;

		if (pid < 0 || waitpid(pid, &status, 0) < 0)
			return -errno;
		return WIFEXITED(status) ? -WEXITSTATUS(status) : -ECHILD;
	}
}

/* ioctl FD REQUEST: with a pointer to the letter x. */
static int act_ioctl(char **argv)
{
	char c[64] = "x";

	return check(syscall(SYS_ioctl, number(argv[0]), strtoul(argv[1], NULL, 0), c));
}

static int act_isatty(char **argv)
{
	return isatty((int)number(argv[0])) ? 0 : -errno;
}

const struct act net_acts[] = {
	{ "connect-unix", 1, act_connect_unix },
	{ "listen-unix", 1, act_listen_unix },
	{ "connect", 2, act_connect },
	{ "fastopen", 2, act_fastopen },
	{ "udp", 3, act_udp },
	{ "own-loopback", 0, act_own_loopback },
	{ "socket", 3, act_socket },
	{ "socket-high", 3, act_socket_high },
	{ "socketpair", 2, act_socketpair },
	{ "pair-sendto", 2, act_pair_sendto },
	{ "pair-connect", 2, act_pair_connect },
	{ "pty-ioctl", 1, act_pty_ioctl },
	{ "ioctl", 2, act_ioctl },
	{ "isatty", 1, act_isatty },
	{ NULL, 0, NULL },
};
