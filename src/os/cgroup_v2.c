/*
 * v2's rules of place: controllers reach a group only if every group above it passes them on, and a group
 * that passes them on holds no processes of its own (the root is exempt). So a place for boxes is, in this
 * order:
 *
 *  1. the top, where we may write there and it is the real root: root on an ordinary host;
 *  2. our own group, if it is ours and nobody else lives in it: a scope made for us. We step into a leaf first;
 *  3. the nearest group from our own upwards that is ours and passes controllers on already: a user's slice,
 *     a container whose processes were moved into a leaf;
 *  4. our own group, if only our parent lives there beside us, who moves into the leaf with us;
 *  5. a scope that systemd's user manager makes for us (os/scope.h), which is case 2 afterwards.
 *
 * Moving a process needs write permission on cgroup.procs of the common ancestor too, which cases 2 to 4
 * have by being our own group or above it. Runs in the front and the keeper with the caller's rights.
 */
#include "os/cgroup_tree.h"

#include "base/fd.h"
#include "base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NEEDED = CGROUP_CAN_MEMORY | CGROUP_CAN_PIDS, LEAF_ROUNDS = 16 };

static unsigned read_controllers(const char *dir, const char *file)
{
	char path[320], list[256];

	snprintf(path, sizeof(path), "%s/%s", dir, file);
	return fd_read_file_at(AT_FDCWD, path, list, sizeof(list)) < 0 ? 0 : cgroup_controllers(list);
}

static bool has_file(const char *dir, const char *file, int mode)
{
	char path[320];

	snprintf(path, sizeof(path), "%s/%s", dir, file);
	return access(path, mode) == 0;
}

static bool is_ours(const char *dir)
{
	return access(dir, W_OK) == 0 && has_file(dir, "cgroup.procs", W_OK) &&
	       has_file(dir, "cgroup.subtree_control", W_OK);
}

static bool is_child_of(long pid, pid_t parent)
{
	char path[64], text[512], *p;

	snprintf(path, sizeof(path), "/proc/%ld/stat", pid);
	if (fd_read_file_at(AT_FDCWD, path, text, sizeof(text)) < 0)
		return true;    /* gone */
	p = strrchr(text, ')'); /* ") S PPID" */
	return p && strlen(p) > 4 && strtol(p + 4, NULL, 10) == parent;
}

/* Nobody lives there but the caller, its children and, if he may, its parent (the front of a keeper, the
 * shell of a front). */
static bool is_alone(const char *dir, const struct cgroup_who *who, bool with_parent)
{
	char path[320], list[4096], *p = list, *end;
	ssize_t n;

	snprintf(path, sizeof(path), "%s/cgroup.procs", dir);
	n = fd_read_file_at(AT_FDCWD, path, list, sizeof(list));
	if (n < 0 || (size_t)n == sizeof(list) - 1)
		return false;
	for (long pid; (pid = strtol(p, &end, 10)), end != p; p = end)
		if (pid != who->pid && !(with_parent && pid == who->parent) && !is_child_of(pid, who->pid))
			return false;
	return true;
}

static bool take_place(struct cgroup_host *host, const char *dir, unsigned can)
{
	char *parent = host->parent[CG_UNIFIED];
	size_t size = sizeof(host->parent[CG_UNIFIED]);
	int n = snprintf(parent, size, "%s/cordon", dir);

	if (n < 0 || (size_t)n >= size) {
		*parent = '\0';
		return false;
	}
	host->mode = CGROUP_V2;
	host->can = can | CGROUP_CAN_KILL;
	return true;
}

/* From our own group up to the mount. */
static bool take_ancestor(struct cgroup_host *host, const char *mount, const char *own)
{
	char dir[256];
	size_t top = strlen(mount);

	snprintf(dir, sizeof(dir), "%s", own);
	for (;;) {
		unsigned can = read_controllers(dir, "cgroup.subtree_control");
		char *slash;

		if ((can & NEEDED) == NEEDED && is_ours(dir))
			return take_place(host, dir, can);
		slash = strrchr(dir, '/');
		if (strlen(dir) <= top || !slash)
			return false;
		*slash = '\0';
	}
}

