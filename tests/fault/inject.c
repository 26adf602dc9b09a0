/*
 * Runs a command under ptrace, lets one of its system calls fail or kills a process of it there, and tells what came of it.
 *
 *	inject [--list FILE] [--at NAME:N] [--every NAME:CALL [--spare N] [--once yes]] [--error ERRNO] [--kill NAME[,NAME…]] [--report FILE]
 *	       [--pretend yes] [--seconds S] [--left S] [--through yes] -- COMMAND ARG…
 *
 * Processes are named by descent: "0" is the command, "0.1" its first child, "0.1.2" that one's second. Calls are counted for each
 * process from 1, so that NAME:N is the same call in every run of a program that does the same; --spare leaves the first of a kind alone, --once those after the next. A call that is made to fail is not
 * done at all, but for close, which never keeps its descriptor. A process that executes a program (the payload) is let go.
 *
 * --pretend  the call is not done, and told to have been: who would notice, does.
 * --through  prctl() of a kind that through.h has is the call that it names: valgrind passes it on, where it knows nothing of that one.
 * --list    a line for each call: NAME N CALL. --report: what happened, "key value" lines:
 *             status N      the command's exit status, 128+signal, or "hangs"
 *             fired CALL    what failed or where the kill fell; absent if the place was never reached
 *             pid NAME PID  every process that was seen
 *             left N        processes that were still there ten seconds (--left) after the command had ended (they are killed then)
 *             started       a payload was executed; "limit FILE TEXT" are its cgroup's limits at that moment, "rights KEY TEXT" its rights
 * The command's whole offspring is waited for: this process is their subreaper. Its own rights are the caller's.
 */
#include "through.h"

#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { NAME_MAX_LEN = 48, PROCESSES = 256 };

struct process {
	pid_t pid;
	char name[NAME_MAX_LEN]; /* empty: its parent's report is still to come */
	unsigned calls, children;
	bool inside, failing, held, traced;
	bool changed; /* its registers, which are as before once the call is done */
	struct user_regs_struct before;
};

static struct process processes[PROCESSES];
static size_t process_count;
static FILE *list, *report;
static char at_name[NAME_MAX_LEN], every_name[NAME_MAX_LEN], kill_names[256];
static unsigned at_number, spared, seen; /* of --every: those that do not fail, and how many there were */
static long every_call = -1;
static int error_number;
static bool fired, through, pretend, once;
static double left_seconds = 10;

/* ---- names of calls ---- */

static const struct {
	const char *name;
	int nr;
} calls[] = {
#ifdef __x86_64__
#define SYSCALL(name, x86_64, aarch64, ...) { #name, x86_64 },
#else
#define SYSCALL(name, x86_64, aarch64, ...) { #name, aarch64 },
#endif
#include "os/syscalls.def"
};

static const char *call_name(long nr)
{
	static char number[24];

	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++)
		if (calls[i].nr == nr)
			return calls[i].name;
	snprintf(number, sizeof(number), "%ld", nr);
	return number;
}

static long call_number(const char *name)
{
	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++)
		if (calls[i].nr >= 0 && strcmp(calls[i].name, name) == 0)
			return calls[i].nr;
	fprintf(stderr, "inject: no call '%s'\n", name);
	exit(2);
}

/* ---- registers ---- */

static void skip_call(pid_t pid)
{
#ifdef __x86_64__
	ptrace(PTRACE_POKEUSER, pid, offsetof(struct user_regs_struct, orig_rax), -1L);
#else
	int none = -1;
	struct iovec io = { &none, sizeof(none) };

	ptrace(PTRACE_SETREGSET, pid, NT_ARM_SYSTEM_CALL, &io);
#endif
}

static void get_registers(pid_t pid, struct user_regs_struct *ret)
{
	struct iovec io = { ret, sizeof(*ret) };

	ptrace(PTRACE_GETREGSET, pid, NT_PRSTATUS, &io);
}

static void set_registers(pid_t pid, struct user_regs_struct *regs)
{
	struct iovec io = { regs, sizeof(*regs) };

	ptrace(PTRACE_SETREGSET, pid, NT_PRSTATUS, &io);
}

static void set_return(pid_t pid, long value)
{
	struct user_regs_struct regs;

	get_registers(pid, &regs);
#ifdef __x86_64__
	regs.rax = (unsigned long)value;
#else
	regs.regs[0] = (unsigned long)value;
#endif
	set_registers(pid, &regs);
}

