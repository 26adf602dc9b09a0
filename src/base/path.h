/* Paths as text. What a payload can touch is walked by fd instead (fd.h). */
#ifndef BASE_PATH_H
#define BASE_PATH_H

#include <stdbool.h>

/* Lexical: absolute, no "//", ".", ".." or trailing slash. Relative paths start at base (absolute). malloc'd or NULL
 * (errno ENOMEM; EINVAL where ".." leaves the root or base is needed and NULL). */
char *path_clean(const char *base, const char *path);
/* path is dir or lies below it; both clean. */
bool path_is_within(const char *path, const char *dir);
/* The rest of path below dir without leading slash ("" when equal), or NULL. */
const char *path_below(const char *path, const char *dir);
const char *path_name(const char *path); /* the last component */

#endif
