/* Unpacking one layer into a directory of its own. Runs in cordon-image, in its jail. */
#ifndef IMAGE_UNPACK_H
#define IMAGE_UNPACK_H

#include "image/stream.h"

/* What was left out, for the person who imports. */
struct unpack_report {
	uint64_t devices;  /* below dev/, where a box has its own */
	uint64_t stripped; /* set-user-id and set-group-id bits */
};

/* The tar that `s` gives, into the empty directory `dir`; s is read to the end of the tar. Needs: umask 0. */
int unpack_layer(struct stream *s, int dir, struct budget *budget, struct unpack_report *report,
		 struct cordon_error *err);

/* What a layer says about the one below: the name it takes away, "" for everything in the directory, NULL: an ordinary name. */
const char *unpack_whiteout(const char *name);

#endif
