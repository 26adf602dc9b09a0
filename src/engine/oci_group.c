/*
 * The control groups that runc makes besides ours, one in each tree of a v1 host: see oci.h. Removing them here spares the start of
 * another runc, which is a third of a run.
 */
#include "engine/oci.h"

#include "base/fd.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
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
