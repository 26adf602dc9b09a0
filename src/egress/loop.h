/*
 * The event loop of the egress process: epoll and a heap of timers. What it watches is embedded in whatever it belongs to; nothing is
 * allocated per watch. Handlers may remove and free anything, themselves included: a removed watch gets no event that was already
 * fetched. One thread, no globals. Runs in the egress process.
 */
#ifndef EGRESS_LOOP_H
#define EGRESS_LOOP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/epoll.h>

struct loop;

struct loop_io {
	int fd;
	uint32_t events;                                    /* 0: not watched */
	void (*ready)(struct loop_io *io, uint32_t events); /* what epoll says; EPOLLERR and EPOLLHUP come unasked */
};

struct loop_timer {
	uint64_t at_us; /* clock_us() */
	size_t slot;    /* in the heap, from 1; 0: not set */
	void (*due)(struct loop_timer *timer);
};

/* The object that a watch is embedded in. */
#define LOOP_OWNER(ptr, type, member) ((type *)(void *)((char *)(ptr)-offsetof(type, member)))

struct loop *loop_new(void); /* NULL: errno */
void loop_free(struct loop *loop);

/* events: EPOLLIN, EPOLLOUT, EPOLLRDHUP, with EPOLLET or without. Watching twice changes the events. 0 or -errno. */
int loop_watch(struct loop *loop, struct loop_io *io, int fd, uint32_t events);
/* Before the fd is closed. Also for what is not watched (zeroed). */
void loop_unwatch(struct loop *loop, struct loop_io *io);

/* The same where the fd is closed at once, and nobody else has it (no dup, no child): the kernel forgets it then by itself. */
void loop_forget(struct loop *loop, struct loop_io *io);

/* The time when this turn began: good enough for deadlines, and free. */
uint64_t loop_now(const struct loop *loop);
/* (Re)sets it. A time that has passed means the next turn, never this one, so that a handler may set itself again without
 * starving the others. 0 or -ENOMEM. */
int loop_timer_set(struct loop *loop, struct loop_timer *timer, uint64_t at_us);
int loop_timer_in(struct loop *loop, struct loop_timer *timer, uint64_t delay_ms);
void loop_timer_stop(struct loop *loop, struct loop_timer *timer);

/* Until loop_stop(). 0 or -errno. */
int loop_run(struct loop *loop);
void loop_stop(struct loop *loop);

#endif
