/* Token buckets: what was taken on a promise is paid back before anybody gets more. */
#include "tap.h"

#include "egress/bucket.h"

enum { RATE = 100000, BURST = 20000 };

static struct loop *loop;

static void stop(struct loop_timer *timer)
{
	(void)timer;
	loop_stop(loop);
}

static void let_pass(uint64_t ms)
{
	struct loop_timer timer = { .due = stop };

	(void)loop_timer_in(loop, &timer, ms);
	(void)loop_run(loop);
}

static unsigned resumed;

static void count(struct bucket_wait *wait)
{
	(void)wait;
	resumed++;
}

int main(void)
{
	struct bucket_wait wait = { .resume = count };
	struct bucket bucket;
	uint64_t got;

	loop = loop_new();
	bucket_init(&bucket, loop, RATE, BURST);
	is_num(bucket_ask(&bucket, SIZE_MAX, NULL), BURST, "a full bucket has its burst");
	bucket_take(&bucket, BURST);
	is_num(bucket_ask(&bucket, 1, NULL), 0, "and then nothing");
	let_pass(100);
	got = bucket_ask(&bucket, SIZE_MAX, NULL);
	ok(got >= RATE / 10 && got <= BURST, "control: time fills it");

	/* Four who were told the same before any of them took. */
	let_pass(300);
	for (int i = 0; i < 4; i++)
		is_num(bucket_ask(&bucket, BURST, NULL), BURST, "asking takes nothing");
	for (int i = 0; i < 4; i++)
		bucket_take(&bucket, BURST);
	let_pass(100);
	is_num(bucket_ask(&bucket, 1, NULL), 0, "what four took of one share is owed");
	is_num(bucket_ask(&bucket, BURST, &wait), 0, "who asks waits");
	let_pass(100);
	is_num(resumed, 0, "as long as it is owed");
	let_pass(700);
	is_num(resumed, 1, "and no longer");
	ok(bucket_ask(&bucket, BURST, NULL) > 0, "then there is something");
	bucket_forget(&bucket, &wait);
	bucket_done(&bucket);
	loop_free(loop);
	return done_testing();
}
