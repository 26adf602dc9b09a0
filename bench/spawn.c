/*
 * Times commands against each other: spawn [-n ROUNDS] [-p PAUSE_MS] [-c RUNS -j JOBS] [-e FAILURES] [-o] NAME [-m NSFILE] COMMAND ARG… [--- NAME …]…
 *
 * A round runs every command once, in an order drawn anew, so that whatever else the machine does falls on all of them alike; what
 * is compared later is one round's times with each other. One line per time: "ROUND NAME NANOSECONDS". The first rounds warm
 * caches up and are not told. fork, execve, wait: nothing else lies between the two clock readings. Commands read and write
 * /dev/null.
 *
 * -c  a round runs each command RUNS times, JOBS at a time; the time is that of all of them together
 * -p  sleeps before every command: what a call costs that comes alone
 * -e  so many runs of all may fail: each is told on stderr and has no time; without it, one is the end
 * -o  the time is the number that the command prints, in nanoseconds
 * -m  the command runs in the mount namespace behind NSFILE, for programs that do not get along with the host's
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { COMMANDS_MAX = 32, WARM_UP = 3 };

struct command {
	const char *name;
	int mount_ns; /* -1: the host's */
	char **argv;
};

static struct {
	unsigned rounds, runs, jobs, pause_ms, failures;
	bool printed;
} options = { .rounds = 100, .runs = 1, .jobs = 1 };
static struct command commands[COMMANDS_MAX];
static size_t command_count;
static FILE *out;

static _Noreturn void die(const char *what)
{
	fprintf(stderr, "spawn: %s: %s\n", what, strerror(errno));
	exit(1);
}

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

/* `to` is its stdout; -1 for ours, which is /dev/null. */
static pid_t start(const struct command *c, int to)
{
	pid_t pid = fork();

	if (pid < 0)
		die("fork");
	if (pid > 0)
		return pid;
	if (to >= 0 && dup2(to, 1) < 0)
		_exit(125);
	if (c->mount_ns >= 0 && setns(c->mount_ns, CLONE_NEWNS) < 0)
		_exit(125);
	execv(c->argv[0], c->argv);
	_exit(127);
}

/* Whether it went well. */
static bool finish(const struct command *c)
{
	int status;

	if (wait(&status) < 0)
		die("wait");
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return true;
	fprintf(stderr, "spawn: %s ended with %d\n", c->name, WIFEXITED(status) ? WEXITSTATUS(status) : -1);
	if (!options.failures--)
		exit(1);
	return false;
}

/* 0: a run failed. */
static uint64_t time_runs(const struct command *c)
{
	unsigned started = 0, running = 0;
	bool good = true;
	uint64_t from = now_ns();

	while (started < options.runs || running) {
		if (started < options.runs && running < options.jobs) {
			(void)start(c, -1);
			started++;
			running++;
		} else {
			good = finish(c) && good;
			running--;
		}
	}
	return good ? now_ns() - from : 0;
}

static uint64_t time_printed(const struct command *c)
{
	char text[64] = "";
	int pair[2];

	if (pipe2(pair, O_CLOEXEC) < 0)
		die("pipe");
	(void)start(c, pair[1]);
	close(pair[1]);
	(void)finish(c);
	if (read(pair[0], text, sizeof(text) - 1) <= 0)
		die(c->name);
	close(pair[0]);
	return strtoull(text, NULL, 10);
}

/* A new order for each round, the same in every run of this program. */
static void shuffle(size_t order[COMMANDS_MAX])
{
	static uint32_t seed = 1;

	for (size_t i = command_count; i > 1; i--) {
		size_t with, kept = order[i - 1];

		seed = seed * 1664525 + 1013904223;
		with = (seed >> 16) % i;
		order[i - 1] = order[with];
		order[with] = kept;
	}
}

static void round_of_all(unsigned round, bool told)
{
	static size_t order[COMMANDS_MAX];

	for (size_t i = 0; i < command_count; i++)
		order[i] = i;
	shuffle(order);
	for (size_t i = 0; i < command_count; i++) {
		const struct command *c = &commands[order[i]];
		uint64_t ns;

		if (options.pause_ms)
			usleep(options.pause_ms * 1000);
		ns = options.printed ? time_printed(c) : time_runs(c);
		if (told && ns)
			fprintf(out, "%u %s %" PRIu64 "\n", round, c->name, ns);
	}
}

static void add_command(char **argv)
{
	struct command *c = &commands[command_count++];

	c->name = *argv++;
	c->mount_ns = -1;
	if (*argv && strcmp(*argv, "-m") == 0 && argv[1]) {
		c->mount_ns = open(argv[1], O_RDONLY | O_CLOEXEC);
		if (c->mount_ns < 0)
			die(argv[1]);
		argv += 2;
	}
	if (!*argv) {
		fprintf(stderr, "spawn: '%s' has no command\n", c->name);
		exit(2);
	}
	c->argv = argv;
}

static void parse(int argc, char **argv)
{
	int opt;

	while ((opt = getopt(argc, argv, "+n:p:c:j:e:o")) != -1) {
		unsigned n = optarg ? (unsigned)strtoul(optarg, NULL, 10) : 0;

		switch (opt) {
		case 'n':
			options.rounds = n;
			break;
		case 'p':
			options.pause_ms = n;
			break;
		case 'c':
			options.runs = n;
			break;
		case 'j':
			options.jobs = n;
			break;
		case 'e':
			options.failures = n;
			break;
		case 'o':
			options.printed = true;
			break;
		default:
			exit(2);
		}
	}
	while (optind < argc && command_count < COMMANDS_MAX) {
		int first = optind;

		while (optind < argc && strcmp(argv[optind], "---") != 0)
			optind++;
		if (optind < argc)
			argv[optind++] = NULL;
		add_command(argv + first);
	}
}

/* Our lines go to a copy of stdout, all at the end; the commands have /dev/null there. */
static void open_output(void)
{
	int copy = fcntl(1, F_DUPFD_CLOEXEC, 3), null = open("/dev/null", O_RDWR | O_CLOEXEC);

	out = copy < 0 ? NULL : fdopen(copy, "w");
	if (!out || null < 0 || dup2(null, 0) < 0 || dup2(null, 1) < 0)
		die("stdout");
	setvbuf(out, NULL, _IOFBF, 4 << 20);
}

int main(int argc, char **argv)
{
	parse(argc, argv);
	open_output();
	for (unsigned i = 0; i < WARM_UP; i++)
		round_of_all(i, false);
	for (unsigned i = 0; i < options.rounds; i++)
		round_of_all(i, true);
	return fclose(out) == 0 ? 0 : 1;
}
