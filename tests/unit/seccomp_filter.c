/*
 * The generated filters, run by an interpreter of BPF: each must answer what the table says, for every number and for
 * arguments of interest; a changed instruction must be found out; libseccomp, given the same table, must agree.
 */
#include <linux/bpf_common.h>
#include <seccomp.h>
#include <unistd.h>

#include "seccomp_reference.h"
#include "tap.h"

#if defined(__x86_64__)
#define NATIVE AUDIT_ARCH_X86_64
#define SECCOMP_FOR_AARCH64
#define seccomp_filters aarch64_filters
#include "../../build/gen/seccomp_filters.c"
#undef seccomp_filters
#else
#define NATIVE AUDIT_ARCH_AARCH64
#endif

/* ---- the interpreter ----------------------------------------------------------------------------------- */

enum { BROKEN = 0xdead };

static bool jump_taken(uint16_t code, uint32_t a, uint32_t k)
{
	switch (BPF_OP(code)) {
	case BPF_JEQ:
		return a == k;
	case BPF_JGT:
		return a > k;
	case BPF_JGE:
		return a >= k;
	default:
		return a & k; /* BPF_JSET */
	}
}

/* The answer; BROKEN for a program that the kernel would not take. *ret_args: it looked beyond number and ABI. */
static uint32_t run(const struct sock_filter *code, size_t len, const struct seccomp_data *data, bool *ret_args)
{
	uint32_t a = 0;

	*ret_args = false;
	for (size_t pc = 0; pc < len; pc++) {
		const struct sock_filter *i = &code[pc];

		switch (i->code) {
		case BPF_LD | BPF_W | BPF_ABS:
			if (i->k % 4 || i->k + 4 > sizeof(*data))
				return BROKEN;
			memcpy(&a, (const char *)data + i->k, sizeof(a));
			*ret_args |= i->k >= offsetof(struct seccomp_data, instruction_pointer);
			break;
		case BPF_ALU | BPF_AND | BPF_K:
			a &= i->k;
			break;
		case BPF_JMP | BPF_JA:
			pc += i->k;
			break;
		case BPF_JMP | BPF_JEQ | BPF_K:
		case BPF_JMP | BPF_JGT | BPF_K:
		case BPF_JMP | BPF_JGE | BPF_K:
		case BPF_JMP | BPF_JSET | BPF_K:
			pc += jump_taken(i->code, a, i->k) ? i->jt : i->jf;
			break;
		case BPF_RET | BPF_K:
			return i->k;
		default:
			return BROKEN;
		}
	}
	return BROKEN;
}

/* ---- what to try --------------------------------------------------------------------------------------- */

static uint64_t seed = 88172645463325252u;

static uint64_t next_random(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed;
}

/* Half of them with something in the high half, which the kernel does not look at where the type is int. */
static uint64_t any_value(void)
{
	uint64_t v = reference_values[next_random() % ARRAY_LEN(reference_values)];

	return next_random() % 2 ? v : v | (next_random() << 32);
}

struct mismatch {
	unsigned long count;
	struct seccomp_data first;
	uint32_t got, want;
};

static void compare(const struct seccomp_filter *f, unsigned variant, uint32_t native, const struct seccomp_data *data,
		    struct mismatch *m)
{
	bool args;
	uint32_t got = run(f->code, f->len, data, &args), want = reference_answer(variant, native, data);
	const struct seccomp_row *row = data->arch == native ? reference_row(data->nr, native) : NULL;
	enum seccomp_action rule = !row ? ACT_QUIET : variant & SECCOMP_STRICT ? row->strict : row->normal;

	/* What is always allowed must not look at arguments, or the kernel cannot skip the filter for it. */
	if (got == want && !(args && rule == ACT_ALLOW))
		return;
	if (!m->count++) {
		m->first = *data;
		m->got = got;
		m->want = want;
	}
}

static void compare_number(const struct seccomp_filter *f, unsigned variant, uint32_t native, int nr, int rounds,
			   struct mismatch *m)
{
	struct seccomp_data data = { .nr = nr, .arch = native, .instruction_pointer = next_random() };
	const struct seccomp_row *row = reference_row(nr, native);
	enum seccomp_action rule = !row ? ACT_QUIET : variant & SECCOMP_STRICT ? row->strict : row->normal;

	compare(f, variant, native, &data, m);
	if (rule == ACT_ALLOW || rule == ACT_REFUSE || rule == ACT_QUIET)
		rounds = 3;
	for (size_t arg = 0; arg < 4 && rounds > 3; arg++) {
		for (size_t i = 0; i < ARRAY_LEN(reference_values); i++) {
			data.args[arg] = reference_values[i];
			compare(f, variant, native, &data, m);
			data.args[arg] |= 0xffffffff00000000u;
			compare(f, variant, native, &data, m);
		}
		data.args[arg] = 0;
	}
	for (int i = 0; i < rounds; i++) {
		for (size_t arg = 0; arg < ARRAY_LEN(data.args); arg++)
			data.args[arg] = any_value();
		compare(f, variant, native, &data, m);
	}
}

