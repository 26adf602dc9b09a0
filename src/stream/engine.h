/*
 * What the keeper and the driver of one container of a foreign engine say to each other. The keeper starts {DRIVER, ENGINE},
 * cordon-engine for OCI runtimes and cordon-engine-docker for daemons, with the caller's environment and three descriptors: the specification (a memfd with one JSON
 * object), the stream (one end of a SOCK_STREAM pair: becomes stdin and stdout of cordon-init in the container, or is
 * carried there) and control (SOCK_SEQPACKET: each packet is one struct of this file). Same machine, same build: no byte
 * order, no versions. Neither is told to the container.
 *
 * The driver says ENGINE_CREATED once the container runs, ENGINE_STATS for each ENGINE_STAT, and ENGINE_EXITED once
 * everything is removed; then it exits with 0. What fails is an ENGINE_ERROR, after which nothing is left of the container, either, and
 * the driver exits with 1. End of file on control: the keeper is gone; the container is killed and removed.
 *
 * The numbers of a container are best asked for (ENGINE_STAT) when the payload has ended and init has not: engines
 * forget them with the last process, and ENGINE_EXITED then tells only what they still know.
 *
 * The specification. Unknown keys are refused; those marked * must be there.
 *   owner*      string   an owner name (base/owner.h): name and label of the container, and what a sweep goes by
 *   init*       string   host path of cordon-init; ENGINE_INIT_PATH in the container, read-only, run with that as its only argument. docker,
 *               podman: in a directory whose name no image can know, since its links could lead the engine past it
 *   image       string   docker, podman: the engine's own reference
 *   rootfs      string or list of strings   crun, runc, runsc: a directory, or lower directories of an overlay, the uppermost first
 *   pull        bool     docker, podman: a missing image is pulled (default true)
 *   hostname    string   default "cordon"
 *   uid, gid    integer  of init in the container; default 1000
 *   env         list of strings   of init itself
 *   mounts      list of {source*, dest*, writable, held}   held: it is read-only already, with everything below it
 *   files       list of {source*, dest*}   small files, read-only
 *   tmpfs       list of {dest*, size_bytes, inodes, mode, exec}   mode is an integer (493 is 0755); default 01777; owned by uid and gid
 *   limits      {memory_bytes, cpu_milli, processes, open_files, file_size_bytes, core_bytes, read_bps, write_bps}; 0: none
 *   seccomp     object   docker, podman: "linux.seccomp" of the OCI runtime specification; absent: the daemon's own. The others get none and
 *               refuse one: the filter is init's
 *   userns      {uid: [{inside, outside, count}], gid: […]}   crun, runc, runsc. Absent: as root none at all is an error, as an
 *               ordinary user uid and gid are mapped to the caller
 *   netns       string   crun, runc, runsc: path of a network namespace that the container gets instead of a new one (gVisor takes its
 *               links, addresses and routes over)
 *   dir         string   crun, runc, runsc: where the directories of containers lie; default /run/cordon-engine for root, else below the
 *               runtime directory
 *   link        string   docker: path of a unix socket of the keeper's, for stream/link.h. Laid into the container, and init started with the
 *               rights for it, where the daemon is root's and the caller is not: created.is_linked. Elsewhere left alone
 *   runtime     string   path of the runtime's program; default: found in PATH and the system's directories
 *   platform    string   runsc: systrap, ptrace or kvm; default: the first that works
 */
#ifndef STREAM_ENGINE_H
#define STREAM_ENGINE_H

#include <cordon.h>
#include <stdint.h>

enum { ENGINE_FD_SPEC = 3, ENGINE_FD_STREAM = 4, ENGINE_FD_CONTROL = 5 };
enum { ENGINE_SPEC_MAX = 1 << 20 };
/*
 * Patience with an engine that hangs. The driver of a daemon gives up first, since it knows who hangs and what helps: the container is built
 * within BUILD, or given up and removed within REMOVE, and while an image is pulled something is told every ALIVE. A keeper that hears nothing
 * for all of SILENCE ends the driver.
 */
