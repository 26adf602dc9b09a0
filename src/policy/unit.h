/*
 * Numbers with units, exactly: what is not a whole number of bytes, milliseconds, pieces or thousandths of a CPU is
 * refused, as is every spelling that could mean two things (512m, 1GB, 60, 010, 1e6).
 */
#ifndef POLICY_UNIT_H
#define POLICY_UNIT_H

#include "policy/policy.h"

struct unit_fault {
	char message[200], hint[200];
};

/* type is SIZE, RATE, DURATION, COUNT or CPUS. 0, or -1 and *fault. The range is not looked at. */
int unit_parse(enum option_type type, const char *text, uint64_t *ret_num, struct unit_fault *fault);
/* A text that parses back to the same number; buf of at least 32. */
const char *unit_text(enum option_type type, uint64_t num, char *buf, size_t size);
/* What parses and is from min to max, as a regular expression (ECMA 262) for the schema; malloc'd or NULL. */
char *unit_pattern(enum option_type type, uint64_t min, uint64_t max);

#endif
