/*
 * The listener: refused calls are told and answered with the table's errno, quiet ones are not told, execve is told and
 * goes on, a nested listener is refused, signals do not restart a call that waits; and the words of a denial.
 */
#include <sys/time.h>

#include "seccomp_child.h"
#include "seccomp_reference.h"
#include "tap.h"

static const struct seccomp_options notify = { .notify = true };

static int call_errno(long ret)
{
	return ret < 0 ? errno : 0;
}

/* ---- told and answered ---------------------------------------------------------------------------------- */

enum { SEEN_MAX = 32 };

struct seen {
	size_t count;
	struct seccomp_event events[SEEN_MAX];
	int listener;
	bool valid, stale;
	pid_t pid; /* killed past SEEN_MAX */
};

static void see(void *arg, const struct seccomp_event *e)
{
	struct seen *s = arg;

	if (s->count < SEEN_MAX)
		s->events[s->count] = *e;
	s->count++;
	s->valid = seccomp_still_valid(s->listener, e->id);
	s->stale = seccomp_still_valid(s->listener, e->id + 12345);
}

static int call_refused(void *arg)
{
	int *errnums = arg;

	errnums[0] = call_errno(syscall(SYS_mount, 11, 22, 33, 44, 55));
	errnums[1] = call_errno(syscall(SYS_socket, AF_PACKET, SOCK_RAW, 0));
	errnums[2] = call_errno(syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0));
	errnums[3] = call_errno(syscall(SYS_keyctl, 0, 0, 0));
	/* quiet */
	errnums[4] = call_errno(syscall(SYS_clone3, 0, 0));
	errnums[5] = call_errno(syscall(SYS_io_uring_setup, 1, 0));
	errnums[6] = call_errno(syscall(SYS_openat2, 0, 0, 0, 0));
	errnums[7] = call_errno(syscall(1000));
	return 0;
}

static void test_refused(void)
{
	static const int want[8] = { EPERM, EAFNOSUPPORT, EPERM, EPERM, ENOSYS, ENOSYS, ENOSYS, ENOSYS };
	static const long told[] = { SYS_mount, SYS_socket, SYS_clone, SYS_keyctl };
	int *errnums = child_shared(sizeof(want));
	struct child c = child_start(&notify, call_refused, errnums);
	struct seen s = { .listener = c.listener };
	int status = child_serve(&c, see, &s);

	ok(status == 0, "the child ends by itself");
	for (size_t i = 0; i < ARRAY_LEN(want); i++)
		is_num(errnums[i], want[i], "call %zu is answered with its errno", i);
	is_num(s.count, ARRAY_LEN(told), "what is refused is told, what is quiet is not");
	for (size_t i = 0; i < ARRAY_LEN(told) && i < s.count; i++)
		ok(s.events[i].nr == told[i] && s.events[i].pid == c.pid, "event %zu names the call and the process",
		   i);
	ok(s.events[0].args[0] == 11 && s.events[0].args[4] == 55, "and its arguments");
	ok(s.valid && !s.stale, "a pending event is valid, another is not");
	munmap(errnums, sizeof(want));
}

static void test_gone(void)
{
	struct seccomp_event e;
	struct child c = child_start(&notify, call_refused, child_shared(64));

	ok(seccomp_receive(c.listener, &e) == 0 && e.nr == SYS_mount, "a call is received");
	kill(c.pid, SIGKILL);
	waitpid(c.pid, NULL, 0);
	is_num(-seccomp_refuse(c.listener, e.id, EPERM), ENOENT, "its caller is killed: the answer finds nobody");
	ok(!seccomp_still_valid(c.listener, e.id), "and the event is not valid any more");
	close(c.listener);
}

/* A keeper that dies leaves no hole: what it would have refused fails, and nobody else can become the listener. */
static int call_orphaned(void *arg)
{
	int *errnums = arg;
	static struct sock_filter allow = { BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW };
	struct sock_fprog prog = { .len = 1, .filter = &allow };

	while (!__atomic_load_n(&errnums[3], __ATOMIC_ACQUIRE))
		usleep(100);
	errnums[0] = call_errno(syscall(SYS_mount, 0, 0, 0, 0, 0));
	errnums[1] = call_errno(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &prog));
	errnums[2] = call_errno(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &prog));
	return 0;
}

