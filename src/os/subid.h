/* Subordinate ids of an ordinary user (/etc/subuid, /etc/subgid), mapped by the set-user-id helpers newuidmap and newgidmap. */
#ifndef OS_SUBID_H
#define OS_SUBID_H

#include <sys/types.h>

/* The first id of each of the user's ranges; -ENOENT where there is none, or no helpers. */
int subid_find(uid_t uid, uid_t *ret_subuid, gid_t *ret_subgid);
/* Ids of a user namespace: the caller's own and a subordinate one, or two. */
struct subid_pair {
	unsigned inside, outside;         /* the caller */
	unsigned sub_inside, sub_outside; /* the subordinate id */
	unsigned next_inside;             /* the one after it; 0: is not wanted */
};
/* Maps them for users and for groups, with both helpers at once. Needs: to be outside of the namespace. 0 or -errno. */
int subid_map(pid_t pid, const struct subid_pair *uids, const struct subid_pair *gids);

#endif
