#include "box/protect.h"
#include "box/root.h"
int root_protect(struct root *r) { (void)r; return 0; }
int placeholder_make(const struct cordon_plan *plan, const char *owner, struct cordon_error *err) { (void)plan; (void)owner; (void)err; return 0; }
void placeholder_undo(const char *state_dir, const char *owner) { (void)state_dir; (void)owner; }
void placeholder_sweep(const char *state_dir) { (void)state_dir; }
