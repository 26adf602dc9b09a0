/* The box's root file system. Runs in init, as root of the box's own namespaces. */
#ifndef BOX_ROOT_H
#define BOX_ROOT_H

#include "plan/plan.h"

#include <linux/openat2.h>
#include <sys/mount.h>

struct root {
	const struct cordon_plan *plan;
	int fd;           /* the new root directory */
	uint64_t own[32]; /* ids of the private mounts: the only ones on which mount points may be made */
	size_t own_count;
	const int *prepared;      /* per mount: a detached tree that the keeper made (idmapped), or -1 */
	const int *prepared_in;   /* the same for each --in source */
	int image;                /* a detached tree that is the root's directory; -1: it is opened by its path */
	int scratch;              /* storage on disk: a directory (or a detached tree) for private files, or -1 */
	const char *scratch_path; /* NULL: it is a detached tree */
	const char *home; /* process level: fd is this directory, and paths of the box start here; NULL otherwise */
	uid_t uid;        /* the payload's ids as seen from here */
	gid_t gid;
	bool for_runtime;                    /* root_build_at() */
	int authority;                       /* from egress: the certificates of looked-into TLS; -1: none */
	uint64_t copied_bytes, copied_files; /* in, so far */
	struct cordon_error *err;
};

/* The first part: an empty root with the system in it. */
int root_begin(struct root *r);
/* Builds the rest of the tree and makes it the root; r->fd stays open on it. Needs: mount namespace of its own, mapped ids. The host's
 * tree is still attached, out of sight, until root_leave_host(): the kernel takes its time for that (an RCU grace period), and
 * the payload's child can get ready meanwhile. Takes away: the host's files. */
int root_build(struct root *r);
int root_leave_host(struct cordon_error *err);
/* The same tree for a runtime that makes it the root itself: attached at the first of the `places` (NULL-terminated) and left there, with
 * empty /proc and /dev. Needs: a mount namespace of its own and the host's root's rights; uid and gid are the host's. */
int root_build_at(struct root *r, const char *const *places, const char **ret_place);

#define ROOT_WALK (RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS)
#define ROOT_RO (MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV)
#define ROOT_PRIVATE (MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV)
#define ROOT_EMPTY_FILE ".empty-file" /* of a box of our own, on the skeleton */

/* For the parts of root_build that live in other files. Paths are absolute, clean and in the box. */
/* Opens the place for a mount (O_PATH), making missing directories (and the file, unless is_dir) on the private root. */
int root_place(struct root *r, const char *path, bool is_dir);
int root_attach(struct root *r, int *mount_fd, const char *path, bool is_dir); /* takes *mount_fd */
int root_fail(struct root *r, int errnum, const char *what, const char *path); /* -1 */
/* A copy of the tree at `path`, which must still be what is behind `checked`: that is what the plan looked at. */
int root_take_source(struct root *r, const char *path, int checked);
/* What is mounted at fd/rel ("" for fd) is private to the box. */
int root_own(struct root *r, int fd, const char *rel);
unsigned root_noexec(const struct root *r); /* MOUNT_ATTR_NOEXEC where only some commands may run */
/* On the skeleton, which nobody else can reach yet, and which is the current directory: `rel` is relative and its parent exists. */
int root_make(struct root *r, const char *rel, bool is_dir); /* a directory, or an empty file to be mounted over */
int root_lay(struct root *r, int tree, const char *rel, bool is_dir);
int root_bind(struct root *r, const char *source, const char *rel, bool is_dir); /* the host's own path, by name */
int root_restrict(struct root *r); /* takes the rights of everything laid so far away */
/* A small file of our own on the skeleton (or in the box); `path` absolute. */
int root_write_file(struct root *r, const char *path, const void *data, size_t len, unsigned mode);
int root_certificates(struct root *r); /* box/certificates.c */
int root_private(struct root *r);      /* box/root_private.c */
uint64_t root_inode_share(const struct cordon_plan *plan);
int root_dev(struct root *r); /* box/root_kernel.c */
int root_proc(struct root *r);
int root_sys(struct root *r);
int root_protect(struct root *r);   /* box/protect.c */
int root_lock_exec(struct root *r); /* box/execlock.c */
int root_copy_in(struct root *r);   /* box/copy.c */

#endif
