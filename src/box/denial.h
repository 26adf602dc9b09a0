/* What the policy refused: collected by the keeper, told by the front. */
#ifndef BOX_DENIAL_H
#define BOX_DENIAL_H

#include "box/link.h"
#include "plan/plan.h"

/* Keeper: answers what the listener has to tell, at most `max` calls, and counts it. Returns how many were answered. */
unsigned denial_serve(const struct cordon_plan *plan, int listener, struct link_report *report, unsigned max);
/* Front: the words for one. Strings are malloc'd into *sv and live as long as it does. */
int denial_describe(const struct cordon_plan *plan, const struct link_denial *d, struct strv *sv, struct cordon_denial *ret);

#endif
