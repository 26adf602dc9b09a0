/*
 * init: pid 1 of a box. Sets it up, starts the payload, reaps, passes signals on, and ends everything when the payload or the
 * keeper ends. Its link to the keeper is its lifeline: when that closes, init exits, and the kernel ends the pid namespace.
 *
 * Rights: all capabilities of the box's own user namespace until the payload's child is forked; then CAP_KILL (to end
 * payloads of another id) and CAP_DAC_READ_SEARCH (to hand files out). Non-dumpable, outside the payload's cgroup.
 */
#include "box/init.h"

#include "base/error.h"
#include "base/fd.h"
#include "box/copy.h"
#include "box/descend.h"
#include "box/job.h"
#include "box/link.h"
#include "os/caps.h"
#include "os/process.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

enum { DESCEND_MS = 20000 }; /* process level: how long the payload's descendants are hunted */

struct init {
	struct inside *in;
	pid_t payload;
	bool payload_gone;
	int status; /* the payload's, as from waitpid */
	bool reported;
	/* a box that lives */
	struct job job;                /* the last one that came */
	uint64_t cpu_us, maxrss_bytes; /* of who was reaped of it */
};

static _Noreturn void give_up(struct inside *in, int status)
{
	struct link_message m = { .type = LINK_ERROR };

	m.error = *in->err;
	(void)link_send(in->link, &m, -1);
	_exit(status);
}

/* fork(), into the box's group where that is v2's and may be done from here. A child of a box that lives only makes its network. */
static pid_t fork_into_group(struct inside *in, bool is_payload)
{
	int group = in->cgroup && is_payload ? in->cgroup->dir[CG_UNIFIED] : -1;
	pid_t pid;

	in->born_there = group >= 0;
	pid = group >= 0 ? process_clone_into(0, group, NULL) : -1;
	if (pid >= 0)
		return pid;
	in->born_there = false;
	pid = fork();
	return pid < 0 ? -errno : pid;
}

/* It goes on beside us, to the gate. */
static pid_t start_payload(struct inside *in)
{
	int gate[2];
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, gate) < 0)
		return -errno;
	pid = fork_into_group(in, !in->plan->lives);
	in->gate = gate[pid == 0];
	fd_close(&gate[pid != 0]);
	if (pid > 0)
		process_spread(pid);
	if (pid)
		return pid;
	(void)inside_become_payload(in);
	give_up(in, 127);
}

/* Keeps what init still has to do, and gives the rest up. */
static int drop(struct inside *in)
{
	uint64_t keep = 1ULL << CAP_KILL | 1ULL << CAP_DAC_READ_SEARCH;
	int r;

	/* To become the payload's user again, for the next job, and to lock what that one has. */
	if (in->plan->lives)
		keep |= 1ULL << CAP_SETUID | 1ULL << CAP_SETGID | 1ULL << CAP_SETPCAP;

	for (int i = 0; i < 3; i++)
		fd_close(&in->stdio[i]);
	for (size_t i = 0; i < in->source_count; i++)
		fd_close(&in->sources[i]);
	fd_close(&in->tty_slave);
	fd_close(&in->capture);
	fd_close(&in->wanted);
	fd_close(&in->authority);
	fd_close(&in->proc_net);
	if (in->plan->level == LEVEL_CONTAINER && !in->plan->lives)
		cgroup_close(in->group); /* nobody is put there any more */
	/* With no_new_privs nothing can be gained by executing, and init never executes: no need for the bounding set. */
	r = caps_set(in->plan->level == LEVEL_CONTAINER || in->plan->as_root ? keep : 0);
	r = r < 0 ? r : process_no_new_privs();
	return r;
}

/* ---- ending ---- */

static uint64_t time_us(struct timeval tv)
{
	return (uint64_t)tv.tv_sec * 1000000 + (uint64_t)tv.tv_usec;
}

