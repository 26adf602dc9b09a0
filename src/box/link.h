/*
 * What front, keeper and init tell each other, over SOCK_SEQPACKET pairs: whole messages, fds alongside.
 *
 *	front <-> keeper <-> init (and, until it executes, the payload's child)
 *
 * Nothing here is ever written by a payload: the child's copy of the socket is close-on-exec.
 */
#ifndef BOX_LINK_H
#define BOX_LINK_H

#include "base/error.h"
#include "base/owner.h"

#include <stdint.h>
#include <sys/types.h>

enum link_type {
	LINK_MAPPED = 1, /* keeper -> init: the id maps are written, go on */
	LINK_CGROUP, /* keeper -> init, with fds: what the payload writes to in order to join; after init's own setup */
	LINK_ERROR,  /* init -> keeper: a step failed */
	LINK_TTY,    /* init -> keeper -> front, with fd: the master side */
	LINK_STARTED, /* child -> keeper, with fd where there is a seccomp listener: every step is done, execve is next */
	LINK_EXITED,    /* init -> keeper: the payload and all its descendants are gone */
	LINK_SIGNAL,    /* front -> keeper -> init: for the payload */
	LINK_WINDOW,    /* front -> keeper: of a foreign box's terminal */
	LINK_END,       /* front -> keeper: cancel. keeper -> init: kill everything, then LINK_EXITED */
	LINK_COLLECT,   /* keeper -> init: send the files of --out */
	LINK_FILE,      /* init -> keeper -> front, with fd for a regular file */
	LINK_COLLECTED, /* init -> keeper -> front: no more files */
	LINK_PROGRESS,  /* keeper -> front: building takes a while */
	LINK_REPORT,    /* keeper -> front: the end; a struct link_report follows as a message of its own */
	/* boxes that live: engine/living.c */
	LINK_OPENED, /* init -> keeper -> front: the box stands, and takes jobs */
	LINK_JOB,    /* front -> keeper -> init, with fds: LINK_JOB_FDS */
	LINK_STAT, /* front -> keeper, over a socket of their own; answered with LINK_STATS or LINK_ERROR, as are the next two */
	LINK_PAUSE,
	LINK_RESUME,
	LINK_STATS,
};

/* What comes with LINK_JOB, in this order; the last only where files go in. */
enum { JOB_FD_TEXT, JOB_FD_STDIN, JOB_FD_STDOUT, JOB_FD_STDERR, JOB_FD_FILES, LINK_JOB_FDS };

enum link_reason { LINK_CANCEL, LINK_OUTPUT }; /* why the front ends a run */

struct link_exit {
	int status;            /* as from waitpid */
	uint64_t cpu_us;       /* of everything that was reaped */
	uint64_t maxrss_bytes; /* of the largest process */
	bool disk_full, inodes_full;
};

/* What the keeper has to know of a job; who runs it reads the text. */
struct link_job {
	uint64_t wall_time_ms;
	uint32_t out_count;
	bool runs;      /* false: it only carries files */
	bool has_files; /* some go in, over JOB_FD_FILES: LINK_FILE with an fd each, then LINK_COLLECTED */
};

struct link_stats {
	uint64_t memory_bytes, memory_peak_bytes, cpu_us, processes;
	bool is_paused, is_busy;
};

/* One entry of a tree that is copied out. */
struct link_file {
	uint32_t index; /* which --out */
	uint32_t depth; /* 0: the named path itself */
	uint32_t mode;  /* S_IFMT and permission bits */
	uint64_t size;
	char name[256]; /* one component; empty at depth 0 */
};

struct link_progress {
	uint64_t done_bytes, total_bytes;
	char text[120];
};

enum { LINK_DENIALS = 32, LINK_DENIAL_TEXT = 160 };
struct link_denial {
	int nr; /* system call; -1 with text */
	uint64_t count;
	char text[LINK_DENIAL_TEXT]; /* exec: the path */
};

struct link_report {
	bool started, timed_out, cancelled, out_of_cpu, over_output, over_disk, over_inodes, over_memory;
	bool failed; /* something of ours did while the payload ran, which was ended: the error is the result */
	struct link_exit exit;
	bool has_exit;
	uint64_t wall_us, cpu_us, memory_peak_bytes, oom_kills, process_refusals;
	unsigned layers, degraded;
	bool limits_by_watch;
	bool is_last;              /* a box that lives ended with this job */
	bool is_idle;              /* a box that lives ended between two jobs: nobody waits for this report */
	char engine_version[96];   /* empty: none was reached, or native */
	struct cordon_error error; /* code CORDON_OK: none */
	uint32_t denial_count;
	uint64_t denials_lost; /* distinct ones beyond the table */
	struct link_denial denials[LINK_DENIALS];
};

struct link_message {
	enum link_type type;
	union {
		struct cordon_error error;
		unsigned layers;
		struct link_exit exit;
		int signal;
		uint32_t window; /* rows << 16 | columns */
		enum link_reason reason;
		struct link_file file;
		struct link_progress progress;
		struct link_job job;
		struct link_stats stats;
	};
};

int link_send_report(int sock, const struct link_report *report);  /* LINK_REPORT and the report itself */
int link_receive_report(int sock, struct link_report *ret_report); /* what follows LINK_REPORT */
/* 0 or -errno. fd -1: none. */
int link_send(int sock, const struct link_message *m, int fd);
/* Never waits: -EAGAIN where the other side has not read for long. For what must not hold its sender up. */
int link_send_now(int sock, const struct link_message *m);
int link_send_fds(int sock, const struct link_message *m, const int *fds, size_t n);
int link_receive_fds(int sock, struct link_message *m, int *fds, size_t max, size_t *ret_n);
/* 1: a message; 0: the other side is gone; -errno (-EAGAIN on a non-blocking socket). *ret_fd is -1 or the caller's to close. */
int link_receive(int sock, struct link_message *m, int *ret_fd);
/* The same without taking it and without waiting; none of its descriptors. */
int link_peek(int sock, struct link_message *m);

#endif
