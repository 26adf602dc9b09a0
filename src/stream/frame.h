/*
 * Frames: what the keeper and cordon-init, the entry process in a container of a foreign engine, say to each other over one
 * byte stream: type (one byte), length of the body (four, little-endian), body. No frame is longer than FRAME_MAX, and nobody
 * sends more than the other has room for: output waits for the stream, input for credit.
 *
 *	init: READY   keeper: JOB… (ENTRY DATA…)… START   init: STARTED
 *	then both: STDIN within CREDIT, SIGNAL, WINDOW, END; STDOUT, STDERR, DEAF   init: DENIAL… EXITED
 *	keeper: COLLECT   init: (ENTRY DATA…)… COLLECTED
 *	and then again: the next JOB, in a container that lives. After EXITED nothing of the job before is left but its files
 *
 * A job without a command is not STARTED: what goes in goes in, and EXITED follows. One that could not be prepared is ERROR and EXITED.
 * ERROR comes from init at any time. init shares its container with the payload, so that the keeper takes every byte for the
 * payload's: lengths, counts and names are checked here, what they mean where they are used. Pure: no I/O.
 */
#ifndef STREAM_FRAME_H
#define STREAM_FRAME_H

#include "base/error.h"
#include "base/str.h"

enum { FRAME_MAX = 65536, FRAME_HEAD = 5, FRAME_NAME_MAX = 256 };

enum frame_type {
	/* keeper to init */
	FRAME_JOB = 1, /* a piece of an encoded struct stream_job: stream/job.h */
	FRAME_START,
	FRAME_STDIN,  /* empty: end of input */
	FRAME_SIGNAL, /* one byte, for the payload */
	FRAME_END,    /* kill everything, then EXITED; after EXITED: exit */
	FRAME_KILL,   /* the same in a container that lives on: after EXITED it is too late, and nothing */
	FRAME_COLLECT,
	FRAME_DROP, /* in place of START: something that was to go in could not be read; ERROR, EXITED */
	/* both ways: files in before START, files out after COLLECT */
	FRAME_ENTRY, /* struct frame_entry; what follows as DATA is its contents, or the target of a link */
	FRAME_DATA,
	/* init to keeper */
	FRAME_READY,   /* u32: FRAME_VERSION */
	FRAME_CREDIT,  /* u32: that many more bytes of STDIN may be sent */
	FRAME_DEAF,    /* the payload reads no more input */
	FRAME_STARTED, /* u32: FRAME_HAS_* */
	FRAME_STDOUT,
	FRAME_STDERR,
	FRAME_DENIAL, /* struct frame_denial */
	FRAME_EXITED, /* struct frame_exit */
	FRAME_ERROR,  /* struct cordon_error */
	FRAME_COLLECTED,
	/* keeper to init */
	FRAME_WINDOW, /* u32: rows << 16 | columns of the payload's terminal; 0: as it is */
	FRAME_TYPES,
};

enum { FRAME_VERSION = 1 };

/* What init put on the payload. */
enum {
	FRAME_HAS_RLIMITS = 1,
	FRAME_HAS_NO_NEW_PRIVS = 2,
	FRAME_HAS_LANDLOCK = 4,
	FRAME_HAS_SECCOMP = 8,
	FRAME_HAS_LISTENER = 16, /* refused calls are told */
};

/* One entry of a tree that is copied in or out. */
struct frame_entry {
	uint32_t index; /* which --in or --out */
	uint32_t depth; /* 0: the named path itself */
	uint32_t mode;  /* S_IFMT and permission bits */
	uint64_t size;
	char name[FRAME_NAME_MAX]; /* one component; empty at depth 0 */
};

struct frame_denial {
	int32_t nr;
	uint64_t count;
};

struct frame_exit {
	int32_t status; /* as from waitpid */
	uint64_t cpu_us, maxrss_bytes;
	bool disk_full, inodes_full;
};

/* ---- writing: appended to a buffer ---- */

/* A body that is too long for one frame becomes several of the same type; an empty one is one empty frame. */
void frame_put(struct str *out, enum frame_type type, const void *body, size_t len);
void frame_put_u32(struct str *out, enum frame_type type, uint32_t value);
void frame_put_entry(struct str *out, const struct frame_entry *entry);
void frame_put_denial(struct str *out, const struct frame_denial *denial);
void frame_put_exit(struct str *out, const struct frame_exit *exit);
void frame_put_error(struct str *out, const struct cordon_error *error);

/* ---- reading ---- */

struct frame {
	enum frame_type type;
	const unsigned char *body; /* in the reader, until the next call of frame_room() */
	size_t len;
};

struct frame_reader {
	size_t at, end;
	unsigned char bytes[2 * (FRAME_HEAD + FRAME_MAX)];
};
/* Where the next bytes go, at most *ret_len and never none once every whole frame was taken. */
void *frame_room(struct frame_reader *r, size_t *ret_len);
void frame_added(struct frame_reader *r, size_t len);
/* 1: a frame; 0: more bytes are needed; -EPROTO: no frame, and never one again. */
int frame_next(struct frame_reader *r, struct frame *ret);
/* The same for other frames of this shape (stream/carry.h): types from 1 to below `types`. */
int frame_next_below(struct frame_reader *r, unsigned types, struct frame *ret);

/* 0, or -EPROTO for a body of another shape. */
int frame_get_u32(const struct frame *f, uint32_t *ret);
int frame_get_entry(const struct frame *f, struct frame_entry *ret); /* the name is one plain component, or empty */
int frame_get_denial(const struct frame *f, struct frame_denial *ret);
int frame_get_exit(const struct frame *f, struct frame_exit *ret);
int frame_get_error(const struct frame *f, struct cordon_error *ret);

#endif
