/* Either end of carried connections: see line.h. Runs in egress and in a process inside the box; no privilege. */
#include "stream/line.h"

#include "base/fd.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
	OUT_ROOM = 256 << 10, /* of what may wait for the stream before lines wait as well */
	OUT_MOST = 1 << 20,   /* answers add to it without asking: beyond this nothing more is read, either */
	KEPT = 64 << 10,      /* what was sent of a buffer before the rest moves to its front */
	TURN_ROUNDS = 4,
	BATCH = 64,
};

/* ---- bytes on their way ---- */

static size_t bytes_left(const struct line_bytes *b)
{
	return b->s.len - b->at;
}

static void bytes_take(struct line_bytes *b, size_t n)
{
	b->at += n;
	if (b->at == b->s.len || (b->at >= KEPT && b->at >= b->s.len / 2)) {
		if (b->at < b->s.len)
			memmove(b->s.data, b->s.data + b->at, b->s.len - b->at);
		b->s.len -= b->at;
		b->at = 0;
	}
}

static void bytes_done(struct line_bytes *b)
{
	str_done(&b->s);
	*b = (struct line_bytes){ 0 };
}

/* To the socket, as much as it takes: how much, or -errno; -EAGAIN only where it took nothing. */
static ssize_t bytes_send(int fd, const void *data, size_t len)
{
	ssize_t n;

	do
		n = send(fd, data, len, MSG_DONTWAIT | MSG_NOSIGNAL);
	while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : n;
}

/* ---- the end of a line ---- */

static void place_free(struct lines *l, struct line *line)
{
	line->open = false;
	line->generation++;
	l->count--;
}

