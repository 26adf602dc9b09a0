/* What cordon-init is to do, as the keeper tells it: encoded into FRAME_JOB pieces. Pure. */
#ifndef STREAM_JOB_H
#define STREAM_JOB_H

#include "base/str.h"

enum { STREAM_JOB_MAX = 8 << 20 }; /* the kernel's own bound on argv and environment is 6 MiB */

enum {
	STREAM_STRICT = 1,        /* process.syscalls: strict */
	STREAM_LANDLOCK = 2,      /* must be there */
	STREAM_NOTIFY_NEEDED = 4, /* refused calls must be told; otherwise they are told where the kernel can */
	STREAM_NO_SOCKETS = 8,
	STREAM_IMAGE_ENV = 16, /* what init was started with lies under env: the image's own variables */
	STREAM_TTY = 32,       /* a terminal in place of three pipes: all output is STDOUT */
};

/* How it has to lie there, besides being that very file. */
enum stream_check {
	STREAM_CHECK_PLACE = 'p',     /* in any way */
	STREAM_CHECK_MOUNT = 'm',     /* as a mount of its own */
	STREAM_CHECK_READ_ONLY = 'r', /* so that nobody can write to it there */
};

struct stream_job {
	uint32_t flags;
	uint64_t open_files, file_size_bytes, cpu_seconds; /* rlimits of the payload */
	uint64_t processes; /* the same, where no group of the engine's counts them; 0: none */
	uint32_t window;    /* STREAM_TTY: as in FRAME_WINDOW */
	uint32_t uid, gid;  /* the payload's, where init is the container's root; 0: init and payload are one user */
	uint64_t copy_bytes, copy_files; /* how much may be copied in */
	uint64_t out_bytes;   /* more than may be copied out: once as much was sent, of each file one byte follows */
	char *workdir, *path; /* path: where programs are looked for */
	struct strv argv, env;
	struct strv grants;    /* Landlock: "r", "x", "w", "d" in any number, a blank, a path */
	struct strv ins, outs; /* paths in the box that ENTRY's index speaks of */
	struct strv disks;     /* paths whose file systems may be full at the end */
	struct strv
		checks; /* "DEVICE INODE HOW PATH": what must lie there, or nothing is started; see enum stream_check */
};

void stream_job_put(struct str *out, const struct stream_job *job); /* not in frames yet */
/* 0, or -EPROTO: *ret is empty then. No argv: files go in and out, and nothing is run. */
int stream_job_get(const void *data, size_t len, struct stream_job *ret);
void stream_job_done(struct stream_job *job);

#endif