/* prctl(THROUGH, NUMBER, ARGUMENTS) becomes the call that is meant: its number. */
static long mean_call(struct process *p, const uint64_t args[6])
{
	struct user_regs_struct regs;
	unsigned long words[6];

	for (size_t i = 0; i < 6; i++)
		words[i] = (unsigned long)ptrace(PTRACE_PEEKDATA, p->pid, args[2] + i * sizeof(*words), NULL);
	get_registers(p->pid, &regs);
	p->before = regs;
	p->changed = true;
#ifdef __x86_64__
	regs.orig_rax = args[1];
	regs.rdi = words[0];
	regs.rsi = words[1];
	regs.rdx = words[2];
	regs.r10 = words[3];
	regs.r8 = words[4];
	regs.r9 = words[5];
#else
	struct iovec io = { &(int){ (int)args[1] }, sizeof(int) };

	for (size_t i = 0; i < 6; i++)
		regs.regs[i] = words[i];
	ptrace(PTRACE_SETREGSET, p->pid, NT_ARM_SYSTEM_CALL, &io);
#endif
	set_registers(p->pid, &regs);
	return (long)args[1];
}

static void restore(struct process *p, long value)
{
	p->changed = false;
	set_registers(p->pid, &p->before);
	set_return(p->pid, value);
}

/* ---- processes ---- */

static struct process *find(pid_t pid)
{
	for (size_t i = 0; i < process_count; i++)
		if (processes[i].pid == pid)
			return &processes[i];
	if (process_count == PROCESSES) {
		fprintf(stderr, "inject: too many processes\n");
		exit(2);
	}
	processes[process_count].pid = pid;
	return &processes[process_count++];
}

static void forget(pid_t pid)
{
	struct process *p = find(pid);

	p->pid = 0;
	p->traced = false;
}

static void go_on(struct process *p, int sig)
{
	ptrace(PTRACE_SYSCALL, p->pid, NULL, (long)sig);
}

static void name_child(struct process *parent, pid_t pid)
{
	struct process *p = find(pid);

	snprintf(p->name, sizeof(p->name), "%.40s.%u", parent->name, ++parent->children);
	p->traced = true;
	if (report)
		fprintf(report, "pid %s %d\n", p->name, (int)pid);
	if (p->held) {
		p->held = false;
		go_on(p, 0);
	}
}

/* Only ever one process, and one that we trace: kill() means everybody by -1 and our own group by 0. */
static void end_one(const struct process *p)
{
	if (p->pid > 1 && p->traced)
		kill(p->pid, SIGKILL);
}

static void kill_named(const struct process *self)
{
	char names[sizeof(kill_names)], *save = NULL;

	memcpy(names, kill_names, sizeof(names));
	for (char *n = strtok_r(names, ",", &save); n; n = strtok_r(NULL, ",", &save))
		for (size_t i = 0; i < process_count; i++)
			if (strcmp(processes[i].name, n) == 0 || (strcmp(n, "self") == 0 && &processes[i] == self))
				end_one(&processes[i]);
}

/* ---- what the kernel holds the payload to ---- */

static void tell_limit(const char *dir, const char *file)
{
	char path[1100], text[256] = "";
	int fd;
	ssize_t n;

	snprintf(path, sizeof(path), "%s/%s", dir, file);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	for (ssize_t i = 0; i < n; i++)
		text[i] = text[i] == '\n' ? ' ' : text[i];
	fprintf(report, "limit %s %s\n", file, text);
}

static void tell_limits(pid_t pid)
{
	static const char *const files[] = { "memory.limit_in_bytes",
					     "memory.memsw.limit_in_bytes",
					     "pids.max",
					     "cpu.cfs_quota_us",
					     "blkio.throttle.read_bps_device",
					     "blkio.throttle.write_bps_device",
					     "memory.max",
					     "memory.swap.max",
					     "memory.oom.group",
					     "cpu.max",
					     "io.max" };
	char path[64], line[512];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/cgroup", (int)pid);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f)) {
		char *controller = strchr(line, ':'), *group = controller ? strchr(controller + 1, ':') : NULL,
		     dir[1024];

		if (!group || !strstr(group, "/cordon-"))
			continue;
		*group++ = '\0';
		group[strcspn(group, "\n")] = '\0';
		controller++;
		snprintf(dir, sizeof(dir), "/sys/fs/cgroup/%s%s", *controller ? controller : "unified", group);
		if (!*controller && access(dir, F_OK) < 0)
			snprintf(dir, sizeof(dir), "/sys/fs/cgroup%s", group);
		fprintf(report, "group %s\n", *controller ? controller : "unified");
		for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++)
			tell_limit(dir, files[i]);
	}
	if (f)
		fclose(f);
}

