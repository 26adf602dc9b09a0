/*
 * Loaded into a program that runs under valgrind, which answers ENOSYS to the calls below without making them. They are made as a
 * call that it does pass on, prctl(THROUGH, NUMBER, ARGUMENTS), of which tests/fault/inject.c makes what was meant (--through).
 *
 * What they return, if it is a descriptor, is copied by a call that valgrind knows: --track-fds sees it from there on. clone3 is not one
 * of them, since valgrind has to know of a child: for it cordon's own way out, clone, is taken, which valgrind follows.
 */
#include "through.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { END_MS = 3000 };

static const struct {
	long nr;
	int gives_fd;
} unknown[] = {
	{ SYS_openat2, 1 },       { SYS_open_tree, 1 },         { SYS_move_mount, 0 },
	{ SYS_fsopen, 1 },        { SYS_fsconfig, 0 },          { SYS_fsmount, 1 },
	{ SYS_fspick, 1 },        { SYS_mount_setattr, 0 },     { SYS_landlock_create_ruleset, 1 },
	{ SYS_seccomp, 1 },       { SYS_landlock_add_rule, 0 }, { SYS_landlock_restrict_self, 0 },
	{ SYS_pidfd_open, 1 },    { SYS_pidfd_send_signal, 0 }, { SYS_sethostname, 0 },
	{ SYS_setdomainname, 0 }, { SYS_prlimit64, 0 },
};

static long direct(long nr, const unsigned long a[6])
{
	static long (*next)(long, ...);

	if (!next)
		next = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
	return next(nr, a[0], a[1], a[2], a[3], a[4], a[5]);
}

static int is_fd(long nr, const unsigned long a[6])
{
	if (nr == SYS_landlock_create_ruleset)
		return a[0] != 0; /* else the version */
	if (nr == SYS_seccomp)
		return a[0] == 1 && a[1] & 8; /* a filter with a listener */
	return 1;
}

/* A process that is about to end is given the time that valgrind takes for it: who is killed tells nothing. */
static void await_end(const unsigned long a[6])
{
	struct pollfd p = { .fd = (int)a[0], .events = POLLIN };

	if (a[1] == SIGKILL)
		(void)poll(&p, 1, END_MS);
}

static long make(long nr, const unsigned long a[6])
{
	const unsigned long words[6] = { THROUGH, (unsigned long)nr, (unsigned long)a };
	long r;
	int copy;

	for (unsigned i = 0; i < sizeof(unknown) / sizeof(*unknown); i++) {
		if (unknown[i].nr != nr)
			continue;
		if (nr == SYS_pidfd_send_signal)
			await_end(a);
		r = direct(SYS_prctl, words);
		if (r < 0 || !unknown[i].gives_fd || !is_fd(nr, a))
			return r;
		copy = fcntl((int)r, F_DUPFD_CLOEXEC, 0);
		if (copy < 0)
			return r;
		close((int)r);
		return copy;
	}
	return direct(nr, a);
}

long syscall(long nr, ...)
{
	unsigned long a[6];
	va_list ap;

	va_start(ap, nr);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(ap, unsigned long);
	va_end(ap);
	return make(nr, a);
}

#define MAKE(nr, ...) make(nr, (const unsigned long[6]){ __VA_ARGS__ })
#define WORD(x) (unsigned long)(x)

int fsopen(const char *type, unsigned flags)
{
	return (int)MAKE(SYS_fsopen, WORD(type), flags);
}

int fsconfig(int fd, unsigned cmd, const char *key, const void *value, int aux)
{
	return (int)MAKE(SYS_fsconfig, WORD(fd), cmd, WORD(key), WORD(value), WORD(aux));
}

int fsmount(int fd, unsigned flags, unsigned attributes)
{
	return (int)MAKE(SYS_fsmount, WORD(fd), flags, attributes);
}

int open_tree(int dirfd, const char *path, unsigned flags)
{
	return (int)MAKE(SYS_open_tree, WORD(dirfd), WORD(path), flags);
}

int move_mount(int from, const char *from_path, int to, const char *to_path, unsigned flags)
{
	return (int)MAKE(SYS_move_mount, WORD(from), WORD(from_path), WORD(to), WORD(to_path), flags);
}

int mount_setattr(int dirfd, const char *path, unsigned flags, void *attributes, size_t size)
{
	return (int)MAKE(SYS_mount_setattr, WORD(dirfd), WORD(path), flags, WORD(attributes), size);
}

int sethostname(const char *name, size_t len)
{
	return (int)MAKE(SYS_sethostname, WORD(name), len);
}

int setdomainname(const char *name, size_t len)
{
	return (int)MAKE(SYS_setdomainname, WORD(name), len);
}

/* Known to valgrind, which keeps some descriptors for itself behind the limit, and refuses another hard limit than it began with. That is
 * the last thing that a payload's child does. */
static int limit_files(const void *limit)
{
	int r = (int)direct(SYS_prlimit64, (const unsigned long[6]){ 0, RLIMIT_NOFILE, WORD(limit) });

	return r < 0 && errno == EPERM ? (int)MAKE(SYS_prlimit64, 0, RLIMIT_NOFILE, WORD(limit)) : r;
}

int setrlimit(__rlimit_resource_t resource, const struct rlimit *limit)
{
	if (resource == RLIMIT_NOFILE)
		return limit_files(limit);
	return (int)direct(SYS_prlimit64, (const unsigned long[6]){ 0, WORD(resource), WORD(limit) });
}

int setrlimit64(__rlimit_resource_t resource, const struct rlimit64 *limit)
{
	return setrlimit(resource, (const struct rlimit *)limit);
}
