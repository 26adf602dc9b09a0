/* What cordon-image gives up before it reads the first byte of an archive. */
#ifndef IMAGE_JAIL_H
#define IMAGE_JAIL_H

#include "base/error.h"

/* From here on: reading below `source` (a file or a directory; -1: none), everything below `store`, and nothing else; no program, no socket,
 * no capability but to read what root may read. Takes away: all other files, for good. */
int jail_enter(int store, int source, struct cordon_error *err);

#endif
