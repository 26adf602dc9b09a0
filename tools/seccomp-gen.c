/*
 * Prints the seccomp filters as C (build/gen/seccomp_filters.c): one for each variant (strict, no_sockets, exec_lock,
 * notify, on_host) and architecture, from os/syscalls.def. Runs at build time, on the build machine; the numbers stand in the
 * table, so that it need not be of the architecture that is built for.
 *
 * A filter is a search tree over ranges of numbers with the same verdict, then a block for each rule on arguments.
 * What is always allowed is decided on architecture and number alone: the kernel finds that out at installation by
 * walking the program for every number, and later skips it for those. So two things cost at installation: the length
 * of that walk, summed over all numbers, and the length of the program, which is compiled. The tree is the best one for
 * both together, found by dynamic programming.
 *
 * Code is written from its end to its beginning, since BPF only jumps forward: a label is the distance from the end,
 * and every target is known when a jump is written.
 */
#include <errno.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "os/seccomp_table.h"

#define COUNT(a) (sizeof(a) / sizeof(*(a)))

/* ABI numbers, spelled out: the generator may run on another architecture than it writes for, with older headers. */
enum {
	IOCTL_TCGETS = 0x5401,
	IOCTL_TIOCGPGRP = 0x540f,
	IOCTL_TIOCSTI = 0x5412,
	IOCTL_TIOCGWINSZ = 0x5413,
	IOCTL_FIONREAD = 0x541b,
	IOCTL_TIOCLINUX = 0x541c,
	IOCTL_FIONBIO = 0x5421,
	IOCTL_TIOCSETD = 0x5423,
	IOCTL_FIONCLEX = 0x5450,
	IOCTL_FIOCLEX = 0x5451,
	IOCTL_SETFLAGS = 0x40086602,
	IOCTL_FSSETXATTR = 0x401c5820,
	OPEN_CREATES = 0100 | 020000000, /* O_CREAT, and the bit of O_TMPFILE that is its own */
	OPEN_TRUNCATES = 01000,
	OPEN_ACCESS = 3,
	MODE_SETID = 06000,
	MODE_DEVICE = 020000, /* in S_IFCHR and S_IFBLK; not in regular files, FIFOs and sockets */
	PROTECTION_WRITE = 2,
	PROTECTION_EXEC = 4,
	MAPPING_ANONYMOUS = 0x20,
	SHARED_EXEC = 0100000,
	CLONE_NAMESPACES = 0x7e020000,
	CLONE_A_THREAD = 0x10000,
	UNSHARE_HARMLESS = 0x200 | 0x400 | 0x40000, /* CLONE_FS, CLONE_FILES, CLONE_SYSVSEM */
	PRCTL_SET_NAME = 15,
	PRCTL_GET_NAME = 16,
	PRCTL_SCHED_CORE = 62,
	PERSONALITY_HARMLESS = 0x8 | 0x20000 | 0x40000, /* PER_LINUX32, UNAME26, ADDR_NO_RANDOMIZE */
	SECCOMP_LISTENER = 8,   /* SECCOMP_FILTER_FLAG_NEW_LISTENER; the other operations know no flags */
	SOCKET_TYPE_MASK = 0xf, /* above it are SOCK_CLOEXEC and SOCK_NONBLOCK */
	PID_INIT = 1,
	LIMIT_CORE = 4,
	FCNTL_SETLEASE = 1024,
	FCNTL_SETDELEG = 1040,
	OPTION_LEVEL = 1, /* SOL_SOCKET; the same numbers on both architectures */
	OPTION_FILTER = 26,
	OPTION_BPF = 50,
	OPTION_REUSEPORT_CBPF = 51,
	OPTION_REUSEPORT_EBPF = 52,
	PRIORITY_OF_PROCESS = 0,
	PRIORITY_OF_GROUP = 1,
	IOPRIO_OF_PROCESS = 1,
	IOPRIO_OF_GROUP = 2,
};
#define IOCTL_TCGETS2 0x802c542au

