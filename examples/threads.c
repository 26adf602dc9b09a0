/*
 * Several runs at once: one plan, run by four threads. A plan does not change once it is made, so threads may share it;
 * each run has a box and a result of its own.
 */
#include <cordon.h>
#include <pthread.h>
#include <stdio.h>

enum { THREADS = 4, RUNS = 5 };

struct worker {
	pthread_t thread;
	const struct cordon_plan *plan;
	int succeeded;
	struct cordon_error err;
};

static void *work(void *arg)
{
	struct worker *w = arg;

	for (int i = 0; i < RUNS; i++) {
		struct cordon_result *result = NULL;

		if (cordon_run(w->plan, NULL, &result, &w->err) == 0 && result->status == CORDON_SUCCESS)
			w->succeeded++;
		cordon_result_free(result);
	}
	return NULL;
}

/* How many runs succeeded. */
static int run_all(const struct cordon_plan *plan)
{
	struct worker workers[THREADS] = { 0 };
	int started = 0, succeeded = 0;

	for (; started < THREADS; started++) {
		workers[started].plan = plan;
		if (pthread_create(&workers[started].thread, NULL, work, &workers[started]) != 0)
			break;
	}
	for (int i = 0; i < started; i++) {
		pthread_join(workers[i].thread, NULL);
		succeeded += workers[i].succeeded;
		if (workers[i].err.code)
			fprintf(stderr, "%s (%s)\n", workers[i].err.message, workers[i].err.hint);
	}
	return succeeded;
}

int main(void)
{
	static const char *const argv[] = { "sh", "-c", "echo $$", NULL };
	struct cordon_job job = { .size = sizeof(job), .argv = argv };
	struct cordon_error err = { 0 };
	struct cordon_policy *policy = NULL;
	struct cordon_plan *plan = NULL;
	int succeeded = 0;

	if (cordon_policy_new(&policy, &err) < 0 || cordon_plan_new(&plan, policy, &job, &err) < 0)
		fprintf(stderr, "%s (%s)\n", err.message, err.hint);
	else
		succeeded = run_all(plan);
	printf("%d of %d runs succeeded\n", succeeded, THREADS * RUNS);
	cordon_plan_free(plan);
	cordon_policy_free(policy);
	return succeeded == THREADS * RUNS ? 0 : 1;
}
