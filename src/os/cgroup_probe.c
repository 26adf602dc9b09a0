/*
 * What this host gives in control groups: one pass over /proc/self/mountinfo and /proc/self/cgroup, then a
 * few access() calls. It stands on the way of every run, so it reads each file once and opens nothing
 * twice.
 *
 * Root makes its groups in "cordon" at the top of each tree. Where the top is not writable (ordinary users,
 * containers) they go below our own group, if that is ours. v2 has rules of its own for that:
 * cgroup_probe_v2().
 *
 * Runs in the front and the keeper with the caller's rights; changes nothing.
 */
#include "os/cgroup_tree.h"

#include "base/fd.h"
#include "base/str.h"
#include "os/scope.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

enum { MOUNTINFO_MAX = 16 << 20 };

static const char *const tree_controller[CG_TREES] = {
	[CG_MEMORY] = "memory", [CG_PIDS] = "pids", [CG_CPU] = "cpu", [CG_BLKIO] = "blkio", [CG_CPUACCT] = "cpuacct",
};

/* One mounted hierarchy: where, which part of it, and our own group in it. All point into the probe's
 * texts. */
struct tree {
	const char *mount, *root, *own;
};

static bool list_has(const char *list, const char *word, char separator)
{
	size_t len = strlen(word);

	for (const char *p = list; p; p = strchr(p, separator)) {
		p += *p == separator;
		if (strncmp(p, word, len) == 0 && (!p[len] || p[len] == separator || p[len] == '\n'))
			return true;
	}
	return false;
}

unsigned cgroup_controllers(const char *list)
{
	return (list_has(list, "memory", ' ') ? CGROUP_CAN_MEMORY : 0u) |
	       (list_has(list, "pids", ' ') ? CGROUP_CAN_PIDS : 0u) |
	       (list_has(list, "cpu", ' ') ? CGROUP_CAN_CPU : 0u) | (list_has(list, "io", ' ') ? CGROUP_CAN_IO : 0u);
}

/* Later mounts cover earlier ones, but a stray one elsewhere does not replace the usual place. */
static void note_tree(struct tree *t, const char *mount, const char *root)
{
	if (t->mount && str_starts(t->mount, "/sys/fs/cgroup") && !str_starts(mount, "/sys/fs/cgroup"))
		return;
	t->mount = mount;
	t->root = root;
}

/* One line: "ID PARENT MAJ:MIN ROOT MOUNT OPTIONS [TAGS] - TYPE SOURCE SUPER". */
static void read_mount(struct tree trees[CG_TREES], char *line)
{
	char *field[5], *type, *rest = strstr(line, " - ");

	if (!rest)
		return;
	*rest = '\0';
	rest += 3;
	type = strsep(&rest, " ");
	strsep(&rest, " ");
	for (size_t i = 0; i < ARRAY_LEN(field); i++)
		field[i] = strsep(&line, " ");
	if (!rest || !field[4])
		return;
	if (strcmp(type, "cgroup2") == 0)
		note_tree(&trees[CG_UNIFIED], field[4], field[3]);
	if (strcmp(type, "cgroup") != 0)
		return;
	for (int t = CG_MEMORY; t < CG_TREES; t++)
		if (list_has(rest, tree_controller[t], ','))
			note_tree(&trees[t], field[4], field[3]);
}

/* One line: "NUMBER:CONTROLLERS:PATH"; v2's is "0::PATH". */
static void read_own(struct tree trees[CG_TREES], char *line)
{
	char *number = strsep(&line, ":"), *controllers = strsep(&line, ":");

	if (!line)
		return;
	if (!*controllers && strcmp(number, "0") == 0)
		trees[CG_UNIFIED].own = line;
	for (int t = CG_MEMORY; t < CG_TREES; t++)
		if (list_has(controllers, tree_controller[t], ','))
			trees[t].own = line;
}

/* Our own group's directory below the mount; false where it cannot be seen from here. */
static bool own_dir(const struct tree *t, char *buf, size_t size)
{
	const char *rel = t->own;
	size_t root_len;
	int n;

	if (!rel || str_starts(rel, "/.."))
		return false;
	root_len = strcmp(t->root, "/") == 0 ? 0 : strlen(t->root);
	if (root_len && str_starts(t->root, "/.."))
		return false;
	if (strncmp(rel, t->root, root_len) != 0 || (rel[root_len] && rel[root_len] != '/'))
		return false;
	rel += root_len;
	n = snprintf(buf, size, "%s%s", t->mount, strcmp(rel, "/") == 0 ? "" : rel);
	return n > 0 && (size_t)n < size;
}

