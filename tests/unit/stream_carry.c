/* Frames of carried connections: what is put comes back, in any pieces; what has not its type's shape is refused. */
#include "stream/carry.h"

#include "tap.h"

#include <errno.h>

static struct frame_reader reader;

static int read_one(const void *data, size_t len, struct carry_frame *ret)
{
	size_t room;
	void *to;

	reader.at = reader.end = 0;
	to = frame_room(&reader, &room);
	memcpy(to, data, len);
	frame_added(&reader, len);
	return carry_next(&reader, ret);
}

static void test_round_trip(void)
{
	static const struct carry_frame frames[] = {
		{ .type = CARRY_OPEN, .id = 4095, .address = 0xc6120001, .port = 65535 },
		{ .type = CARRY_QUERY, .id = 7, .data = "question", .len = 8 },
		{ .type = CARRY_ATTEMPT, .id = UINT32_MAX, .protocol = 17, .address = 0x01020304, .port = 1 },
		{ .type = CARRY_DATA, .id = 1, .data = "x", .len = 1 },
		{ .type = CARRY_END, .id = 2 },
		{ .type = CARRY_CLOSE, .id = 3 },
		{ .type = CARRY_RESET, .id = 4 },
		{ .type = CARRY_CREDIT, .id = 5, .number = 65536 },
		{ .type = CARRY_ANSWER, .id = 6, .data = "answer", .len = 6 },
		{ .type = CARRY_VERDICT, .id = 8, .number = 1 },
	};

	for (size_t i = 0; i < sizeof(frames) / sizeof(*frames); i++) {
		const struct carry_frame *f = &frames[i];
		struct carry_frame got = { 0 };
		auto_str struct str out = { 0 };

		carry_put(&out, f);
		is_num((uint64_t)read_one(out.data, out.len, &got), 1, "type %d comes back", (int)f->type);
		ok(got.type == f->type && got.id == f->id && got.number == f->number && got.address == f->address &&
			   got.port == f->port && got.protocol == f->protocol && got.len == f->len &&
			   (!f->len || memcmp(got.data, f->data, f->len) == 0),
		   "as it was");
		is_num((uint64_t)read_one(out.data, out.len - 1, &got), 0, "a part of it is none yet");
		out.data[1]--;
		is_num((uint64_t)(read_one(out.data, out.len - 1, &got) == (f->len > 1 ? 1 : -EPROTO)), 1,
		       "one byte less is %s", f->len > 1 ? "less data" : "refused");
		out.data[1] = (char)(out.data[1] + 2);
		str_add_char(&out, 'y');
		is_num((uint64_t)(read_one(out.data, out.len, &got) == (f->len ? 1 : -EPROTO)), 1,
		       "one byte more is %s", f->len ? "more data" : "refused");
	}
}

static void test_bounds(void)
{
	static char data[CARRY_PIECE + 1];
	struct carry_frame f = { .type = CARRY_DATA, .data = data, .len = CARRY_PIECE }, got;
	auto_str struct str out = { 0 };
	uint8_t port[] = { CARRY_OPEN, 12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0 };
	uint8_t type[] = { 0, 4, 0, 0, 0, 0, 0, 0, 0 };

	carry_put(&out, &f);
	is_num((uint64_t)read_one(out.data, out.len, &got), 1, "the longest piece");
	out.len = 0;
	f.len++;
	carry_put(&out, &f);
	ok(read_one(out.data, out.len, &got) == -EPROTO, "a longer one is refused");
	out.len = 0;
	f.len = CARRY_PACKET + 1;
	f.type = CARRY_QUERY;
	carry_put(&out, &f);
	ok(read_one(out.data, out.len, &got) == -EPROTO, "so is a long packet");
	ok(read_one(port, sizeof(port), &got) == -EPROTO, "and a port that is none");
	ok(read_one(type, sizeof(type), &got) == -EPROTO, "no type");
	type[0] = CARRY_TYPES;
	ok(read_one(type, sizeof(type), &got) == -EPROTO, "an unknown type");
	type[0] = CARRY_END;
	is_num((uint64_t)read_one(type, sizeof(type), &got), 1, "control: the same with a type that there is");
}

int main(void)
{
	test_round_trip();
	test_bounds();
	return done_testing();
}
