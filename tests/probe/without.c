/*
 * without NAME… -- COMMAND…: runs a command on a host that lacks something: a filter makes the system calls of it fail. For tests of what
 * cordon says where a layer cannot be had. The filter is inherited; calls with the named flags fail, all others are left alone.
 *
 *	landlock       landlock_create_ruleset EOPNOTSUPP, as on a kernel that has it switched off
 *	landlock-none  the same ENOSYS, as on an old kernel
 *	namespaces     clone and unshare EPERM wherever they make a namespace, and clone3 ENOSYS, as in an unprivileged container
 *	clone3         clone3 ENOSYS
 *	seccomp        seccomp() EINVAL
 *	mounts         fsopen, open_tree, move_mount, mount_setattr ENOSYS
 *	keyctl         keyctl ENOSYS, as on a kernel without keyrings
 *	pidfd          pidfd_open ENOSYS
 *	CALL=ERRNO     any call by number: 435=38
 */
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static struct sock_filter code[256];
static unsigned short len;

static void add(struct sock_filter f)
{
	if (len < sizeof(code) / sizeof(*code))
		code[len++] = f;
}

static void refuse(unsigned nr, unsigned errnum)
{
	add((struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, nr, 0, 1));
	add((struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | errnum));
}

static void refuse_namespaces(void)
{
	refuse(SYS_clone3, ENOSYS);
	add((struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_unshare, 1, 0));
	add((struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 0, 4));
	add((struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0])));
	add((struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, 0x7e020000, 0, 1));
	add((struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM));
	add((struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
}

static int take_away(const char *name)
{
	char *end;
	long nr = strtol(name, &end, 10);

	if (strcmp(name, "landlock") == 0)
		refuse(SYS_landlock_create_ruleset, EOPNOTSUPP);
	else if (strcmp(name, "landlock-none") == 0)
		refuse(SYS_landlock_create_ruleset, ENOSYS);
	else if (strcmp(name, "namespaces") == 0)
		refuse_namespaces();
	else if (strcmp(name, "clone3") == 0)
		refuse(SYS_clone3, ENOSYS);
	else if (strcmp(name, "seccomp") == 0)
		refuse(SYS_seccomp, EINVAL);
	else if (strcmp(name, "keyctl") == 0)
		refuse(SYS_keyctl, ENOSYS);
	else if (strcmp(name, "pidfd") == 0)
		refuse(SYS_pidfd_open, ENOSYS);
	else if (strcmp(name, "mounts") == 0)
		for (unsigned i = SYS_open_tree; i <= SYS_fsmount; i++)
			refuse(i, ENOSYS);
	else if (*end == '=')
		refuse((unsigned)nr, (unsigned)strtol(end + 1, NULL, 10));
	else
		return -1;
	return 0;
}

int main(int argc, char **argv)
{
	struct sock_fprog prog = { .filter = code };
	int i;

	add((struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)));
	for (i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
		if (take_away(argv[i]) < 0) {
			fprintf(stderr, "without: what is '%s'?\n", argv[i]);
			return 125;
		}
	add((struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
	prog.len = len;
	if (i + 1 >= argc)
		return 125;
	/* Root needs no no_new_privs for a filter; an ordinary user does. */
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog) < 0 &&
	    (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog) < 0)) {
		perror("without: filter");
		return 125;
	}
	execvp(argv[i + 1], argv + i + 1);
	perror(argv[i + 1]);
	return 127;
}
