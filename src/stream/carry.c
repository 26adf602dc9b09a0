/* Frames of carried connections: see carry.h. What a body holds besides its id is a table. */
#include "stream/carry.h"

#include "stream/pack.h"

#include <errno.h>

static const struct shape {
	bool protocol, place, number;
	size_t least, most; /* of data */
} shapes[CARRY_TYPES] = {
	[CARRY_OPEN] = { .place = true },
	[CARRY_QUERY] = { .least = 1, .most = CARRY_PACKET },
	[CARRY_ATTEMPT] = { .protocol = true, .place = true },
	[CARRY_DATA] = { .least = 1, .most = CARRY_PIECE },
	[CARRY_CREDIT] = { .number = true },
	[CARRY_ANSWER] = { .least = 1, .most = CARRY_PACKET },
	[CARRY_VERDICT] = { .number = true },
};

static size_t head_of(const struct shape *shape)
{
	return 4 * (1 + (size_t)shape->protocol + (size_t)shape->place * 2 + (size_t)shape->number);
}

void carry_put(struct str *out, const struct carry_frame *f)
{
	const struct shape *shape = &shapes[f->type];

	str_add_char(out, (char)f->type);
	pack_u32(out, (uint32_t)(head_of(shape) + f->len));
	pack_u32(out, f->id);
	if (shape->protocol)
		pack_u32(out, f->protocol);
	if (shape->place) {
		pack_u32(out, f->address);
		pack_u32(out, f->port);
	}
	if (shape->number)
		pack_u32(out, f->number);
	if (f->len)
		str_add_bytes(out, f->data, f->len);
}

int carry_next(struct frame_reader *r, struct carry_frame *ret)
{
	struct frame frame;
	struct unpack u;
	const struct shape *shape;
	uint32_t protocol = 0, port = 0;
	int got = frame_next_below(r, CARRY_TYPES, &frame);

	if (got <= 0)
		return got;
	u = (struct unpack){ .at = frame.body, .left = frame.len };
	*ret = (struct carry_frame){ .type = (enum carry_type)frame.type };
	shape = &shapes[ret->type];
	ret->id = unpack_u32(&u);
	if (shape->protocol)
		protocol = unpack_u32(&u);
	if (shape->place) {
		ret->address = unpack_u32(&u);
		port = unpack_u32(&u);
	}
	if (shape->number)
		ret->number = unpack_u32(&u);
	if (u.failed || protocol > UINT8_MAX || port > UINT16_MAX || u.left < shape->least || u.left > shape->most)
		return -EPROTO;
	ret->protocol = (uint8_t)protocol;
	ret->port = (uint16_t)port;
	ret->data = u.at;
	ret->len = u.left;
	return 1;
}
