/* Token buckets: see bucket.h. */
#include "egress/bucket.h"

/* Waking somebody for a handful of bytes costs more than it moves: 4 KiB, or what 10 ms bring where that is more; never above the burst. */
enum { BUCKET_LEAST = 4096, BUCKET_STEPS = 100 };

static uint64_t least(const struct bucket *bucket)
{
	uint64_t n = bucket->rate / BUCKET_STEPS;

	if (n < BUCKET_LEAST)
		n = BUCKET_LEAST;
	return n < bucket->burst ? n : bucket->burst;
}

static void fill(struct bucket *bucket)
{
	uint64_t now = loop_now(bucket->loop), passed = now - bucket->filled_us;
	unsigned __int128 more;
	uint64_t paid;

	if (passed == 0)
		return;
	more = (unsigned __int128)bucket->rate * passed / 1000000;
	if (more == 0)
		return; /* let the time add up */
	if (more >= (unsigned __int128)bucket->burst - bucket->tokens + bucket->debt) {
		bucket->tokens = bucket->burst;
		bucket->debt = 0;
		bucket->filled_us = now;
		return;
	}
	paid = more < bucket->debt ? (uint64_t)more : bucket->debt;
	bucket->debt -= paid;
	bucket->tokens += (uint64_t)more - paid;
	/* Only the time that became whole tokens is used up. */
	bucket->filled_us += (uint64_t)(more * 1000000 / bucket->rate);
}

static void wake_later(struct bucket *bucket)
{
	uint64_t missing = (least(bucket) > bucket->tokens ? least(bucket) - bucket->tokens : 0) + bucket->debt;

	if (!bucket->timer.slot)
		(void)loop_timer_set(bucket->loop, &bucket->timer,
				     loop_now(bucket->loop) +
					     (uint64_t)((unsigned __int128)missing * 1000000 / bucket->rate) + 1);
}

/* Each in its turn, as long as there is something for it: who is not served keeps its place. */
static void bucket_due(struct loop_timer *timer)
{
	struct bucket *bucket = LOOP_OWNER(timer, struct bucket, timer);
	struct bucket_wait *last = bucket->waiting.prev, *wait;
	bool more = true;

	fill(bucket);
	while (more && (wait = bucket->waiting.next) != &bucket->waiting && bucket->tokens >= least(bucket)) {
		more = wait != last; /* whoever queues anew meanwhile waits for the next time */
		bucket_forget(bucket, wait);
		wait->resume(wait);
	}
	if (bucket->waiting.next != &bucket->waiting)
		wake_later(bucket);
}

void bucket_init(struct bucket *bucket, struct loop *loop, uint64_t rate, uint64_t burst)
{
	*bucket = (struct bucket){
		.loop = loop,
		.rate = rate,
		.burst = burst ? burst : 1,
		.tokens = burst ? burst : 1,
		.filled_us = loop_now(loop),
		.timer.due = bucket_due,
	};
	bucket->waiting.next = bucket->waiting.prev = &bucket->waiting;
}

void bucket_done(struct bucket *bucket)
{
	if (bucket->loop)
		loop_timer_stop(bucket->loop, &bucket->timer);
}

uint64_t bucket_ask(struct bucket *bucket, uint64_t want, struct bucket_wait *wait)
{
	if (bucket->rate == 0 || want == 0)
		return want;
	fill(bucket);
	if (bucket->tokens >= want)
		return want;
	if (bucket->tokens >= least(bucket) || !wait)
		return bucket->tokens;
	if (!wait->next) {
		wait->prev = bucket->waiting.prev;
		wait->next = &bucket->waiting;
		wait->prev->next = wait->next->prev = wait;
		wake_later(bucket);
	}
	return 0;
}

void bucket_take(struct bucket *bucket, uint64_t n)
{
	uint64_t there = n < bucket->tokens ? n : bucket->tokens;

	if (!bucket->rate)
		return;
	bucket->tokens -= there;
	bucket->debt += n - there;
}

void bucket_forget(struct bucket *bucket, struct bucket_wait *wait)
{
	(void)bucket;
	if (!wait->next)
		return;
	wait->prev->next = wait->next;
	wait->next->prev = wait->prev;
	wait->next = wait->prev = NULL;
}
