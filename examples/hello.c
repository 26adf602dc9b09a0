/* The smallest program with libcordon: the example on top of cordon.h. cc hello.c $(pkg-config --cflags --libs cordon) */
#include <cordon.h>
#include <stdio.h>

int main(void)
{
	static const char *const argv[] = { "python3", "-c", "print(6 * 7)", NULL };
	struct cordon_job job = { .size = sizeof(job), .argv = argv };
	struct cordon_error err = { 0 };
	struct cordon_policy *policy = NULL;
	struct cordon_plan *plan = NULL;
	struct cordon_result *result = NULL;

	if (cordon_policy_new(&policy, &err) < 0 || cordon_policy_set(policy, "limits.memory", "256M", &err) < 0 ||
	    cordon_plan_new(&plan, policy, &job, &err) < 0 || cordon_run(plan, NULL, &result, &err) < 0)
		fprintf(stderr, "%s (%s)\n", err.message, err.hint);
	else
		printf("%s: %.*s", cordon_status_name(result->status), (int)result->out.len, result->out.data);
	cordon_result_free(result);
	cordon_plan_free(plan);
	cordon_policy_free(policy);
	return 0;
}
