/*
 * A network by name: the payload asks for two names, one of which is allowed, and everything it tried is in the result. Names are answered
 * where the box ends, so that this works on a machine without a network as well. The program cordon-egress must be installed.
 */
#include <cordon.h>
#include <stdio.h>

static void print_network(const struct cordon_result *result)
{
	for (size_t i = 0; i < result->network_count; i++) {
		const struct cordon_connection *c = &result->network[i];

		printf("%s %s: %s", c->kind, c->host, c->decision);
		if (c->reason)
			printf(" (%s)", c->reason);
		if (c->allow)
			printf("; to allow it: %s", c->allow);
		printf("\n");
	}
}

/* One rule. In a file it would be `network: {allow: ["api.example.com:443"]}`. */
static int make_policy(struct cordon_policy **ret_policy, struct cordon_error *err)
{
	if (cordon_policy_new(ret_policy, err) < 0)
		return -1;
	return cordon_policy_set(*ret_policy, "network.allow", "api.example.com:443", err);
}

int main(void)
{
	static const char *const argv[] = {
		"sh", "-c", "getent hosts api.example.com >/dev/null; getent hosts evil.example.net; true", NULL
	};
	struct cordon_job job = { .size = sizeof(job), .argv = argv };
	struct cordon_error err = { 0 };
	struct cordon_policy *policy = NULL;
	struct cordon_plan *plan = NULL;
	struct cordon_result *result = NULL;
	int status = 1;

	if (make_policy(&policy, &err) == 0 && cordon_plan_new(&plan, policy, &job, &err) == 0 &&
	    cordon_run(plan, NULL, &result, &err) == 0) {
		print_network(result);
		status = result->status == CORDON_SUCCESS ? 0 : 1;
	}
	if (err.code)
		fprintf(stderr, "%s (%s)\n", err.message, err.hint);
	cordon_result_free(result);
	cordon_plan_free(plan);
	cordon_policy_free(policy);
	return status;
}
