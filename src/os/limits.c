/* Resource limits of one process: see limits.h. */
#include "os/limits.h"

#include <errno.h>
#include <stddef.h>
#include <sys/resource.h>

int limits_apply(const struct process_limits *limits)
{
	const struct {
		__rlimit_resource_t resource;
		uint64_t value;
		int wanted;
	} rows[] = {
		{ RLIMIT_NOFILE, limits->open_files, 1 },
		{ RLIMIT_FSIZE, limits->file_size_bytes, 1 },
		{ RLIMIT_CPU, limits->cpu_seconds, 1 },
		{ RLIMIT_CORE, 1,
		  1 }, /* not 0: a core_pattern with a pipe ignores that, and would start the host's helper; 1 it heeds */
		{ RLIMIT_DATA, limits->data_bytes, limits->data_bytes != 0 },
		{ RLIMIT_NPROC, limits->processes, limits->processes != 0 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct rlimit now, wanted;

		if (!rows[i].wanted)
			continue;
		if (getrlimit(rows[i].resource, &now) < 0)
			return -errno;
		wanted.rlim_cur = rows[i].value < now.rlim_max ? rows[i].value : now.rlim_max;
		wanted.rlim_max = wanted.rlim_cur;
		if (setrlimit(rows[i].resource, &wanted) < 0)
			return -errno;
	}
	return 0;
}