static void reap(struct init *init, int flags)
{
	struct rusage usage;
	int status;
	pid_t pid;

	while ((pid = wait4(-1, &status, flags, &usage)) > 0 || (pid < 0 && errno != ECHILD)) {
		if (pid < 0 && errno == EINTR)
			continue;
		if (pid < 0) { /* else the payload's end would never be heard of */
			cordon_fail(init->in->err, CORDON_SYSTEM, errno, "wait for the payload");
			(void)fail_step(init->in->err, "init");
			give_up(init->in, 1);
		}
		init->cpu_us += time_us(usage.ru_utime) + time_us(usage.ru_stime);
		if ((uint64_t)usage.ru_maxrss * 1024 > init->maxrss_bytes)
			init->maxrss_bytes = (uint64_t)usage.ru_maxrss * 1024;
		if (pid == init->payload) {
			init->payload_gone = true;
			init->status = status;
		}
	}
}

static void end_everything(struct init *init)
{
	/* Never without a pid namespace of our own, whatever the plan says: -1 would be every process of the host. */
	if (init->in->plan->level == LEVEL_PROCESS || getpid() != 1) {
		if (init->in->cgroup)
			(void)cgroup_kill(init->in->cgroup);
		(void)descend_end(DESCEND_MS);
		reap(init, WNOHANG);
		return;
	}
	/* As pid 1: every process of this namespace but ourselves. Atomic against fork: a new child sees the signal too. */
	(void)kill(-1, SIGKILL);
	reap(init, 0);
}

static void look_at_disk(const char *path, struct link_exit *ret)
{
	struct statvfs fs;

	if (statvfs(path, &fs) < 0)
		return;
	ret->disk_full = ret->disk_full || (fs.f_blocks && fs.f_bavail <= fs.f_blocks / 256);
	ret->inodes_full = ret->inodes_full || (fs.f_files && fs.f_ffree < 4);
}

static void report_exit(struct init *init)
{
	struct link_message m = { .type = LINK_EXITED };
	struct rusage usage;

	if (init->reported)
		return;
	init->reported = true;
	end_everything(init);
	(void)getrusage(RUSAGE_CHILDREN, &usage);
	m.exit.status = init->status;
	m.exit.cpu_us = time_us(usage.ru_utime) + time_us(usage.ru_stime);
	m.exit.maxrss_bytes = (uint64_t)usage.ru_maxrss * 1024;
	if (init->in->plan->lives) { /* what earlier jobs used is not this one's */
		m.exit.cpu_us = init->cpu_us;
		m.exit.maxrss_bytes = init->maxrss_bytes;
	}
	if (init->in->plan->level == LEVEL_CONTAINER) {
		look_at_disk("/tmp", &m.exit);
		look_at_disk(init->in->plan->home, &m.exit);
		for (size_t i = 0; i < init->in->plan->private_count; i++)
			look_at_disk(init->in->plan->privates[i].dest, &m.exit);
	}
	if (link_send(init->in->link, &m, -1) < 0)
		_exit(1); /* our end is heard of in any case */
	if (!init->in->plan->out_count && init->in->plan->level == LEVEL_CONTAINER && !init->in->plan->lives)
		_exit(0); /* nothing is left to do here: let the namespaces go while the keeper counts */
}

/* ---- jobs of a box that lives ---- */

static _Noreturn void become_job(struct init *init, int fds[LINK_JOB_FDS], size_t n)
{
	struct inside *in = init->in;

	in->plan = &init->job.plan;
	for (int i = 0; i < 3; i++)
		in->stdio[i] = fds[JOB_FD_STDIN + i];
	in->files = n > JOB_FD_FILES ? fds[JOB_FD_FILES] : -1;
	in->paths = &init->job.texts.ins;
	(void)inside_become_job(in);
	give_up(in, 127);
}

/* One that cannot even be forked is told like one that failed in its first step. */
static void refuse_job(struct init *init, int errnum)
{
	struct link_message m = { .type = LINK_ERROR };

	cordon_fail(&m.error, CORDON_SYSTEM, errnum, "start the job");
	(void)fail_step(&m.error, "init");
	(void)link_send(init->in->link, &m, -1);
	report_exit(init);
}

