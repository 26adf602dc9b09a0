/*
 * What a job costs in a box that stands already, against other ways to run something in a container that does: exec -n ROUNDS NAME @ENGINE[=ROOT]
 * --- NAME COMMAND ARG… --- …. Each round runs /bin/true once in every box, and every command once, in turn; a line for each: ROUND NAME
 * NANOSECONDS. What does not work is said on stderr, and left out.
 */
#include <cordon.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MOST = 16 };

struct way {
	const char *name;
	char **argv; /* NULL: a box */
	struct cordon_policy *policy;
	struct cordon_plan *plan;
	struct cordon_box *box;
};

static uint64_t now_ns(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static int open_box(struct way *w, char *engine, struct cordon_error *err)
{
	struct cordon_job stays = { .size = sizeof(stays), .lives = true };
	char *root = strchr(engine, '=');

	if (root)
		*root++ = '\0';
	if (cordon_policy_new(&w->policy, err) < 0 || cordon_policy_set(w->policy, "engine", engine, err) < 0 ||
	    (root && cordon_policy_set(w->policy, "files.root", root, err) < 0) ||
	    cordon_plan_new(&w->plan, w->policy, &stays, err) < 0)
		return -1;
	return cordon_box_open(&w->box, w->plan, err);
}

static int run_job(struct way *w, struct cordon_error *err)
{
	static const char *const argv[] = { "/bin/true", NULL };
	struct cordon_job job = { .size = sizeof(job), .argv = argv };
	struct cordon_result *result = NULL;
	int r = cordon_box_exec(w->box, &job, NULL, &result, err);

	if (r == 0 && result->status != CORDON_SUCCESS)
		r = -1;
	cordon_result_free(result);
	return r;
}

static int run_command(struct way *w)
{
	posix_spawn_file_actions_t actions;
	int status = -1;
	pid_t pid;

	if (posix_spawn_file_actions_init(&actions) != 0 ||
	    posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0) != 0)
		return -1;
	if (posix_spawnp(&pid, w->argv[0], &actions, NULL, w->argv, environ) == 0)
		while (waitpid(pid, &status, 0) < 0)
			;
	(void)posix_spawn_file_actions_destroy(&actions);
	return status == 0 ? 0 : -1;
}

/* Once, to see that it works. */
static int prepare(struct way *w, char **words)
{
	struct cordon_error err = { 0 };
	int r;

	w->name = words[0];
	if (words[1][0] == '@') {
		r = open_box(w, words[1] + 1, &err);
		r = r < 0 ? r : run_job(w, &err);
	} else {
		w->argv = words + 1;
		r = run_command(w);
	}
	if (r < 0)
		fprintf(stderr, "%s: not measured: %s\n", w->name, err.message[0] ? err.message : "it fails");
	return r;
}

static void end(struct way *w)
{
	cordon_box_close(w->box);
	cordon_plan_free(w->plan);
	cordon_policy_free(w->policy);
}

int main(int argc, char **argv)
{
	struct way ways[MOST] = { 0 };
	unsigned rounds = 100;
	int count = 0, at = 1;

	if (argc > 2 && strcmp(argv[1], "-n") == 0) {
		rounds = (unsigned)strtoul(argv[2], NULL, 10);
		at = 3;
	}
	while (at + 1 < argc && count < MOST) {
		char **words = argv + at;

		while (at < argc && strcmp(argv[at], "---") != 0)
			at++;
		if (at < argc)
			argv[at++] = NULL;
		if (prepare(&ways[count], words) == 0) {
			count++;
			continue;
		}
		end(&ways[count]);
		ways[count] = (struct way){ 0 };
	}
	for (unsigned round = 0; round < rounds; round++)
		for (int i = 0; i < count; i++) {
			struct cordon_error err = { 0 };
			uint64_t begin = now_ns();

			if ((ways[i].argv ? run_command(&ways[i]) : run_job(&ways[i], &err)) < 0)
				continue;
			printf("%u\t%s\t%llu\n", round, ways[i].name, (unsigned long long)(now_ns() - begin));
		}
	for (int i = 0; i < count; i++)
		end(&ways[i]);
	return 0;
}