/* v1: at the top if that is writable, else below our own group; no rule against processes beside groups. */
static bool place_v1(char parent[256], const struct tree *t)
{
	char own[256];
	int n;

	if (!t->mount)
		return false;
	if (access(t->mount, W_OK) == 0)
		n = snprintf(parent, 256, "%s/cordon", t->mount);
	else if (own_dir(t, own, sizeof(own)) && strcmp(own, t->mount) != 0 && access(own, W_OK) == 0)
		n = snprintf(parent, 256, "%s/cordon", own);
	else
		return false;
	if (n > 0 && n < 256)
		return true;
	parent[0] = '\0';
	return false;
}

static void explain_v1(struct cgroup_host *host, const struct cgroup_who *who)
{
	unsigned all = CGROUP_CAN_MEMORY | CGROUP_CAN_PIDS | CGROUP_CAN_CPU | CGROUP_CAN_IO;
	unsigned missing = all & ~host->can;

	if (!missing)
		return;
	snprintf(host->why, sizeof(host->why), "cgroup v1: no writable group for%s%s%s%s",
		 missing & CGROUP_CAN_MEMORY ? " memory" : "", missing & CGROUP_CAN_PIDS ? " pids" : "",
		 missing & CGROUP_CAN_CPU ? " cpu" : "", missing & CGROUP_CAN_IO ? " blkio" : "");
	if (who->uid)
		snprintf(host->remedy, sizeof(host->remedy),
			 "boot with systemd.unified_cgroup_hierarchy=1 (v2 delegates to users), or as root, per "
			 "controller: mkdir /sys/fs/cgroup/CONTROLLER/user && chown it to uid %u and start there",
			 (unsigned)who->uid);
	else
		snprintf(host->remedy, sizeof(host->remedy),
			 "mount the controllers writable under /sys/fs/cgroup (in a container: --privileged or -v "
			 "/sys/fs/cgroup:/sys/fs/cgroup:rw)");
}

static void probe_v1(struct cgroup_host *host, struct tree trees[CG_TREES], const struct cgroup_who *who)
{
	static const struct {
		enum cgroup_tree tree;
		unsigned can;
	} gives[] = {
		{ CG_MEMORY, CGROUP_CAN_MEMORY }, { CG_PIDS, CGROUP_CAN_PIDS | CGROUP_CAN_KILL },
		{ CG_CPU, CGROUP_CAN_CPU },       { CG_BLKIO, CGROUP_CAN_IO },
		{ CG_UNIFIED, CGROUP_CAN_KILL },
	};

	/* CPU time comes from cpuacct, which is mostly mounted together with cpu, else from the unified tree. */
	for (size_t i = 0; i < ARRAY_LEN(gives); i++)
		if (place_v1(host->parent[gives[i].tree], &trees[gives[i].tree]))
			host->can |= gives[i].can;
	host->has_cpuacct = place_v1(host->parent[CG_CPUACCT], &trees[CG_CPUACCT]);
	if (!host->has_cpuacct || strcmp(host->parent[CG_CPUACCT], host->parent[CG_CPU]) == 0)
		host->parent[CG_CPUACCT][0] = '\0';
	host->mode = host->can ? CGROUP_V1 : CGROUP_NONE;
	explain_v1(host, who);
}

static void explain_none(struct cgroup_host *host)
{
	snprintf(host->why, sizeof(host->why), "no cgroup file system is mounted");
	snprintf(host->remedy, sizeof(host->remedy), "mount -t cgroup2 cgroup2 /sys/fs/cgroup");
}

static void probe_trees(struct cgroup_host *host, struct tree trees[CG_TREES], char *self, const struct cgroup_who *who)
{
	char own[256];
	bool v1 = false;

	for (char *line; (line = strsep(&self, "\n"));)
		read_own(trees, line);
	for (int t = CG_MEMORY; t <= CG_BLKIO; t++)
		v1 |= trees[t].mount != NULL;
	if (v1)
		probe_v1(host, trees, who);
	else if (trees[CG_UNIFIED].mount)
		cgroup_probe_v2(host, trees[CG_UNIFIED].mount,
				own_dir(&trees[CG_UNIFIED], own, sizeof(own)) ? own : NULL, who);
	else
		explain_none(host);
}