static const struct seccomp_row rows[] = {
#define SYSCALL SECCOMP_ROW
#include "os/syscalls.def"
#undef SYSCALL
};

/* ---- code, backwards ----------------------------------------------------------------------------------- */

enum { CODE_MAX = 4096, REACH = 250 }; /* a conditional jump reaches 255; one target may move while the other is set */

static struct sock_filter code[CODE_MAX];
static int code_len;

static int emit(unsigned op, int jump_true, int jump_false, uint32_t k)
{
	if (code_len == CODE_MAX) {
		fprintf(stderr, "seccomp-gen: program too long\n");
		exit(1);
	}
	code[code_len] = (struct sock_filter){ (uint16_t)op, (uint8_t)jump_true, (uint8_t)jump_false, k };
	return code_len++;
}

static int emit_return(uint32_t value)
{
	for (int i = code_len - 1; i >= 0 && i > code_len - REACH; i--)
		if (code[i].code == (BPF_RET | BPF_K) && code[i].k == value)
			return i;
	return emit(BPF_RET | BPF_K, 0, 0, value);
}

/* The label itself, or a stepping stone to it that the next instruction can reach. */
static int within_reach(int label)
{
	if (code_len - label - 1 <= REACH)
		return label;
	if (code[label].code == (BPF_RET | BPF_K))
		return emit_return(code[label].k);
	return emit(BPF_JMP | BPF_JA, 0, 0, (uint32_t)(code_len - label - 1));
}

static int emit_jump(unsigned op, uint32_t k, int yes, int no)
{
	yes = within_reach(yes);
	no = within_reach(no);
	return emit(BPF_JMP | op | BPF_K, code_len - yes - 1, code_len - no - 1, k);
}

/* Falls through to what was emitted last. */
static int emit_load(size_t offset)
{
	return emit(BPF_LD | BPF_W | BPF_ABS, 0, 0, (uint32_t)offset);
}

/* The low half of an argument, which is all that the kernel looks at where the type is int. */
static int emit_load_arg(unsigned arg)
{
	return emit_load(offsetof(struct seccomp_data, args) + arg * sizeof(uint64_t));
}

static int emit_and(uint32_t mask)
{
	return emit(BPF_ALU | BPF_AND | BPF_K, 0, 0, mask);
}

/* Is the accumulator one of these? */
static int emit_one_of(const uint32_t *values, size_t n, int yes, int no)
{
	int next = no;

	for (size_t i = n; i-- > 0;)
		next = emit_jump(BPF_JEQ, values[i], yes, next);
	return next;
}
#define ONE_OF(yes, no, ...) \
	emit_one_of((const uint32_t[]){ __VA_ARGS__ }, COUNT(((const uint32_t[]){ __VA_ARGS__ })), yes, no)

/* ---- rules on arguments -------------------------------------------------------------------------------- */

static int rule_open(unsigned flags_arg, int allow, int refuse)
{
	int mode;

	emit_jump(BPF_JSET, MODE_SETID, refuse, allow);
	mode = emit_load_arg(flags_arg + 1);
	emit_jump(BPF_JSET, OPEN_CREATES, mode, allow);
	return emit_load_arg(flags_arg);
}

/* As above, and O_TRUNC only with O_WRONLY (1) or O_RDWR (2): neither 0 nor 3 asks Landlock for the right to write. */
static int rule_open_host(unsigned flags_arg, int allow, int refuse)
{
	int other = rule_open(flags_arg, allow, refuse), access;

	ONE_OF(other, refuse, 1, 2);
	access = emit_and(OPEN_ACCESS);
	emit_jump(BPF_JSET, OPEN_TRUNCATES, access, other);
	return emit_load_arg(flags_arg);
}

static int rule_mmap(int allow, int refuse)
{
	int flags, writable;

	emit_jump(BPF_JSET, MAPPING_ANONYMOUS, refuse, allow);
	flags = emit_load_arg(3);
	writable = emit_jump(BPF_JSET, PROTECTION_WRITE, refuse, flags);
	emit_jump(BPF_JSET, PROTECTION_EXEC, writable, allow);
	return emit_load_arg(2);
}

