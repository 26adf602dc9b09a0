#include "box/root.h"
int root_lock_exec(struct root *r) { (void)r; return 0; }
