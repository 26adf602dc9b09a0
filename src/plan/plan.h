/*
 * A plan: a policy and a job resolved against this host. Real paths, numbers, identities, the chosen layers and filter.
 * Building it changes nothing on the host; what it holds open are O_PATH fds of mount sources, so that what was checked is what
 * is mounted. Immutable once built: several threads may run it at once. Runs in the front, with the caller's rights.
 */
#ifndef PLAN_PLAN_H
#define PLAN_PLAN_H

#include "base/error.h"
#include "base/str.h"
#include "net/config.h"
#include "os/cgroup.h"
#include "os/seccomp.h"
#include "policy/policy.h"
#include "store/store.h"

#include <sys/types.h>

/* LAYER(ID, name, what process level may lack) in the order they are told. */
#define PLAN_LAYERS(LAYER)                  \
	LAYER(USERNS, "userns")             \
	LAYER(MOUNTNS, "mountns")           \
	LAYER(PIDNS, "pidns")               \
	LAYER(NETNS, "netns")               \
	LAYER(IPCNS, "ipcns")               \
	LAYER(UTSNS, "utsns")               \
	LAYER(CGROUPNS, "cgroupns")         \
	LAYER(CGROUP, "cgroup")             \
	LAYER(RLIMITS, "rlimits")           \
	LAYER(NO_NEW_PRIVS, "no_new_privs") \
	LAYER(LANDLOCK, "landlock")         \
	LAYER(SECCOMP, "seccomp")

enum layer {
#define LAYER(id, name) LAYER_##id,
	PLAN_LAYERS(LAYER)
#undef LAYER
		LAYER_COUNT
};
#define LAYER_BIT(id) (1u << LAYER_##id)
const char *layer_name(enum layer layer);
int layer_by_name(const char *name); /* enum layer or -1 */

/* With less than this the limits are watched. */
enum { PLAN_CGROUP_NEEDS = CGROUP_CAN_MEMORY | CGROUP_CAN_PIDS | CGROUP_CAN_CPU };

/* A host path that the box sees. */
struct plan_mount {
	char *source; /* the real path on the host, symlinks resolved */
	char *dest;   /* clean absolute path in the box */
	int fd;       /* O_PATH on the source */
	bool writable;
	bool is_dir;
	uid_t owner_uid; /* of the source: idmapped to the payload's user */
	gid_t owner_gid;
};

/* A path below a writable mount that stays as it is. What lies in a .git comes with git's own ways around it. */
#define PROTECT_COMMONDIR "commondir"
struct plan_protect {
	size_t mount; /* index into mounts */
	char *below;  /* relative to the mount */
	bool is_dir;  /* what a missing one is taken for: it ended in a slash */
};

/* A private writable directory. */
struct plan_private {
	char *dest;
	uint64_t size_bytes;
};

struct plan_copy {
	char *host; /* in: the real path; out: the absolute target */
	char *box;  /* clean absolute path in the box */
	int fd;     /* in: O_PATH on the source; out: on the directory of the target */
};

struct plan_limits {
	uint64_t memory_bytes, cpu_milli, cpu_time_ms, wall_time_ms, grace_ms, processes, open_files, file_size_bytes;
	uint64_t output_bytes, disk_bytes, inodes, tmp_bytes, read_bps, write_bps;
};

/* Who the payload is. Inside: always PLAN_UID. Outside: an own unprivileged id as root, the caller's own otherwise. */
enum { PLAN_UID = 1000, PLAN_GID = 1000 };

/* Private files in memory, or on disk: and who bounds them there. */
enum plan_storage { PLAN_STORAGE_MEMORY, PLAN_STORAGE_QUOTA, PLAN_STORAGE_LOOP, PLAN_STORAGE_WATCH };

struct plan_code {
	char *path; /* in the box: /home/agent/app.py */
	char *data;
	size_t len;
};

/* Certificates that a box with looked-into TLS trusts: the box's own authority, and that with the host's. */
#define PLAN_CA_FILE "/etc/cordon/ca.pem"
#define PLAN_CA_BUNDLE "/etc/cordon/ca-certificates.crt"

