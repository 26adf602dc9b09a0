/*
 * Ending every descendant of the calling process, where no pid namespace does it. The caller is a subreaper, so whatever loses its
 * parent comes to it and stays a descendant. First everything is stopped, pass by pass until nobody new appears, since what is stopped
 * cannot fork; then it is killed. Runs in init and, after it, in the keeper, at process level.
 */
#ifndef BOX_DESCEND_H
#define BOX_DESCEND_H

#include <stdbool.h>

/* Kills all but zombies, for at most timeout_ms; true when none is left. Does not reap. */
bool descend_end(unsigned timeout_ms);

#endif
