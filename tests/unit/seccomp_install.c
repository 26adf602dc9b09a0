/*
 * Installing a filter is part of every start. The generated one against what libseccomp makes of the same table, in
 * interleaved rounds: the medians' proportion holds on a noisy machine, where times do not.
 */
#include <fcntl.h>
#include <seccomp.h>
#include <time.h>

#include "seccomp_child.h"
#include "seccomp_reference.h"
#include "tap.h"

enum { ROUNDS = 151, CODE_MAX = 4096 };

struct timing {
	struct seccomp_filter filter;
	double *shared; /* where the child leaves its time */
	double us[ROUNDS];
};

static double now_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec * 1e6 + (double)ts.tv_nsec / 1e3;
}

static int install_once(void *arg)
{
	const struct timing *t = arg;
	double start;

	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	start = now_us();
	if (seccomp_install(&t->filter, false) < 0)
		return 1;
	*t->shared = now_us() - start;
	return 0;
}

static int compare_double(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Rules on arguments count as allowed: it makes libseccomp's programs shorter. */
static unsigned short from_libseccomp(struct sock_filter *code, uint32_t optimize)
{
	scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_ERRNO(ENOSYS));
	FILE *file = tmpfile();
	ssize_t n = 0;

	seccomp_attr_set(ctx, SCMP_FLTATR_CTL_OPTIMIZE, optimize);
	for (size_t i = 0; i < ARRAY_LEN(reference_rows); i++) {
		const struct seccomp_row *row = &reference_rows[i];
		int nr = seccomp_syscall_resolve_name(row->name);
		bool refused = row->normal == ACT_REFUSE || row->normal == ACT_QUIET;

		if (nr >= 0)
			seccomp_rule_add(ctx, refused ? SCMP_ACT_ERRNO((uint32_t)row->errnum) : SCMP_ACT_ALLOW, nr, 0);
	}
	if (file && seccomp_export_bpf(ctx, fileno(file)) == 0)
		n = pread(fileno(file), code, CODE_MAX * sizeof(*code), 0);
	seccomp_release(ctx);
	if (file)
		fclose(file);
	return (unsigned short)(n > 0 ? (size_t)n / sizeof(*code) : 0);
}

int main(void)
{
	static struct sock_filter plain[CODE_MAX], optimized[CODE_MAX];
	static struct timing timings[3];
	double *shared = child_shared(sizeof(*shared));
	unsigned failed = 0;
	static const char *const names[] = { "cordon", "libseccomp, optimised", "libseccomp" };

	timings[0].filter = seccomp_filters[0];
	timings[1].filter = (struct seccomp_filter){ optimized, from_libseccomp(optimized, 2) };
	timings[2].filter = (struct seccomp_filter){ plain, from_libseccomp(plain, 1) };
	for (int round = 0; round < ROUNDS; round++) {
		for (size_t i = 0; i < ARRAY_LEN(timings); i++) {
			timings[i].shared = shared;
			failed += child_run(NULL, install_once, &timings[i]) != 0;
			timings[i].us[round] = *shared;
		}
	}
	ok(failed == 0, "all of them can be installed");
	for (size_t i = 0; i < ARRAY_LEN(timings); i++) {
		qsort(timings[i].us, ROUNDS, sizeof(double), compare_double);
		note("%s: %u instructions, %.0f us", names[i], timings[i].filter.len, timings[i].us[ROUNDS / 2]);
	}
	ok(timings[0].us[ROUNDS / 2] < 0.8 * timings[1].us[ROUNDS / 2], "faster than libseccomp's optimised filter");
	ok(timings[0].us[ROUNDS / 2] < 0.4 * timings[2].us[ROUNDS / 2], "much faster than libseccomp's default");
	return done_testing();
}