/* Its rights, as the kernel has them. */
static void tell_status(pid_t pid)
{
	static const char *const keys[] = { "Uid:",    "Gid:",    "Groups:", "CapInh:",  "CapPrm:",  "CapEff:",
					    "CapBnd:", "CapAmb:", "NoNewPr", "Seccomp:", "Seccomp_f" };
	char path[64], line[512];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f))
		for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
			if (strncmp(line, keys[i], strlen(keys[i])) == 0)
				fprintf(report, "rights %s", line);
	if (f)
		fclose(f);
}

/* ---- stops ---- */

static bool is_place(const struct process *p, long nr)
{
	if (at_number && !fired && p->calls == at_number && strcmp(p->name, at_name) == 0)
		return true;
	return every_call == nr && !(once && fired) &&
	       (strcmp(every_name, "*") == 0 || strcmp(every_name, p->name) == 0) && seen++ >= spared;
}

static void on_enter(struct process *p, long nr)
{
	p->calls++;
	if (list)
		fprintf(list, "%s %u %s\n", p->name, p->calls, call_name(nr));
	if (!is_place(p, nr))
		return;
	if (!fired && report)
		fprintf(report, "fired %s\n", call_name(nr));
	fired = true;
	if (kill_names[0]) {
		kill_named(p);
	} else if (error_number || pretend) {
		p->failing = true;
		if (nr != SYS_close)
			skip_call(p->pid);
	}
}

static void on_call(struct process *p)
{
	struct __ptrace_syscall_info info;

	if (ptrace(PTRACE_GET_SYSCALL_INFO, p->pid, sizeof(info), &info) <= 0)
		return;
	if (info.op == PTRACE_SYSCALL_INFO_ENTRY) {
		bool is_meant = through && info.entry.nr == SYS_prctl && info.entry.args[0] == THROUGH;

		on_enter(p, is_meant ? mean_call(p, info.entry.args) : (long)info.entry.nr);
	} else if (info.op == PTRACE_SYSCALL_INFO_EXIT && (p->failing || p->changed)) {
		long value = p->failing ? -error_number /* or 0 */ : (long)info.exit.rval;

		p->failing = false;
		if (p->changed)
			restore(p, value);
		else
			set_return(p->pid, value);
	}
}

static void on_stop(struct process *p, int status)
{
	int event = status >> 16, sig = WSTOPSIG(status);
	unsigned long child;

	if (!p->name[0]) { /* known only once its parent has told */
		p->held = true;
		return;
	}
	if (event == PTRACE_EVENT_FORK || event == PTRACE_EVENT_VFORK || event == PTRACE_EVENT_CLONE) {
		if (ptrace(PTRACE_GETEVENTMSG, p->pid, NULL, &child) == 0)
			name_child(p, (pid_t)child);
	} else if (event == PTRACE_EVENT_EXEC && strcmp(p->name, "0") != 0) {
		if (report) {
			fprintf(report, "started\n");
			tell_limits(p->pid);
			tell_status(p->pid);
		}
		ptrace(PTRACE_DETACH, p->pid, NULL, 0L);
		p->traced = false;
		return;
	} else if (event == PTRACE_EVENT_STOP && sig != SIGTRAP) {
		ptrace(PTRACE_LISTEN, p->pid, NULL, 0L);
		return;
	} else if (!event && sig == (SIGTRAP | 0x80)) {
		on_call(p);
	} else if (!event) {
		go_on(p, sig);
		return;
	}
	go_on(p, 0);
}

/* ---- the run ---- */

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static pid_t start(char **argv)
{
	const long options = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACECLONE |
			     PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL;
	pid_t pid = fork();

	if (pid == 0) {
		raise(SIGSTOP);
		execv(argv[0], argv);
		_exit(127);
	}
	if (pid < 0) {
		perror("inject: fork");
		exit(2);
	}
	waitpid(pid, NULL, WUNTRACED);
	if (ptrace(PTRACE_SEIZE, pid, NULL, options) < 0) {
		perror("inject: ptrace");
		exit(2);
	}
	snprintf(find(pid)->name, NAME_MAX_LEN, "0");
	fprintf(report, "pid 0 %d\n", (int)pid);
	find(pid)->traced = true;
	kill(pid, SIGCONT);
	return pid;
}

