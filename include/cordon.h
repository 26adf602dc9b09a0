/*
 * cordon: run what an AI agent wants to run so that it can do its work and nothing else.
 *
 *	#include <cordon.h>
 *	#include <stdio.h>
 *
 *	int main(void)
 *	{
 *		static const char *const argv[] = { "python3", "-c", "print(6 * 7)", NULL };
 *		struct cordon_job job = { .size = sizeof(job), .argv = argv };
 *		struct cordon_error err = { 0 };
 *		struct cordon_policy *policy = NULL;
 *		struct cordon_plan *plan = NULL;
 *		struct cordon_result *result = NULL;
 *
 *		if (cordon_policy_new(&policy, &err) < 0 ||
 *		    cordon_policy_set(policy, "limits.memory", "256M", &err) < 0 ||
 *		    cordon_plan_new(&plan, policy, &job, &err) < 0 ||
 *		    cordon_run(plan, NULL, &result, &err) < 0)
 *			fprintf(stderr, "%s (%s)\n", err.message, err.hint);
 *		else
 *			printf("%s: %.*s", cordon_status_name(result->status),
 *			       (int)result->out.len, result->out.data);
 *		cordon_result_free(result);
 *		cordon_plan_free(plan);
 *		cordon_policy_free(policy);
 *		return 0;
 *	}
 *
 * policy + job -> plan -> box -> result. A policy says what a sandbox may do, a job what to run once. A plan
 * is both, resolved against this host; building one changes nothing. cordon_run() builds the box, runs the
 * job, takes everything down again and returns the result.
 *
 * Errors are values. Every function that can fail returns 0 or -1 and takes `struct cordon_error *err` last,
 * which may be NULL. A payload that failed is a result, not an error: cordon_run() returns 0 and
 * result->status says what happened. The library never prints, exits or aborts.
 *
 * Ownership. What a function hands out through a `ret_` pointer belongs to the caller and goes back through the
 * matching `_free`, which accepts NULL. Strings returned as `char *` are freed with free(). Everything given in is
 * borrowed for the duration of the call; policies and plans copy what they keep.
 *
 * Threads. Different objects may be used from different threads at the same time. A plan may be run by
 * several threads at once. cordon_run() forks; the child never returns into the caller's code.
 *
 * Structs that begin with `size` are set to zero, then `size` to sizeof(struct), so that they can grow.
 */
#ifndef CORDON_H
#define CORDON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define CORDON_API __attribute__((visibility("default")))

/* ---- errors ------------------------------------------------------------------------------------------- */

enum cordon_code {
	CORDON_OK = 0,
	CORDON_INVALID,        /* the policy, job or argument is malformed */
	CORDON_DENIED,         /* the policy or the built-in list refuses it */
	CORDON_UNAVAILABLE,    /* a layer that the plan names cannot be had on this host */
	CORDON_NOT_FOUND,      /* no such file, command, preset or language */
	CORDON_NOT_EXECUTABLE, /* it is there, but not a program that can be run */
	CORDON_SYSTEM,         /* a system call failed; errnum says how */
	CORDON_NO_MEMORY,
	CORDON_INTERNAL, /* a defect in cordon */
	CORDON_BUSY,     /* a living box that runs a job already, or is paused */
};

/* No pointers and less than PIPE_BUF in all: a child hands it to its parent whole, in one write. */
struct cordon_error {
	int code;           /* enum cordon_code */
	int errnum;         /* errno, or 0 */
	char step[32];      /* which step failed: "root", "cgroup", "policy" … */
	char message[1024]; /* what happened, one sentence */
	char hint[1024];    /* what to do about it; may be empty */
};

CORDON_API const char *cordon_code_name(int code); /* "invalid", "denied", … */

/* ---- policy ------------------------------------------------------------------------------------------- */

struct cordon_policy;

enum cordon_format { CORDON_TEXT, CORDON_JSON };

/* The defaults of this installation: built-in values under the configured default policy. */
CORDON_API int cordon_policy_new(struct cordon_policy **ret_policy, struct cordon_error *err);
/* A preset's name ("strict") or the path of a YAML or JSON file; a path has a slash or ends in .yaml, .yml or .json. */
CORDON_API int cordon_policy_load(struct cordon_policy **ret_policy, const char *name_or_path,
				  struct cordon_error *err);
