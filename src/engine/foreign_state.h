/*
 * A box that another engine builds, in the keeper: its state, for the foreign*.c files. The driver (cordon-engine, cordon-engine-docker) makes the
 * container, cordon-init in it starts the payload; the keeper speaks with both and carries input and output.
 */
#ifndef ENGINE_FOREIGN_STATE_H
#define ENGINE_FOREIGN_STATE_H

#include "box/job.h"
#include "box/shelf.h"
#include "engine/keeper_state.h"
#include "stream/engine.h"
#include "stream/frame.h"

#include <dirent.h>

/* foreign_net.c; all -1 where there is no network. */
struct foreign_net {
	int authority;      /* the box's certificates come this way */
	int maker, said;    /* who makes the gateway, and what he says */
	int netns;          /* the box's namespace, for the runtime */
	int link;           /* where init asks for the other end of its link: foreign_link.c */
	int init_pid;       /* the container's init on this machine; 0: unknown */
	char init_path[64]; /* in the container; "": any that is our file will do, since we made the container */
	bool is_linked;     /* init lays the link; else the keeper goes in */
	bool has_link;      /* it has */
};
#define FOREIGN_NET_INIT                                                          \
	{                                                                         \
		.authority = -1, .maker = -1, .said = -1, .netns = -1, .link = -1 \
	}
enum { FOREIGN_COPY_DEPTH = 64 };

/* What is being copied in over the stream. */
struct foreign_copy {
	bool is_on;
	size_t next; /* of --in */
	size_t depth;
	DIR *dirs[FOREIGN_COPY_DEPTH];
	int file;       /* being sent, or -1 */
	uint64_t bytes; /* of files so far */
};

struct foreign {
	struct keeper *k;
	struct cordon_plan *plan;    /* the job's while a box that lives has one, else the box's */
	const char *root;            /* where the root lies for the runtime */
	struct shelf shelf;          /* engines with images of their own */
	int driver, control, stream; /* its pidfd; the sockets to it and to init; -1: gone */
	int input, outputs[2];       /* the front's pipes; -1: done with */
	struct frame_reader reader;
	struct str queue, pending[2]; /* for init, for the front */
	size_t queue_at, pending_at[2];
	uint64_t credit; /* of input */
	bool is_created, is_ready, has_job, driver_died;
	bool counts_processes; /* the engine does not: init does, by rlimit, which holds where ids are the box's own */
	uint32_t window;       /* of the terminal: rows << 16 | columns; 0: unknown */
	unsigned force;        /* how hard it was ended so far */
	uint8_t order[16];     /* what was asked of the driver: k->awaited of them, the oldest first */
	struct foreign_net net;
	struct foreign_copy copy;
	/* the file that is coming out */
	int file;
	struct link_file entry;
	bool has_entry;
	uint64_t file_bytes;
	/* a box that lives: foreign_live.c */
	struct job job;     /* what `plan` points into while there is one */
	int files, feeding; /* what goes in: from the front; the file under way; -1: none */
	bool ends_at_start;
};

static inline bool foreign_is_full(const struct foreign *f)
{
	return f->pending[0].len || f->pending[1].len;
}

/* foreign_start.c */
int foreign_start(struct foreign *f, struct cordon_error *err);
void foreign_send_job(struct foreign *f); /* queued for init */
int foreign_lay_root(struct foreign *f, struct cordon_error *err);
int foreign_write_spec(const struct foreign *f); /* a memfd, or -errno */
_Noreturn void foreign_become_driver(const struct foreign *f, const int from[3]);

/* foreign_user.c: where an ordinary user's root is laid out, the driver in a user namespace of its own, where it lays the root out first */
bool foreign_has_stage(const struct foreign *f);
int foreign_clone_stage(struct foreign *f, int stream, int control, struct cordon_error *err);

/* foreign_image.c: engines with images of their own */
struct json;
int foreign_shelve(struct foreign *f, struct cordon_error *err);
void foreign_describe_image(const struct foreign *f, struct json *j); /* into the specification */
int foreign_add_checks(const struct foreign *f, struct strv *to);     /* what init must find where; 0 or -ENOMEM */

/* foreign_copy.c: the same engines */
void foreign_feed(struct foreign *f); /* more of what goes in, and START at its end */
int foreign_add_ins(const struct cordon_plan *plan, struct strv *to);
void foreign_copy_done(struct foreign *f);

/* foreign_stream.c */
void foreign_from_init(struct foreign *f);
void foreign_to_init(struct foreign *f);
void foreign_take_input(struct foreign *f);
void foreign_give_output(struct foreign *f, int i);

/* foreign_net.c: nothing where the plan has no network. Before the root is laid out; before the driver is started; at the end. */
int foreign_net_start(struct foreign *f, struct cordon_error *err);
int foreign_net_made(struct foreign *f, struct cordon_error *err);
int foreign_net_enter(struct foreign *f, struct cordon_error *err); /* once init is there, before its job */
void foreign_net_done(struct foreign *f);

/* foreign_tty.c: nothing where the plan has no terminal */
int foreign_open_terminal(struct foreign *f, struct cordon_error *err);
void foreign_set_window(struct keeper *k, uint32_t window); /* engine_ops */

/* foreign_live.c: engine_ops */
int foreign_exec(struct keeper *k, const struct link_message *job, int fds[LINK_JOB_FDS], size_t n,
		 struct cordon_error *err);
void foreign_rest(struct keeper *k);
void foreign_pass_file(struct foreign *f); /* one piece of what goes in */
void foreign_drop(struct foreign *f);      /* nothing more goes in, and nothing is run */
static inline bool foreign_passes(const struct foreign *f)
{
	return (f->files >= 0 || f->feeding >= 0) && f->queue.len < FRAME_MAX;
}

/* foreign_link.c: the same where the keeper has no rights over the container's namespace and init does. */
int foreign_link_open(struct foreign *f,
		      struct cordon_error *err); /* the socket, on the shelf; before the specification */
void foreign_link_serve(struct foreign *f);      /* init has come; once the container is known */
/* init, and who it is to become */
struct foreign_link_to {
	int socket;
	uid_t uid;
	gid_t gid;
};
int foreign_link_ask(void *arg, int gateway_netns); /* in the maker */
int foreign_link_finish(const struct foreign_link_to *to,
			struct cordon_error *err); /* in the maker: init has no rights any more */
/* foreign_net.c, for it: the maker in a user namespace of its own. */
int foreign_net_link(struct foreign *f, const struct foreign_link_to *to, struct cordon_error *err);

/* foreign.c */
/* The front is gone or wants an end, before there is a payload. Looks without taking. */
bool foreign_is_unwanted(const struct foreign *f);
void foreign_fail(struct foreign *f,
		  const struct cordon_error *err); /* it cannot be built: egress may know better why */

#endif
