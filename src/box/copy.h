/* Files in and out of a box. */
#ifndef BOX_COPY_H
#define BOX_COPY_H

#include "plan/plan.h"

/* init: sends every --out as LINK_FILE messages, then LINK_COLLECTED. The payload is gone by then: nothing moves. */
void copy_out_send(const struct cordon_plan *plan, int link);

#endif