/* The same from memory; `name` stands for the file in messages; relative paths start at `dir` (NULL: refused). */
CORDON_API int cordon_policy_parse(struct cordon_policy **ret_policy, const char *name, const char *dir,
				   const char *text, size_t len, struct cordon_error *err);
/* Nothing set: what a caller asks for, to be laid on a policy with cordon_policy_narrow(). */
CORDON_API int cordon_policy_new_request(struct cordon_policy **ret_request, struct cordon_error *err);
/* One key ("limits.memory") from text as it would stand in YAML; on a list or map key it adds one entry.
 * `origin` is told by cordon_policy_describe() ("flag --memory"). Relative paths start at the working directory. */
CORDON_API int cordon_policy_set_from(struct cordon_policy *policy, const char *key, const char *value,
				      const char *origin, struct cordon_error *err);
CORDON_API int cordon_policy_set(struct cordon_policy *policy, const char *key, const char *value,
				 struct cordon_error *err);
/* Lays a request on a policy. The result is never wider than the policy was: what would widen it is CORDON_DENIED. */
CORDON_API int cordon_policy_narrow(struct cordon_policy *policy, const struct cordon_policy *request,
				    struct cordon_error *err);
/* Effective values with where each came from. */
CORDON_API char *cordon_policy_describe(const struct cordon_policy *policy, enum cordon_format format);
CORDON_API char *cordon_policy_schema(void);                       /* JSON Schema 2020-12 */
CORDON_API char *cordon_policy_presets(enum cordon_format format); /* a line each: name, first comment line */
CORDON_API void cordon_policy_free(struct cordon_policy *policy);

/* One row of the option table, for help, completion and documentation. */
struct cordon_option {
	const char *key;          /* "limits.memory" */
	const char *flag;         /* "--memory", or NULL */
	const char *metavar;      /* "SIZE", … */
	const char *default_text; /* "512M" */
	const char *help;         /* one line */
	bool is_list;             /* the flag may be repeated */
	bool is_switch;           /* the flag takes no value */
};
CORDON_API const struct cordon_option *cordon_options(size_t *ret_count);

/* The installation's configuration, each key with its origin. */
CORDON_API int cordon_config_describe(enum cordon_format format, char **ret_text, struct cordon_error *err);
CORDON_API bool cordon_config_colour(void); /* whether colours are wanted on a terminal */

/* ---- job and plan ------------------------------------------------------------------------------------- */

struct cordon_plan;

struct cordon_job {
	size_t size;
	const char *const *argv; /* the command, NULL-terminated; with `language`, the arguments after the file */
	const char *language;    /* "python", "bash" … or NULL to run argv */
	const char *code;        /* the program text, with `language` */
	size_t code_len;
	const char *code_name;  /* what tracebacks call it: "app.py"; NULL for "main.<ext>" */
	const char *const *env; /* "NAME=VALUE", NULL-terminated, or NULL */
	const char *const *in;  /* "HOST[:DEST]" copied in before the run */
	const char *const *out; /* "PATH[:HOST]" copied out after it */
	uint64_t out_max_bytes; /* bound on everything copied out; 0: 1 GiB */
	const char *workdir;    /* overrides process.workdir; only where the box can see it */
	bool tty;               /* a pseudo-terminal of its own as stdin, stdout and stderr */
	bool keep;              /* keep the scratch directory of `storage: disk`, and say where it is */
	/* Nothing is to be run yet: the plan is of a box that lives, for cordon_box_open(). Without argv, language, out, tty and keep. */
	bool lives;
	uint64_t timeout_ms; /* a shorter deadline than limits.wall_time; 0: that */
};

CORDON_API int cordon_plan_new(struct cordon_plan **ret_plan, const struct cordon_policy *policy,
			       const struct cordon_job *job, struct cordon_error *err);
CORDON_API char *cordon_plan_describe(const struct cordon_plan *plan, enum cordon_format format);
CORDON_API void cordon_plan_free(struct cordon_plan *plan);
CORDON_API char *cordon_languages(enum cordon_format format); /* a line each: name, command */

/* ---- run and result ----------------------------------------------------------------------------------- */

enum cordon_status {
	CORDON_SUCCESS,
	CORDON_ERROR,  /* non-zero exit */
	CORDON_KILLED, /* a signal of its own */
	CORDON_TIMEOUT,
	CORDON_RESOURCE_EXCEEDED, /* result->limit says which */
	CORDON_REFUSED,           /* "denied": could not start what was not allowed; result->error says why */
	CORDON_CANCELLED,
	CORDON_FAILED, /* cordon itself failed; only where a result is made from an error */
};

