/*
 * cordon-init: the entry process in a container of a foreign engine, pid 1 there. It speaks frames (stream/frame.h) over its stdin
 * and stdout and needs nothing else of the engine: no fds, no sockets, no rights. It runs as the payload's own unprivileged user; what
 * shields it is that it is pid 1 and not dumpable, and the payload's Landlock scopes. In a kernel where that is not enough (gVisor), it is the
 * container's root, which is nobody outside, and the payload another user. Its stream is its lifeline.
 */
#ifndef INNER_INNER_H
#define INNER_INNER_H

#include "os/seccomp.h"
#include "stream/frame.h"
#include "stream/job.h"

#include <sys/types.h>

enum { INNER_DENIALS = 64, INNER_DEPTH = 66 };

/* A tree that is being copied in. */
struct inner_copy {
	int dirs[INNER_DEPTH]; /* dirs[0]: where the named path goes; dirs[n + 1]: the directory at depth n */
	uint32_t modes[INNER_DEPTH];
	size_t depth; /* how many of dirs are open */
	int file;     /* being written, or -1 */
	uint32_t mode;
	bool is_link;
	char name[FRAME_NAME_MAX]; /* of the link */
	uint64_t bytes, files;     /* so far */
};

struct inner {
	int in, out; /* the stream */
	struct frame_reader reader;
	struct str queue; /* for the keeper */
	size_t queue_at;  /* of it, written */
	struct stream_job job;
	struct inner_copy copy;
	uint64_t out_bytes; /* handed out so far */
	pid_t payload;      /* 0: none */
	bool payload_gone, reported;
	int status;                    /* the payload's, as from waitpid */
	uint64_t cpu_us, maxrss_bytes; /* of whom was reaped */
	int child, listener;           /* what the payload's child has to say; its refused calls; -1: none */
	uint64_t denied, throttle_us;
	struct frame_denial denials[INNER_DENIALS];
	size_t denial_count;
	int stdin_to, streams[2];
	struct str input; /* for the payload */
	size_t input_at;
	bool input_ended;
};

/* What the payload's child tells init: once before it executes, and once more if that fails. */
struct inner_said {
	bool is_error;
	uint32_t applied; /* FRAME_HAS_* */
	struct cordon_error error;
};

/* main.c: writes what is queued; `wait`: all of it. Ends the process when the keeper is gone. */
void inner_flush(struct inner *n, bool wait);
_Noreturn void inner_give_up(struct inner *n, const struct cordon_error *err);
/* More bytes of the stream, in the reader. False: none now. Ends the process when the keeper is gone. */
bool inner_read(struct inner *n);

/* stdio.c: what the payload has as 0, 1 and 2, and init's ends of it */
struct inner_stdio {
	int theirs[3], in, outs[2]; /* with a terminal, outs[1] is none */
};
#define INNER_STDIO_INIT                                               \
	{                                                              \
		.theirs = { -1, -1, -1 }, .in = -1, .outs = { -1, -1 } \
	}
int inner_stdio_open(struct inner_stdio *s, const struct stream_job *job); /* 0 or -errno */
void inner_stdio_given(struct inner_stdio *s);                             /* the payload has its own now */
void inner_stdio_done(struct inner_stdio *s);                              /* there will be no payload */
void inner_set_window(int terminal, uint32_t window);                      /* rows << 16 | columns; 0: as it is */

/* payload.c: runs in the child and returns only on failure. `said` is where struct inner_said goes. */
int inner_become_payload(const struct stream_job *job, const int stdio[3], int said, struct cordon_error *err);
struct seccomp_options inner_filter(const struct stream_job *job, bool notify);

/* serve.c: from the payload's start to its end; returns once EXITED is queued. Without a payload: at once. */
int inner_start(struct inner *n, struct cordon_error *err);
void inner_serve(struct inner *n);
void inner_forget(struct inner *n); /* everything of a job that is over: the next may come */

/* network.c: where init has rights over the network, it uses them and gives all of them up. Nothing elsewhere. */
int inner_network(const char *self, struct cordon_error *err);

/* image.c: what has to be seen to before anything goes in */
int inner_check_places(const struct inner *n, struct cordon_error *err);
int inner_merge_env(struct inner *n, struct cordon_error *err);

/* files.c */
int inner_copy_entry(struct inner *n, const struct frame_entry *entry, struct cordon_error *err);
int inner_copy_data(struct inner *n, const void *data, size_t len, struct cordon_error *err);
int inner_copy_done(struct inner *n, struct cordon_error *err);
void inner_collect(struct inner *n);

#endif
