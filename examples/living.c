/*
 * A box that lives: a file is put into it, one job leaves something behind for the next, and the last one runs into a deadline of its
 * own without taking the box along.
 */
#include <cordon.h>
#include <stdio.h>

static int exec(struct cordon_box *box, const char *line, uint64_t timeout_ms, struct cordon_error *err)
{
	const char *const argv[] = { "sh", "-c", line, NULL };
	struct cordon_job job = { .size = sizeof(job), .argv = argv, .timeout_ms = timeout_ms };
	struct cordon_result *result = NULL;

	if (cordon_box_exec(box, &job, NULL, &result, err) < 0)
		return -1;
	printf("%s: %.*s\n", cordon_status_name(result->status), (int)result->out.len, result->out.data);
	cordon_result_free(result);
	return 0;
}

static int work(struct cordon_box *box, struct cordon_error *err)
{
	if (cordon_box_put(box, "/etc/hostname", "given", err) < 0)
		return -1;
	if (exec(box, "test -s given && echo counted >result && printf 'left a file'", 0, err) < 0 ||
	    exec(box, "sleep 60", 200, err) < 0)
		return -1;
	return exec(box, "printf 'found '; printf %s \"$(cat result)\"", 0, err);
}

int main(void)
{
	struct cordon_job stays = { .size = sizeof(stays), .lives = true };
	struct cordon_error err = { 0 };
	struct cordon_policy *policy = NULL;
	struct cordon_plan *plan = NULL;
	struct cordon_box *box = NULL;
	int status = -1;

	if (cordon_policy_new(&policy, &err) == 0 && cordon_plan_new(&plan, policy, &stays, &err) == 0 &&
	    cordon_box_open(&box, plan, &err) == 0)
		status = work(box, &err);
	if (status < 0)
		fprintf(stderr, "%s (%s)\n", err.message, err.hint);
	cordon_box_close(box);
	cordon_plan_free(plan);
	cordon_policy_free(policy);
	return status == 0 ? 0 : 1;
}
