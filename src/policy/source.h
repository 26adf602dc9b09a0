/*
 * Where a value comes from: a place in a file, a flag, a call. Errors begin with it, and `policy show` tells it.
 */
#ifndef POLICY_SOURCE_H
#define POLICY_SOURCE_H

#include "base/error.h"

struct source {
	const char *file;      /* as the user named it; NULL: no file */
	unsigned line, column; /* in the file */
	const char *origin;    /* "flag --memory", "preset strict"; NULL: the place in the file, or "call" */
	const char *dir;       /* where relative host paths start; NULL: they are refused */
	const char *key;       /* which key it is about; NULL: none in particular */
};

/* CORDON_INVALID, "file:line:column: key: …" or "--flag: …" or "key: …"; returns -1. */
__attribute__((format(printf, 3, 4))) int source_fail(const struct source *at, struct cordon_error *err,
						      const char *fmt, ...);
/* The same with another code. */
__attribute__((format(printf, 4, 5))) int source_fail_code(const struct source *at, enum cordon_code code,
							   struct cordon_error *err, const char *fmt, ...);
/* What `policy show` tells; malloc'd or NULL. */
char *source_origin(const struct source *at);
/* The real directory of a file, so that ".." in its relative paths means what the kernel means; malloc'd or NULL. */
char *source_dir(const char *file);

#endif
