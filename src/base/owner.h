/*
 * Who owns a lasting thing on the host: "cordon-PID-TIME-BOOT-PLACE", from pid, a moment in its life (ticks since boot), the
 * first eight digits of the boot id and the number of the pid namespace. A process with that pid that started later is another one. Any later cordon of the
 * same place can tell an orphan by the name alone and sweep it; what another place left goes with the boot.
 */
#ifndef BASE_OWNER_H
#define BASE_OWNER_H

#include <stdbool.h>
#include <stddef.h>

enum { OWNER_NAME_MAX = 64 };
int owner_name(char buf[OWNER_NAME_MAX]); /* of the calling process; 0 or -errno */
/* True only for a well-formed name whose process is gone or of another boot; other names, and those of another pid namespace, are never orphans. */
bool owner_is_orphan(const char *name);
/* A well-formed name of this boot: in a directory that several machines share, there are others that live. */
bool owner_is_of_this_boot(const char *name);

#endif
