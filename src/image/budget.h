/* How much an archive may be: what is unpacked is hostile, and a few bytes can stand for many. Counts over all layers of an import. */
#ifndef IMAGE_BUDGET_H
#define IMAGE_BUDGET_H

#include "base/error.h"

#include <stdint.h>

enum { BUDGET_DEPTH = 128, BUDGET_PATH = 4095, BUDGET_NAME = 255 };

struct budget {
	uint64_t max_bytes, max_entries, max_ratio; /* ratio: bytes that come out for one that goes in */
	uint64_t bytes, entries;                    /* so far */
};
#define BUDGET_INIT                                                                \
	{                                                                          \
		.max_bytes = 32ULL << 30, .max_entries = 2000000, .max_ratio = 200 \
	}
/* Below this nobody asks for the ratio: long runs of zeros are common in small files. */
#define BUDGET_RATIO_FROM (256ULL << 20)

#endif
