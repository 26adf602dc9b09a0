/*
 * Control groups: v2, v1 and hybrid behind one interface. On hybrid hosts the unified tree gives
 * cgroup.kill, cgroup.freeze and cpu.stat (it has them without any controller), v1 gives memory, pids, cpu,
 * blkio. Runs in the keeper. Helpers return -errno.
 */
#ifndef OS_CGROUP_H
#define OS_CGROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum cgroup_mode { CGROUP_NONE, CGROUP_V2, CGROUP_V1 /* with the unified tree where it is mounted */ };
/* One tree each; on v2 only CG_UNIFIED is used. */
enum cgroup_tree {
	CG_UNIFIED,
	CG_MEMORY,
	CG_PIDS,
	CG_CPU,
	CG_BLKIO,
	CG_CPUACCT, /* only where nothing else tells CPU time */
	CG_TREES
};
enum { CGROUP_CAN_MEMORY = 1, CGROUP_CAN_PIDS = 2, CGROUP_CAN_CPU = 4, CGROUP_CAN_IO = 8, CGROUP_CAN_KILL = 16 };

/* Where boxes' groups would be made on this host, and what they could hold. Reading it changes nothing. */
struct cgroup_host {
	enum cgroup_mode mode; /* CGROUP_NONE: nothing at all; otherwise `can` tells what */
	unsigned can;          /* CGROUP_CAN_*; with needs_scope, what is expected of the scope */
	bool needs_scope;      /* v2, ordinary user: scope_request() (os/scope.h), then probe again, then create */
	bool has_cpuacct;      /* v1: CPU time without the unified tree */
	bool needs_leaf;       /* v2, alone in a delegated group: create moves us into a leaf beside the boxes */
	bool has_inits;        /* v2, root at the top: cgroup_open_inits() */
	/* Absolute directories under which "cordon-…" directories go; "" where there is none. */
	char parent[CG_TREES][256];
	char why[256];    /* why there is less than everything, for doctor and errors */
	char remedy[384]; /* the exact command or step that helps; "" if none */
};
void cgroup_probe(struct cgroup_host *ret_host);
/* Where a scope was to be had and is not. */
#define CGROUP_SCOPE_REMEDY "look at `systemctl --user status` and `journalctl --user -e`"

struct cgroup_limits {
	uint64_t memory_bytes;        /* 0: none; swap is always 0 on top */
	uint64_t processes;           /* 0: none */
	uint64_t cpu_milli;           /* thousandths of a CPU; 0: none */
	uint64_t read_bps, write_bps; /* 0: none; for every disk of the host */
	bool kill;                    /* no pid namespace ends what is in it: cgroup_kill() has to */
};

struct cgroup {
	const struct cgroup_host *host;
	char name[64];
	int dir[CG_TREES]; /* -1 where unused */
	/* cgroup.procs, open for writing: checked with the opener's rights, so that a payload that has
	 * dropped its own may still join. */
	int procs[CG_TREES];
};
#define CGROUP_INIT                                                                    \
	{                                                                              \
		.dir = { -1, -1, -1, -1, -1, -1 }, .procs = { -1, -1, -1, -1, -1, -1 } \
	}

/* Makes the group in every tree that the limits need and writes the limits. A failure leaves nothing
 * behind. `name` is an owner name. -EOPNOTSUPP when a limit is asked for that host->can does not hold: the
 * plan decides, never this. */
int cgroup_create(struct cgroup *cg, const struct cgroup_host *host, const char *name,
		  const struct cgroup_limits *limits);
/* v1: the CPU share, its account and the disk rates have trees of their own, which a short run does not live to need. Makes them now and
 * moves everything that is in the group there, until nobody new appears. On v2 all of it comes with cgroup_create(). */
int cgroup_add_later(struct cgroup *cg, const struct cgroup_limits *limits);
/* The calling process joins. Async-signal-safe. */
int cgroup_join(const struct cgroup *cg);
/* The same for one that was born in dir[CG_UNIFIED] (process_clone_into()): nothing at all on v2. */
int cgroup_join_rest(const struct cgroup *cg);
/*
 * v2, where root's groups are at the top. Whoever lets a child be born in a group must be allowed to write to that one's cgroup.procs and to that of
 * the nearest group above both. An init of a box's own user namespace is not, from where root's processes are: it lives in a leaf beside the
 * boxes, which stays like their parent, and the parent's cgroup.procs is everybody's. Of that nobody gains anything: into a group leads only its own
 * cgroup.procs, and the parent takes no process at all as long as it passes controllers on, which is looked at before. The leaf has the
 * largest share of the processor: what all of root's boxes need to begin and to end.
 * Returns the leaf's directory, or -errno.
 */
int cgroup_open_inits(const struct cgroup *cg);
/* Lets this user put children of its own into the group. */
int cgroup_give(const struct cgroup *cg, uid_t uid);
int cgroup_kill(const struct cgroup *cg); /* everything in it, repeatedly until empty or ~1 s */
int cgroup_freeze(const struct cgroup *cg, bool frozen);
/* The same where v1 holds the limits and nobody has joined the unified tree, which has the freezer: everything that is in the group
 * goes there first. Joining it costs milliseconds, so that a box pays for it when it is paused, and not when it starts. */
int cgroup_pause(struct cgroup *cg, bool paused);

struct cgroup_usage {
	uint64_t cpu_us, memory_peak_bytes;
	uint64_t oom_kills;        /* memory */
	uint64_t process_refusals; /* forks that the limit refused */
};
int cgroup_read_usage(const struct cgroup *cg, struct cgroup_usage *ret_usage);
/* What is used now; 0 where unknown. */
void cgroup_read_now(const struct cgroup *cg, uint64_t *ret_memory_bytes, uint64_t *ret_processes);
uint64_t cgroup_read_cpu_us(const struct cgroup *cg); /* cheap, for polling; 0 where unknown */
/* Removes the directories; they must be empty of processes (waits for dying ones up to ~1 s). Idempotent. */
int cgroup_destroy(struct cgroup *cg);
/* The same by name: what front and keeper do for each other. */
int cgroup_destroy_named(const struct cgroup_host *host, const char *name);
/* With whoever is in it. */
void cgroup_end_named(const struct cgroup_host *host, const char *name);
/* Removes orphans' directories (owner_is_orphan), killing what is in them first. */
void cgroup_sweep(const struct cgroup_host *host,
		  unsigned living); /* living: how many groups the caller knows to be alive */
/* After a fork: close the fds without removing anything. */
void cgroup_close(struct cgroup *cg);

#endif
