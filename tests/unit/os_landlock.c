/* Landlock by itself, where nothing else answers first: what a ruleset leaves and what it takes away, files, TCP and the scopes, each beside a process
 * without it. */
#include "tap.h"

#include "os/landlock.h"
#include "os/process.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static char place[] = "/tmp/cordon-landlock.XXXXXX";
static char inside[128], outside[128];
static struct sockaddr_in served = { .sin_family = AF_INET };
static struct sockaddr_un named = { .sun_family = AF_UNIX };
static socklen_t named_len;
static pid_t parent;
static int abi;

static int opened(const char *path, int flags)
{
	int fd = open(path, flags | O_CLOEXEC, 0600);

	if (fd < 0)
		return errno;
	close(fd);
	return 0;
}

static int read_outside(void)
{
	return opened(outside, O_RDONLY);
}

static int write_inside(void)
{
	return opened(inside, O_WRONLY | O_CREAT);
}

static int write_outside(void)
{
	return opened(outside, O_WRONLY);
}

static int truncate_outside(void)
{
	return truncate(outside, 0) < 0 ? errno : 0;
}

static int connect_to(int family, const void *address, socklen_t len)
{
	int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int r = fd < 0 || connect(fd, address, len) < 0 ? errno : 0;

	if (fd >= 0)
		close(fd);
	return r;
}

static int connect_tcp(void)
{
	return connect_to(AF_INET, &served, sizeof(served));
}

static int connect_abstract(void)
{
	return connect_to(AF_UNIX, &named, named_len);
}

static int bind_tcp(void)
{
	struct sockaddr_in any = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int r = fd < 0 || bind(fd, (struct sockaddr *)&any, sizeof(any)) < 0 ? errno : 0;

	if (fd >= 0)
		close(fd);
	return r;
}

static int signal_parent(void)
{
	return kill(parent, 0) < 0 ? errno : 0;
}

/* The errno of the act in a child; with `rules` behind a ruleset that allows reading and writing below `place/in` alone. */
static int act_in_child(int (*act)(void), bool rules, bool no_network)
{
	int status = -1;
	pid_t pid = fork();

	if (pid == 0) {
		char dir[64];
		int set = rules ? landlock_new(abi, no_network) : -1;

		snprintf(dir, sizeof(dir), "%s/in", place);
		if (rules && (set < 0 || landlock_allow_path(set, abi, dir, LANDLOCK_READ | LANDLOCK_WRITE) < 0 ||
			      process_no_new_privs() < 0 || landlock_restrict(set) < 0))
			_exit(255);
		_exit(act());
	}
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int serve(int family, void *address, socklen_t *len)
{
	int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || bind(fd, address, *len) < 0 || listen(fd, 16) < 0 || getsockname(fd, address, len) < 0)
		return -1;
	return fd;
}

static bool prepare(void)
{
	socklen_t len = sizeof(served);
	char dir[64];

	parent = getpid();
	if (!mkdtemp(place))
		return false;
	snprintf(dir, sizeof(dir), "%s/in", place);
	snprintf(inside, sizeof(inside), "%s/in/file", place);
	snprintf(outside, sizeof(outside), "%s/file", place);
	if (mkdir(dir, 0700) < 0 || opened(outside, O_WRONLY | O_CREAT))
		return false;
	served.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	/* An abstract name: a NUL first, and no file. */
	named_len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 +
				(size_t)snprintf(named.sun_path + 1, sizeof(named.sun_path) - 1, "cordon-test-%d",
						 (int)parent));
	return serve(AF_INET, &served, &len) >= 0 && serve(AF_UNIX, &named, &named_len) >= 0;
}

int main(void)
{
	static const struct {
		const char *what;
		int (*act)(void);
		int from_abi, want;
		bool only_without_network;
	} rows[] = {
		{ "write where it is allowed", write_inside, 1, 0, false },
		{ "read elsewhere", read_outside, 1, EACCES, false },
		{ "write elsewhere", write_outside, 1, EACCES, false },
		{ "truncate elsewhere", truncate_outside, 3, EACCES, false },
		{ "bind TCP", bind_tcp, 4, EACCES, true },
		{ "connect by TCP", connect_tcp, 4, EACCES, true },
		{ "connect to an abstract socket", connect_abstract, 6, EPERM, false },
		{ "signal a process outside", signal_parent, 6, EPERM, false },
	};

	abi = landlock_abi();
	if (!abi) {
		skip("no Landlock here");
		return done_testing();
	}
	if (!prepare()) {
		ok(false, "prepared");
		return done_testing();
	}
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		is_num((uint64_t)act_in_child(rows[i].act, false, false), 0, "control: without rules, %s",
		       rows[i].what);
		if (abi < rows[i].from_abi) {
			skip("%s: this kernel's Landlock is %d", rows[i].what, abi);
			continue;
		}
		is_num((uint64_t)act_in_child(rows[i].act, true, true), (uint64_t)rows[i].want, "with them, %s",
		       rows[i].what);
		if (rows[i].only_without_network)
			is_num((uint64_t)act_in_child(rows[i].act, true, false), 0,
			       "control: where there is a network, %s", rows[i].what);
	}
	(void)unlink(inside);
	(void)unlink(outside);
	snprintf(inside, sizeof(inside), "%s/in", place);
	(void)rmdir(inside);
	(void)rmdir(place);
	return done_testing();
}
