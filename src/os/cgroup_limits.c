/*
 * Limits into a group's files and the kernel's account out of them, for v1 and v2. The directories are
 * open; every file is reached by openat() and written in one write, which is how the kernel wants it. Runs
 * in the keeper.
 */
#include "os/cgroup_tree.h"

#include "base/fd.h"
#include "base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

enum { PARTITIONS_MAX = 1 << 20 };
#define BUFFERS_MIN ((uint64_t)4 << 20)

static int write_number(int dir, const char *file, uint64_t value)
{
	char text[32];

	snprintf(text, sizeof(text), "%" PRIu64, value);
	return fd_write_file_at(dir, file, text);
}

/* A file that not every kernel has. */
static int write_optional(int dir, const char *file, const char *text)
{
	int r = fd_write_file_at(dir, file, text);

	return r == -ENOENT ? 0 : r;
}

/* The kernel takes no quota under 1 ms: small shares get a longer period. */
static void cpu_quota(uint64_t milli, uint64_t *ret_quota_us, uint64_t *ret_period_us)
{
	*ret_period_us = milli < 10 ? 1000000 : 100000;
	*ret_quota_us = milli * *ret_period_us / 1000;
}

/* A disk that was pulled since (ENODEV) needs no limit. */
static int write_disk(int dir, const char *file, const char *text)
{
	int r = fd_write_file_at(dir, file, text);

	return r == -ENODEV ? 0 : r;
}

static int write_io_v2(const struct cgroup *cg, const struct cgroup_limits *limits)
{
	auto_free char *partitions = NULL;
	char text[128], rbps[24] = "max", wbps[24] = "max";
	struct cgroup_disks walk;
	ssize_t r = fd_load_at(AT_FDCWD, "/proc/partitions", PARTITIONS_MAX, &partitions);
	dev_t disk;

	if (r < 0)
		return (int)r;
	if (limits->read_bps)
		snprintf(rbps, sizeof(rbps), "%" PRIu64, limits->read_bps);
	if (limits->write_bps)
		snprintf(wbps, sizeof(wbps), "%" PRIu64, limits->write_bps);
	walk = (struct cgroup_disks){ .rest = partitions };
	for (r = 0; r == 0 && cgroup_next_disk(&walk, &disk);) {
		snprintf(text, sizeof(text), "%u:%u rbps=%s wbps=%s", major(disk), minor(disk), rbps, wbps);
		r = write_disk(cg->dir[CG_UNIFIED], "io.max", text);
	}
	return (int)r;
}

static int write_v2(const struct cgroup *cg, const struct cgroup_limits *limits)
{
	int dir = cg->dir[CG_UNIFIED], r = 0;
	uint64_t quota, period;
	char text[64];

	if (limits->memory_bytes) {
		r = write_number(dir, "memory.max", limits->memory_bytes);
		if (r == 0)
			r = write_optional(dir, "memory.swap.max", "0");
		if (r == 0)
			r = write_optional(dir, "memory.oom.group", "1");
	}
	if (r == 0 && limits->processes)
		r = write_number(dir, "pids.max", limits->processes);
	if (r == 0 && limits->cpu_milli) {
		cpu_quota(limits->cpu_milli, &quota, &period);
		snprintf(text, sizeof(text), "%" PRIu64 " %" PRIu64, quota, period);
		r = fd_write_file_at(dir, "cpu.max", text);
	}
	if (r == 0 && (limits->read_bps || limits->write_bps))
		r = write_io_v2(cg, limits);
	return r;
}

/* Buffers of TCP and UDP sockets are no part of memory.limit_in_bytes on v1, and without a limit of their own are counted nowhere: they get an
 * eighth on top. What exceeds it is not fatal: TCP goes on with small windows, datagrams are dropped. */
static int write_buffers_v1(int dir, uint64_t memory_bytes)
{
	uint64_t bytes = memory_bytes / 8;
	char text[32];

	snprintf(text, sizeof(text), "%" PRIu64, bytes < BUFFERS_MIN ? BUFFERS_MIN : bytes);
	return write_optional(dir, "memory.kmem.tcp.limit_in_bytes", text);
}

/* memsw counts memory and swap together, so the same number means no swap on top. Without swap accounting
 * at boot the file is missing; swappiness 0 is then the nearest thing. */
static int write_memory_v1(int dir, uint64_t bytes)
{
	int r = write_number(dir, "memory.limit_in_bytes", bytes);

	if (r == 0)
		r = write_buffers_v1(dir, bytes);
	if (r < 0)
		return r;
	r = write_number(dir, "memory.memsw.limit_in_bytes", bytes);
	return r == -ENOENT ? write_optional(dir, "memory.swappiness", "0") : r;
}

/* Throttling on v1 holds for reads and for direct and synchronous writes: buffered writes are written back
 * later by the kernel in the root group's name. v2 accounts them where the file system takes part (ext4,
 * xfs, btrfs, f2fs). */