enum { ENGINE_BUILD_MS = 60000, ENGINE_REMOVE_MS = 15000, ENGINE_ALIVE_MS = 10000, ENGINE_SILENCE_MS = 90000 };
#define ENGINE_INIT_DIR "/.cordon"
#define ENGINE_INIT_PATH ENGINE_INIT_DIR "/init"
#define ENGINE_LABEL "cordon.owner" /* docker and podman: a container's label with the owner's name */
#define ENGINE_PLACE_LABEL \
	"cordon.place" /* and with the machine and the pid namespace in which that name means something */

enum engine_packet_type {
	/* driver to keeper */
	ENGINE_CREATED = 1, /* struct engine_created */
	ENGINE_EXITED,      /* struct engine_exited */
	ENGINE_ERROR,       /* struct engine_failed */
	ENGINE_STATS,       /* struct engine_exited, too: exited is false */
	ENGINE_PROGRESS,    /* struct engine_progress: an image is being pulled */
	/* keeper to driver: struct engine_request */
	ENGINE_KILL,
	ENGINE_STAT,
	ENGINE_PAUSE, /* answered with ENGINE_STATS, or ENGINE_ERROR where it cannot be had: the container goes on */
	ENGINE_RESUME,
	ENGINE_LEAVE, /* all is known of the payload: the container may be removed before it ends, and has no status then */
};

/* What was asked for and does not hold in this container. The keeper refuses what the policy says may not be missing. */
enum {
	ENGINE_LACKS_MEMORY = 1 << 0,
	ENGINE_LACKS_CPU = 1 << 1,
	ENGINE_LACKS_PROCESSES = 1 << 2,
	ENGINE_LACKS_DISK_RATE = 1 << 3,
	ENGINE_LACKS_USERNS = 1 << 4,   /* root in the container, which nobody in it is, would be root outside */
	ENGINE_LACKS_INODES = 1 << 5,   /* tmpfs without a bound on files */
	ENGINE_LACKS_OWNER = 1 << 6,    /* what it writes to a mount is not the caller's, nor whose the mount is */
	ENGINE_LACKS_CGROUPNS = 1 << 7, /* it sees the host's names of control groups */
	ENGINE_LACKS_SWAP = 1 << 8,     /* memory is limited, and more of it may be swapped out */
};

struct engine_created {
	uint32_t type;
	uint32_t lacks;     /* ENGINE_LACKS_* */
	int32_t init_pid;   /* on this host; 0 where unknown or another host's */
	int32_t is_local;   /* init_pid and /proc are this machine's */
	char id[80];        /* the engine's name of the container */
	char version[96];   /* "crun 1.8.1", "docker 20.10.24 (api 1.41)", "runsc 20221219.0 (ptrace)" */
	char detail[96];    /* what else there is to know; may be empty */
	int32_t is_linked;  /* the specification's `link` is in use */
	char init_path[64]; /* docker, podman: init in the container, a name that no other has; "": ENGINE_INIT_PATH */
};

struct engine_exited {
	uint32_t type;
	int32_t exited;     /* ENGINE_STATS: 0, the numbers so far */
	int32_t has_status; /* status is known */
	int32_t status;     /* as from waitpid */
	int32_t oom;        /* the engine or its group says that memory ran out; how often, where it counts */
	int32_t paused;
	uint64_t memory_peak_bytes; /* 0: unknown */
	uint64_t memory_bytes;      /* now; 0: unknown */
	uint64_t cpu_us;            /* 0: unknown */
	uint64_t processes;         /* now; 0: unknown */
	uint64_t process_refusals;
};

struct engine_failed {
	uint32_t type;
	uint32_t reserved;
	struct cordon_error error;
};

struct engine_progress {
	uint32_t type;
	uint32_t reserved;
	uint64_t done_bytes, total_bytes; /* of what is known so far; 0: unknown */
	char text[120];                   /* one line, printable */
};

struct engine_request {
	uint32_t type;
	uint32_t reserved;
};

/* Large enough for whatever the driver sends. */
union engine_packet {
	uint32_t type;
	struct engine_created created;
	struct engine_exited exited;
	struct engine_failed failed;
	struct engine_progress progress;
};

#endif
