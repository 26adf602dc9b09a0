/*
 * A hostile inside: any bytes as the stream that connections are carried over. An even first byte: the rest is sent as it is. An odd one: it is
 * a list of frames, four bytes each and what they need, so that their order is tried and not only their shape. Whatever comes, what egress
 * says is frames, of lines that are open, within their windows; and when the stream ends no connection is left.
 */
#include "base/fd.h"
#include "egress/capture.h"
#include "egress/conn.h"
#include "stream/carry.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct egress egress = { .event_fd = -1 };
static struct loop_timer stop;
static int stream;
static struct frame_reader reader;
static bool has_model; /* lines are followed: their frames are said one at a time */
static struct {
	bool open, ended, last_said, last_heard;
	size_t window; /* that egress may still say */
} lines[CARRY_LINES];

static void must(bool good, const char *what)
{
	if (good)
		return;
	fprintf(stderr, "%s\n", what);
	abort();
}

static void stop_due(struct loop_timer *timer)
{
	(void)timer;
	loop_stop(egress.loop);
}

static void turn(void)
{
	(void)loop_timer_set(egress.loop, &stop, 0);
	must(loop_run(egress.loop) == 0, "loop");
}

static void prepare(void)
{
	static const char *const rules[] = { "127.0.0.1:1/tcp", "127.0.0.1:2/tls", "127.0.0.1:3/http" };
	struct cordon_error err = { 0 };

	signal(SIGPIPE, SIG_IGN);
	egress.config = (struct net_config){ .connections = 64, .connect_timeout_ms = 1000, .idle_timeout_ms = 1000 };
	for (size_t i = 0; i < 3; i++) {
		struct net_rule rule = { 0 };

		must(net_rule_parse(rules[i], true, &rule, &err) == 0 &&
			     net_rules_add(&egress.config.rules, &rule) == 0,
		     "rule");
	}
	must(egress_init(&egress, &err) == 0, "egress");
	stop.due = stop_due;
}

static void check_frame(const struct carry_frame *f)
{
	must(f->type >= CARRY_DATA, "egress says what is the inside's to say");
	if (f->type > CARRY_CREDIT || !has_model)
		return;
	must(f->id < CARRY_LINES && lines[f->id].open && !lines[f->id].last_heard, "a frame of no line");
	if (f->type == CARRY_DATA) {
		must(!lines[f->id].ended && f->len <= lines[f->id].window, "beyond the window");
		lines[f->id].window -= f->len;
	} else if (f->type == CARRY_END) {
		must(!lines[f->id].ended, "an end twice");
		lines[f->id].ended = true;
	} else if (f->type == CARRY_CLOSE || f->type == CARRY_RESET) {
		lines[f->id].last_heard = true;
		lines[f->id].open = !lines[f->id].last_said;
	}
}

/* What must not be said ends the stream, and changes nothing. */
static void follow(const struct carry_frame *f)
{
	if (f->type == CARRY_OPEN && !lines[f->id].open) {
		memset(&lines[f->id], 0, sizeof(lines[f->id]));
		lines[f->id].open = true;
		lines[f->id].window = CARRY_WINDOW;
	} else if (f->type == CARRY_CREDIT && lines[f->id].window + f->number <= CARRY_WINDOW) {
		lines[f->id].window += f->number;
	} else if (f->type == CARRY_CLOSE || f->type == CARRY_RESET) {
		lines[f->id].last_said = true;
		lines[f->id].open = lines[f->id].open && !lines[f->id].last_heard;
	}
}

static void hear(void)
{
	struct carry_frame f;
	size_t room;
	ssize_t n;
	int r = 0;

	do {
		void *to = frame_room(&reader, &room);

		n = recv(stream, to, room, MSG_DONTWAIT);
		if (n > 0)
			frame_added(&reader, (size_t)n);
		while ((r = carry_next(&reader, &f)) > 0)
			check_frame(&f);
		must(r == 0, "egress says what is no frame");
	} while (n > 0);
}

static void send_all(const void *data, size_t len)
{
	const char *at = data;

	for (int i = 0; len && i < 64; i++) {
		ssize_t n = send(stream, at, len, MSG_DONTWAIT | MSG_NOSIGNAL);

		if (n > 0) {
			at += n;
			len -= (size_t)n;
		}
		turn();
		hear();
	}
}

static void tell(const uint8_t *d)
{
	static const char text[CARRY_PIECE];
	struct carry_frame f = { .type = (enum carry_type)(d[0] % (CARRY_TYPES - 1) + 1), .id = d[1] % 32 };
	struct str out = { 0 };

	if (f.type == CARRY_OPEN) {
		f.address = d[2] & 1 ? 0x7f000001 : 0xc6120001;
		f.port = d[3] % 54;
	} else if (f.type == CARRY_ATTEMPT) {
		f.protocol = d[2] & 1 ? 6 : 17;
		f.port = d[3];
	} else if (f.type == CARRY_CREDIT || f.type == CARRY_VERDICT) {
		f.number = (uint32_t)d[2] << 8 | d[3];
	} else if (f.type == CARRY_DATA || f.type == CARRY_QUERY || f.type == CARRY_ANSWER) {
		f.data = text;
		f.len = ((size_t)d[2] << 7 | d[3]) % (f.type == CARRY_DATA ? CARRY_PIECE : CARRY_PACKET) + 1;
	}
	follow(&f);
	carry_put(&out, &f);
	send_all(out.data, out.len);
	str_done(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct carried *carried = NULL;
	int pair[2];

	if (!egress.loop)
		prepare();
	if (!size || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) < 0)
		return 0;
	stream = pair[0];
	reader.at = reader.end = 0;
	memset(lines, 0, sizeof(lines));
	has_model = data[0] % 2;
	must(carried_start(&egress, pair[1], &carried) == 0, "start");
	if (!has_model)
		send_all(data + 1, size - 1);
	else
		for (size_t i = 1; i + 4 <= size; i += 4)
			tell(data + i);
	for (int i = 0; i < 4; i++)
		turn();
	hear();
	close(stream);
	for (int i = 0; i < 4 && egress.conns; i++)
		turn();
	must(!egress.conns && egress.conn_count == 0, "a connection outlives its stream");
	carried_free(carried);
	return 0;
}