/* Ends what is left: those that are traced, and the children that fell to us. */
static int end_rest(void)
{
	char path[64], text[4096], *at;
	int left = 0, status;
	pid_t pid;

	for (size_t i = 0; i < process_count; i++)
		end_one(&processes[i]);
	snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)getpid());
	for (;;) {
		int fd = open(path, O_RDONLY | O_CLOEXEC);
		ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);

		close(fd);
		text[n > 0 ? n : 0] = '\0';
		at = text;
		for (long child; (child = strtol(at, &at, 10)) > 1;)
			kill((pid_t)child, SIGKILL);
		pid = waitpid(-1, &status, __WALL);
		if (pid < 0 && errno == ECHILD)
			return left;
		left += pid > 0 && (WIFEXITED(status) || WIFSIGNALED(status));
	}
}

static void on_alarm(int sig)
{
	(void)sig;
}

/* Until no child is left, or `seconds` have passed; `left` counts what had to be killed then. */
static void watch(pid_t root, double seconds)
{
	double end = now() + seconds;
	bool over = false;
	int status, left = 0;

	for (;;) {
		pid_t pid = waitpid(-1, &status, __WALL);

		if (pid < 0 && errno == ECHILD)
			break;
		if (pid < 0 && now() > end) {
			if (!over)
				fprintf(report, "status hangs\n");
			left = end_rest();
			break;
		}
		if (pid < 0)
			continue;
		if (WIFSTOPPED(status)) {
			on_stop(find(pid), status);
			continue;
		}
		if (pid == root) {
			fprintf(report, "status %d\n",
				WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
			over = true;
			end = now() + left_seconds;
		}
		forget(pid);
	}
	fprintf(report, "left %d\n", left);
}

static char *place(char *text, char name[NAME_MAX_LEN])
{
	char *colon = strchr(text, ':');

	if (!colon || colon - text >= NAME_MAX_LEN)
		exit(2);
	snprintf(name, NAME_MAX_LEN, "%.*s", (int)(colon - text), text);
	return colon + 1;
}

int main(int argc, char **argv)
{
	struct sigaction tick = { .sa_handler = on_alarm };
	struct itimerspec every = { { 0, 200000000 }, { 0, 200000000 } };
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGALRM };
	double seconds = 60;
	timer_t timer;
	int i = 1;

	report = stderr;
	for (; i + 1 < argc && strcmp(argv[i], "--") != 0; i += 2) {
		char *value = argv[i + 1];

		if (strcmp(argv[i], "--list") == 0)
			list = fopen(value, "we");
		else if (strcmp(argv[i], "--report") == 0)
			report = fopen(value, "we");
		else if (strcmp(argv[i], "--at") == 0)
			at_number = (unsigned)strtoul(place(value, at_name), NULL, 10);
		else if (strcmp(argv[i], "--every") == 0)
			every_call = call_number(place(value, every_name));
		else if (strcmp(argv[i], "--spare") == 0)
			spared = (unsigned)strtoul(value, NULL, 10);
		else if (strcmp(argv[i], "--error") == 0)
			error_number = (int)strtol(value, NULL, 10);
		else if (strcmp(argv[i], "--kill") == 0)
			snprintf(kill_names, sizeof(kill_names), "%s", value);
		else if (strcmp(argv[i], "--through") == 0)
			through = strcmp(value, "yes") == 0;
		else if (strcmp(argv[i], "--once") == 0)
			once = strcmp(value, "yes") == 0;
		else if (strcmp(argv[i], "--pretend") == 0)
			pretend = strcmp(value, "yes") == 0;
		else if (strcmp(argv[i], "--left") == 0)
			left_seconds = strtod(value, NULL);
		else if (strcmp(argv[i], "--seconds") == 0)
			seconds = strtod(value, NULL);
		else
			return 2;
	}
	if (i + 1 >= argc || !report)
		return 2;
	prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
	sigaction(SIGALRM, &tick, NULL);
	if (timer_create(CLOCK_MONOTONIC, &event, &timer) < 0 || timer_settime(timer, 0, &every, NULL) < 0)
		return 2;
	watch(start(argv + i + 1), seconds);
	if (list)
		fclose(list);
	fclose(report);
	return 0;
}