static int write_io_v1(const struct cgroup *cg, const struct cgroup_limits *limits)
{
	static const char *const files[] = { "blkio.throttle.read_bps_device", "blkio.throttle.write_bps_device" };
	const uint64_t bps[] = { limits->read_bps, limits->write_bps };
	auto_free char *partitions = NULL;
	struct cgroup_disks walk;
	char text[64];
	ssize_t r = fd_load_at(AT_FDCWD, "/proc/partitions", PARTITIONS_MAX, &partitions);
	dev_t disk;

	if (r < 0)
		return (int)r;
	r = 0;
	walk = (struct cgroup_disks){ .rest = partitions };
	while (r == 0 && cgroup_next_disk(&walk, &disk))
		for (size_t i = 0; r == 0 && i < ARRAY_LEN(files); i++) {
			snprintf(text, sizeof(text), "%u:%u %" PRIu64, major(disk), minor(disk), bps[i]);
			r = bps[i] ? write_disk(cg->dir[CG_BLKIO], files[i], text) : 0;
		}
	return (int)r;
}

static int write_v1(const struct cgroup *cg, const struct cgroup_limits *limits)
{
	int r = 0;

	if (limits->memory_bytes)
		r = write_memory_v1(cg->dir[CG_MEMORY], limits->memory_bytes);
	if (r == 0 && limits->processes)
		r = write_number(cg->dir[CG_PIDS], "pids.max", limits->processes);
	return r;
}

int cgroup_write_later(const struct cgroup *cg, const struct cgroup_limits *limits)
{
	uint64_t quota, period;
	int r = 0;

	if (limits->cpu_milli) {
		cpu_quota(limits->cpu_milli, &quota, &period);
		if (period != 100000) /* which it is by default */
			r = write_number(cg->dir[CG_CPU], "cpu.cfs_period_us", period);
		if (r == 0)
			r = write_number(cg->dir[CG_CPU], "cpu.cfs_quota_us", quota);
	}
	if (r == 0 && (limits->read_bps || limits->write_bps))
		r = write_io_v1(cg, limits);
	return r;
}

int cgroup_write_limits(const struct cgroup *cg, const struct cgroup_limits *limits)
{
	return cg->host->mode == CGROUP_V2 ? write_v2(cg, limits) : write_v1(cg, limits);
}

/* A file that holds one number; 0 where there is none. */
static uint64_t read_number(int dir, const char *file)
{
	char text[64];

	return dir < 0 || fd_read_file_at(dir, file, text, sizeof(text)) < 0 ? 0 : strtoull(text, NULL, 10);
}

/* The number after "KEY " at the start of a line; 0 where there is none. */
static uint64_t read_key(int dir, const char *file, const char *key)
{
	size_t len = strlen(key);
	char text[1024], *p = text;

	if (dir < 0 || fd_read_file_at(dir, file, text, sizeof(text)) < 0)
		return 0;
	while (p) {
		if (strncmp(p, key, len) == 0 && p[len] == ' ')
			return strtoull(p + len + 1, NULL, 10);
		p = strchr(p, '\n');
		p = p ? p + 1 : NULL;
	}
	return 0;
}

uint64_t cgroup_read_cpu_us(const struct cgroup *cg)
{
	if (cg->host->mode == CGROUP_V2 || cg->procs[CG_UNIFIED] >= 0)
		return read_key(cg->dir[CG_UNIFIED], "cpu.stat", "usage_usec");
	return read_number(cg->dir[cg->dir[CG_CPUACCT] >= 0 ? CG_CPUACCT : CG_CPU], "cpuacct.usage") / 1000;
}

int cgroup_read_usage(const struct cgroup *cg, struct cgroup_usage *ret_usage)
{
	int dir = cg->dir[CG_UNIFIED];

	if (!cg->host)
		return -EBADF;
	*ret_usage = (struct cgroup_usage){ .cpu_us = cgroup_read_cpu_us(cg) };
	if (cg->host->mode == CGROUP_V2) {
		ret_usage->memory_peak_bytes = read_number(dir, "memory.peak");
		if (!ret_usage->memory_peak_bytes) /* before 5.19: a sample is all there is */
			ret_usage->memory_peak_bytes = read_number(dir, "memory.current");
		ret_usage->oom_kills = read_key(dir, "memory.events", "oom_kill");
		ret_usage->process_refusals = read_key(dir, "pids.events", "max");
	} else {
		ret_usage->memory_peak_bytes = read_number(cg->dir[CG_MEMORY], "memory.max_usage_in_bytes");
		ret_usage->oom_kills = read_key(cg->dir[CG_MEMORY], "memory.oom_control", "oom_kill");
		ret_usage->process_refusals = read_key(cg->dir[CG_PIDS], "pids.events", "max");
	}
	return 0;
}

void cgroup_read_now(const struct cgroup *cg, uint64_t *ret_memory_bytes, uint64_t *ret_processes)
{
	bool v2 = cg->host && cg->host->mode == CGROUP_V2;

	*ret_memory_bytes =
		read_number(cg->dir[v2 ? CG_UNIFIED : CG_MEMORY], v2 ? "memory.current" : "memory.usage_in_bytes");
	*ret_processes = read_number(cg->dir[v2 ? CG_UNIFIED : CG_PIDS], "pids.current");
}
