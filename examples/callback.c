/*
 * Output as it arrives, and an end to it: counts the lines of an endless program and cancels the run after the
 * thousandth. The callback runs in the thread that called cordon_run(); a negative return cancels.
 */
#include <cordon.h>
#include <stdio.h>
#include <string.h>

enum { WANTED = 1000 };

static int count_lines(void *arg, enum cordon_stream stream, const void *data, size_t len)
{
	unsigned *lines = arg;
	const char *end = (const char *)data + len;

	if (*lines >= WANTED)
		return -1;
	if (stream != CORDON_STDOUT)
		return 0;
	for (const char *p = data; (p = memchr(p, '\n', (size_t)(end - p))); p++)
		if (++*lines == WANTED)
			return -1;
	return 0;
}

static int run(struct cordon_policy *policy, struct cordon_error *err)
{
	static const char *const argv[] = { "sh", "-c", "while :; do echo again; done", NULL };
	struct cordon_job job = { .size = sizeof(job), .argv = argv };
	unsigned lines = 0;
	struct cordon_io io = {
		.size = sizeof(io),
		.stdin_fd = -1,
		.output = count_lines,
		.arg = &lines,
		.control_fd = -1,
		.tty_fd = -1,
	};
	struct cordon_plan *plan = NULL;
	struct cordon_result *result = NULL;
	int status = -1;

	if (cordon_plan_new(&plan, policy, &job, err) == 0 && cordon_run(plan, &io, &result, err) == 0) {
		printf("%s after %u lines\n", cordon_status_name(result->status), lines);
		status = result->status == CORDON_CANCELLED ? 0 : -1;
	}
	cordon_result_free(result);
	cordon_plan_free(plan);
	return status;
}

int main(void)
{
	struct cordon_error err = { 0 };
	struct cordon_policy *policy = NULL;
	int status = cordon_policy_new(&policy, &err);

	if (status == 0)
		status = run(policy, &err);
	if (err.code)
		fprintf(stderr, "%s (%s)\n", err.message, err.hint);
	cordon_policy_free(policy);
	return status == 0 ? 0 : 1;
}
