/* The event loop: see loop.h. */
#include "egress/loop.h"

#include "base/clock.h"
#include "base/fd.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

enum { LOOP_BATCH = 64 };

struct loop {
	int epoll;
	bool stop;
	uint64_t now_us;
	struct epoll_event batch[LOOP_BATCH];
	int batch_count;          /* what was told has no data any more */
	struct loop_timer **heap; /* [1] is due first */
	size_t heap_count, heap_size;
};

struct loop *loop_new(void)
{
	struct loop *loop = calloc(1, sizeof(*loop));

	if (!loop)
		return NULL;
	loop->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (loop->epoll < 0) {
		free(loop);
		return NULL;
	}
	loop->now_us = clock_us();
	return loop;
}

void loop_free(struct loop *loop)
{
	if (!loop)
		return;
	fd_close(&loop->epoll);
	free(loop->heap);
	free(loop);
}

int loop_watch(struct loop *loop, struct loop_io *io, int fd, uint32_t events)
{
	struct epoll_event event = { .events = events, .data.ptr = io };
	bool known = io->events && io->fd == fd;

	if (known && io->events == events)
		return 0;
	if (epoll_ctl(loop->epoll, known ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, fd, &event) < 0)
		return -errno;
	io->fd = fd;
	io->events = events;
	return 0;
}

void loop_unwatch(struct loop *loop, struct loop_io *io)
{
	if (!io->events)
		return;
	(void)epoll_ctl(loop->epoll, EPOLL_CTL_DEL, io->fd, NULL);
	loop_forget(loop, io);
}

void loop_forget(struct loop *loop, struct loop_io *io)
{
	if (!io->events)
		return;
	io->fd = -1;
	io->events = 0;
	for (int i = 0; i < loop->batch_count; i++)
		if (loop->batch[i].data.ptr == io)
			loop->batch[i].data.ptr = NULL;
}

uint64_t loop_now(const struct loop *loop)
{
	return loop->now_us;
}

/* ---- timers: a binary heap, each timer knowing its place ---- */

static void heap_put(struct loop *loop, size_t slot, struct loop_timer *timer)
{
	loop->heap[slot] = timer;
	timer->slot = slot;
}

static void heap_up(struct loop *loop, size_t slot)
{
	struct loop_timer *timer = loop->heap[slot];

	for (; slot > 1 && loop->heap[slot / 2]->at_us > timer->at_us; slot /= 2)
		heap_put(loop, slot, loop->heap[slot / 2]);
	heap_put(loop, slot, timer);
}

static void heap_down(struct loop *loop, size_t slot)
{
	struct loop_timer *timer = loop->heap[slot];

	for (;;) {
		size_t child = slot * 2;

		if (child > loop->heap_count)
			break;
		if (child < loop->heap_count && loop->heap[child + 1]->at_us < loop->heap[child]->at_us)
			child++;
		if (loop->heap[child]->at_us >= timer->at_us)
			break;
		heap_put(loop, slot, loop->heap[child]);
		slot = child;
	}
	heap_put(loop, slot, timer);
}

static int heap_reserve(struct loop *loop)
{
	size_t size = loop->heap_size ? loop->heap_size * 2 : 64;
	struct loop_timer **bigger;

	if (loop->heap_count + 1 < loop->heap_size)
		return 0;
	bigger = realloc(loop->heap, size * sizeof(struct loop_timer *));
	if (!bigger)
		return -ENOMEM;
	loop->heap = bigger;
	loop->heap_size = size;
	return 0;
}

int loop_timer_set(struct loop *loop, struct loop_timer *timer, uint64_t at_us)
{
	int r;

	if (at_us <= loop->now_us)
		at_us = loop->now_us + 1;
	if (timer->slot) {
		timer->at_us = at_us;
		heap_up(loop, timer->slot);
		heap_down(loop, timer->slot);
		return 0;
	}
	r = heap_reserve(loop);
	if (r < 0)
		return r;
	timer->at_us = at_us;
	heap_put(loop, ++loop->heap_count, timer);
	heap_up(loop, timer->slot);
	return 0;
}

int loop_timer_in(struct loop *loop, struct loop_timer *timer, uint64_t delay_ms)
{
	return loop_timer_set(loop, timer, loop->now_us + delay_ms * 1000);
}

void loop_timer_stop(struct loop *loop, struct loop_timer *timer)
{
	size_t slot = timer->slot;
	struct loop_timer *last;

	if (!slot)
		return;
	timer->slot = 0;
	last = loop->heap[loop->heap_count--];
	if (last == timer)
		return;
	heap_put(loop, slot, last);
	heap_up(loop, slot);
	heap_down(loop, last->slot);
}

/* ---- turns ---- */

/* Until the first timer, rounded up, so that it is due when we wake. The microsecond that stands for "next turn" is no time at all. */
static int wait_ms(const struct loop *loop)
{
	uint64_t at, left;

	if (!loop->heap_count)
		return -1;
	at = loop->heap[1]->at_us;
	if (at <= loop->now_us + 1)
		return 0;
	left = (at - loop->now_us + 999) / 1000;
	return left > 60000 ? 60000 : (int)left;
}

static void run_timers(struct loop *loop)
{
	while (!loop->stop && loop->heap_count && loop->heap[1]->at_us <= loop->now_us) {
		struct loop_timer *timer = loop->heap[1];

		loop_timer_stop(loop, timer);
		timer->due(timer);
	}
}

enum urgency { URGENT, ENDING, OVER, URGENCIES };

static enum urgency urgency_of(uint32_t events)
{
	return events & EPOLLHUP ? OVER : events & EPOLLRDHUP ? ENDING : URGENT;
}

/* Those that end come behind those that begin or go on, and those that are over come last: they have time, and are more work than most. */
static void run_batch(struct loop *loop, enum urgency urgency)
{
	for (int i = 0; !loop->stop && i < loop->batch_count; i++) {
		struct epoll_event *event = &loop->batch[i];
		struct loop_io *io = event->data.ptr;

		if (!io || urgency_of(event->events) != urgency)
			continue;
		event->data.ptr = NULL;
		io->ready(io, event->events);
	}
}

int loop_run(struct loop *loop)
{
	loop->stop = false;
	while (!loop->stop) {
		int n = epoll_wait(loop->epoll, loop->batch, LOOP_BATCH, wait_ms(loop));
		uint64_t now = clock_us();

		if (n < 0 && errno != EINTR)
			return -errno;
		/* Never backwards or still, so that "the next turn" comes. */
		loop->now_us = now > loop->now_us ? now : loop->now_us + 1;
		loop->batch_count = n < 0 ? 0 : n;
		for (int urgency = URGENT; urgency < URGENCIES; urgency++)
			run_batch(loop, (enum urgency)urgency);
		loop->batch_count = 0;
		run_timers(loop);
	}
	return 0;
}

void loop_stop(struct loop *loop)
{
	loop->stop = true;
}