static void compare_sockets(const struct seccomp_filter *f, unsigned variant, uint32_t native, const char *call,
			    struct mismatch *m)
{
	static const uint32_t flags[] = { 0, SOCK_CLOEXEC, SOCK_CLOEXEC | SOCK_NONBLOCK };
	static const uint64_t protocols[] = { 0, 1, 2, 6, 15, 17, 33, 58, 132, 136, 255, 256, 262 };
	struct seccomp_data data = { .arch = native };

	for (size_t i = 0; i < ARRAY_LEN(reference_rows); i++)
		if (strcmp(reference_rows[i].name, call) == 0)
			data.nr = row_number(&reference_rows[i], native);
	for (uint64_t family = 0; family < 48; family++) {
		for (uint64_t type = 0; type < 16 * ARRAY_LEN(flags); type++) {
			for (size_t p = 0; p < ARRAY_LEN(protocols); p++) {
				data.args[0] = family;
				data.args[1] = type % 16 | flags[type / 16];
				data.args[2] = protocols[p];
				compare(f, variant, native, &data, m);
			}
		}
	}
}

static void compare_priorities(const struct seccomp_filter *f, unsigned variant, uint32_t native, struct mismatch *m)
{
	for (size_t i = 0; i < ARRAY_LEN(reference_rows); i++) {
		const struct seccomp_row *row = &reference_rows[i];

		if (row->normal != ACT_PRIORITY && row->normal != ACT_IOPRIO)
			continue;
		for (uint64_t args = 0; args < 64; args++)
			compare(f, variant, native,
				&(struct seccomp_data){
					.nr = row_number(row, native), .arch = native, .args = { args % 8, args / 8 } },
				m);
	}
}

static struct mismatch compare_all(const struct seccomp_filter *f, unsigned variant, uint32_t native, int rounds)
{
	static const int odd[] = { -1, INT32_MIN, INT32_MAX, 0x40000000, 0x40000000 | 165, 0x40000000 | 520 };
	static const uint32_t archs[] = { AUDIT_ARCH_I386, AUDIT_ARCH_X86_64, AUDIT_ARCH_AARCH64, AUDIT_ARCH_ARM, 0 };
	struct mismatch m = { 0 };

	for (int nr = 0; nr < REFERENCE_NUMBERS; nr++)
		compare_number(f, variant, native, nr, rounds, &m);
	for (size_t i = 0; i < ARRAY_LEN(odd); i++)
		compare_number(f, variant, native, odd[i], rounds, &m);
	for (int nr = 0; nr < REFERENCE_NUMBERS; nr++)
		for (size_t i = 0; i < ARRAY_LEN(archs); i++)
			compare(f, variant, native, &(struct seccomp_data){ .nr = nr, .arch = archs[i] }, &m);
	compare_sockets(f, variant, native, "socket", &m);
	compare_sockets(f, variant, native, "socketpair", &m);
	compare_priorities(f, variant, native, &m);
	return m;
}

/* ---- the tests ----------------------------------------------------------------------------------------- */

static const char *variant_name(unsigned variant)
{
	static char buf[64];

	snprintf(buf, sizeof(buf), "%s%s%s%s%s", variant & SECCOMP_STRICT ? "strict" : "default",
		 variant & SECCOMP_NO_SOCKETS ? " no_sockets" : "", variant & SECCOMP_EXEC_LOCK ? " exec_lock" : "",
		 variant & SECCOMP_NOTIFY ? " notify" : "", variant & SECCOMP_ON_HOST ? " on_host" : "");
	return buf;
}

static void test_filters(const struct seccomp_filter *filters, uint32_t native, const char *arch)
{
	for (unsigned v = 0; v < SECCOMP_VARIANTS; v++) {
		struct mismatch m = compare_all(&filters[v], v, native, 2000);
		const struct seccomp_row *row = reference_row(m.first.nr, native);

		if (!ok(m.count == 0, "%s %s: answers what the table says", arch, variant_name(v)))
			note("%lu differ, first %s (%d) on %#x with %#llx %#llx %#llx %#llx: %#x, not %#x", m.count,
			     row ? row->name : "unknown", m.first.nr, m.first.arch, m.first.args[0], m.first.args[1],
			     m.first.args[2], m.first.args[3], m.got, m.want);
	}
}

/* The comparison itself must be able to fail: turn every jump of the filter around, one at a time. */
static void test_mutants(unsigned variant)
{
	struct seccomp_filter f = seccomp_filters[variant];
	struct sock_filter *code = calloc(f.len, sizeof(*code));
	unsigned jumps = 0, found = 0;

	if (!code)
		abort();
	for (unsigned i = 0; i < f.len; i++) {
		memcpy(code, f.code, f.len * sizeof(*code));
		if (BPF_CLASS(code[i].code) != BPF_JMP || BPF_OP(code[i].code) == BPF_JA)
			continue;
		code[i].jt = f.code[i].jf;
		code[i].jf = f.code[i].jt;
		jumps++;
		found += compare_all(&(struct seccomp_filter){ code, f.len }, variant, NATIVE, 10).count > 0;
	}
	ok(jumps > 50 && found == jumps, "%s: %u of %u turned jumps are found out", variant_name(variant), found,
	   jumps);
	free(code);
}

