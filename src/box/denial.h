/* What the policy refused: collected by the keeper, told by the front. */
#ifndef BOX_DENIAL_H
#define BOX_DENIAL_H

#include "box/link.h"
#include "box/mediate.h"
#include "plan/plan.h"

/* Keeper: answers what the listener has to tell, at most `max` calls, and counts what was refused. Returns how many were answered,
 * but for those that were done for the payload: *mediated grows by these. */
unsigned denial_serve(const struct cordon_plan *plan, const struct mediate_scope *scope, int listener,
		      struct link_report *report, unsigned max, uint64_t *mediated);
/* Front: the words for one. Strings are malloc'd into *sv and live as long as it does. */
int denial_describe(const struct cordon_plan *plan, const struct link_denial *d, struct strv *sv,
		    struct cordon_denial *ret);

#endif
