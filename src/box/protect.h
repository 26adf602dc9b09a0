/*
 * Protected paths that do not exist yet. To hold them, something must stand there while the box lives: an empty placeholder on
 * the host, mounted read-only over itself in the box. Each is recorded in the state directory before it is made, shared by boxes
 * that protect the same path, and removed by the last of them (or by a later start), if it is still empty.
 */
#ifndef BOX_PROTECT_H
#define BOX_PROTECT_H

#include "plan/plan.h"

int placeholder_make(const struct cordon_plan *plan, const char *owner, struct cordon_error *err);
int placeholder_undo(const char *state_dir, const char *owner);
void placeholder_sweep(const char *state_dir);

#endif
