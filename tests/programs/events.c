/*
 * What the runtimes of asynchronous programs (tokio, libuv, Go) ask of the kernel, one line for each that works:
 * events [sockets]. With "sockets" also those of pathname, abstract and loopback addresses.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define NEED(what)                                                                     \
	do {                                                                           \
		if (!(what)) {                                                         \
			printf("line %d: %s: %s\n", __LINE__, #what, strerror(errno)); \
			exit(1);                                                       \
		}                                                                      \
	} while (0)

/* The fd becomes readable within ten seconds, told by an epoll of its own. */
static void readable(int fd)
{
	struct epoll_event ev = { .events = EPOLLIN | EPOLLET }, got = { 0 };
	int ep = epoll_create1(EPOLL_CLOEXEC);

	NEED(ep >= 0 && epoll_ctl(ep, EPOLL_CTL_ADD, fd, &ev) == 0);
	NEED(epoll_wait(ep, &got, 1, 10000) == 1 && (got.events & EPOLLIN));
	close(ep);
}

static void *wake(void *fd)
{
	uint64_t one = 1;

	NEED(write(*(int *)fd, &one, sizeof(one)) == sizeof(one));
	return NULL;
}

static void event(void)
{
	uint64_t n;
	int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	pthread_t t;

	NEED(fd >= 0 && pthread_create(&t, NULL, wake, &fd) == 0);
	readable(fd);
	NEED(read(fd, &n, sizeof(n)) == sizeof(n) && n == 1 && pthread_join(t, NULL) == 0);
}

static void timer(void)
{
	struct itimerspec in = { .it_value.tv_nsec = 1000000 };
	uint64_t n;
	int fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);

	NEED(fd >= 0 && timerfd_settime(fd, 0, &in, NULL) == 0);
	readable(fd);
	NEED(read(fd, &n, sizeof(n)) == sizeof(n) && n >= 1);
}

static void signals(void)
{
	struct signalfd_siginfo si;
	sigset_t set;
	int fd;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	NEED(pthread_sigmask(SIG_BLOCK, &set, NULL) == 0 && (fd = signalfd(-1, &set, SFD_CLOEXEC)) >= 0);
	NEED(kill(getpid(), SIGUSR1) == 0);
	readable(fd);
	NEED(read(fd, &si, sizeof(si)) == sizeof(si) && si.ssi_signo == SIGUSR1);
}

static void watching(void)
{
	char dir[4096], buf[4096] __attribute__((aligned(8)));
	int fd = inotify_init1(IN_CLOEXEC), file;

	snprintf(dir, sizeof(dir), "%s/watched", getenv("HOME"));
	NEED(fd >= 0 && (file = open(dir, O_CREAT | O_WRONLY, 0600)) >= 0);
	NEED(inotify_add_watch(fd, dir, IN_MODIFY) >= 0 && write(file, "x", 1) == 1);
	readable(fd);
	NEED(read(fd, buf, sizeof(buf)) > 0 && (((struct inotify_event *)buf)->mask & IN_MODIFY));
}

static void children(void)
{
	siginfo_t si = { 0 };
	pid_t pid = fork();
	int fd;

	if (pid == 0)
		_exit(3);
	NEED(pid > 0 && (fd = (int)syscall(SYS_pidfd_open, pid, 0)) >= 0);
	readable(fd);
	NEED(waitid(P_PIDFD, (id_t)fd, &si, WEXITED) == 0 && si.si_status == 3);
}

static void memory(void)
{
	int fd = memfd_create("mine", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	char *p;

	NEED(fd >= 0 && ftruncate(fd, 4096) == 0 && fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK) == 0);
	NEED((p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0)) != MAP_FAILED);
	strcpy(p, "x");
}

/* A message and an fd through a pair of sockets. */
static void pair(int type)
{
	char data = 'x', control[CMSG_SPACE(sizeof(int))] = { 0 };
	struct iovec iov = { &data, 1 };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control)
	};
	struct cmsghdr *c = CMSG_FIRSTHDR(&msg);
	int fds[2], out[2], got;

	NEED(socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, fds) == 0 && pipe2(out, O_CLOEXEC) == 0);
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(c), &out[1], sizeof(int));
	NEED(sendmsg(fds[0], &msg, 0) == 1);
	readable(fds[1]);
	NEED(recvmsg(fds[1], &msg, MSG_CMSG_CLOEXEC) == 1);
	memcpy(&got, CMSG_DATA(CMSG_FIRSTHDR(&msg)), sizeof(int));
	NEED(write(got, "y", 1) == 1 && read(out[0], &data, 1) == 1 && data == 'y');
}

/* A server at the address and its client, in one process as an event loop has it. */
static void serve(int family, struct sockaddr *addr, socklen_t len)
{
	struct sockaddr_storage bound;
	socklen_t size = sizeof(bound);
	char c;
	int s = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), client, peer;

	NEED(s >= 0 && bind(s, addr, len) == 0 && listen(s, 16) == 0);
	NEED(getsockname(s, (struct sockaddr *)&bound, &size) == 0);
	NEED((client = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0)) >= 0);
	NEED(connect(client, (struct sockaddr *)&bound, size) == 0);
	readable(s);
	NEED((peer = accept4(s, NULL, NULL, SOCK_NONBLOCK)) >= 0 && write(peer, "z", 1) == 1);
	readable(client);
	NEED(read(client, &c, 1) == 1 && c == 'z');
	if (family == AF_UNIX) {
		struct ucred who;

		size = sizeof(who);
		NEED(getsockopt(client, SOL_SOCKET, SO_PEERCRED, &who, &size) == 0 && who.uid == getuid());
	}
}

static void sockets(void)
{
	struct sockaddr_un path = { .sun_family = AF_UNIX }, abstract = { .sun_family = AF_UNIX };
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };

	snprintf(path.sun_path, sizeof(path.sun_path), "%s/sock", getenv("HOME"));
	memcpy(abstract.sun_path, "\0mine", 5);
	serve(AF_UNIX, (struct sockaddr *)&path, sizeof(path));
	puts("pathname");
	serve(AF_UNIX, (struct sockaddr *)&abstract, (socklen_t)sizeof(sa_family_t) + 5);
	puts("abstract");
	serve(AF_INET, (struct sockaddr *)&in, sizeof(in));
	puts("loopback");
}

int main(int argc, char **argv)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	event();
	puts("eventfd");
	timer();
	puts("timerfd");
	signals();
	puts("signalfd");
	children();
	puts("pidfd");
	memory();
	puts("memfd");
	pair(SOCK_STREAM);
	pair(SOCK_SEQPACKET);
	puts("socketpair");
	if (argc > 1 && strcmp(argv[1], "sockets") == 0) {
		watching();
		puts("inotify");
		pair(SOCK_DGRAM); /* it could send to any socket: there is none at process level */
		sockets();
	}
	return 0;
}
