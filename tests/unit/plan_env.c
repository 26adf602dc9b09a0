/* Variables that come with a job: where a request was laid on the policy, they are held to what a request may ask for. */
#include "plan/plan.h"
#include "tap.h"

/* The code of planning a job with this variable, after a request on a policy with these. */
static int planned(bool narrowed, const char *env, const char *commands, const char *variable, struct cordon_error *err)
{
	const char *const argv[] = { "true", NULL }, *const vars[] = { variable, NULL };
	struct cordon_job job = { .size = sizeof(job), .argv = argv, .env = vars };
	struct cordon_policy *policy = NULL, *request = NULL;
	struct cordon_plan *plan = NULL;

	*err = (struct cordon_error){ 0 };
	if (cordon_policy_new(&policy, err) == 0 && (!env || cordon_policy_set(policy, "process.env", env, err) == 0) &&
	    (!commands || cordon_policy_set(policy, "process.commands", commands, err) == 0) &&
	    (!narrowed ||
	     (cordon_policy_new_request(&request, err) == 0 && cordon_policy_narrow(policy, request, err) == 0)))
		(void)cordon_plan_new(&plan, policy, &job, err);
	cordon_plan_free(plan);
	cordon_policy_free(request);
	cordon_policy_free(policy);
	return err->code;
}

int main(void)
{
	struct cordon_error err;

	if (planned(false, NULL, NULL, "A=1", &err) != CORDON_OK) {
		skip("no plan can be made here: %s", err.message);
		return done_testing();
	}
	is_num(planned(true, NULL, NULL, "A=1", &err), CORDON_OK, "a caller sets a variable with his job");
	is_num(planned(true, "A=1", NULL, "A=1", &err), CORDON_OK, "and may repeat one of the policy's");
	is_num(planned(true, "A=1", NULL, "A=2", &err), CORDON_DENIED, "but not set it otherwise");
	is_num(planned(true, NULL, NULL, "LD_PRELOAD=/x.so", &err), CORDON_DENIED, "nor one of the loader's");
	is_num(planned(true, NULL, NULL, "PATH=/x", &err), CORDON_OK, "PATH he may");
	is_num(planned(true, NULL, "true", "PATH=/x", &err), CORDON_DENIED, "where no commands are listed");
	is_num(planned(false, "A=1", NULL, "A=2", &err), CORDON_OK, "control: without a request the policy is his own");
	return done_testing();
}
