/* Layers become a root. Runs in cordon-image, in its jail. */
#ifndef IMAGE_MERGE_H
#define IMAGE_MERGE_H

#include "base/error.h"

#include <stdint.h>

/* Lays an unpacked layer (both are directories) over what is in `root`. Files become hard links. */
int merge_layer(int layer, int root, struct cordon_error *err);
/* Makes the places that a box lays its own files over: some of /etc. After the last layer. */
int merge_places(int root, struct cordon_error *err);
/* Bytes of the files below, by name. -errno. */
int merge_size(int root, uint64_t *ret_bytes);

#endif
