/*
 * The front: lends this process's stdin, stdout, stderr, terminal and signals to one run. Signals travel as bytes
 * through a pipe that the library reads (control_fd); a second SIGINT or SIGTERM within two seconds cancels the
 * run, whatever the payload makes of the first. Runs in the caller's process; the handlers are the one place with globals.
 */
#include "base/clock.h"
#include "base/fd.h"
#include "cli/cli.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { IMPATIENCE_US = 2000000, PROGRESS_US = 100000 };

static const int forwarded_signals[] = { SIGHUP, SIGINT, SIGQUIT, SIGUSR1, SIGUSR2, SIGTERM };
static int signal_pipe = -1;
static volatile sig_atomic_t last_forwarded;
static uint64_t last_request_us;

struct front {
	bool tty;
	bool broken; /* nobody reads our output any more */
	int failed;  /* errno of another failure to write it */
	int log;     /* -1: none */
	int log_failed;
	bool has_progress;    /* a line of it stands on the terminal */
	uint64_t progress_us; /* when */
};

static void send_byte(int sig)
{
	unsigned char byte = (unsigned char)sig;

	/* A full pipe means that thousands wait already: one more or less is no loss. */
	(void)!write(signal_pipe, &byte, 1);
}

static void on_signal(int sig)
{
	int saved = errno;

	if (sig == SIGCONT)
		cli_term_again();
	if (sig == SIGINT || sig == SIGTERM) {
		uint64_t now_us = clock_us();

		if (last_request_us && now_us - last_request_us < IMPATIENCE_US) {
			cli_interrupted = 1;
			sig = SIGKILL;
		}
		last_request_us = now_us;
	}
	if (sig != SIGCONT && sig != SIGWINCH)
		last_forwarded = sig;
	send_byte(sig == SIGCONT ? SIGWINCH : sig);
	errno = saved;
}

/* What the caller ignores (nohup, a background job of sh) stays ignored. */
static void catch_signal(int sig)
{
	struct sigaction old, action = { .sa_handler = on_signal };

	sigfillset(&action.sa_mask);
	if (sigaction(sig, &action, &old) == 0 && old.sa_handler == SIG_IGN)
		sigaction(sig, &old, NULL);
}

static void catch_signals(bool tty)
{
	for (size_t i = 0; i < ARRAY_LEN(forwarded_signals); i++)
		catch_signal(forwarded_signals[i]);
	if (tty) {
		catch_signal(SIGWINCH);
		catch_signal(SIGCONT);
	}
	signal(SIGPIPE, SIG_IGN);
}

static void clear_progress(struct front *front)
{
	if (front->has_progress)
		(void)cli_write(STDERR_FILENO, "\r\033[K", 4);
	front->has_progress = false;
}

/* On one line of the terminal, and not so often that it flickers. */
static void front_progress(void *arg, const char *text, uint64_t done_bytes, uint64_t total_bytes)
{
	struct front *front = arg;
	uint64_t now_us = clock_us();
	char line[256], done[32], total[32];
	int n;

	if (now_us - front->progress_us < PROGRESS_US)
		return;
	if (total_bytes)
		n = snprintf(line, sizeof(line), "\r\033[K%.60s %s of %s", text, str_size(done_bytes, done),
			     str_size(total_bytes, total));
	else
		n = snprintf(line, sizeof(line), "\r\033[K%.78s", text);
	(void)cli_write(STDERR_FILENO, line, (size_t)n);
	front->has_progress = true;
	front->progress_us = now_us;
}

static int front_output(void *arg, enum cordon_stream stream, const void *data, size_t len)
{
	struct front *front = arg;
	int rc;

	if (front->broken || front->failed || cli_interrupted)
		return -1;
	clear_progress(front);
	rc = cli_write(stream == CORDON_STDERR && !front->tty ? STDERR_FILENO : STDOUT_FILENO, data, len);
	front->broken = rc == -EPIPE;
	if (rc < 0 && !front->broken && !cli_interrupted)
		front->failed = -rc;
	return rc;
}

/* A line that cannot be written is told at the end; the run goes on. */
static void front_connection(void *arg, const struct cordon_connection *event)
{
	struct front *front = arg;
	auto_free char *line = cordon_connection_json(event);
	auto_free char *whole = line ? str_printf("%s\n", line) : NULL;
	int rc = whole && front->log >= 0 ? fd_write_all(front->log, whole, strlen(whole)) : 0;

	if (rc < 0)
		front->log_failed = -rc;
}

/* Nobody else's business, and never through a link that somebody else put there. */
static int front_log(struct front *front, const struct cli_request *request, struct cordon_error *err)
{
	front->log = -1;
	if (!request->log)
		return 0;
	front->log = open(request->log, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	return front->log < 0 ? cordon_fail(err, CORDON_SYSTEM, errno, "open the log '%s'", request->log) : 0;
}

static int front_finish(const struct front *front, const struct cordon_result *result,
			const struct cli_request *request)
{
	int status = front->broken ? STATUS_PIPE : cordon_result_exit_status(result);
	struct cordon_error err = { 0 };

	if (front->failed) {
		cordon_fail(&err, CORDON_SYSTEM, front->failed, "write the payload's output");
		return cli_fail(&err, false);
	}
	if (front->log_failed) {
		cordon_fail(&err, CORDON_SYSTEM, front->log_failed, "write the log");
		(void)cli_fail(&err, false);
	}
	if (request->json)
		return cli_print(cordon_result_json(result), status);
	if (!front->broken && !request->quiet)
		cli_summary(result, request, last_forwarded);
	return status;
}

/* Who is woken to pass bytes on does not take the processor from the payload that wrote them, or that is just ending. A caller who has chosen
 * otherwise keeps that; the keeper does not follow. By number: musl's functions of these names do nothing. */
static void stand_back(void)
{
	const struct sched_param none = { 0 };

	if (syscall(SYS_sched_getscheduler, 0) == SCHED_OTHER)
		(void)syscall(SYS_sched_setscheduler, 0, SCHED_BATCH, &none);
}

int cli_front(const struct cli_job *job, const struct cli_request *request)
{
	struct front front = { .tty = request->tty };
	struct cordon_error err = { 0 };
	struct cordon_result *result = NULL;
	struct cordon_io io = {
		.size = sizeof(io),
		.stdin_fd = job->stdin_used ? -1 : STDIN_FILENO,
		.output = request->json ? NULL : front_output,
		.arg = &front,
		.connection = request->log ? front_connection : NULL,
		.progress = isatty(STDERR_FILENO) && !request->quiet ? front_progress : NULL,
		.tty_fd = request->tty ? cli_term_find() : -1,
	};
	int control[2], status, rc;

	if (front_log(&front, request, &err) < 0)
		return cli_fail(&err, request->json);
	if (pipe2(control, O_CLOEXEC | O_NONBLOCK) < 0) {
		cordon_fail(&err, CORDON_SYSTEM, errno, "pipe");
		(void)fail_step(&err, "front");
		return cli_fail(&err, request->json);
	}
	io.control_fd = control[0];
	signal_pipe = control[1];
	catch_signals(request->tty);
	if (request->tty && !request->json && !job->stdin_used)
		cli_term_raw(STDIN_FILENO);
	stand_back();
	rc = cordon_run(job->plan, &io, &result, &err);
	clear_progress(&front);
	cli_term_restore();
	status = rc < 0 ? cli_fail(&err, request->json) : front_finish(&front, result, request);
	cordon_result_free(result);
	return status; /* the pipe stays open for handlers: the process ends here */
}
