/*
 * What is imported: a directory with an OCI layout, an archive of one, an archive of `docker save`, or an archive of a root file system.
 * Blobs are files of it, by path; small ones are read as text, layers as streams. Runs in cordon-image, in its jail.
 */
#ifndef IMAGE_BUNDLE_H
#define IMAGE_BUNDLE_H

#include "base/str.h"
#include "image/stream.h"

enum bundle_kind { BUNDLE_ROOT, BUNDLE_DOCKER, BUNDLE_OCI };
enum { BUNDLE_TEXT_MAX = 4 << 20 };

struct bundle;

/* fd is borrowed: a directory, or a file that can be read from anywhere. */
int bundle_open(struct bundle **ret, int fd, struct cordon_error *err);
enum bundle_kind bundle_kind(const struct bundle *b);
/* A file of at most BUNDLE_TEXT_MAX bytes; malloc'd, with a NUL behind it. */
int bundle_text(struct bundle *b, const char *path, char **ret_text, size_t *ret_len, struct cordon_error *err);
/* Each of the wanted files, in whatever order they lie; `take` is told which. */
typedef int (*bundle_take)(void *arg, size_t index, struct stream *s, struct cordon_error *err);
int bundle_each(struct bundle *b, const struct strv *wanted, struct budget *budget, bundle_take take, void *arg,
		struct cordon_error *err);
void bundle_free(struct bundle *b);

#endif
