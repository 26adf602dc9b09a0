/* cordon image import. */
#ifndef IMAGE_IMPORT_H
#define IMAGE_IMPORT_H

#include "image/budget.h"
#include "image/unpack.h"
#include "store/store.h"

struct import_options {
	const char *dir;    /* the store */
	const char *source; /* a file, a directory, or "-" */
	const char *name;   /* NULL: what it is called in the bundle, or after its file */
	struct budget budget;
};

struct imported {
	struct store_image *images; /* one for each name */
	size_t count;
	struct unpack_report report;
};

int import_run(const struct import_options *options, struct imported *ret, struct cordon_error *err);
void imported_done(struct imported *i);

#endif
