/* Names of layers: see plan.h. */
#include "plan/plan.h"

#include <string.h>

static const char *const names[LAYER_COUNT] = {
#define LAYER(id, name) name,
	PLAN_LAYERS(LAYER)
#undef LAYER
};

const char *layer_name(enum layer layer)
{
	return names[layer];
}

int layer_by_name(const char *name)
{
	for (int i = 0; i < LAYER_COUNT; i++)
		if (strcmp(names[i], name) == 0)
			return i;
	return -1;
}
