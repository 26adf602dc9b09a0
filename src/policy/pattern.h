/* Ranges of numbers as regular expressions (ECMA 262), for the schema. */
#ifndef POLICY_PATTERN_H
#define POLICY_PATTERN_H

#include "base/str.h"

/* Whole numbers from min to max, without zeros in front. */
void pattern_whole(struct str *out, uint64_t min, uint64_t max);
/* Numbers of up to three decimals, in thousandths: from min to max, each a multiple of `step`, as both are. */
void pattern_decimal(struct str *out, unsigned __int128 min, unsigned __int128 max, unsigned step);

#endif
