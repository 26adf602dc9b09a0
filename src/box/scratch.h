/* Scratch directories on disk: storage: disk, and the private directory of process level. Named after their owner. */
#ifndef BOX_SCRATCH_H
#define BOX_SCRATCH_H

#include "box/prepare.h"

int scratch_make(struct cordon_plan *plan, const char *owner, struct prepared *p, struct cordon_error *err);
int scratch_undo(const char *scratch_dir, const char *owner);
/* Takes it away from the sweep; its new path (malloc'd), or NULL where there is none. */
char *scratch_keep(const char *scratch_dir, const char *owner);
void scratch_sweep(const char *scratch_dir);

#endif
