/*
 * The set that the kernel really allows equals the declared one. A second filter, the witness, lies under the one that
 * is tested and sends every call that carries a mark in its sixth argument to a listener, which answers an errno of its
 * own. Of two filters the stricter answer counts: a call that ours refuses comes back with our errno, one that it
 * allows with the witness's. So every number can be tried without doing anything, through the kernel's compiled filter
 * and its cache.
 */
#include "seccomp_child.h"
#include "seccomp_reference.h"
#include "tap.h"

enum { MARK = 0x5eed, WITNESSED = 4001, NOT_TRIED_MAX = 2 };

#if defined(__x86_64__)
#define NATIVE AUDIT_ARCH_X86_64
#else
#define NATIVE AUDIT_ARCH_AARCH64
#endif

struct findings {
	unsigned tried, allowed, wrong;
	int first_nr, got, want;
	uint64_t args[6];
};

struct trial {
	unsigned variant;
	bool bare; /* the witness alone: the positive control */
	int sock;
	struct findings *findings;
};

static int install_witness(void)
{
	static const struct sock_filter code[] = {
		{ BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(struct seccomp_data, args[5]) },
		{ BPF_JMP | BPF_JEQ | BPF_K, 0, 1, MARK },
		{ BPF_RET | BPF_K, 0, 0, SECCOMP_RET_USER_NOTIF },
		{ BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW },
	};
	const struct seccomp_filter f = { code, ARRAY_LEN(code) };

	return seccomp_install(&f, true);
}

/* Linux 6.14 lets these two pass every filter: the kernel itself puts them into a traced program. */
static bool passes_all_filters(int nr)
{
	const struct seccomp_row *row = reference_row(nr, NATIVE);

	return row && (strcmp(row->name, "uretprobe") == 0 || strcmp(row->name, "uprobe") == 0);
}

static void try_call(const struct trial *t, int nr, const uint64_t a[6])
{
	struct seccomp_data data = { .nr = nr, .arch = NATIVE };
	struct findings *f = t->findings;
	uint32_t answer;
	int want, got;

	memcpy(data.args, a, sizeof(data.args));
	data.args[5] = MARK;
	answer = t->bare ? SECCOMP_RET_ALLOW : reference_answer(t->variant, NATIVE, &data);
	want = answer == SECCOMP_RET_ALLOW ? WITNESSED : (int)(answer & SECCOMP_RET_DATA);
	got = syscall(nr, a[0], a[1], a[2], a[3], a[4], (uint64_t)MARK) < 0 ? errno : 0;
	f->tried++;
	f->allowed += got == WITNESSED;
	if (got != want && !f->wrong++) {
		f->first_nr = nr;
		f->got = got;
		f->want = want;
		memcpy(f->args, a, sizeof(f->args));
	}
}

static void try_arguments(const struct trial *t, int nr)
{
	for (size_t arg = 0; arg < 4; arg++) {
		for (size_t i = 0; i < ARRAY_LEN(reference_values); i++) {
			uint64_t a[6] = { 0 };

			a[arg] = reference_values[i];
			try_call(t, nr, a);
			a[arg] |= 0xffffffff00000000u;
			try_call(t, nr, a);
		}
	}
}

static int try_all(void *arg)
{
	static const uint64_t zero[6];
	const struct trial *t = arg;
	struct seccomp_filter f = seccomp_filters[t->variant];
	int witness;

	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	witness = install_witness();
	if (witness < 0 || fd_send(t->sock, "", 1, &witness, 1) < 0)
		return 99;
	close(witness);
	if (!t->bare && seccomp_install(&f, false) < 0)
		return 99;
	for (int nr = 0; nr < REFERENCE_NUMBERS; nr++) {
		const struct seccomp_row *row = reference_row(nr, NATIVE);

		if (passes_all_filters(nr))
			continue;
		try_call(t, nr, zero);
		if (row && row->normal > ACT_QUIET && !t->bare)
			try_arguments(t, nr);
	}
#if defined(__x86_64__)
	for (int nr = 0; nr < REFERENCE_NUMBERS; nr++)
		try_call(t, 0x40000000 | nr, zero); /* x32 */
#endif
	/* The register of the sixth argument keeps the mark until someone else writes to it. */
	return (int)syscall(SYS_exit_group, 0, 0, 0, 0, 0, 0);
}