static bool take_own(struct cgroup_host *host, const char *own, const struct cgroup_who *who, bool with_parent)
{
	unsigned can;

	if (!is_ours(own) || !is_alone(own, who, with_parent))
		return false;
	can = read_controllers(own, "cgroup.controllers");
	host->needs_leaf = (can & NEEDED) == NEEDED && take_place(host, own, can);
	return host->needs_leaf;
}

static void manager_dir(char *buf, size_t size, const char *mount, const struct cgroup_who *who)
{
	snprintf(buf, size, "%.160s/user.slice/user-%u.slice/user@%u.service", mount, (unsigned)who->uid,
		 (unsigned)who->uid);
}

static bool take_scope(struct cgroup_host *host, const char *mount, const struct cgroup_who *who)
{
	char dir[256];
	unsigned can;

	if (!who->has_bus)
		return false;
	manager_dir(dir, sizeof(dir), mount, who);
	can = read_controllers(dir, "cgroup.controllers");
	if ((can & NEEDED) != NEEDED)
		return false;
	host->mode = CGROUP_V2;
	host->can = can | CGROUP_CAN_KILL;
	host->needs_scope = true;
	return true;
}

/* A manager that runs already knows only of what it was started with. */
static void explain_delegation(struct cgroup_host *host, unsigned can, uid_t uid)
{
	char again[64] = "";

	snprintf(host->why, sizeof(host->why), "controllers that are not delegated:%s%s%s%s",
		 can & CGROUP_CAN_MEMORY ? "" : " memory", can & CGROUP_CAN_PIDS ? "" : " pids",
		 can & CGROUP_CAN_CPU ? "" : " cpu", can & CGROUP_CAN_IO ? "" : " io");
	if (uid)
		snprintf(again, sizeof(again), "; then as uid %u: systemctl --user daemon-reexec", (unsigned)uid);
	snprintf(host->remedy, sizeof(host->remedy),
		 "as root: mkdir -p /etc/systemd/system/user@.service.d && printf '[Service]\\nDelegate=cpu cpuset io "
		 "memory pids\\n' >/etc/systemd/system/user@.service.d/delegate.conf && systemctl daemon-reload%s",
		 again);
}

static void explain_others(struct cgroup_host *host, const char *own)
{
	snprintf(host->why, sizeof(host->why),
		 "our group %.120s is delegated, but other processes live in it, so it cannot pass on controllers",
		 own);
	snprintf(host->remedy, sizeof(host->remedy),
		 "move them into a leaf first: cd %.80s && mkdir -p init && for p in $(cat cgroup.procs); do echo $p "
		 ">init/cgroup.procs; done",
		 own);
}

/* Why an ordinary user has nothing: its group or its manager was given too little, or there is no manager. */
static void explain_user(struct cgroup_host *host, const char *mount, const struct cgroup_who *who)
{
	unsigned uid = (unsigned)who->uid;
	char dir[256];

	manager_dir(dir, sizeof(dir), mount, who);
	if (who->has_bus && has_file(dir, "cgroup.controllers", F_OK)) {
		explain_delegation(host, read_controllers(dir, "cgroup.controllers"), who->uid);
		return;
	}
	snprintf(host->why, sizeof(host->why),
		 "no cgroup subtree is delegated to uid %u and no systemd user manager answers", uid);
	snprintf(host->remedy, sizeof(host->remedy),
		 "as root: loginctl enable-linger %u && systemctl start user@%u; where one runs that is not seen from "
		 "here: "
		 "systemd-run --user --scope -p Delegate=yes -- cordon run ...",
		 uid, uid);
}

