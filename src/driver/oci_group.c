/*
 * What runc does with control groups, besides ours: see oci.h. It makes one in each tree of a v1 host; removing them here spares the start of
 * another runc, which is a third of a run. And it waits to join them, for what has already happened where somebody else began it.
 */
#include "driver/oci.h"

#include "base/fd.h"
#include "base/str.h"
#include "os/process.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The driver's own group, tree by tree: "8:pids:/", "1:name=systemd:/", v2's "0::/". */
static bool next_group(char **rest, char *dir, size_t size)
{
	char *line, *tree, *path;

	while ((line = strsep(rest, "\n"))) {
		tree = strchr(line, ':');
		path = tree ? strchr(tree + 1, ':') : NULL;
		if (!path)
			continue;
		*path++ = '\0';
		tree += str_starts(tree, ":name=") ? strlen(":name=") : 1;
		snprintf(dir, size, "/sys/fs/cgroup/%s%s", tree, path);
		return true;
	}
	return false;
}

/* To where it is, in the first tree that lets us: nothing moves, and the lock is taken all the same. */
static int move_nowhere(void)
{
	char text[4096] = "", dir[512], procs[544], *rest = text;

	(void)fd_read_file_at(AT_FDCWD, "/proc/self/cgroup", text, sizeof(text));
	while (next_group(&rest, dir, sizeof(dir))) {
		snprintf(procs, sizeof(procs), "%s/cgroup.procs", dir);
		if (fd_write_file_at(AT_FDCWD, procs, "0") == 0)
			return 0;
	}
	return -1;
}

int oci_open_groups(void)
{
	int proc = -1;

	if (process_clone(0, &proc) == 0)
		_exit(move_nowhere() < 0);
	return proc;
}

int oci_remove_groups(const char *path)
{
	DIR *trees = opendir("/sys/fs/cgroup");
	struct dirent *e;
	char group[512];
	int r = trees ? 0 : -errno;

	while (trees && (e = readdir(trees))) {
		if (e->d_name[0] == '.' || e->d_type == DT_LNK)
			continue;
		snprintf(group, sizeof(group), "%s%s", e->d_name, path);
		if (unlinkat(dirfd(trees), group, AT_REMOVEDIR) < 0 && errno != ENOENT && errno != ENOTDIR)
			r = -errno;
	}
	if (trees)
		closedir(trees);
	return r;
}

void oci_remove_below(const char *owner)
{
	char text[4096] = "", dir[512], group[1024], *rest = text;

	(void)fd_read_file_at(AT_FDCWD, "/proc/self/cgroup", text, sizeof(text));
	while (next_group(&rest, dir, sizeof(dir))) {
		snprintf(group, sizeof(group), "%s/%s", dir, owner);
		(void)rmdir(group);
	}
}
