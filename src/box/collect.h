/* Files out of a box, the front's side: writes beside the target and renames at the end. */
#ifndef BOX_COLLECT_H
#define BOX_COLLECT_H

#include "box/link.h"
#include "plan/plan.h"

enum { COLLECT_DEPTH = 66 };

struct collect {
	const struct cordon_plan *plan;
	int dirs[COLLECT_DEPTH];     /* dirs[0]: the target's parent; dirs[n + 1]: the directory at depth n */
	mode_t modes[COLLECT_DEPTH]; /* theirs, when they are full: one that nobody may write to could not be filled */
	size_t depth;                /* how many of dirs are open */
	uint64_t bytes;
	int current; /* index of the --out under way, -1: none */
	bool failed; /* the current one */
	char temporary[32 + OWNER_NAME_MAX];
	struct cordon_error *err; /* the first failure */
};
/* What dead callers left in the same directory is removed when the first file comes. */
void collect_init(struct collect *c, const struct cordon_plan *plan, struct cordon_error *err);
void collect_file(struct collect *c, const struct link_file *file, int fd);
void collect_done(struct collect *c, bool complete); /* the last rename; what is unfinished is removed, and told */

#endif
