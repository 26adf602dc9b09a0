/*
 * The disks of the host, for limits on bandwidth, which the kernel takes per whole disk: one read of
 * /proc/partitions and no call per disk. It lists a disk before its partitions, whose names are the disk's
 * with a number behind it. Runs in the keeper.
 */
#include "os/cgroup_tree.h"

#include "base/str.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

/* Loop devices pass their bandwidth on to the disk below (5.14); RAM, floppies and CDs need no limit. */
enum { RAM_MAJOR = 1, FLOPPY_MAJOR = 2, LOOP_MAJOR = 7, CDROM_MAJOR = 11 };

/* "sda1" of "sda", "nvme0n1p2" of "nvme0n1"; but "dm-10" is not of "dm-1", nor "mmcblk0boot0" of "mmcblk0". */
static bool is_partition_of(const char *name, const char *disk)
{
	size_t len = strlen(disk);

	if (!len || strncmp(name, disk, len) != 0)
		return false;
	if (isdigit((unsigned char)disk[len - 1]) && name[len++] != 'p')
		return false;
	return name[len] && strspn(name + len, "0123456789") == strlen(name + len);
}

static bool wants_limit(unsigned long maj, const char *name)
{
	return maj != RAM_MAJOR && maj != FLOPPY_MAJOR && maj != LOOP_MAJOR && maj != CDROM_MAJOR &&
	       !str_starts(name, "zram");
}

bool cgroup_next_disk(struct cgroup_disks *walk, dev_t *ret_disk)
{
	for (char *line; (line = strsep(&walk->rest, "\n"));) {
		unsigned long maj, min;
		char *name = strrchr(line, ' '), *end;

		maj = strtoul(line, &end, 10);
		if (!name || end == line) /* the heading */
			continue;
		min = strtoul(end, NULL, 10);
		name++;
		if (walk->disk && is_partition_of(name, walk->disk))
			continue;
		walk->disk = name;
		if (!wants_limit(maj, name))
			continue;
		*ret_disk = makedev((unsigned)maj, (unsigned)min);
		return true;
	}
	return false;
}
