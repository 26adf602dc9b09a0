/* The programs that belong to the command and are not in PATH. Any process, with the caller's rights. */
#ifndef BASE_LIBEXEC_H
#define BASE_LIBEXEC_H

/* Beside the command itself (a build tree), where `make install` puts it, or where a package does. Only a file of root or of the caller that
 * nobody else may write. malloc'd, or NULL with errno: ENOENT where there is none, ENOMEM. */
char *libexec_find(const char *name);

#endif
