/* The doctor's words: each cause is made here, in a child, and must be named with its remedy. */
#include "tap.h"

#include <cordon.h>

#include "base/fd.h"
#include "os/probe.h"
#include "os/probe_try.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static char why[512], remedy[768];

/* Children answer with the errno of what they miss: 0 when the words were right. */
static bool says(const char *in_why, const char *in_remedy)
{
	bool good = strstr(why, in_why) && strstr(remedy, in_remedy);

	if (!good)
		printf("#   why: %s\n#   remedy: %s\n", why, remedy);
	return good;
}

static int no_namespaces_left(void)
{
	int r = try_userns();

	if (r < 0)
		return r;
	if (fd_write_file_at(AT_FDCWD, "/proc/sys/user/max_user_namespaces", "0") < 0)
		return -EROFS;
	r = probe_attempt(try_userns);
	if (r != -ENOSPC)
		return -EBADE;
	probe_explain_clone(-r, CLONE_NEWUSER, why, sizeof(why), remedy, sizeof(remedy));
	return says("user.max_user_namespaces is 0", "sysctl -w user.max_user_namespaces=") ? 0 : -ENOMSG;
}

static int filtered(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (unsigned)offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)SYS_unshare, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { .len = 4, .filter = code };
	int r;

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0)
		return -errno;
	r = probe_attempt(try_userns);
	if (r != -EPERM)
		return -EBADE;
	probe_explain_clone(-r, CLONE_NEWUSER, why, sizeof(why), remedy, sizeof(remedy));
	return says("seccomp filter", "--level process") ? 0 : -ENOMSG;
}

/* As Docker does it: something lies over a part of /proc. */
static int covered_proc(void)
{
	int r = try_userns();

	if (r < 0)
		return r;
	if (unshare(CLONE_NEWNS) < 0 || mount("tmpfs", "/proc/sys/fs", "tmpfs", 0, NULL) < 0)
		return -errno;
	r = probe_attempt(try_proc_mount);
	if (r != -EPERM)
		return -EBADE;
	probe_explain_proc(-r, why, sizeof(why), remedy, sizeof(remedy));
	return says("covered", "systempaths=unconfined") ? 0 : -ENOMSG;
}

static int crash(void)
{
	return raise(SIGKILL);
}

static void test_causes(void)
{
	if (probe_attempt(try_userns) < 0) {
		skip("no user namespaces here to take away");
		return;
	}
	is_num(probe_attempt(no_namespaces_left), 0, "user.max_user_namespaces=0 is named, with the sysctl");
	is_num(probe_attempt(filtered), 0, "a container's seccomp filter is named");
	is_num(probe_attempt(covered_proc), 0, "a covered /proc is named");
}

static void test_words(void)
{
	static const int numbers[] = { EPERM, EACCES, ENOSPC, EUSERS, EINVAL, ENOSYS, EAGAIN, ENOMEM, EIO };

	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++) {
		why[0] = '\0';
		probe_explain_clone(numbers[i], CLONE_NEWUSER | CLONE_NEWNET, why, sizeof(why), remedy, sizeof(remedy));
		ok(why[0], "errno %d: %s", numbers[i], why);
	}
	probe_explain_landlock(EOPNOTSUPP, why, sizeof(why), remedy, sizeof(remedy));
	ok(says("not enabled at boot", "lsm=landlock,"), "Landlock that lsm= leaves out");
	probe_explain_landlock(ENOSYS, why, sizeof(why), remedy, sizeof(remedy));
	ok(says("Landlock", "kernel"), "a kernel without Landlock");
	probe_explain_clone(EPERM, CLONE_NEWUSER, why, 8, remedy, 8);
	ok(strlen(why) < 8 && strlen(remedy) < 8, "small buffers are kept");
	ok(probe_kernel_at_least(3, 0) && !probe_kernel_at_least(99, 0), "kernel versions compare as numbers");
	is_num(probe_sysctl("no/such/sysctl"), -1, "a sysctl that is not there");
	is_num(probe_attempt(crash), -EIO, "a try that dies is a failed try");
}

static void test_doctor(void)
{
	static const char *const layers[] = { "userns",   "mountns", "pidns",   "netns",        "ipcns",    "utsns",
					      "cgroupns", "cgroup",  "rlimits", "no_new_privs", "landlock", "seccomp" };
	struct cordon_error err;
	char *text = NULL, *json = NULL, name[64];
	bool good = false, again = false;

	ok(cordon_doctor(CORDON_TEXT, &text, &good, &err) == 0 && strstr(text, "\nlevels\n"), "doctor for people");
	ok(cordon_doctor(CORDON_JSON, &json, &again, &err) == 0 && strstr(json, "\"limit_source\""), "doctor as JSON");
	ok(good == again, "both agree");
	for (size_t i = 0; i < sizeof(layers) / sizeof(*layers); i++) {
		snprintf(name, sizeof(name), "\"name\": \"%s\"", layers[i]);
		ok(json && strstr(json, name), "it speaks of %s", layers[i]);
	}
	free(text);
	free(json);
}

int main(void)
{
	test_words();
	test_causes();
	test_doctor();
	return done_testing();
}