static void serve_witness(int listener)
{
	struct seccomp_event e;

	for (;;) {
		struct pollfd p = { .fd = listener, .events = POLLIN };

		if (poll(&p, 1, -1) < 1 || !(p.revents & POLLIN))
			return; /* hung up: the child has ended */
		if (seccomp_receive(listener, &e) == 0)
			seccomp_refuse(listener, e.id, WITNESSED);
	}
}

static void test_variant(unsigned variant, bool bare, const char *what)
{
	struct trial t = { .variant = variant, .bare = bare, .findings = child_shared(sizeof(*t.findings)) };
	int sock[2], listener = -1, status;
	struct findings *f = t.findings;
	struct child c;
	size_t n = 0;
	char byte;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sock) < 0)
		abort();
	t.sock = sock[1];
	c = child_start(NULL, try_all, &t);
	close(sock[1]);
	fd_recv(sock[0], &byte, 1, &listener, 1, &n);
	if (listener >= 0)
		serve_witness(listener);
	status = child_serve(&c, NULL, NULL);
	if (!ok(status == 0 && f->tried >= REFERENCE_NUMBERS - NOT_TRIED_MAX && f->wrong == 0 && f->allowed > 0, "%s",
		what))
		note("status %#x, tried %u, allowed %u, wrong %u, first: %d (%#jx %#jx %#jx) gives %d, not %d", status,
		     f->tried, f->allowed, f->wrong, f->first_nr, (uintmax_t)f->args[0], (uintmax_t)f->args[1],
		     (uintmax_t)f->args[2], f->got, f->want);
	else
		note("%u calls tried, %u allowed", f->tried, f->allowed);
	munmap(f, sizeof(*f));
	fd_close(&listener);
	close(sock[0]);
}

#if defined(__x86_64__)
/* getpid through the 32-bit gate. */
static int call_int80(void *arg)
{
	long ret = 20;

	__asm__ volatile("int $0x80" : "+a"(ret) : : "memory", "cc");
	*(long *)arg = ret;
	return 0;
}

static void test_int80(void)
{
	struct seccomp_options o = { 0 };
	long *ret = child_shared(sizeof(*ret));

	child_run(NULL, call_int80, ret);
	if (*ret <= 0)
		skip("this kernel answers int 0x80 with nothing, so that there is nothing to refuse");
	else
		ok(child_run(&o, call_int80, ret) == 0 && *ret == -ENOSYS,
		   "int 0x80 works without a filter and is ENOSYS with it");
	munmap(ret, sizeof(*ret));
}
#endif

int main(void)
{
	test_variant(0, true, "control: without the filter the witness sees every call");
	test_variant(0, false, "default: the kernel allows what the table says, and nothing else");
	test_variant(SECCOMP_STRICT, false, "strict: the same");
	test_variant(SECCOMP_NO_SOCKETS, false, "no_sockets: the same");
	test_variant(SECCOMP_NO_SOCKETS | SECCOMP_ON_HOST, false, "no_sockets on_host: the same");
	test_variant(SECCOMP_STRICT | SECCOMP_NO_SOCKETS | SECCOMP_ON_HOST, false,
		     "strict no_sockets on_host: the same");
	test_variant(SECCOMP_EXEC_LOCK, false, "exec_lock: the same");
	test_variant(SECCOMP_STRICT | SECCOMP_EXEC_LOCK, false, "strict exec_lock: the same");
	test_variant(SECCOMP_NO_SOCKETS | SECCOMP_EXEC_LOCK, false, "no_sockets exec_lock: the same");
#if defined(__x86_64__)
	test_int80();
#endif
	return done_testing();
}
