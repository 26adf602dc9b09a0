/*
 * The jail of cordon-image: see jail.h. Unpackers are large and what they read is hostile, so a hole in one shall lead to the image store at
 * most. Landlock holds the files; a short list of calls that an unpacker never needs (programs, sockets, namespaces, tracing) is
 * refused; the rest is modes and missing capabilities. Where the kernel has no Landlock (or one that knows no links, before 5.19), the
 * others stand alone.
 */
#include "image/jail.h"

#include "base/fd.h"
#include "base/str.h"
#include "os/caps.h"
#include "os/landlock.h"
#include "os/process.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#define JAIL_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define JAIL_ARCH AUDIT_ARCH_AARCH64
#else
#error "the filter knows x86_64 and aarch64"
#endif

static const int refused[] = {
	SYS_execve,
	SYS_execveat,
	SYS_socket,
	SYS_socketpair,
	SYS_connect,
	SYS_ptrace,
	SYS_clone,
	SYS_clone3,
	SYS_unshare,
	SYS_setns,
	SYS_mount,
	SYS_umount2,
	SYS_pivot_root,
	SYS_chroot,
	SYS_move_mount,
	SYS_open_tree,
	SYS_fsopen,
	SYS_fsconfig,
	SYS_mount_setattr,
	SYS_bpf,
	SYS_keyctl,
	SYS_add_key,
	SYS_request_key,
	SYS_perf_event_open,
	SYS_io_uring_setup,
	SYS_userfaultfd,
	SYS_process_vm_readv,
	SYS_process_vm_writev,
	SYS_pidfd_getfd,
	SYS_kill,
	SYS_mknodat,
	SYS_init_module,
	SYS_finit_module,
	SYS_kexec_load,
#ifdef SYS_fork
	SYS_fork,
	SYS_vfork,
	SYS_mknod,
#endif
};

static int jail_calls(void)
{
	struct sock_filter code[ARRAY_LEN(refused) + 8];
	struct sock_fprog program = { .filter = code };
	size_t n = 0, refuse = ARRAY_LEN(refused) + 5;

	code[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch));
	code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, JAIL_ARCH, 1, 0);
	code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
	code[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
	for (size_t i = 0; i < ARRAY_LEN(refused); i++, n++)
		code[n] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)refused[i],
						       (uint8_t)(refuse - n - 1), 0);
	/* The other ABI of this architecture (x32) has numbers of its own. */
	code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 0x40000000, 0, 1);
	code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM);
	code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	program.len = (unsigned short)n;
	return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) < 0 ? -errno : 0;
}

static int jail_files(int store, int source)
{
	int abi = landlock_abi(), r;
	auto_close int ruleset = -1;

	if (abi < 2)
		return 0;
	ruleset = landlock_new(abi, true);
	if (ruleset < 0)
		return ruleset;
	r = landlock_allow(ruleset, abi, store, LANDLOCK_READ | LANDLOCK_WRITE);
	if (r == 0 && source >= 0)
		r = landlock_allow(ruleset, abi, source, LANDLOCK_READ);
	return r < 0 ? r : landlock_restrict(ruleset);
}

static int jail_capabilities(void)
{
	const uint64_t keep = 1ULL << CAP_DAC_READ_SEARCH;
	int r = 0;

	if (geteuid() == 0)
		r = caps_lock(keep);
	r = r < 0 ? r : caps_set(geteuid() == 0 ? keep : 0);
	return r < 0 ? r : process_no_new_privs();
}

int jail_enter(int store, int source, struct cordon_error *err)
{
	const struct rlimit core = { 1, 1 }, memory = { 4ULL << 30, 4ULL << 30 };
	int r;

#ifdef __SANITIZE_ADDRESS__
	return 0; /* it looks at its own process in the end */
#endif
	(void)setrlimit(RLIMIT_CORE, &core);
	(void)setrlimit(RLIMIT_AS, &memory);
	r = jail_capabilities();
	r = r < 0 ? r : jail_files(store, source);
	r = r < 0 ? r : jail_calls();
	return r < 0 ? cordon_fail(err, CORDON_SYSTEM, -r, "the jail of cordon-image") : 0;
}
