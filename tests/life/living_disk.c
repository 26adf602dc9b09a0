/* A box that lives with files.storage: disk, whatever bounds it: limits.disk is the box's, over all of its jobs. Prints TAP. */
#include "../unit/tap.h"

#include <cordon.h>

static struct cordon_policy *policy;
static struct cordon_box *box;
static struct cordon_error err;

static void set(const char *key, const char *value)
{
	if (cordon_policy_set(policy, key, value, &err) < 0)
		printf("Bail out! %s: %s\n", key, err.message);
}

/* With no limit it succeeds. */
static void run(const char *line, const char *limit, const char *what)
{
	const char *const argv[] = { "sh", "-c", line, NULL };
	struct cordon_job job = { .size = sizeof(job), .argv = argv };
	struct cordon_result *r = NULL;

	(void)cordon_box_exec(box, &job, NULL, &r, &err);
	ok(r && (limit ? r->status == CORDON_RESOURCE_EXCEEDED : r->status == CORDON_SUCCESS), "%s", what);
	is_str(r ? r->limit : err.message, limit, "%s: limit", what);
	cordon_result_free(r);
}

int main(void)
{
	struct cordon_job stays = { .size = sizeof(stays), .lives = true };
	struct cordon_plan *plan = NULL;

	if (cordon_policy_new(&policy, &err) < 0)
		return 2;
	set("files.storage", "disk");
	set("files.tmp", "2M");
	set("limits.disk", "20M");
	if (cordon_plan_new(&plan, policy, &stays, &err) < 0 || cordon_box_open(&box, plan, &err) < 0) {
		printf("Bail out! %s: %s (%s)\n", err.step, err.message, err.hint);
		return 2;
	}
	run("head -c 8M /dev/zero >~/a", NULL, "8 of 20 MB on disk");
	run("head -c 16M /dev/zero >~/b", "disk", "16 more do not fit");
	run("rm ~/b && head -c 6M /dev/zero >~/b", NULL, "6 do, beside what the first job wrote");
	cordon_box_close(box);
	cordon_plan_free(plan);
	cordon_policy_free(policy);
	return done_testing();
}
