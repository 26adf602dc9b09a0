/* Files in and out of a box. */
#ifndef BOX_COPY_H
#define BOX_COPY_H

#include "plan/plan.h"

/* init: sends every --out as LINK_FILE messages, then LINK_COLLECTED. The payload is gone by then: nothing moves. */
void copy_out_send(const struct cordon_plan *plan, const char *work,
		   int link); /* work: the home at process level, or NULL */
/* Process level: writes the program text into the home. */
struct root;
int copy_code(struct root *r);

#endif