/* This side's last word. */
static void line_end(struct lines *l, uint32_t id, enum carry_type how, bool by_other)
{
	const struct linger at_once = { .l_onoff = 1 };
	struct line *line = &l->line[id];

	if (how == CARRY_RESET)
		(void)setsockopt(line->fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
	fd_close(&line->fd);
	bytes_done(&line->waiting);
	lines_say(l, &(struct carry_frame){ .type = how, .id = id });
	if (line->last_come)
		place_free(l, line);
	if (l->over)
		l->over(l, id, by_other);
}

/* Both ways are over, by what was said or because the socket is gone for good. */
static void line_settle(struct lines *l, uint32_t id)
{
	struct line *line = &l->line[id];

	if (line->fd >= 0 && line->ended && (line->hung_up || line->shut) && bytes_left(&line->waiting) == 0)
		line_end(l, id, CARRY_CLOSE, false);
}

/* ---- from the stream to the socket ---- */

static void line_owe(struct lines *l, uint32_t id, size_t n)
{
	struct line *line = &l->line[id];

	line->owed += (uint32_t)n;
	if (line->owed < CARRY_WINDOW / 2 || line->end_come || line->last_come)
		return;
	lines_say(l, &(struct carry_frame){ .type = CARRY_CREDIT, .id = id, .number = line->owed });
	line->window += line->owed;
	line->owed = 0;
}

/* What waits for the socket, and then what was to follow it. */
static void line_deliver(struct lines *l, uint32_t id)
{
	struct line *line = &l->line[id];
	struct line_bytes *waiting = &line->waiting;

	while (bytes_left(waiting) && line->writable) {
		ssize_t n = bytes_send(line->fd, waiting->s.data + waiting->at, bytes_left(waiting));

		if (n == -EAGAIN) {
			line->writable = false;
		} else if (n < 0) {
			line_end(l, id, CARRY_RESET, false);
			return;
		} else {
			bytes_take(waiting, (size_t)n);
			line_owe(l, id, (size_t)n);
		}
	}
	if (bytes_left(waiting))
		return;
	bytes_done(waiting);
	if (line->last_come) {
		line_end(l, id, CARRY_CLOSE, false);
	} else if (line->end_come && !line->shut) {
		line->shut = true;
		(void)shutdown(line->fd, SHUT_WR);
		line_settle(l, id);
	}
}

static void line_take(struct lines *l, uint32_t id, const char *data, size_t len)
{
	struct line *line = &l->line[id];

	if (bytes_left(&line->waiting) == 0 && line->writable) {
		ssize_t n = bytes_send(line->fd, data, len);

		if (n > 0) {
			data += n;
			len -= (size_t)n;
			line_owe(l, id, (size_t)n);
		}
	}
	if (len == 0)
		return;
	str_add_bytes(&line->waiting.s, data, len);
	if (line->waiting.s.failed)
		line_end(l, id, CARRY_RESET, false);
	else
		line_deliver(l, id);
}

/* ---- from the socket to the stream ---- */

static bool line_has_something(const struct line *line)
{
	return line->open && line->fd >= 0 && !line->ended && line->readable && line->credit;
}

static void enqueue(struct lines *l, uint32_t id)
{
	struct line *line = &l->line[id];

	if (line->queued || !line_has_something(line))
		return;
	line->queued = true;
	line->next = 0;
	if (l->last)
		l->line[l->last - 1].next = id + 1;
	else
		l->first = id + 1;
	l->last = id + 1;
}

static uint32_t dequeue(struct lines *l)
{
	uint32_t id = l->first - 1;

	l->first = l->line[id].next;
	if (!l->first)
		l->last = 0;
	l->line[id].queued = false;
	return id;
}

/* One piece. Negative: nothing, -errno; 0: the end of file. */
static ssize_t line_read(struct lines *l, uint32_t id)
{
	struct line *line = &l->line[id];
	char data[CARRY_PIECE];
	ssize_t n;

	do
		n = recv(line->fd, data, line->credit < sizeof(data) ? line->credit : sizeof(data), MSG_DONTWAIT);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	if (n > 0) {
		line->credit -= (uint32_t)n;
		lines_say(l, &(struct carry_frame){ .type = CARRY_DATA, .id = id, .data = data, .len = (size_t)n });
	}
	return n;
}

static void line_pump(struct lines *l, uint32_t id)
{
	struct line *line = &l->line[id];
	ssize_t n;

	if (!line_has_something(line))
		return;
	n = line_read(l, id);
	if (n == -EAGAIN) {
		line->readable = false;
	} else if (n < 0) {
		line_end(l, id, CARRY_RESET, false);
	} else if (n == 0) {
		line->ended = true;
		lines_say(l, &(struct carry_frame){ .type = CARRY_END, .id = id });
		line_settle(l, id);
	} else {
		enqueue(l, id);
	}
}

void lines_break(struct lines *l, uint32_t id)
{
	struct line *line = &l->line[id];

	if (!line->open || line->fd < 0)
		return;
	while (!line->ended && line->credit && lines_have_room(l) && line_read(l, id) > 0)
		;
	line_end(l, id, CARRY_RESET, false);
}

static void line_event(struct lines *l, uint32_t id, uint32_t events)
{
	struct line *line = &l->line[id];

	line->readable |= (events & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0;
	line->writable |= (events & (EPOLLOUT | EPOLLHUP | EPOLLERR)) != 0;
	line->hung_up |= (events & EPOLLHUP) != 0;
	if (events & EPOLLERR) {
		lines_break(l, id);
		return;
	}
	line_deliver(l, id);
	line_settle(l, id);
	enqueue(l, id);
}

/* ---- what the other side says of a line ---- */

static int line_data(struct lines *l, const struct carry_frame *f)
{
	struct line *line = &l->line[f->id];

	if (line->end_come || f->len > line->window)
		return -EPROTO;
	line->window -= (uint32_t)f->len;
	if (line->fd >= 0)
		line_take(l, f->id, f->data, f->len);
	return 0;
}

static int line_last(struct lines *l, const struct carry_frame *f)
{
	struct line *line = &l->line[f->id];

	if (line->fd < 0) {
		place_free(l, line);
		return 0;
	}
	/* Of a reset line the socket may still take what came before; a close follows the last byte. */
	if (f->type == CARRY_RESET && bytes_left(&line->waiting))
		(void)bytes_send(line->fd, line->waiting.s.data + line->waiting.at, bytes_left(&line->waiting));
	line->last_come = true;
	if (f->type == CARRY_RESET)
		line_end(l, f->id, CARRY_RESET, true);
	else
		line_deliver(l, f->id);
	return 0;
}

static int line_frame(struct lines *l, const struct carry_frame *f)
{
	struct line *line = f->id < CARRY_LINES ? &l->line[f->id] : NULL;

	if (!line || !line->open || line->last_come)
		return -EPROTO;
	if (f->type == CARRY_DATA)
		return line_data(l, f);
	if (f->type == CARRY_CLOSE || f->type == CARRY_RESET)
		return line_last(l, f);
	if (f->type == CARRY_CREDIT) {
		if (f->number == 0 || f->number > CARRY_WINDOW - line->credit)
			return -EPROTO;
		line->credit += f->number;
		enqueue(l, f->id);
		return 0;
	}
	if (line->end_come)
		return -EPROTO;
	line->end_come = true;
	if (line->fd >= 0)
		line_deliver(l, f->id);
	return 0;
}

/* ---- the stream ---- */

static int take_frames(struct lines *l)
{
	struct carry_frame f;
	int r;

	while ((r = carry_next(&l->in, &f)) > 0) {
		if (f.type >= CARRY_DATA && f.type <= CARRY_CREDIT)
			r = line_frame(l, &f);
		else
			r = l->frame ? l->frame(l, &f) : -EPROTO;
		if (r < 0)
			break;
	}
	return r;
}

static int lines_receive(struct lines *l)
{
	size_t room;
	void *to = frame_room(&l->in, &room);
	ssize_t n = recv(l->stream, to, room, MSG_DONTWAIT);

	if (n < 0 && errno == EINTR)
		return 0;
	if (n < 0 && errno == EAGAIN) {
		l->readable = false;
		return 0;
	}
	if (n <= 0)
		return n < 0 ? -errno : -EPIPE;
	frame_added(&l->in, (size_t)n);
	return take_frames(l);
}

static int lines_flush(struct lines *l)
{
	if (l->out.s.failed)
		return -ENOMEM; /* a stream with a hole in it says nothing */
	while (bytes_left(&l->out) && l->writable) {
		ssize_t n = bytes_send(l->stream, l->out.s.data + l->out.at, bytes_left(&l->out));

		if (n == -EAGAIN)
			l->writable = false;
		else if (n < 0)
			return (int)n;
		else
			bytes_take(&l->out, (size_t)n);
	}
	return 0;
}

void lines_say(struct lines *l, const struct carry_frame *f)
{
	carry_put(&l->out.s, f);
}

bool lines_have_room(const struct lines *l)
{
	return bytes_left(&l->out) < OUT_ROOM;
}

static bool may_receive(const struct lines *l)
{
	return l->readable && bytes_left(&l->out) < OUT_MOST;
}

/* ---- turns ---- */

/* A tag is the line's id and its generation, which is never 0 here, or what lines_watch() was given. */
static void lines_event(struct lines *l, const struct epoll_event *event)
{
	uint32_t id = (uint32_t)event->data.u64, generation = (uint32_t)(event->data.u64 >> 32);

	if (generation) {
		if (l->line[id].open && l->line[id].generation == generation && l->line[id].fd >= 0)
			line_event(l, id, event->events);
	} else if (id) {
		if (l->ready)
			l->ready(l, id, event->events);
	} else {
		l->readable |= (event->events & ~(uint32_t)EPOLLOUT) != 0;
		l->writable |= (event->events & (EPOLLOUT | EPOLLHUP | EPOLLERR)) != 0;
	}
}

/* Once each: the stream in, the lines, the stream out. */
static int lines_round(struct lines *l)
{
	int r = may_receive(l) ? lines_receive(l) : 0;

	while (r >= 0 && l->first && lines_have_room(l))
		line_pump(l, dequeue(l));
	return r < 0 ? r : lines_flush(l);
}

/* Something can be done without another event. */
static bool is_busy(const struct lines *l)
{
	return may_receive(l) || (l->first && lines_have_room(l)) || (bytes_left(&l->out) && l->writable);
}

int lines_turn(struct lines *l, int timeout_ms)
{
	struct epoll_event batch[BATCH];
	int n = l->failed ? 0 : epoll_wait(l->epoll, batch, BATCH, is_busy(l) ? 0 : timeout_ms);

	if (n < 0 && errno != EINTR)
		l->failed = -errno;
	for (int i = 0; i < n; i++)
		lines_event(l, &batch[i]);
	for (int round = 0; round < TURN_ROUNDS && !l->failed; round++) {
		l->failed = lines_round(l);
		if (!l->failed && !is_busy(l))
			return 0;
	}
	return l->failed ? l->failed : 1;
}

int lines_watch(struct lines *l, int fd, uint32_t tag)
{
	struct epoll_event event = { .events = EPOLLIN | (uint32_t)EPOLLET, .data.u64 = tag };

	return epoll_ctl(l->epoll, EPOLL_CTL_ADD, fd, &event) < 0 ? -errno : 0;
}

bool lines_is_free(const struct lines *l, uint32_t id)
{
	return id < CARRY_LINES && !l->line[id].open;
}

/* Its place in the queue is the place's, not the line's. */
static struct line *place_take(struct lines *l, uint32_t id, int fd)
{
	struct line *line = &l->line[id];

	*line = (struct line){ .open = true,
			       .fd = fd,
			       .generation = line->generation ? line->generation : 1,
			       .queued = line->queued,
			       .next = line->next,
			       .credit = CARRY_WINDOW,
			       .window = CARRY_WINDOW };
	l->count++;
	return line;
}

int lines_open(struct lines *l, uint32_t id, int fd)
{
	struct epoll_event event = { .events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | (uint32_t)EPOLLET };
	struct line *line = place_take(l, id, fd);

	event.data.u64 = (uint64_t)line->generation << 32 | id;
	if (epoll_ctl(l->epoll, EPOLL_CTL_ADD, fd, &event) < 0) {
		int r = -errno;

		fd_close(&line->fd);
		place_free(l, line);
		return r;
	}
	line->readable = line->writable = true; /* try */
	enqueue(l, id);
	return 0;
}

void lines_refuse(struct lines *l, uint32_t id)
{
	place_take(l, id, -1);
	lines_say(l, &(struct carry_frame){ .type = CARRY_RESET, .id = id });
}

struct lines *lines_new(int stream)
{
	struct lines *l = calloc(1, sizeof(*l));
	struct epoll_event event = { .events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | (uint32_t)EPOLLET };

	if (!l) {
		fd_close(&stream);
		return NULL;
	}
	l->stream = stream;
	l->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (l->epoll < 0 || epoll_ctl(l->epoll, EPOLL_CTL_ADD, stream, &event) < 0) {
		lines_free(l);
		return NULL;
	}
	return l;
}

void lines_free(struct lines *l)
{
	if (!l)
		return;
	for (uint32_t id = 0; id < CARRY_LINES && l->count; id++) {
		if (!l->line[id].open)
			continue;
		fd_close(&l->line[id].fd);
		bytes_done(&l->line[id].waiting);
		l->count--;
	}
	bytes_done(&l->out);
	fd_close(&l->epoll);
	fd_close(&l->stream);
	free(l);
}