enum cordon_stream { CORDON_STDOUT = 1, CORDON_STDERR = 2 };

/* What a box with a network tried: a name, a connection, a request on it, or a packet to where nothing is. Text that ends; NULL where
 * there is none. */
struct cordon_connection {
	const char *kind; /* "dns", "connection", "request", "attempt" */
	const char
		*decision;   /* "allowed", "refused", "failed" (allowed, but the other side was not reached or broke) */
	const char *host;    /* the name, or the literal address */
	const char *address; /* what was dialled; of an attempt, what stands for the name in the box */
	unsigned port;
	const char *method, *path;
	const char *rule;   /* that allowed or refused it */
	const char *reason; /* why it was refused or failed */
	const char *allow;  /* what would allow it */
	uint64_t count;     /* of alike ones; bytes and durations are their sums */
	uint64_t time_us;   /* of the first, since the epoch */
	uint64_t duration_us, up_bytes, down_bytes;
};

struct cordon_io {
	size_t size;
	int stdin_fd; /* read by the library and passed on through a pipe; -1 for an empty stdin */
	/* Output as it arrives, from the calling thread. NULL: collected in the result. A negative return cancels the run,
	 * and it is not called again. */
	int (*output)(void *arg, enum cordon_stream stream, const void *data, size_t len);
	void *arg;
	int control_fd; /* each byte read is a signal number for the payload; SIGKILL cancels; SIGWINCH copies the
			   window size of tty_fd; -1 for none */
	int tty_fd;     /* with job.tty: the terminal whose size is copied; -1 for none */
	/* Each event of the network as it happens, from the calling thread, with `arg`; NULL: only gathered in the result. */
	void (*connection)(void *arg, const struct cordon_connection *event);
	/* How building the box goes where that takes long, such as pulling an image: one printable line, and bytes as far as they are known
	 * (0: not). From the calling thread, with `arg`; NULL: not told. */
	void (*progress)(void *arg, const char *text, uint64_t done_bytes, uint64_t total_bytes);
};

/* Nothing attached: `struct cordon_io io = CORDON_IO_INIT;`, then set what is wanted. Zero is a file descriptor. */
#define CORDON_IO_INIT                                                                           \
	{                                                                                        \
		.size = sizeof(struct cordon_io), .stdin_fd = -1, .control_fd = -1, .tty_fd = -1 \
	}

struct cordon_bytes {
	char *data; /* followed by a NUL that is not counted */
	size_t len;
	bool truncated;
};

/* One thing that was refused. Text for a person or a model. */
struct cordon_denial {
	const char *what;  /* "mount" (system call), "exec /usr/bin/curl", "dns files.example.com" … */
	const char *rule;  /* which rule refused it: "seccomp: default", "process.commands", "network: …" */
	const char *allow; /* what would allow it, or why nothing does */
	uint64_t count;
};

struct cordon_result {
	enum cordon_status status;
	int exit_code;     /* -1 where there is none */
	int signal;        /* 0 where there is none */
	const char *limit; /* "memory", "wall_time" …; NULL where none was hit */
	struct cordon_bytes out, err;
	uint64_t wall_us, cpu_us, memory_peak_bytes;
	const struct cordon_denial *denials;
	size_t denial_count;
	const struct cordon_connection *network; /* what was tried, allowed or refused; alike ones together */
	size_t network_count;
	uint64_t network_lost;            /* events that found no room */
	const char *level;                /* "container" */
	const char *engine;               /* "native", "crun" … */
	const char *limit_source;         /* "cgroup" or "watch" */
	const char *const *layers;        /* NULL-terminated: what was really applied */
	const char *const *degraded;      /* NULL-terminated: what was given up on request */
	const char *kept;                 /* the scratch directory that job.keep kept, or NULL */
	const struct cordon_error *error; /* why it could not start, or what failed later; NULL if nothing */
	const char *engine_version;       /* "cordon 0.1.0", "crun 1.8.1"; NULL: it was not reached */
	const char *const *required; /* NULL-terminated: the layers that the policy may not be without (`require`) */
};

/* `io` may be NULL: no stdin, output collected. */
CORDON_API int cordon_run(const struct cordon_plan *plan, const struct cordon_io *io, struct cordon_result **ret_result,
			  struct cordon_error *err);
