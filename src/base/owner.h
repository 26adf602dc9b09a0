/*
 * Who owns a lasting thing on the host: "cordon-PID-TIME-BOOT-PIDS", from pid, a moment in its life (ticks since boot), the first eight
 * digits of the boot id, and the number of the pid namespace that the pid is of: containers may share a directory. A process with that pid that started later is
 * another one. Any later cordon in the same namespace can tell an orphan by the name alone and sweep it; what a container left that is gone stays until the
 * next boot.
 */
#ifndef BASE_OWNER_H
#define BASE_OWNER_H

#include <stdbool.h>
#include <stddef.h>

enum { OWNER_NAME_MAX = 64 };
int owner_name(char buf[OWNER_NAME_MAX]); /* of the calling process; 0 or -errno */
/* True only for a well-formed name whose process, of our own pid namespace, is gone, or that is of another boot; other names are never orphans. */
bool owner_is_orphan(const char *name);

#endif