static void test_orphaned(void)
{
	int *errnums = child_shared(64);
	struct child c = child_start(&notify, call_orphaned, errnums);

	fd_close(&c.listener);
	__atomic_store_n(&errnums[3], 1, __ATOMIC_RELEASE);
	is_num(child_serve(&c, NULL, NULL), 0, "the listener is closed: the child goes on");
	is_num(errnums[0], ENOSYS, "what was to be told fails");
	is_num(errnums[1], ENOSYS, "nobody can become the new listener");
	is_num(errnums[2], 0, "a filter of its own is fine");
	munmap(errnums, 64);
}

static int call_nested(void *arg)
{
	static struct sock_filter allow = { BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW };
	struct sock_fprog prog = { .len = 1, .filter = &allow };
	long fd;

	(void)arg;
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	fd = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &prog);
	return call_errno(fd);
}

static void test_nested(void)
{
	struct seccomp_options quiet = { 0 };

	is_num(WEXITSTATUS(child_run(NULL, call_nested, NULL)), 0,
	       "control: a listener of one's own, without the filter");
	is_num(WEXITSTATUS(child_run(&quiet, call_nested, NULL)), EBUSY, "with it, it is refused");
	is_num(WEXITSTATUS(child_run(&notify, call_nested, NULL)), EBUSY, "and with a listener as well");
}

/* ---- done by the listener ------------------------------------------------------------------------------- */

static int call_modes(void *arg)
{
	int *errnums = arg;

	for (int i = 0; i < 3; i++)
		errnums[i] = call_errno(syscall(SYS_fchmod, -1, 0600));
	return 0;
}

static void do_it(void *arg, const struct seccomp_event *e)
{
	static const int answers[] = { 0, EACCES, 0 };
	const struct seen *s = arg;

	seccomp_answer(s->listener, e->id, s->count < ARRAY_LEN(answers) ? answers[s->count] : EIO);
	see(arg, e);
}

static void test_done_for(void)
{
	struct seccomp_options on_host = { .notify = true, .on_host = true };
	int *errnums = child_shared(64);
	struct child c = child_start(&on_host, call_modes, errnums);
	struct seen s = { .listener = c.listener };

	is_num(child_serve(&c, do_it, &s), 0, "calls that the listener does");
	is_num(errnums[0], 0, "succeed if it says so");
	is_num(errnums[1], EACCES, "and fail with the errno that it says");
	is_num(errnums[2], 0, "each for itself");
	is_num(child_run(NULL, call_modes, errnums), 0, "without a filter");
	is_num(errnums[0], EBADF, "control: the kernel answers");
	munmap(errnums, 64);
}

static void test_mediated(void)
{
	static const struct {
		int nr;
		struct seccomp_options o;
		bool mediated;
	} cases[] = {
		{ SYS_fchmod, { .on_host = true }, true },
		{ SYS_fchmod, { .on_host = true, .strict = true }, true },
		{ SYS_utimensat, { .on_host = true }, true },
		{ SYS_fchmod, { 0 }, false },
		{ SYS_fchown, { .on_host = true }, false },
		{ SYS_mount, { .on_host = true }, false },
#ifdef SYS_utimes
		{ SYS_utimes, { .on_host = true }, true },
		{ SYS_utimes, { .on_host = true, .strict = true }, false }, /* not in the strict set */
#endif
	};
	unsigned wrong = 0;

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct seccomp_reason r;

		seccomp_explain(cases[i].nr, &cases[i].o, &r);
		wrong += r.mediated != cases[i].mediated;
	}
	is_num(wrong, 0, "only modes and times, on the host's own files, are left to the listener");
}

/* ---- execve and signals --------------------------------------------------------------------------------- */

static int call_exec(void *path)
{
	execl(path, path, (char *)NULL);
	return errno;
}

static void test_exec(void)
{
	struct seccomp_options lock = { .exec_lock = true, .notify = true };
	struct child c = child_start(&lock, call_exec, (void *)(uintptr_t) "/bin/true");
	struct seen s = { .listener = c.listener };

	is_num(child_serve(&c, see, &s), 0, "an execve goes on to run its program");
	ok(s.count == 1 && s.events[0].nr == SYS_execve, "and is told");
	c = child_start(&notify, call_exec, (void *)(uintptr_t) "/bin/true");
	s = (struct seen){ .listener = c.listener };
	ok(child_serve(&c, see, &s) == 0 && s.count == 0, "without an exec lock it is not");
}

static void on_alarm(int sig)
{
	(void)sig;
}

