#include "box/scratch.h"
int scratch_make(struct cordon_plan *plan, const char *owner, struct prepared *p, struct cordon_error *err) { (void)plan; (void)owner; (void)p; (void)err; return 0; }
void scratch_undo(const char *scratch_dir, const char *owner) { (void)scratch_dir; (void)owner; }
void scratch_sweep(const char *scratch_dir) { (void)scratch_dir; }