static int rule_clone_thread(int allow, int refuse)
{
	int thread = emit_jump(BPF_JSET, CLONE_A_THREAD, allow, refuse);

	emit_jump(BPF_JSET, CLONE_NAMESPACES, refuse, thread);
	return emit_load_arg(0);
}

static int rule_personality(int allow, int refuse)
{
	int bits = emit_jump(BPF_JSET, ~(uint32_t)PERSONALITY_HARMLESS, refuse, allow);

	ONE_OF(allow, bits, 0xffffffff);
	return emit_load_arg(0);
}

/* `netlink_allow`: where one of NETLINK_ROUTE leads. */
static int rule_socket(int allow, int refuse, int netlink_allow)
{
	int protocol, inet, netlink, family;

	ONE_OF(allow, refuse, 0, 6, 17, 262); /* any, TCP, UDP, MPTCP */
	protocol = emit_load_arg(2);
	emit_jump(BPF_JGE, SOCK_RAW, refuse, protocol); /* above the streams and datagrams */
	emit_and(SOCKET_TYPE_MASK);
	inet = emit_load_arg(1);
	ONE_OF(netlink_allow, refuse,
	       0); /* NETLINK_ROUTE; netlink and unix sockets are datagrams whatever their type says */
	netlink = emit_load_arg(2);
	family = ONE_OF(netlink, refuse, AF_NETLINK);
	family = ONE_OF(inet, family, AF_INET, AF_INET6);
	ONE_OF(allow, family, AF_UNIX);
	return emit_load_arg(0);
}

/* nscd's socket is recognised by the exact type that libc uses. The errno is the same. */
static int rule_socket_none(int refuse)
{
	int quiet = emit_return(SECCOMP_RET_ERRNO | EAFNOSUPPORT);

	ONE_OF(quiet, refuse, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK);
	ONE_OF(emit_load_arg(1), refuse, AF_UNIX);
	return emit_load_arg(0);
}

static int rule_pair(int allow, int refuse)
{
	int type;

	ONE_OF(allow, refuse, SOCK_STREAM, SOCK_SEQPACKET);
	emit_and(SOCKET_TYPE_MASK);
	type = emit_load_arg(1);
	ONE_OF(type, refuse, AF_UNIX);
	return emit_load_arg(0);
}

static int rule_option(int allow, int refuse)
{
	int name;

	ONE_OF(refuse, allow, OPTION_FILTER, OPTION_BPF, OPTION_REUSEPORT_CBPF, OPTION_REUSEPORT_EBPF);
	name = emit_load_arg(2);
	ONE_OF(name, allow, OPTION_LEVEL);
	return emit_load_arg(1);
}

static int rule_limit(int allow)
{
	int done = emit_return(SECCOMP_RET_ERRNO);

	ONE_OF(done, allow, LIMIT_CORE);
	return emit_load_arg(0);
}

/* Without a new limit, which is a pointer with two halves, it only asks. */
static int rule_limit_self(int allow, int refuse)
{
	int done = emit_return(SECCOMP_RET_ERRNO), high, low, resource;

	ONE_OF(allow, done, 0);
	high = emit_load(offsetof(struct seccomp_data, args) + 2 * sizeof(uint64_t) + sizeof(uint32_t));
	ONE_OF(high, done, 0);
	low = emit_load_arg(2);
	ONE_OF(low, allow, LIMIT_CORE);
	resource = emit_load_arg(1);
	ONE_OF(resource, refuse, 0);
	return emit_load_arg(0);
}

/* Whose: one of two kinds, then an id that is the caller's own (0), or that is not init's. */
static int rule_priority(uint32_t process, uint32_t group, bool self, int allow, int refuse)
{
	int who;

	if (self)
		ONE_OF(allow, refuse, 0);
	else
		ONE_OF(refuse, allow, PID_INIT);
	who = emit_load_arg(1);
	ONE_OF(who, refuse, process, group);
	return emit_load_arg(0);
}

