/* The jail of the egress process: what it forbids ends the process, what it needs works. Each act also runs outside of it, as the control. */
#include "egress/jail.h"

#include "tap.h"

#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* An act: 0 where it worked, else its errno. */
typedef int act_fn(void);

static int code(long r)
{
	return r < 0 ? errno : 0;
}

static int act_execve(void)
{
	char *argv[] = { (char *)(uintptr_t) "true", NULL };

	return code(execve("/bin/true", argv, argv + 1));
}

static int act_fork(void)
{
	long pid = syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);

	if (pid == 0)
		_exit(0);
	return code(pid);
}

static int act_ptrace(void)
{
	return code(ptrace(PTRACE_TRACEME, 0, NULL, NULL));
}

static int act_open_write(void)
{
	return code(open("/dev/null", O_WRONLY | O_CLOEXEC));
}

static int act_create(void)
{
	int fd = open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	return code(fd);
}

static int act_unix(void)
{
	return code(socket(AF_UNIX, SOCK_STREAM, 0));
}

static int act_pair_packets(void)
{
	int pair[2];

	return code(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair));
}

static int act_pair(void)
{
	int pair[2];

	return code(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair));
}

static int act_netlink(void)
{
	return code(socket(AF_NETLINK, SOCK_RAW, 0));
}

static int act_packet(void)
{
	return code(socket(AF_PACKET, SOCK_DGRAM, 0));
}

static int act_raw(void)
{
	return code(socket(AF_INET, SOCK_RAW, IPPROTO_ICMP));
}

static int act_mptcp(void)
{
	return code(socket(AF_INET, SOCK_STREAM, IPPROTO_MPTCP));
}

static int act_udplite(void)
{
	return code(socket(AF_INET, SOCK_DGRAM, IPPROTO_UDPLITE));
}

static int act_umount(void)
{
	return code(syscall(SYS_umount2, "/nowhere", 0)) == ENOENT ? 0 : EPERM;
}

static int act_exec_memory(void)
{
	void *p = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return p == MAP_FAILED ? errno : 0;
}

static int act_kill(void)
{
	return code(kill(getppid(), 0));
}

static int act_unshare(void)
{
	return code(unshare(CLONE_FS));
}

static int act_bind(void)
{
	struct sockaddr_in sin = { .sin_family = AF_INET };
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	sin.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	return code(bind(fd, (struct sockaddr *)&sin, sizeof(sin)));
}

static int act_prlimit(void)
{
	struct rlimit limit = { 64, 64 };

	return code(setrlimit(RLIMIT_NOFILE, &limit));
}

static int act_read_passwd(void)
{
	return code(open("/etc/passwd", O_RDONLY | O_CLOEXEC));
}

static int act_filter(void)
{
	int fd = socket(AF_INET, SOCK_DGRAM, 0), off = 0;

	return code(setsockopt(fd, SOL_SOCKET, SO_BROADCAST, &off, sizeof(off)));
}

static int act_ioctl(void)
{
	struct ifreq request = { .ifr_name = "lo" };
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	return code(ioctl(fd, SIOCGIFFLAGS, &request));
}

/* ---- what it needs ---- */

static int act_hosts(void)
{
	char byte;
	int fd = open("/etc/hosts", O_RDONLY | O_CLOEXEC);

	return fd < 0 ? errno : code(read(fd, &byte, 1));
}

static int act_sockets(void)
{
	const int on = 1;
	const struct linger linger = { 1, 0 };
	int tcp = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	int udp = socket(AF_INET6, SOCK_DGRAM | SOCK_NONBLOCK, 0);

	if (tcp < 0 || (udp < 0 && errno != EAFNOSUPPORT) ||
	    setsockopt(tcp, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)) < 0 ||
	    setsockopt(tcp, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger)) < 0)
		return errno;
	return 0;
}

static int act_memory(void)
{
	char *p = malloc(8 << 20);

	if (!p)
		return errno;
	memset(p, 1, 8 << 20);
	free(p);
	return 0;
}

static int act_pipes(void)
{
	int fds[2];

	if (pipe2(fds, O_CLOEXEC | O_NONBLOCK) < 0 || fcntl(fds[0], F_SETPIPE_SZ, 65536) < 0)
		return errno;
	return 0;
}

static int act_identity(void)
{
	return geteuid() == 0 || getegid() == 0 ? EPERM : 0;
}

