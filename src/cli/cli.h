/*
 * The command line: a thin front over cordon.h, one file per subcommand. Everything here runs in the caller's process
 * with the caller's rights. Text leaves through cli_write(), never through stdio: a run must not pay for buffers
 * that it does not use.
 */
#ifndef CLI_CLI_H
#define CLI_CLI_H

#include "base/error.h"
#include "base/str.h"

#include <signal.h>

enum {
	STATUS_NO = 1,       /* the answer is no: a policy with errors, a host without the walls */
	STATUS_FAILED = 125, /* cordon itself failed, or was called wrongly */
	STATUS_PIPE = 141,   /* nobody reads the output any more: 128 + SIGPIPE */
};

/* ---- subcommands (main.c) ----------------------------------------------------------------------------- */

/* Which flags a subcommand takes: a bit for each set. */
enum cli_scope {
	SCOPE_RUN = 1,   /* run, and plan of it: flags first, then the command */
	SCOPE_CODE = 2,  /* code, and plan of it */
	SCOPE_SHOW = 4,  /* policy show */
	SCOPE_OTHER = 8, /* no flag of the option table */
	SCOPE_JOB = SCOPE_RUN | SCOPE_CODE,
	SCOPE_POLICY = SCOPE_JOB | SCOPE_SHOW, /* all flags of the option table */
	SCOPE_ANY = SCOPE_POLICY | SCOPE_OTHER,
};

struct cli_command {
	const char *name;
	int (*main)(int argc, char **argv); /* argv[0] is the name; returns the exit status */
	enum cli_scope scope;
	const char *usage;    /* what follows the name; further forms on further lines */
	const char *help;     /* one line */
	const char *words;    /* what may follow, for completion: "check show" */
	const char *examples; /* whole lines, or NULL */
};
const struct cli_command *cli_commands(size_t *ret_count);
const struct cli_command *cli_command_find(const char *name); /* or NULL */

int cmd_run(int argc, char **argv);
int cmd_code(int argc, char **argv);
int cmd_plan(int argc, char **argv);
int cmd_policy(int argc, char **argv);
int cmd_config(int argc, char **argv);
int cmd_doctor(int argc, char **argv);
int cmd_languages(int argc, char **argv);
int cmd_sweep(int argc, char **argv);
int cmd_version(int argc, char **argv);
int cmd_help(int argc, char **argv);
int cmd_image(int argc, char **argv);
int cmd_completion(int argc, char **argv);

/* ---- what was asked for (flags.c) --------------------------------------------------------------------- */

struct cli_setting {
	const struct cordon_option *option;
	const char *value;
};

/* A parsed command line. Pointers lead into argv; the vectors hold copies. */
struct cli_request {
	bool json, quiet, verbose, tty, keep, help;
	const char *policy; /* --policy */
	const char *image;  /* --image */
	const char *code;   /* -e */
	const char *log;    /* --log */
	struct strv in, out;
	struct strv words; /* what is no flag, up to "--"; none in SCOPE_RUN */
	char **rest;       /* SCOPE_RUN: the command; else what follows "--"; NULL-terminated, perhaps empty */
	struct cli_setting *settings;
	size_t setting_count;
};

/* A flag that is no policy's: what to do with the job and its result. */
struct cli_flag {
	const char *name;    /* "--json" */
	const char *letter;  /* "-t", or NULL */
	unsigned scope;      /* of enum cli_scope */
	const char *metavar; /* NULL: takes no value */
	size_t offset;       /* of its member in struct cli_request: bool, const char * or struct strv */
	bool is_list;
	const char *help;
};
const struct cli_flag *cli_flags(size_t *ret_count);