void cgroup_probe_texts(struct cgroup_host *ret_host, char *mountinfo, char *self, const struct cgroup_who *who)
{
	struct tree trees[CG_TREES] = { 0 };

	*ret_host = (struct cgroup_host){ .mode = CGROUP_NONE };
	for (char *line; (line = strsep(&mountinfo, "\n"));)
		read_mount(trees, line);
	probe_trees(ret_host, trees, self, who);
}

static bool is_mounted(const char *path, long magic)
{
	struct statfs fs;

	return statfs(path, &fs) == 0 && fs.f_type == magic;
}

/* cpuacct is a tree of its own, or a second name of cpu's. */
static void usual_cpuacct(struct tree trees[CG_TREES])
{
	static const char place[] = "/sys/fs/cgroup/cpuacct";
	struct stat own, cpu;

	if (is_mounted(place, CGROUP_SUPER_MAGIC) && stat(place, &own) == 0 && stat(trees[CG_CPU].mount, &cpu) == 0)
		trees[CG_CPUACCT] =
			(struct tree){ .mount = own.st_dev == cpu.st_dev ? trees[CG_CPU].mount : place, .root = "/" };
}

/* Where every distribution mounts them. A pure v1 host is left to mountinfo. */
static bool usual_trees(struct tree trees[CG_TREES])
{
	static const char *const usual[CG_TREES] = {
		[CG_UNIFIED] = "/sys/fs/cgroup/unified", [CG_MEMORY] = "/sys/fs/cgroup/memory",
		[CG_PIDS] = "/sys/fs/cgroup/pids",       [CG_CPU] = "/sys/fs/cgroup/cpu",
		[CG_BLKIO] = "/sys/fs/cgroup/blkio",
	};

	if (is_mounted("/sys/fs/cgroup", CGROUP2_SUPER_MAGIC)) {
		trees[CG_UNIFIED] = (struct tree){ .mount = "/sys/fs/cgroup", .root = "/" };
		return true;
	}
	for (int t = CG_UNIFIED; t <= CG_BLKIO; t++) {
		if (!is_mounted(usual[t], t == CG_UNIFIED ? CGROUP2_SUPER_MAGIC : CGROUP_SUPER_MAGIC))
			return false;
		trees[t] = (struct tree){ .mount = usual[t], .root = "/" };
	}
	usual_cpuacct(trees);
	return true;
}

/* Root mostly has the top of every tree, and then need not know where it stands. */
static bool probe_top(struct cgroup_host *host, struct tree trees[CG_TREES], const struct cgroup_who *who)
{
	char nothing[1] = "";

	if (who->uid != 0)
		return false;
	probe_trees(host, trees, nothing, who);
	return host->mode != CGROUP_NONE && !host->why[0];
}

/* mountinfo costs some 3 us per mount, and container hosts have hundreds: the usual places are looked at
 * first, and it is read only where they are not all there, or where our own group is not in them (some
 * containers). */
void cgroup_probe(struct cgroup_host *ret_host)
{
	struct cgroup_who who = { .pid = getpid(), .parent = getppid(), .uid = geteuid() };
	struct tree trees[CG_TREES] = { 0 };
	auto_free char *mountinfo = NULL;
	char self[4096] = "", copy[4096], own[256];
	bool usual = usual_trees(trees);

	*ret_host = (struct cgroup_host){ .mode = CGROUP_NONE };
	if (usual && probe_top(ret_host, trees, &who))
		return;
	*ret_host = (struct cgroup_host){ .mode = CGROUP_NONE };
	who.has_bus = who.uid != 0 && scope_has_bus();
	if (fd_read_file_at(AT_FDCWD, "/proc/self/cgroup", self, sizeof(self)) < 0)
		self[0] = '\0';
	memcpy(copy, self, sizeof(copy));
	if (usual) {
		probe_trees(ret_host, trees, copy, &who);
		if (own_dir(&trees[CG_UNIFIED], own, sizeof(own)) && access(own, F_OK) == 0)
			return;
	}
	if (fd_load_at(AT_FDCWD, "/proc/self/mountinfo", MOUNTINFO_MAX, &mountinfo) >= 0)
		cgroup_probe_texts(ret_host, mountinfo, self, &who);
}