/* How a child ended that did it: its exit status, or 1000 and the signal. */
static int run(act_fn *act, bool jailed)
{
	struct jail_options options = { .has_ids = geteuid() == 0, .uid = 65534, .gid = 65534 };
	struct cordon_error err = { 0 };
	int status = 0;
	pid_t pid = fork();

	if (pid == 0) {
		if (jailed && jail_enter(&options, &err) < 0) {
			note("%s", err.message);
			_exit(200);
		}
		syscall(SYS_exit_group, act()); /* not by libc: a sanitizer has more to do there */
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return -1;
	return WIFSIGNALED(status) ? 1000 + WTERMSIG(status) : WEXITSTATUS(status);
}

static const struct {
	const char *name;
	act_fn *act;
	int control; /* outside; -1: not there for an ordinary user */
	int jailed;
} table[] = {
	{ "execve", act_execve, 0, 1000 + SIGSYS },
	{ "fork", act_fork, 0, 1000 + SIGSYS },
	{ "ptrace", act_ptrace, 0, 1000 + SIGSYS },
	{ "open for writing", act_open_write, 0, 1000 + SIGSYS },
	{ "a new file", act_create, 0, 1000 + SIGSYS },
	{ "a unix socket", act_unix, 0, 1000 + SIGSYS },
	{ "a pair of packet sockets", act_pair_packets, 0, 1000 + SIGSYS },
	{ "a netlink socket", act_netlink, 0, 1000 + SIGSYS },
	{ "a packet socket", act_packet, -1, 1000 + SIGSYS },
	{ "a raw socket", act_raw, -1, 1000 + SIGSYS },
	{ "MPTCP", act_mptcp, 0, 1000 + SIGSYS },
	{ "UDP-Lite", act_udplite, 0, 1000 + SIGSYS },
	{ "umount", act_umount, -1, 1000 + SIGSYS },
	{ "memory with code", act_exec_memory, 0, 1000 + SIGSYS },
	{ "kill", act_kill, 0, 1000 + SIGSYS },
	{ "unshare", act_unshare, 0, 1000 + SIGSYS },
	{ "bind", act_bind, 0, 1000 + SIGSYS },
	{ "setrlimit", act_prlimit, 0, ENOSYS },
	{ "a socket option nobody needs", act_filter, 0, ENOPROTOOPT },
	{ "an ioctl on interfaces", act_ioctl, 0, ENOTTY },
	{ "reading /etc/passwd", act_read_passwd, 0, EACCES },
	{ "reading /etc/hosts", act_hosts, 0, 0 },
	{ "TCP and UDP sockets", act_sockets, 0, 0 },
	{ "memory", act_memory, 0, 0 },
	{ "pipes", act_pipes, 0, 0 },
	{ "a pair of streams", act_pair, 0, 0 },
};

/* Whoever calls may have a priority; what strangers send must not have it. */
static void test_priority(void)
{
	struct jail_options options = { .has_ids = true, .uid = 0x61000001, .gid = 0x61000001 };
	int ready[2], hold[2];
	char byte = 0;
	pid_t pid;

	if (pipe(ready) < 0 || pipe(hold) < 0)
		return;
	pid = fork();
	if (pid == 0) {
		struct cordon_error err = { 0 };
		bool in = setpriority(PRIO_PROCESS, 0, -5) == 0 && jail_enter(&options, &err) == 0;

		close(hold[1]);
		(void)!write(ready[1], in ? "y" : "n", 1);
		(void)!read(hold[0], &byte, 1);
		_exit(0);
	}
	(void)!read(ready[0], &byte, 1);
	ok(byte == 'y' && getpriority(PRIO_PROCESS, (id_t)pid) == 0, "jailed: the caller's priority is gone");
	close(hold[0]);
	close(hold[1]);
	waitpid(pid, NULL, 0);
	close(ready[0]);
	close(ready[1]);
}

int main(void)
{
	struct jail_options root = { .has_ids = true, .uid = 0, .gid = 0 };
	struct cordon_error err = { 0 };

	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		if (table[i].control >= 0 || geteuid() == 0)
			is_num(run(table[i].act, false), 0, "outside: %s", table[i].name);
		is_num(run(table[i].act, true), table[i].jailed, "jailed: %s", table[i].name);
	}
	is_num(run(act_identity, true), 0, "jailed: not root");
	if (geteuid() == 0) {
		pid_t pid = fork();
		int status = 0;

		is_num(run(act_identity, false), EPERM, "outside: root");
		if (pid == 0)
			_exit(jail_enter(&root, &err) < 0 ? 0 : 1);
		waitpid(pid, &status, 0);
		is_num(status, 0, "it does not stay root");
		test_priority();
	}
	return done_testing();
}
