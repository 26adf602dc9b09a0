/*
 * A transient scope from systemd's user manager, for ordinary logins on cgroup v2: an ordinary user cannot
 * move itself into its delegated subtree, systemd can. Speaks the few D-Bus messages it needs itself, so
 * that nothing is linked. Runs in the keeper, with the user's rights.
 */
#ifndef OS_SCOPE_H
#define OS_SCOPE_H

#include <stdbool.h>
#include <sys/types.h>

/* Asks for "NAME.scope" with Delegate=yes holding pid, waits until it is there (at most timeout_ms). 0 or
 * -errno. */
int scope_request(const char *name, pid_t pid, int timeout_ms);
/* Whether there is a manager to ask: a socket of ours in the runtime directory. Cheap; asks nothing. */
bool scope_has_bus(void);
/* One conversation over one socket; `direct` is the manager's own, where no Hello is said. 0 when the job
 * was accepted. */
int scope_call(const char *path, bool direct, const char *unit, pid_t pid, int timeout_ms);

#endif
