/* The state of a foreign box in the keeper, for the foreign*.c files. */
#ifndef BOX_FOREIGN_STATE_H
#define BOX_FOREIGN_STATE_H

#include "box/egress.h"
#include "engine/foreign.h"
#include "box/job.h"
#include "box/prepare.h"
#include "box/shelf.h"
#include "stream/engine.h"
#include "stream/frame.h"

#include <dirent.h>

enum foreign_stage {
	FOREIGN_RUNS,     /* up to the payload's end */
	FOREIGN_COUNTS,   /* what it used is asked for, while its group still has somebody in it */
	FOREIGN_COLLECTS, /* files go out */
	FOREIGN_IDLE,     /* a box that lives, between two jobs */
	FOREIGN_LEAVES,   /* init has been told to go */
};

/* foreign_net.c; all -1 where there is no network. */
struct foreign_net {
	struct egress_process egress;
	int authority;      /* the box's certificates come this way */
	int maker, said;    /* who makes the gateway, and what he says */
	int netns;          /* the box's namespace, for the runtime */
	int link;           /* where init asks for the other end of its link: foreign_link.c */
	int init_pid;       /* the container's init on this machine; 0: unknown */
	char init_path[64]; /* in the container; "": any that is our file will do, since we made the container */
	bool is_linked;     /* init lays the link; else the keeper goes in */
	bool has_link;      /* it has */
};
#define FOREIGN_NET_INIT                                                                                 \
	{                                                                                                \
		.egress = EGRESS_INIT, .authority = -1, .maker = -1, .said = -1, .netns = -1, .link = -1 \
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
	enum foreign_stage stage;
	struct cordon_plan *plan;
	const struct keeper_fds *fds;
	const char *owner;
	struct link_report *report;
	struct prepared prepared;
	const char *root;            /* where the root lies for the runtime */
	struct shelf shelf;          /* engines with images of their own */
	int driver, control, stream; /* its pidfd; the sockets to it and to init; -1: gone */
	int input, outputs[2];       /* the front's pipes; -1: done with */
	struct frame_reader reader;
	struct str queue, pending[2]; /* for init, for the front */
	size_t queue_at, pending_at[2];
	uint64_t credit; /* of input */
	uint64_t started_us, ended_us, deadline_us, cpu_check_us, cpu_base_us, guard_us, watch_us;
	uint64_t early_signals; /* bit n-1: signal n, which came before there was a payload */
	struct engine_exited numbers;
	bool has_base, is_created, is_ready, has_job, wants_numbers;
	bool counts_processes; /* the engine does not: init does, by rlimit, which holds where ids are the box's own */
	bool ending, in_grace, front_gone, collected, cut_short, swept, driver_died;
	uint32_t window; /* of the terminal: rows << 16 | columns; 0: unknown */
	unsigned force;  /* how hard it was ended so far */
	struct foreign_net net;
	struct foreign_copy copy;
	/* the file that is coming out */
	int file;
	struct link_file entry;
	bool has_entry;
	uint64_t file_bytes;
	/* a box that lives: foreign_live.c */
	struct cordon_plan *box; /* its own plan; `plan` is the job's while there is one */
	struct job job;          /* what `plan` points into then */
	int files, feeding;      /* what goes in: from the front; the file under way; -1: none */
	bool is_open, control_gone, ends_at_start;
	uint64_t paused_us;        /* since when; 0: it is not */
	unsigned asked, before;    /* LINK_STAT and the like, 0: nothing; how many answers come before this one's */
	struct engine_exited then; /* the numbers when the job began */
	struct cordon_error lost;  /* egress is gone: every later job is told */
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
void foreign_signal(struct foreign *f, int sig);

/* foreign_net.c: nothing where the plan has no network. Before the root is laid out; before the driver is started; at the end. */
int foreign_net_start(struct foreign *f, struct cordon_error *err);
int foreign_net_made(struct foreign *f, struct cordon_error *err);
int foreign_net_enter(struct foreign *f, struct cordon_error *err);    /* once init is there, before its job */
void foreign_net_explain(struct foreign *f, struct cordon_error *err); /* a failure to start: egress knows better why */
void foreign_net_turn(struct foreign *f);                              /* egress is gone */
void foreign_net_done(struct foreign *f);

/* foreign_tty.c: nothing where the plan has no terminal */
int foreign_open_terminal(struct foreign *f, struct cordon_error *err);
void foreign_set_window(struct foreign *f, uint32_t window);

/* foreign_live.c */
void foreign_open(struct foreign *f); /* the container stands, and takes jobs */
void foreign_take_job(struct foreign *f, const struct link_job *head, int fds[LINK_JOB_FDS], size_t n);
bool foreign_finish(struct foreign *f);    /* the job is over: reported; false: some of its output is still here */
void foreign_pass_file(struct foreign *f); /* one piece of what goes in */
void foreign_drop(struct foreign *f);      /* nothing more goes in, and nothing is run */
void foreign_asked(struct foreign *f);     /* something, over fds->control */
void foreign_answer(struct foreign *f, const struct cordon_error *err); /* the driver said something; NULL: numbers */
void foreign_thaw(struct foreign *f);                                   /* before it is ended */
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
void foreign_account(struct foreign *f);
void foreign_miss_init(struct foreign *f);
/* The front is gone or wants an end, before there is a payload. Looks without taking. */
bool foreign_is_unwanted(const struct foreign *f);
void foreign_request(struct foreign *f, enum engine_packet_type type);
void foreign_ask_numbers(struct foreign *f);
void foreign_note(struct foreign *f, const struct cordon_error *err); /* the first one counts */
void foreign_end(struct foreign *f);

#endif
