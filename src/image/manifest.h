/* What the JSON of a bundle says: which images there are, of which layers, and how they want to be run. */
#ifndef IMAGE_MANIFEST_H
#define IMAGE_MANIFEST_H

#include "image/bundle.h"
#include "store/store.h"

struct manifest {
	struct strv names;        /* what it is called in the bundle */
	struct strv blobs;        /* paths of its layers, the lowest first */
	struct store_image image; /* without name, root, size and time */
};

/* Every image of a bundle that is not a root file system; *ret is malloc'd. */
int manifest_read(struct bundle *b, struct manifest **ret, size_t *ret_count, struct cordon_error *err);
void manifest_free(struct manifest *list, size_t count);

#endif
