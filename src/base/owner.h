/*
 * Who owns a lasting thing on the host: "cordon-PID-TIME-BOOT", from pid, a moment in its life (ticks since boot) and the
 * first eight digits of the boot id. A process with that pid that started later is another one. Any later cordon can tell an orphan by the name alone and sweep it.
 */
#ifndef BASE_OWNER_H
#define BASE_OWNER_H

#include <stdbool.h>
#include <stddef.h>

enum { OWNER_NAME_MAX = 64 };
int owner_name(char buf[OWNER_NAME_MAX]); /* of the calling process; 0 or -errno */
/* True only for a well-formed name whose process is gone or of another boot; other names are never orphans. */
bool owner_is_orphan(const char *name);

#endif
