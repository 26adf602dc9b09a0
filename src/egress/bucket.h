/*
 * Token buckets: how many bytes per second the whole box may move, and who waits for more. Runs in the egress process.
 */
#ifndef EGRESS_BUCKET_H
#define EGRESS_BUCKET_H

#include "egress/loop.h"

struct bucket_wait {
	struct bucket_wait *next, *prev; /* NULL: does not wait */
	void (*resume)(struct bucket_wait *wait);
};

struct bucket {
	struct loop *loop;
	uint64_t rate; /* per second; 0: no limit */
	uint64_t burst;
	uint64_t tokens;
	uint64_t debt; /* taken beyond them: who asked before others took counts on what it was told */
	uint64_t filled_us;
	struct bucket_wait waiting; /* head of a ring: who came first is served first */
	struct loop_timer timer;
};

void bucket_init(struct bucket *bucket, struct loop *loop, uint64_t rate, uint64_t burst);
void bucket_done(struct bucket *bucket);
/* How many of `want` may pass now; nothing is taken yet. 0: `wait` (may be NULL) is queued and resumed when there are some. */
uint64_t bucket_ask(struct bucket *bucket, uint64_t want, struct bucket_wait *wait);
void bucket_take(struct bucket *bucket, uint64_t n);
void bucket_forget(struct bucket *bucket, struct bucket_wait *wait);

#endif
