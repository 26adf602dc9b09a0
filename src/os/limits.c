/* Resource limits of one process: see limits.h. */
#include "os/limits.h"

#include <errno.h>
#include <stddef.h>
#include <sys/resource.h>

static int apply(int resource, uint64_t value)
{
	struct rlimit now, wanted;

	if (getrlimit(resource, &now) < 0)
		return -errno;
	wanted.rlim_cur = value < now.rlim_max ? value : now.rlim_max;
	wanted.rlim_max = wanted.rlim_cur;
	return setrlimit(resource, &wanted) < 0 ? -errno : 0;
}

int limits_open_files(uint64_t count)
{
	return apply(RLIMIT_NOFILE, count);
}

void limits_raise_files(void)
{
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files) < 0)
		return;
	files.rlim_cur = files.rlim_max;
	(void)setrlimit(RLIMIT_NOFILE, &files);
}

int limits_apply(const struct process_limits *limits)
{
	const struct {
		int resource;
		uint64_t value;
		int wanted;
	} rows[] = {
		{ RLIMIT_FSIZE, limits->file_size_bytes, 1 },
		{ RLIMIT_CPU, limits->cpu_seconds, 1 },
		{ RLIMIT_CORE, 1,
		  1 }, /* not 0: a core_pattern with a pipe ignores that, and would start the host's helper; 1 it heeds */
		{ RLIMIT_DATA, limits->data_bytes, limits->data_bytes != 0 },
		{ RLIMIT_NPROC, limits->processes, limits->processes != 0 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		int r = rows[i].wanted ? apply(rows[i].resource, rows[i].value) : 0;

		if (r < 0)
			return r;
	}
	return 0;
}