static void explain_v2(struct cgroup_host *host, const char *mount, const char *own, const struct cgroup_who *who)
{
	const unsigned both = CGROUP_CAN_CPU | CGROUP_CAN_IO;

	if (host->mode == CGROUP_V2) {
		if ((host->can & both) != both)
			explain_delegation(host, host->can, who->uid);
	} else if (own && is_ours(own)) {
		unsigned can = read_controllers(own, "cgroup.controllers");

		if ((can & NEEDED) == NEEDED)
			explain_others(host, own);
		else
			explain_delegation(host, can, who->uid);
	} else if (who->uid == 0) {
		snprintf(host->why, sizeof(host->why),
			 "the cgroup file system is mounted read-only or belongs to someone else");
		snprintf(host->remedy, sizeof(host->remedy),
			 "in a container: start it with --cgroupns=private and a writable /sys/fs/cgroup (docker run "
			 "--security-opt writable-cgroups=true, or --privileged)");
	} else {
		explain_user(host, mount, who);
	}
}

void cgroup_probe_v2(struct cgroup_host *host, const char *mount, const char *own, const struct cgroup_who *who)
{
	/* Every group but the real root has cgroup.events. */
	bool real_root = !has_file(mount, "cgroup.events", F_OK), found = false;

	if (real_root && is_ours(mount))
		found = host->has_inits = take_place(host, mount, read_controllers(mount, "cgroup.controllers"));
	if (!found && own)
		found = take_own(host, own, who, false) || take_ancestor(host, mount, own) ||
			take_own(host, own, who, true);
	if (!found)
		take_scope(host, mount, who);
	explain_v2(host, mount, own, who);
}

/* What lives in the group moves into a leaf below it. New ones can only be children of those, hence the
 * rounds. */
static int enter_leaf(const char *dir)
{
	auto_close int leaf = -1, procs = -1;
	char path[320], list[4096];

	snprintf(path, sizeof(path), "%s/keeper", dir);
	if (mkdir(path, 0755) < 0 && errno != EEXIST)
		return -errno;
	snprintf(path, sizeof(path), "%s/keeper/cgroup.procs", dir);
	leaf = open(path, O_WRONLY | O_CLOEXEC);
	snprintf(path, sizeof(path), "%s/cgroup.procs", dir);
	procs = open(path, O_RDONLY | O_CLOEXEC);
	if (leaf < 0 || procs < 0)
		return -errno;
	for (int round = 0; round < LEAF_ROUNDS; round++) {
		ssize_t n = lseek(procs, 0, SEEK_SET) < 0 ? -errno : fd_read_full(procs, list, sizeof(list) - 1);
		char *p = list, *end;

		if (n <= 0)
			return (int)n;
		list[n] = '\0';
		for (; strtol(p, &end, 10), end != p; p = end + (*end == '\n'))
			if (write(leaf, p, (size_t)(end - p)) < 0 && errno != ESRCH)
				return -errno;
	}
	return -EBUSY;
}

/* Each controller in a write of its own: one that the kernel lacks takes the others down with it otherwise. */
static int pass_on(const char *dir, unsigned can)
{
	static const struct {
		unsigned can;
		const char *text;
	} controllers[] = {
		{ CGROUP_CAN_MEMORY, "+memory" },
		{ CGROUP_CAN_PIDS, "+pids" },
		{ CGROUP_CAN_CPU, "+cpu" },
		{ CGROUP_CAN_IO, "+io" },
	};
	char path[320];

	snprintf(path, sizeof(path), "%s/cgroup.subtree_control", dir);
	for (size_t i = 0; i < ARRAY_LEN(controllers); i++) {
		int r = can & controllers[i].can ? fd_write_file_at(AT_FDCWD, path, controllers[i].text) : 0;

		if (r < 0)
			return r;
	}
	return 0;
}

bool cgroup_passes_on(const struct cgroup_host *host)
{
	return read_controllers(host->parent[CG_UNIFIED], "cgroup.subtree_control") &
	       (CGROUP_CAN_MEMORY | CGROUP_CAN_IO);
}

int cgroup_enable(const struct cgroup_host *host)
{
	const char *parent = host->parent[CG_UNIFIED];
	char above[256], *slash;
	int r = 0;

	snprintf(above, sizeof(above), "%s", parent);
	slash = strrchr(above, '/');
	if (!slash)
		return -EINVAL;
	*slash = '\0';
	if (host->needs_leaf)
		r = enter_leaf(above);
	if (r == 0)
		r = pass_on(above, host->can);
	return r < 0 ? r : pass_on(parent, host->can);
}