static int call_interrupted(void *arg)
{
	struct itimerval often = { .it_interval = { .tv_usec = 500 }, .it_value = { .tv_usec = 500 } };
	struct sigaction act = { .sa_handler = on_alarm, .sa_flags = SA_RESTART };

	(void)arg;
	sigaction(SIGALRM, &act, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
	return call_errno(syscall(SYS_mount, 0, 0, 0, 0, 0));
}

static void answer_late(void *arg, const struct seccomp_event *e)
{
	const struct seen *s = arg;

	see(arg, e);
	usleep(50000);
	if (s->count > SEEN_MAX)
		kill(s->pid, SIGKILL);
}

static void test_signals(void)
{
	struct child c = child_start(&notify, call_interrupted, NULL);
	struct seen s = { .listener = c.listener, .pid = c.pid };
	int status = child_serve(&c, answer_late, &s);

	ok(WIFEXITED(status) && WEXITSTATUS(status) == EPERM, "a call is answered in a storm of signals");
	/* A signal may still come before the event has been received; from then on none does any harm. */
	ok(s.count >= 1 && s.count < SEEN_MAX, "without being restarted all the time (told %zu times)", s.count);
}

/* ---- words ---------------------------------------------------------------------------------------------- */

static void test_words(void)
{
	unsigned bad = 0;

	for (unsigned v = 0; v < SECCOMP_VARIANTS; v++) {
		struct seccomp_options o = { .strict = v & SECCOMP_STRICT,
					     .no_sockets = v & SECCOMP_NO_SOCKETS,
					     .exec_lock = v & SECCOMP_EXEC_LOCK,
					     .notify = v & SECCOMP_NOTIFY,
					     .on_host = v & SECCOMP_ON_HOST };

		for (int nr = -1; nr < REFERENCE_NUMBERS; nr++) {
			struct seccomp_reason r;

			seccomp_explain(nr, &o, &r);
			bad += !r.name || !*r.name || !r.why || !*r.why || !r.rule || !*r.rule || !r.allow || !*r.allow;
		}
	}
	ok(bad == 0, "every number has words under all options");
	bad = 0;
	for (size_t i = 0; i < ARRAY_LEN(reference_rows); i++) {
		const struct seccomp_row *row = &reference_rows[i];

		bad += (row->normal != ACT_ALLOW || row->strict != ACT_ALLOW) && (!*row->why || row->errnum <= 0);
	}
	ok(bad == 0, "every row that may be refused says why, and has an errno");
}

static void test_reasons(void)
{
	static const struct {
		int nr;
		struct seccomp_options o;
		const char *rule, *allow;
	} cases[] = {
		{ SYS_mount, { 0 }, "seccomp: default", "nothing: no policy allows it" },
		{ SYS_mount, { .strict = true }, "seccomp: strict", "nothing: no policy allows it" },
		{ SYS_clone, { 0 }, "seccomp: default", "nothing: no policy allows it with these arguments" },
		{ SYS_epoll_ctl, { .strict = true }, "seccomp: strict", "process.syscalls: default" },
		{ SYS_socket, { .strict = true }, "seccomp: strict", "process.syscalls: default" },
		{ SYS_socket,
		  { .no_sockets = true },
		  "seccomp: the host's network and IPC are shared",
		  "level: container" },
		{ SYS_socket,
		  { .no_sockets = true, .strict = true },
		  "seccomp: the host's network and IPC are shared",
		  "level: container with process.syscalls: default" },
		{ SYS_truncate, { .no_sockets = true }, "seccomp: the host's files are shared", "level: container" },
		{ SYS_bind,
		  { .no_sockets = true },
		  "seccomp: the host's network and IPC are shared",
		  "level: container" },
		{ SYS_sched_setaffinity,
		  { 0 },
		  "seccomp: default",
		  "nothing: no policy allows it with these arguments" },
		{ SYS_sched_setaffinity,
		  { .on_host = true },
		  "seccomp: the host's files and processes are shared",
		  "level: container" },
		{ SYS_memfd_create, { .exec_lock = true }, "process.commands", "a policy without process.commands" },
		{ SYS_mprotect,
		  { .exec_lock = true, .strict = true },
		  "process.commands",
		  "a policy without process.commands" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct seccomp_reason r;

		seccomp_explain(cases[i].nr, &cases[i].o, &r);
		is_str(r.rule, cases[i].rule, "%s: which rule", r.name);
		is_str(r.allow, cases[i].allow, "%s: what would allow it", r.name);
	}
}

int main(void)
{
	test_refused();
	test_gone();
	test_orphaned();
	test_nested();
	test_done_for();
	test_mediated();
	test_exec();
	test_signals();
	test_words();
	test_reasons();
	return done_testing();
}
