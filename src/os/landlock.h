/*
 * Landlock: the second lock on files, and its scopes. A ruleset handles every right that this ABI knows and then names what is
 * allowed below a few directories. Runs in the payload's child, after every open it needs. Helpers return -errno.
 */
#ifndef OS_LANDLOCK_H
#define OS_LANDLOCK_H

#include <stdbool.h>
#include <stdint.h>

int landlock_abi(void); /* 0 where there is none */
enum landlock_access {
	LANDLOCK_READ = 1, /* read files and list directories */
	LANDLOCK_EXEC = 2,
	LANDLOCK_WRITE = 4,  /* write, create, remove, rename */
	LANDLOCK_DEVICE = 8, /* device ioctls */
};
/* handle_exec false: execution is left to the other layers. no_network: TCP bind and connect refused (ABI 4). */
int landlock_new(int abi, bool no_network);
int landlock_allow(int ruleset, int abi, int fd, unsigned access);
int landlock_allow_path(int ruleset, int abi, const char *path, unsigned access); /* -ENOENT is not an error: 0 */
int landlock_restrict(int ruleset);                                               /* needs no_new_privs */

#endif
