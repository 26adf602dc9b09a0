/* Subordinate ids of an ordinary user (/etc/subuid, /etc/subgid), mapped by the set-user-id helpers newuidmap and newgidmap. */
#ifndef OS_SUBID_H
#define OS_SUBID_H

#include <sys/types.h>

/* The first id of each of the user's ranges; -ENOENT where there is none, or no helpers. */
int subid_find(uid_t uid, uid_t *ret_subuid, gid_t *ret_subgid);
/* Maps inside_uid to the caller and 0 to the subordinate id, for users and groups, both helpers at once. 0 or -errno. */
int subid_map(pid_t pid, uid_t inside_uid, uid_t uid, uid_t subuid, gid_t inside_gid, gid_t gid, gid_t subgid);

#endif