static void begin_job(struct init *init, const struct link_job *head, int fds[LINK_JOB_FDS], size_t n)
{
	int r;

	if (!init->in->plan->lives || !init->reported || n < JOB_FD_FILES)
		return;
	job_done(&init->job);
	init->payload = 0;
	init->payload_gone = init->reported = false;
	init->status = 0;
	init->cpu_us = init->maxrss_bytes = 0;
	r = job_read(&init->job, init->in->plan, head, fds[JOB_FD_TEXT]);
	init->payload = r < 0 ? r : fork_into_group(init->in, true);
	if (init->payload == 0)
		become_job(init, fds, n);
	if (init->payload < 0)
		refuse_job(init, -init->payload);
}

/* What made the network has gone; the box stands. */
static void open_box(struct init *init)
{
	struct link_message m = { .type = LINK_OPENED };

	reap(init, 0);
	init->reported = true;
	if (link_send(init->in->link, &m, -1) < 0)
		_exit(1);
}

/* ---- serving ---- */

static void serve_message(struct init *init, const struct link_message *m)
{
	switch (m->type) {
	case LINK_SIGNAL:
		if (!init->payload_gone && init->payload > 0)
			(void)kill(-init->payload, m->signal); /* the payload leads a session of its own */
		break;
	case LINK_END:
		report_exit(init);
		break;
	case LINK_COLLECT:
		copy_out_send(init->in->plan->lives ? &init->job.plan : init->in->plan, init->in->work, init->in->link);
		break;
	case LINK_MAPPED:
	case LINK_CGROUP:
	case LINK_ERROR:
	case LINK_TTY:
	case LINK_WINDOW:
	case LINK_STARTED:
	case LINK_EXITED:
	case LINK_FILE:
	case LINK_COLLECTED:
	case LINK_PROGRESS:
	case LINK_REPORT:
	case LINK_OPENED:
	case LINK_JOB:
	case LINK_STAT:
	case LINK_PAUSE:
	case LINK_RESUME:
	case LINK_STATS:
		break; /* not for us */
	}
}

static _Noreturn void serve(struct init *init, int signals)
{
	struct pollfd fds[] = { { .fd = init->in->link, .events = POLLIN }, { .fd = signals, .events = POLLIN } };

	for (;;) {
		struct link_message m;
		int sent[LINK_JOB_FDS];
		size_t n;

		if (poll(fds, ARRAY_LEN(fds), -1) < 0 && errno != EINTR) {
			end_everything(init);
			_exit(1);
		}
		if (fds[1].revents) {
			struct signalfd_siginfo info;

			(void)!read(signals, &info, sizeof(info));
			reap(init, WNOHANG);
			if (init->payload_gone)
				report_exit(init);
		}
		if (!fds[0].revents)
			continue;
		if (link_receive_fds(init->in->link, &m, sent, LINK_JOB_FDS, &n) <= 0) {
			end_everything(init);
			_exit(0);
		}
		if (m.type == LINK_JOB)
			begin_job(init, &m.job, sent, n);
		else
			serve_message(init, &m);
		for (size_t i = 0; i < n; i++)
			fd_close(&sent[i]);
	}
}

_Noreturn void init_main(struct inside *in)
{
	struct init init = { .in = in };
	struct link_message m;
	sigset_t child;
	int fd = -1, r, signals;

	/* The quick way; the lifeline is the sure one. Without a pid namespace only the lifeline: nobody but init can end the rest. */
	if (in->plan->level == LEVEL_CONTAINER)
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (link_receive(in->link, &m, &fd) <= 0 || m.type != LINK_MAPPED)
		_exit(1);
	if (in->plan->level == LEVEL_PROCESS)
		(void)prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
	if (inside_begin(in) < 0)
		give_up(in, 1);
	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	(void)sigprocmask(SIG_BLOCK, &child, NULL);
	signals = signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
	init.payload = signals < 0 ? -errno : start_payload(in);
	if (init.payload > 0 && inside_setup(in) < 0)
		give_up(in, 1);
	r = init.payload < 0 ? init.payload : drop(in);
	if (r < 0) {
		cordon_fail(in->err, CORDON_SYSTEM, -r, "start the payload");
		(void)fail_step(in->err, "init");
		give_up(in, 1);
	}
	if (in->plan->lives)
		open_box(&init);
	serve(&init, signals);
}
