/*
 * Presets: policies by name. Those of profiles/ are part of the program; the configuration's preset_dir adds to and
 * overrides them.
 */
#ifndef POLICY_PRESET_H
#define POLICY_PRESET_H

#include "base/error.h"

struct preset {
	const char *name, *text;
};
extern const struct preset presets[]; /* generated; the last has no name */

const struct preset *preset_find(const char *name);
/* A name that may be a preset's: small letters, digits, - and _. */
bool preset_name_is_valid(const char *name);
/* CORDON_NOT_FOUND with "did you mean" and the names there are; `where` goes before the message. Returns -1. */
int preset_fail(const char *where, const char *name, const char *preset_dir, struct cordon_error *err);

#endif