/* Rules that refuse some bits of one argument. */
static const struct {
	unsigned arg;
	uint32_t refused;
} bit_rules[ACT_COUNT] = {
	[ACT_MODE_1] = { 1, MODE_SETID },
	[ACT_MODE_2] = { 2, MODE_SETID },
	[ACT_MKNOD_1] = { 1, MODE_SETID | MODE_DEVICE },
	[ACT_MKNOD_2] = { 2, MODE_SETID | MODE_DEVICE },
	[ACT_MPROTECT] = { 2, PROTECTION_EXEC },
	[ACT_SHMAT] = { 2, SHARED_EXEC },
	[ACT_CLONE] = { 0, CLONE_NAMESPACES },
	[ACT_UNSHARE] = { 0, ~(uint32_t)UNSHARE_HARMLESS },
	[ACT_SECCOMP] = { 1, SECCOMP_LISTENER },
};

static int emit_rule(enum seccomp_action rule, int allow, int refuse)
{
	if (bit_rules[rule].refused) {
		emit_jump(BPF_JSET, bit_rules[rule].refused, refuse, allow);
		return emit_load_arg(bit_rules[rule].arg);
	}
	switch ((int)rule) {
	case ACT_IOCTL:
		ONE_OF(refuse, allow, IOCTL_TIOCSTI, IOCTL_TIOCLINUX, IOCTL_TIOCSETD, IOCTL_SETFLAGS, IOCTL_FSSETXATTR);
		return emit_load_arg(1);
	case ACT_IOCTL_STRICT:
		ONE_OF(allow, refuse, IOCTL_TCGETS, IOCTL_TCGETS2, IOCTL_TIOCGWINSZ, IOCTL_TIOCGPGRP, IOCTL_FIONREAD,
		       IOCTL_FIONBIO, IOCTL_FIOCLEX, IOCTL_FIONCLEX);
		return emit_load_arg(1);
	case ACT_PRCTL:
		ONE_OF(refuse, allow, PRCTL_SCHED_CORE);
		return emit_load_arg(0);
	case ACT_PRCTL_STRICT:
		ONE_OF(allow, refuse, PRCTL_SET_NAME, PRCTL_GET_NAME);
		return emit_load_arg(0);
	case ACT_SELF:
		ONE_OF(allow, refuse, 0);
		return emit_load_arg(0);
	case ACT_LIMIT:
		return rule_limit(allow);
	case ACT_LIMIT_SELF:
		return rule_limit_self(allow, refuse);
	case ACT_SCHEDULE:
		ONE_OF(refuse, allow, PID_INIT);
		return emit_load_arg(0);
	case ACT_PRIORITY:
	case ACT_PRIORITY_SELF:
		return rule_priority(PRIORITY_OF_PROCESS, PRIORITY_OF_GROUP, rule == ACT_PRIORITY_SELF, allow, refuse);
	case ACT_IOPRIO:
	case ACT_IOPRIO_SELF:
		return rule_priority(IOPRIO_OF_PROCESS, IOPRIO_OF_GROUP, rule == ACT_IOPRIO_SELF, allow, refuse);
	case ACT_FCNTL:
		ONE_OF(refuse, allow, FCNTL_SETLEASE, FCNTL_SETDELEG);
		return emit_load_arg(1);
	case ACT_OPTION:
		return rule_option(allow, refuse);
	case ACT_PAIR:
		return rule_pair(allow, refuse);
	case ACT_SOCKETPAIR:
		ONE_OF(allow, refuse, AF_UNIX);
		return emit_load_arg(0);
	case ACT_OPEN:
		return rule_open(1, allow, refuse);
	case ACT_OPENAT:
		return rule_open(2, allow, refuse);
	case ACT_OPEN_HOST:
		return rule_open_host(1, allow, refuse);
	case ACT_OPENAT_HOST:
		return rule_open_host(2, allow, refuse);
	case ACT_MMAP:
		return rule_mmap(allow, refuse);
	case ACT_CLONE_THREAD:
		return rule_clone_thread(allow, refuse);
	case ACT_PERSONALITY:
		return rule_personality(allow, refuse);
	case ACT_SOCKET:
		return rule_socket(allow, refuse, allow);
	case ACT_SOCKET_TOLD: /* the refusal is the listener's to give */
		return rule_socket(allow, refuse, refuse);
	case ACT_SOCKET_NONE:
		return rule_socket_none(refuse);
	default:
		fprintf(stderr, "seccomp-gen: action %d is no rule on arguments\n", (int)rule);
		exit(1);
	}
}

