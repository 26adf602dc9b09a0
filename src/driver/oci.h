/* The parts of driving an OCI runtime (crun, runc, runsc). Runs in cordon-engine, with the caller's rights. */
#ifndef ENGINE_OCI_H
#define ENGINE_OCI_H

#include "driver/driver.h"
#include "os/cgroup.h"

/* config.json of a bundle. root is the directory of the root file system, cgroups_path may be NULL. NULL: memory ran out. */
struct oci_config {
	const struct spec *spec;
	const char *root, *cgroups_path;
	unsigned uid, gid; /* of init in the container */
	json_t *uid_map, *gid_map;
	bool is_gvisor; /* has its own kernel: what hides the host's is not wanted */
};
json_t *oci_config_new(const struct oci_config *config);

/* The directory of one container, DIR/OWNER: config.json, the runtime's own state in DIR/OWNER/ENGINE, mount points. */
struct oci_dir {
	char top[256], path[384];
	bool has_overlay;
	char root[4096]; /* of the root file system, as the runtime gets it */
};
int oci_dir_make(struct oci_dir *dir, const struct driver *d, struct cordon_error *err);
/* A root in which everything has a place to be mounted at: the given directory where it has, else an overlay of the missing ones. */
int oci_dir_root(struct oci_dir *dir, const struct driver *d, struct cordon_error *err);
int oci_dir_write(const struct oci_dir *dir, const json_t *config, struct cordon_error *err);
/* What crun and runc have read and want no more: the less is left to remove when somebody waits for it. */
void oci_dir_slim(const struct oci_dir *dir);
void oci_dir_remove(struct oci_dir *dir);
/* Containers whose owner is gone, in a process of its own, since a runtime may take its time and the keeper must be heard. Its pidfd, or -1:
 * there are none. The other one is for the end: it waits a moment for it, no more. */
int oci_dir_sweep(const struct driver *d);
void oci_dir_swept(int *sweeper);
/* The errands of driver.h: the container of one, and all whose owner is gone, here and now. */
int oci_dir_remove_of(struct driver *d, const char *owner, struct cordon_error *err);
int oci_dir_sweep_now(struct driver *d, struct cordon_error *err);

/* The first who moves a whole process into a group after a while waits until the kernel has heard from every processor, which takes milliseconds. Somebody else does
 * so from here, while runc starts: its pidfd, or -1. */
int oci_open_groups(void);
/* The group `path`, an absolute one, in every tree that there is. 0 when none is left. */
int oci_remove_groups(const char *path);
/* The same for a user's: below our own group in each tree. */
void oci_remove_below(const char *owner);

/* The runtime's program with arguments, waited for. */
struct oci_call {
	const char *program;
	const char *const *argv;     /* with the name, NULL-terminated */
	int stdio;                   /* its stdin and stdout; -1: nothing */
	uint64_t timeout_us;         /* 0: a minute */
	bool stderr_too;             /* its stderr goes there, too */
	const struct cgroup *cgroup; /* joined before; or NULL */
	bool hide_unified;           /* crun refuses hybrid hosts: the unified tree is taken out of its sight */
	/* runsc takes a namespace for the host's, and refuses it, where it sees net/core/rmem_default, which every one has on newer kernels */
	bool hide_settings;
	struct driver *driver; /* a keeper that goes meanwhile ends it; NULL: nobody watches */
	char *said;            /* the last lines of its stderr, printable; said_size bytes */
	size_t said_size;
};
/* Its status as from waitpid, or -errno (-ETIMEDOUT, -ECANCELED after the keeper went). */
int oci_call(const struct oci_call *call);
/* Where the runtime's program is; -1 where it is not. */
int oci_find(const struct driver *d, const char *engine, char *buf, size_t size, struct cordon_error *err);

/* What is known of an installed runtime; `top` is struct oci_dir's, where it is remembered; NULL: it is asked. */
struct oci_about {
	char version[64];      /* "1.8.1"; empty: it did not say */
	char platforms[3][12]; /* runsc: those it knows, the best first */
	size_t platform_count;
	char settled[12]; /* the one of them that has worked; empty: none yet */
	bool has_overlay; /* runsc: lays one over the root unless told not to */
};
void oci_about(const char *top, const char *engine, const char *program, struct oci_about *ret);
/* That it has this platform, and the host what it needs. */
int oci_about_check(const struct oci_about *about, const char *platform, struct cordon_error *err);
/* One platform has worked: the others need not be tried again. NULL: it does no more. */
void oci_about_settle(const char *top, const char *engine, const char *program, const struct oci_about *about,
		      const char *platform);

#endif
