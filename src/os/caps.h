/* Capabilities and identity, by raw system calls: glibc's wrappers would speak to threads that a forked child does not have. */
#ifndef OS_CAPS_H
#define OS_CAPS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* The bounding set becomes `keep` and securebits are locked so that uid 0 means nothing and a change of uid changes no set.
 * Needs: CAP_SETPCAP. Takes away: every way to gain what is not in `keep`. */
int caps_lock(uint64_t keep);
/* The bounding set alone, for kernels without securebits (gVisor). Needs: CAP_SETPCAP. */
int caps_bound(uint64_t keep);
/* Real, effective and saved ids; supplementary groups dropped with drop_groups. Needs: CAP_SETUID, CAP_SETGID. */
int caps_set_ids(uid_t uid, gid_t gid, int drop_groups);
/* Permitted and effective become `keep`; inheritable and ambient are empty. Takes away: the rest, for good. */
int caps_set(uint64_t keep);
/* No right in any set, and no id or group of root's: true where that is so. */
bool caps_are_none(void);

#endif