/* ---- verdicts ------------------------------------------------------------------------------------------- */

/* What becomes of a number in one variant: a rule, or (rule ACT_ALLOW) a return value. */
struct verdict {
	enum seccomp_action rule;
	uint32_t refusal; /* of the rule, or the whole answer */
};

static struct verdict verdict_of(enum seccomp_action action, int errnum, int variant)
{
	const struct verdict allow = { ACT_ALLOW, SECCOMP_RET_ALLOW };
	const struct verdict quiet = { ACT_ALLOW, SECCOMP_RET_ERRNO | (uint32_t)errnum };
	const struct verdict refuse =
		variant & SECCOMP_NOTIFY ? (struct verdict){ ACT_ALLOW, SECCOMP_RET_USER_NOTIF } : quiet;
	const struct verdict rule = { action, refuse.refusal };
	bool lock = variant & SECCOMP_EXEC_LOCK, host = variant & SECCOMP_NO_SOCKETS,
	     on_host = variant & SECCOMP_ON_HOST;

	switch ((int)action) { /* the rest stay as they are */
	case ACT_ALLOW:
		return allow;
	case ACT_REFUSE:
		return refuse;
	case ACT_QUIET:
		return quiet;
	case ACT_MEMFD:
		return lock ? refuse : allow;
	case ACT_EXEC:
		return lock && variant & SECCOMP_NOTIFY ? refuse : allow;
	case ACT_OPEN:
		return host ? (struct verdict){ ACT_OPEN_HOST, refuse.refusal } : rule;
	case ACT_OPENAT:
		return host ? (struct verdict){ ACT_OPENAT_HOST, refuse.refusal } : rule;
	case ACT_TRUNCATE:
	case ACT_IPC:
		return host ? refuse : allow;
	case ACT_CHMOD_1:
		return on_host ? refuse : (struct verdict){ ACT_MODE_1, refuse.refusal };
	case ACT_CHMOD_2:
		return on_host ? refuse : (struct verdict){ ACT_MODE_2, refuse.refusal };
	case ACT_TIMES:
	case ACT_WATCH:
		return on_host ? refuse : allow;
	case ACT_ATTRIBUTE:
		return on_host ? quiet : allow;
	case ACT_SCHEDULE:
		return (struct verdict){ on_host ? ACT_SELF : action, refuse.refusal };
	case ACT_PRIORITY:
		return (struct verdict){ on_host ? ACT_PRIORITY_SELF : action, refuse.refusal };
	case ACT_IOPRIO:
		return (struct verdict){ on_host ? ACT_IOPRIO_SELF : action, refuse.refusal };
	case ACT_SOCKETPAIR:
		return (struct verdict){ host ? ACT_PAIR : action, refuse.refusal };
	case ACT_SOCKET:
		if (host)
			return verdict_of(ACT_SOCKET_NONE, errnum, variant);
		return (struct verdict){ variant & SECCOMP_NOTIFY ? ACT_SOCKET_TOLD : action, refuse.refusal };
	case ACT_SOCKET_NONE:
		return variant & SECCOMP_NOTIFY ? rule : refuse;
	case ACT_MMAP:
	case ACT_MPROTECT:
		return lock ? rule : allow;
	case ACT_SHMAT:
		if (host)
			return refuse;
		return lock ? rule : allow;
	default:
		return rule;
	}
}

/* ---- the tree ------------------------------------------------------------------------------------------- */