struct plan_network {
	bool is_on; /* false: none, and nothing else here is set */
	bool intercepts;
	struct net_config config;
	char *egress; /* the program */
};

struct engine; /* plan/engine.h */

struct cordon_plan {
	enum policy_level level;
	const struct engine *engine; /* never NULL once the level is resolved */
	char *driver, *init;         /* other engines: their driver and cordon-init */
	const char *engine_platform; /* runsc: the installation's choice; NULL: the first that works */
	bool rates_needed;           /* disk rates were chosen, and may not be missing */
	bool share_needed;           /* the same of limits.cpus */
	unsigned layers;             /* LAYER_BIT: what the box will have */
	unsigned degraded;           /* asked to go without, and the plan does */
	unsigned required;           /* may not turn out to be missing */
	unsigned may_degrade;        /* asked to go without if it turns out to be missing */
	bool limits_by_watch;
	bool as_root; /* the caller is root: own uid ranges, idmapped mounts */
	uid_t caller_uid;
	gid_t caller_gid;
	bool subuids; /* an ordinary user's init gets these ids */
	uid_t subuid;
	gid_t subgid;
	uid_t process_uid; /* process level as root: the owner of what is writable, 0: an id of its own */
	gid_t process_gid;

	struct plan_limits limits;
	struct cgroup_host cgroup;
	enum plan_storage storage;
	char *scratch_dir; /* parent of scratch directories: storage on disk, process level */
	char *state_dir;   /* records for the sweep */

	char *root;               /* NULL: the host's; else the real path of a root file system */
	int root_fd;              /* O_PATH, -1 for the host's; of an image: readable, with its lock */
	struct store_image image; /* name NULL: the root is no image */
	char *engine_image;       /* engines with images of their own: which one; nothing is known of it here */
	char *path;               /* the box's PATH, by which commands are found */
	struct plan_mount *mounts;
	size_t mount_count;
	struct plan_protect *protects;
	size_t protect_count;
	struct plan_private *privates; /* besides /tmp and the home */
	size_t private_count;
	struct plan_copy *ins, *outs;
	size_t in_count, out_count;
	uint64_t out_max_bytes;

	char *user; /* "agent" */
	char *home; /* "/home/agent" */
	char *workdir;
	struct strv argv, env;
	struct plan_code code; /* path NULL: none */
	bool tty, keep;
	bool lives;                   /* nothing to run yet: jobs come to the box that stands */
	struct cordon_policy *policy; /* what they are held to then; NULL otherwise */

	bool exec_lock;            /* process.commands is set */
	struct strv commands;      /* names as given */
	struct strv command_paths; /* real paths (in the box's root) that may be executed */
	struct strv loader_paths;  /* ELF interpreters they need */
	struct seccomp_options seccomp;
	struct plan_network network;
	int landlock_abi;  /* 0: none */
	struct strv notes; /* for `cordon plan`: what was derived, and what this level cannot promise */
};

/*
 * A job for a box that lives: the box's plan with what this job runs and carries in its place. Everything else is the box's, whose plan
 * must outlive it. Without a command it only carries files. plan_job_free() and never cordon_plan_free().
 */
int plan_job_new(struct cordon_plan **ret_plan, const struct cordon_plan *box, const struct cordon_job *job,
		 struct cordon_error *err);
void plan_job_free(struct cordon_plan *plan);
void plan_free_copies(struct plan_copy *copies, size_t n);

/* Disk rates and the share of CPU: the default, and what is no tighter, is left out where cgroup.can does not hold it, and said to be; what was
 * chosen to be tighter is refused. */
int plan_settle_rates(struct cordon_plan *plan, struct cordon_error *err);

/* Built-in and configured languages: which command runs a file of this language. */
struct language {
	const char *name, *extension;
	const char *const *command; /* "{file}" stands for the file; arguments follow */
	const char *needs;          /* a program besides command[0]; NULL: none */
};
const struct language *language_find(const char *name);

#endif
