/* A job in a box that lives, for which memory runs out: the caller's own descriptors stay his. */
#include "tap.h"

#include <cordon.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

struct traffic;
int __wrap_traffic_renew(struct traffic *t);

int __wrap_traffic_renew(struct traffic *t)
{
	(void)t;
	return -ENOMEM;
}

int main(void)
{
	static const char *const argv[] = { "true", NULL };
	struct cordon_job stays = { .size = sizeof(stays), .lives = true }, job = { .size = sizeof(job), .argv = argv };
	struct cordon_policy *policy = NULL;
	struct cordon_plan *plan = NULL;
	struct cordon_box *box = NULL;
	struct cordon_result *result = NULL;
	struct cordon_error err = { 0 };
	struct stat before, after;

	(void)fstat(STDIN_FILENO, &before);
	if (cordon_policy_new(&policy, &err) < 0 || cordon_plan_new(&plan, policy, &stays, &err) < 0 ||
	    cordon_box_open(&box, plan, &err) < 0) {
		skip("no box can be opened here: %s", err.message);
	} else {
		ok(cordon_box_exec(box, &job, NULL, &result, &err) < 0 && err.code == CORDON_NO_MEMORY,
		   "a job for which memory runs out is an error");
		ok(fstat(STDIN_FILENO, &after) == 0 && before.st_ino == after.st_ino && before.st_dev == after.st_dev,
		   "and standard input is what it was");
	}
	cordon_result_free(result);
	cordon_box_close(box);
	cordon_plan_free(plan);
	cordon_policy_free(policy);
	return done_testing();
}