enum { NUMBERS_MAX = 512, RANGES_MAX = NUMBERS_MAX };
/* What one more instruction in the program costs, counted in instructions walked at installation (measured: 190 ns
 * to compile one, 2.5 ns to walk over one). */
enum { INSTRUCTION_COST = 75 };

struct range {
	unsigned first, count; /* numbers */
	unsigned weight;
	struct verdict verdict;
	int label;
};

static struct range ranges[RANGES_MAX];
static int range_count;
static unsigned long cost[RANGES_MAX][RANGES_MAX]; /* of the best tree over ranges i..j */
static int split[RANGES_MAX][RANGES_MAX];          /* its root: the first range on the right; -1 for a chain */
static unsigned long weight_sum[RANGES_MAX + 1];

static bool verdict_equal(struct verdict a, struct verdict b)
{
	return a.rule == b.rule && a.refusal == b.refusal;
}

/* Calls that are frequent and yet need the program each time: nearer to the root than their single number earns. */
static unsigned weight_of(struct verdict v)
{
	return v.rule == ACT_OPENAT || v.rule == ACT_OPEN || v.rule == ACT_OPENAT_HOST || v.rule == ACT_OPEN_HOST ||
			       v.rule == ACT_MMAP || v.rule == ACT_IOCTL
		       ? 10
		       : 1;
}

static void make_ranges(int variant, bool aarch64)
{
	struct verdict unknown = { ACT_ALLOW, SECCOMP_RET_ERRNO | ENOSYS }, by_number[NUMBERS_MAX];
	unsigned end = 0;

	for (size_t i = 0; i < NUMBERS_MAX; i++)
		by_number[i] = unknown;
	for (size_t i = 0; i < COUNT(rows); i++) {
		int nr = aarch64 ? rows[i].aarch64 : rows[i].x86_64;

		if (nr < 0)
			continue;
		by_number[nr] =
			verdict_of(variant & SECCOMP_STRICT ? rows[i].strict : rows[i].normal, rows[i].errnum, variant);
		end = (unsigned)nr >= end ? (unsigned)nr + 1 : end;
	}
	range_count = 0;
	for (unsigned nr = 0; nr <= end; nr++) {
		if (nr && verdict_equal(by_number[nr], by_number[nr - 1])) {
			ranges[range_count - 1].count++;
			ranges[range_count - 1].weight += weight_of(by_number[nr]);
			continue;
		}
		ranges[range_count++] = (struct range){ nr, 1, weight_of(by_number[nr]), by_number[nr], -1 };
	}
}

/* Single numbers that lie in what is otherwise one range take one compare each. ULONG_MAX where it is not so. */
static unsigned long chain_cost(int i, int j)
{
	unsigned long sum = 0, compares = (unsigned long)(j - i) / 2;

	if ((j - i) % 2)
		return (unsigned long)-1;
	for (int r = i; r <= j; r++) {
		bool single = (r - i) % 2;

		if (single ? ranges[r].count != 1 : !verdict_equal(ranges[r].verdict, ranges[i].verdict))
			return (unsigned long)-1;
		sum += ranges[r].weight * (single ? (unsigned long)(r - i + 1) / 2 : compares);
	}
	return sum + compares * INSTRUCTION_COST;
}

static void best_tree(void)
{
	for (int i = 0; i < range_count; i++) {
		weight_sum[i + 1] = weight_sum[i] + ranges[i].weight;
		cost[i][i] = 0;
	}
	for (int len = 1; len < range_count; len++) {
		for (int i = 0; i + len < range_count; i++) {
			int j = i + len;

			cost[i][j] = chain_cost(i, j);
			split[i][j] = -1;
			for (int s = i + 1; s <= j; s++) {
				unsigned long c = cost[i][s - 1] + cost[s][j] + weight_sum[j + 1] - weight_sum[i] +
						  INSTRUCTION_COST;

				if (c < cost[i][j]) {
					cost[i][j] = c;
					split[i][j] = s;
				}
			}
		}
	}
}

