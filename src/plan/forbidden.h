/*
 * What is never mounted: the built-in list, the homes' secrets and files.forbidden. Checked by path after symlinks are
 * resolved, by inode and by place (place.h), so that neither spelling nor a bind mount hides one; a directory that contains one is refused as well,
 * whether the forbidden thing exists yet or not. Reads the host, changes nothing.
 */
#ifndef PLAN_FORBIDDEN_H
#define PLAN_FORBIDDEN_H

#include "base/error.h"
#include "base/str.h"

/* path is the real path of fd. extra: files.forbidden, NULL-terminated or empty. 0, or -1 with CORDON_DENIED naming the rule. */
int forbidden_check(int fd, const char *path, const struct strv *extra, struct cordon_error *err);

#endif