/* Numbers and names against libseccomp's own tables, both ways. */
static void test_names(uint32_t native, uint32_t arch, const char *arch_name)
{
	unsigned known = 0, wrong = 0;

	for (int nr = 0; nr < REFERENCE_NUMBERS; nr++) {
		char *name = seccomp_syscall_resolve_num_arch(arch, nr);
		const struct seccomp_row *row = reference_row(nr, native);

		if (name && !(row && strcmp(row->name, name) == 0)) {
			note("%s %d is %s, the table says %s", arch_name, nr, name, row ? row->name : "nothing");
			wrong++;
		}
		known += name != NULL;
		free(name);
	}
	for (size_t i = 0; i < ARRAY_LEN(reference_rows); i++) {
		int nr = row_number(&reference_rows[i], native);

		for (size_t k = 0; k < i && nr >= 0; k++)
			wrong += row_number(&reference_rows[k], native) == nr;
	}
	ok(known > 300 && wrong == 0, "%s: %u numbers and names are libseccomp's, none twice", arch_name, known);
}

/* The same table through libseccomp: rows whose verdict needs no argument. */
static void test_libseccomp(unsigned variant)
{
	scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_ERRNO(ENOSYS));
	FILE *file = tmpfile();
	struct sock_filter code[4096];
	unsigned compared = 0, wrong = 0;
	size_t len = 0;
	bool args;

	for (size_t i = 0; i < ARRAY_LEN(reference_rows); i++) {
		const struct seccomp_row *row = &reference_rows[i];
		enum seccomp_action rule = variant & SECCOMP_STRICT ? row->strict : row->normal;

		if (row_number(row, NATIVE) >= 0 && rule <= ACT_QUIET)
			seccomp_rule_add(ctx,
					 rule == ACT_ALLOW ? SCMP_ACT_ALLOW : SCMP_ACT_ERRNO((uint32_t)row->errnum),
					 row_number(row, NATIVE), 0);
	}
	if (file && seccomp_export_bpf(ctx, fileno(file)) == 0) {
		ssize_t n = pread(fileno(file), code, sizeof(code), 0);

		len = n > 0 ? (size_t)n / sizeof(*code) : 0;
	}
	for (int nr = 0; nr < REFERENCE_NUMBERS && len; nr++) {
		struct seccomp_data data = { .nr = nr, .arch = NATIVE };
		const struct seccomp_row *row = reference_row(nr, NATIVE);
		enum seccomp_action rule = !row ? ACT_QUIET : variant & SECCOMP_STRICT ? row->strict : row->normal;

		if (rule > ACT_QUIET)
			continue;
		compared++;
		wrong += run(code, len, &data, &args) !=
			 run(seccomp_filters[variant].code, seccomp_filters[variant].len, &data, &args);
	}
	ok(compared > 900 && wrong == 0, "%s: libseccomp agrees on %u numbers (%zu instructions, here %u)",
	   variant_name(variant), compared, len, seccomp_filters[variant].len);
	seccomp_release(ctx);
	if (file)
		fclose(file);
}

static void test_choose(void)
{
	for (unsigned v = 0; v < SECCOMP_VARIANTS; v++) {
		struct seccomp_options o = { .strict = v & SECCOMP_STRICT,
					     .no_sockets = v & SECCOMP_NO_SOCKETS,
					     .exec_lock = v & SECCOMP_EXEC_LOCK,
					     .notify = v & SECCOMP_NOTIFY,
					     .on_host = v & SECCOMP_ON_HOST };
		struct seccomp_filter f = seccomp_choose(&o);

		ok(f.code == seccomp_filters[v].code && f.len < 256, "%s is chosen, %u instructions", variant_name(v),
		   f.len);
	}
}

int main(void)
{
	test_choose();
	test_filters(seccomp_filters, NATIVE, "native");
#if defined(__x86_64__)
	test_filters(aarch64_filters, AUDIT_ARCH_AARCH64, "aarch64");
#endif
	test_mutants(0);
	test_mutants(SECCOMP_STRICT | SECCOMP_NOTIFY);
	test_mutants(SECCOMP_EXEC_LOCK | SECCOMP_NOTIFY | SECCOMP_NO_SOCKETS);
	test_mutants(SECCOMP_NOTIFY | SECCOMP_NO_SOCKETS | SECCOMP_ON_HOST);
	test_names(AUDIT_ARCH_X86_64, SCMP_ARCH_X86_64, "x86_64");
	test_names(AUDIT_ARCH_AARCH64, SCMP_ARCH_AARCH64, "aarch64");
	test_libseccomp(0);
	test_libseccomp(SECCOMP_STRICT);
	return done_testing();
}
