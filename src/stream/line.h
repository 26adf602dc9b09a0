/*
 * Lines: either end of carried connections (stream/carry.h). Each line is one socket here, and what it says is carried to its other
 * end over the stream: bytes within credit, half-close, reset. The sockets are the box's TCP connections inside, and one end of a socket
 * pair each in egress; here they are alike.
 *
 * One epoll of its own watches the stream and all sockets, edge-triggered; what an event told is remembered until a call says EAGAIN.
 * Lines that have something to say stand in a queue and say one piece each, in turn, while the stream's buffer has room: a line without credit
 * is not in it, so that one slow reader holds up nobody. Whoever has a loop watches `epoll` and calls lines_turn().
 *
 * Everything that the other end says is checked: a frame that cannot be ends the stream.
 */
#ifndef STREAM_LINE_H
#define STREAM_LINE_H

#include "stream/carry.h"

/* Added at the end, taken from the front. */
struct line_bytes {
	struct str s;
	size_t at;
};

struct line {
	bool open;
	int fd;              /* -1: this side has said CLOSE or RESET */
	uint32_t generation; /* of the place: an event of an earlier line is none of this one's */
	bool readable, writable, hung_up;
	bool ended;     /* END is said */
	bool end_come;  /* the other's */
	bool shut;      /* and passed on */
	bool last_come; /* the other's CLOSE or RESET */
	bool queued;
	uint32_t next;             /* in the queue */
	uint32_t credit;           /* bytes that may be said */
	uint32_t window;           /* that the other may say */
	uint32_t owed;             /* delivered and not given back yet */
	struct line_bytes waiting; /* for the socket */
};

struct lines {
	int stream, epoll;
	int failed; /* -errno: the stream is over */
	bool readable, writable;
	struct frame_reader in;
	struct line_bytes out;
	uint32_t first, last; /* of the queue: id + 1; 0: it is empty */
	size_t count;         /* of open lines */

	void *owner; /* whoever made it; for the functions below */
	/* A frame that is not about a line: 0, or -errno, which ends the stream. */
	int (*frame)(struct lines *l, const struct carry_frame *f);
	/* This side of a line is over: its socket is closed. May be NULL. */
	void (*over)(struct lines *l, uint32_t id, bool reset_by_other);
	/* Of a descriptor that was added by lines_watch(). May be NULL. */
	void (*ready)(struct lines *l, uint32_t tag, uint32_t events);

	struct line line[CARRY_LINES];
};

/* Takes the stream, a non-blocking SOCK_STREAM, also on failure. NULL: errno. */
struct lines *lines_new(int stream);
void lines_free(struct lines *l);

/* Edge-triggered; the tag is not 0. 0 or -errno. */
int lines_watch(struct lines *l, int fd, uint32_t tag);
/* Until the stream has something, or so long (-1: for ever); then what there is to do, within bounds. 0; 1: there is more; -errno: the stream is
 * over, -EPIPE at its end. */
int lines_turn(struct lines *l, int timeout_ms);

bool lines_is_free(const struct lines *l, uint32_t id);
/* A new line at a free place; takes the socket, non-blocking, also on failure. 0 or -errno. */
int lines_open(struct lines *l, uint32_t id, int fd);
/* A line that the other side opened and this one cannot have. */
void lines_refuse(struct lines *l, uint32_t id);
/* This side broke: what can be said at once is, then the line is reset. Also for one that is over. */
void lines_break(struct lines *l, uint32_t id);

/* Frames go out with the next turn. Those that nobody waits for are for when there is room. */
void lines_say(struct lines *l, const struct carry_frame *f);
bool lines_have_room(const struct lines *l);

#endif
