/* A result with its storage. Made by the front. */
#ifndef BOX_RESULT_H
#define BOX_RESULT_H

#include "box/link.h"
#include "plan/plan.h"

struct traffic;

struct result {
	struct cordon_result public; /* first: cordon_result_free() gets a pointer to it */
	struct cordon_error error;
	struct cordon_denial *denials;
	struct cordon_connection *network;
	struct traffic_row *rows; /* which `network` points into */
	const char *layers[LAYER_COUNT + 1], *degraded[LAYER_COUNT + 1], *required[LAYER_COUNT + 1];
	struct strv texts; /* what the public strings point to */
};

/* From what the keeper and egress reported; takes the rows of the traffic. Never NULL unless memory ran out. */
struct result *result_new(const struct cordon_plan *plan, const struct link_report *report, struct traffic *traffic);

#endif