/* A result that tells an error: so that callers have one shape for everything. */
CORDON_API struct cordon_result *cordon_result_from_error(const struct cordon_error *error);
CORDON_API const char *cordon_status_name(enum cordon_status status); /* "success", "denied" … */
CORDON_API char *cordon_result_json(const struct cordon_result *result);
CORDON_API char *cordon_connection_json(const struct cordon_connection *connection); /* one line, for logs */
/* The exit status of `cordon run`: the payload's own; 124 deadline, 125 cordon failed (also to copy a file out, where the payload
 * succeeded, and where the box's network broke down, also where it did not), 126 not executable or not allowed, 127 not found, 128+n signal. */
CORDON_API int cordon_result_exit_status(const struct cordon_result *result);
CORDON_API void cordon_result_free(struct cordon_result *result);

/* ---- boxes that live ----------------------------------------------------------------------------------- */

/*
 * cordon_run() makes a box for one job. A box that lives takes one job after another: each is a fresh process behind the same walls, with
 * a deadline, an output bound, denials and a result of its own; what earlier jobs wrote is still there, files and System V objects alike. When a job ends, everything that
 * it started ends with it, also what it left in the background: between two jobs nothing runs. Memory, processes, CPU share and disk are
 * limits of the box; wall time, CPU time and output count anew for each job. result->memory_peak_bytes is the box's so far.
 *
 *	struct cordon_job stays = { .size = sizeof(stays), .lives = true };
 *
 *	cordon_plan_new(&plan, policy, &stays, &err);
 *	cordon_box_open(&box, plan, &err);
 *	cordon_box_exec(box, &job, NULL, &result, &err);    // again and again
 *	cordon_box_close(box);
 *
 * A box belongs to the process that opened it, and everything of it is gone when that process ends, however it ends. It is not
 * for a fork of that process. The plan must stay as long as the box.
 *
 * Threads: exec, put and get one at a time; where one is under way, another is CORDON_BUSY, as they all are while the box is paused. Stats,
 * pause and resume may be called beside them. Close comes last, when nobody is in another call.
 *
 * A box can end before it is closed: its keeper was killed, or memory ran out so far that its own first process went. What ran then has its
 * result or an error, and every later call is an error that says why.
 */
struct cordon_box;

struct cordon_stats {
	size_t size;
	uint64_t memory_bytes, memory_peak_bytes; /* now; since it was opened. 0: unknown */
	uint64_t cpu_us;                          /* since it was opened */
	uint64_t processes;                       /* of the job; 0 between jobs */
	bool is_paused, is_busy;                  /* is_busy: a job is there */
};

CORDON_API int cordon_box_open(struct cordon_box **ret_box, const struct cordon_plan *plan, struct cordon_error *err);
/* As cordon_run(), in a box that stands. The job is held to the box's policy; it may have files to copy in and out, and no terminal. */
CORDON_API int cordon_box_exec(struct cordon_box *box, const struct cordon_job *job, const struct cordon_io *io,
			       struct cordon_result **ret_result, struct cordon_error *err);
/* A file or a tree from the host to a path in the box (relative: to its home), with the payload's rights there. A file gives way to what
 * is put, a directory does not. And from there to the host, as --out does. */
CORDON_API int cordon_box_put(struct cordon_box *box, const char *host, const char *path, struct cordon_error *err);
CORDON_API int cordon_box_get(struct cordon_box *box, const char *path, const char *host, struct cordon_error *err);
CORDON_API int cordon_box_stats(struct cordon_box *box, struct cordon_stats *ret_stats, struct cordon_error *err);
/* A paused box keeps everything and uses no CPU; time that it is paused counts for no deadline. */
CORDON_API int cordon_box_pause(struct cordon_box *box, struct cordon_error *err);
CORDON_API int cordon_box_resume(struct cordon_box *box, struct cordon_error *err);
/* Everything of it is gone when this returns. NULL is fine. */
CORDON_API void cordon_box_close(struct cordon_box *box);

/* ---- host --------------------------------------------------------------------------------------------- */

/* Tries each layer on this host. Returns 0 and the report; *ret_ok tells whether container level works. */
CORDON_API int cordon_doctor(enum cordon_format format, char **ret_text, bool *ret_ok, struct cordon_error *err);
/* Removes what killed runs left behind. Every run does it in passing. */
CORDON_API void cordon_sweep(void);
CORDON_API const char *cordon_version(void);

#ifdef __cplusplus
}
#endif
#endif