/* Splits argv[1…] by the two flag tables. On failure request->json still tells how the error is to be shown. */
int cli_parse(struct cli_request *request, enum cli_scope scope, int argc, char **argv, struct cordon_error *err);
/* The policy that the request's flags make: by themselves, or laid on --policy and never wider than that. */
int cli_policy(struct cordon_policy **ret_policy, const struct cli_request *request, struct cordon_error *err);
void cli_request_done(struct cli_request *request);
#define auto_request __attribute__((cleanup(cli_request_done)))

/* "Did you mean": offer each candidate, then look at best (NULL where none is near). */
struct cli_nearest {
	const char *word, *best;
	size_t distance;
};
void cli_nearest_offer(struct cli_nearest *nearest, const char *candidate);

/* ---- jobs (job.c, front.c, term.c, summary.c) --------------------------------------------------------- */

/* A request made ready to run. */
struct cli_job {
	struct cordon_plan *plan;
	bool stdin_used; /* the program itself came from stdin */
	bool planned;    /* the call was well-formed; what fails now is about running it */
};
int cli_job_run(struct cli_job *job, const struct cli_request *request, struct cordon_error *err);
int cli_job_code(struct cli_job *job, const struct cli_request *request, struct cordon_error *err);
int cli_job_fail(const struct cli_job *job, const struct cordon_error *err, bool json); /* the exit status */
void cli_job_done(struct cli_job *job);
#define auto_job __attribute__((cleanup(cli_job_done)))

/* Runs the plan with this process's stdin, stdout, stderr, terminal and signals; returns the exit status. */
int cli_front(const struct cli_job *job, const struct cli_request *request);
/* What a person wants to know after a run, on stderr. `forwarded`: the last signal that was passed on, or 0. */
void cli_summary(const struct cordon_result *result, const struct cli_request *request, int forwarded);

/* The terminal that --tty lends to the payload. raw() does nothing unless fd is a terminal. */
void cli_term_raw(int fd);
void cli_term_again(void);   /* after SIGCONT; safe in a signal handler */
void cli_term_restore(void); /* the same; idempotent */
int cli_term_find(void);     /* the first of stdin, stdout, stderr that is a terminal, or -1 */

/* ---- text (text.c) ------------------------------------------------------------------------------------ */

/* Set by a signal that must end even a blocked write. */
extern volatile sig_atomic_t cli_interrupted;
/* 0 or -errno; waits where the descriptor does not block. */
int cli_write(int fd, const void *data, size_t len);
/* Text to stdout, with a newline at its end; frees it; NULL is "out of memory". Returns `status`, or that of a failed write. */
int cli_print(char *text, int status);
/* "cordon: message" and "hint: …" on stderr. */
void cli_warn(const struct cordon_error *err);
/* The same, or with `json` a result on stdout. Returns the exit status that goes with the error … */
int cli_fail(const struct cordon_error *err, bool json);
/* … or always 125: the call was wrong, nothing was about to run. */
int cli_fail_usage(const struct cordon_error *err, bool json);
/* Adds text with control characters made visible: some of it comes from payloads. */
void cli_add_clean(struct str *s, const char *text);
/* Escape sequences for stderr; empty where colours are not wanted. */
struct cli_colours {
	const char *bad, *dim, *end;
};
const struct cli_colours *cli_colours(void);

/* ---- help and completion (help.c, words.c) ------------------------------------------------------------ */

int cli_help(const struct cli_command *command);
/* The flags of `cordon image`, which are other programs' to read; the last has no name. */
struct cli_image_flag {
	const char *verbs; /* "build pull" */
	const char *name, *metavar, *help;
};
extern const struct cli_image_flag cli_image_flags[];
bool cli_image_takes(const struct cli_image_flag *flag, const char *verb);
char *cli_image_list(void); /* as `cordon image ls` prints it; malloc'd, or NULL */
int cli_words(char **argv); /* candidates for the last word, a line each; see words.c */

/* The files of completions/, generated by tools/embed.sh; the last has no name. */
struct cli_script {
	const char *name, *text;
};
extern const struct cli_script cli_scripts[];

#endif