static int emit_tree(int i, int j)
{
	int left, right, next;

	if (i == j)
		return ranges[i].label;
	if (split[i][j] < 0) {
		next = ranges[i].label;
		for (int r = j - 1; r > i; r -= 2)
			next = emit_jump(BPF_JEQ, ranges[r].first, ranges[r].label, next);
		return next;
	}
	right = emit_tree(split[i][j], j);
	left = emit_tree(i, split[i][j] - 1);
	return emit_jump(BPF_JGE, ranges[split[i][j]].first, right, left);
}

/* ---- programs ------------------------------------------------------------------------------------------- */

static int emit_block(struct verdict v)
{
	int allow = emit_return(SECCOMP_RET_ALLOW), refuse = emit_return(v.refusal);

	return emit_rule(v.rule, allow, refuse);
}

/* A block for each rule that the variant has, and a return for each other verdict. */
static void emit_targets(void)
{
	for (int i = 0; i < range_count; i++) {
		struct verdict v = ranges[i].verdict;

		for (int k = 0; k < i && ranges[i].label < 0; k++)
			if (verdict_equal(v, ranges[k].verdict))
				ranges[i].label = ranges[k].label;
		if (ranges[i].label >= 0)
			continue;
		if (v.rule == ACT_ALLOW)
			ranges[i].label = emit_return(v.refusal);
		else
			ranges[i].label = emit_block(v);
	}
}

static void make_program(int variant, bool aarch64)
{
	int tree;

	code_len = 0;
	make_ranges(variant, aarch64);
	best_tree();
	emit_targets();
	emit_tree(0, range_count - 1);
	tree = emit_load(offsetof(struct seccomp_data, nr));
	emit_jump(BPF_JEQ, aarch64 ? AUDIT_ARCH_AARCH64 : AUDIT_ARCH_X86_64, tree,
		  emit_return(SECCOMP_RET_ERRNO | ENOSYS));
	emit_load(offsetof(struct seccomp_data, arch));
}

static void print_program(int variant)
{
	printf("static const struct sock_filter filter_%d[] = {", variant);
	for (int i = code_len - 1, column = 0; i >= 0; i--, column++)
		printf("%s{ 0x%02x, %u, %u, 0x%x },", column % 4 ? " " : "\n\t", code[i].code, code[i].jt, code[i].jf,
		       code[i].k);
	printf("\n};\n");
}

/* strict has no sockets as it is: variants that come out alike share one program. */
static void print_architecture(bool aarch64)
{
	static struct sock_filter kept[SECCOMP_VARIANTS][CODE_MAX];
	int len[SECCOMP_VARIANTS], same[SECCOMP_VARIANTS];

	for (int v = 0; v < SECCOMP_VARIANTS; v++) {
		make_program(v, aarch64);
		memcpy(kept[v], code, (size_t)code_len * sizeof(*code));
		len[v] = code_len;
		for (same[v] = 0; same[v] < v; same[v]++)
			if (len[same[v]] == len[v] &&
			    memcmp(kept[same[v]], code, (size_t)code_len * sizeof(*code)) == 0)
				break;
		if (same[v] == v)
			print_program(v);
	}
	printf("const struct seccomp_filter seccomp_filters[SECCOMP_VARIANTS] = {\n");
	for (int v = 0; v < SECCOMP_VARIANTS; v++)
		printf("\t{ filter_%d, %d },\n", same[v], len[v]);
	printf("};\n");
}

int main(void)
{
	printf("/* Generated by tools/seccomp-gen.c from src/os/syscalls.def. */\n#include \"os/seccomp_table.h\"\n\n"
	       "#if defined(__x86_64__) && !defined(SECCOMP_FOR_AARCH64)\n");
	print_architecture(false);
	printf("#elif defined(__aarch64__) || defined(SECCOMP_FOR_AARCH64)\n");
	print_architecture(true);
	printf("#else\n#error \"cordon knows the system calls of x86_64 and aarch64 only\"\n#endif\n");
	return ferror(stdout) || fflush(stdout) ? 1 : 0;
}
