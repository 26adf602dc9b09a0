/*
 * A box that lives, through cordon.h alone: two jobs of the same command, one after the other, and the box is closed. Prints the results as a
 * JSON list; one that could not be had is the error. Exits as cordon does for the first that is no success.
 *
 *	lives PATH[:DEST] COMMAND ARG…		the path is there to read
 */
#include <cordon.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int status;

static void tell(const char *before, const struct cordon_result *r)
{
	char *text = r ? cordon_result_json(r) : NULL;

	printf("%s%s", before, text ? text : "null");
	if (!status)
		status = text ? cordon_result_exit_status(r) : 125;
	free(text);
}

static void tell_error(const char *before, const struct cordon_error *err)
{
	struct cordon_result *r = cordon_result_from_error(err);

	tell(before, r);
	cordon_result_free(r);
}

static void run_jobs(struct cordon_box *box, char **argv)
{
	for (int i = 0; i < 2; i++) {
		struct cordon_job job = { .size = sizeof(job), .argv = (const char *const *)argv };
		struct cordon_result *r = NULL;
		struct cordon_error err = { 0 };

		if (cordon_box_exec(box, &job, NULL, &r, &err) < 0)
			tell_error(i ? "," : "[", &err);
		else
			tell(i ? "," : "[", r);
		cordon_result_free(r);
	}
}

int main(int argc, char **argv)
{
	struct cordon_job stays = { .size = sizeof(stays), .lives = true };
	struct cordon_policy *policy = NULL;
	struct cordon_plan *plan = NULL;
	struct cordon_box *box = NULL;
	struct cordon_error err = { 0 };

	if (argc < 3)
		return 2;
	if (cordon_policy_new(&policy, &err) < 0 || cordon_policy_set(policy, "files.read", argv[1], &err) < 0 ||
	    cordon_policy_set(policy, "limits.wall_time", "10s", &err) < 0 ||
	    cordon_plan_new(&plan, policy, &stays, &err) < 0 || cordon_box_open(&box, plan, &err) < 0)
		tell_error("[", &err);
	else
		run_jobs(box, argv + 2);
	printf("]\n");
	cordon_box_close(box);
	cordon_plan_free(plan);
	cordon_policy_free(policy);
	return fflush(stdout) != 0 || ferror(stdout) ? 1 : status;
}
