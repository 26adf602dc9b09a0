/*
 * The control groups that runc makes besides ours, one in each tree of a v1 host: see oci.h. Removing them here spares the start of
 * another runc, which is a third of a run.
 */
#include "driver/oci.h"

#include "base/fd.h"
#include "base/str.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

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
	char text[4096] = "", group[512], *rest = text, *line;

	(void)fd_read_file_at(AT_FDCWD, "/proc/self/cgroup", text, sizeof(text));
	while ((line = strsep(&rest, "\n"))) {
		char *tree = strchr(line, ':'), *path = tree ? strchr(tree + 1, ':') : NULL;

		if (!path)
			continue;
		*path++ = '\0';
		tree += str_starts(tree, ":name=") ? strlen(":name=") : 1; /* "8:pids:/", "1:name=systemd:/" */
		snprintf(group, sizeof(group), "/sys/fs/cgroup/%s%s/%s", tree, path, owner);
		(void)rmdir(group);
	}
}
