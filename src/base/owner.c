/* Owner names: see owner.h. */
#include "base/owner.h"

#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static int boot_digits(char buf[9])
{
	char text[64];
	ssize_t n = fd_read_file_at(AT_FDCWD, "/proc/sys/kernel/random/boot_id", text, sizeof(text));

	if (n < 0)
		return (int)n;
	if (n < 8)
		return -EIO;
	memcpy(buf, text, 8);
	buf[8] = '\0';
	return 0;
}

/* Field 22 of /proc/PID/stat; the command in field 2 may hold anything, so count from its last ')'. */
static int start_time(const char *pid, uint64_t *ret_start)
{
	char path[64], text[1024], *p;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%s/stat", pid);
	n = fd_read_file_at(AT_FDCWD, path, text, sizeof(text));
	if (n < 0)
		return (int)n;
	p = strrchr(text, ')');
	for (int field = 2; p && field < 22; field++)
		p = strchr(p + 1, ' ');
	if (!p)
		return -EIO;
	*ret_start = strtoull(p + 1, NULL, 10);
	return 0;
}

/* In the unit of start_time(); reading the clock is much cheaper than /proc/self/stat. */
static uint64_t now_ticks(void)
{
	uint64_t per_second = (uint64_t)sysconf(_SC_CLK_TCK);
	struct timespec ts;

	clock_gettime(CLOCK_BOOTTIME, &ts);
	return (uint64_t)ts.tv_sec * per_second + (uint64_t)ts.tv_nsec / (1000000000 / per_second);
}

int owner_name(char buf[OWNER_NAME_MAX])
{
	char boot[9];
	int r = boot_digits(boot);

	if (r < 0)
		return r;
	snprintf(buf, OWNER_NAME_MAX, "cordon-%d-%" PRIu64 "-%s", (int)getpid(), now_ticks(), boot);
	return 0;
}

bool owner_is_orphan(const char *name)
{
	uint64_t then, start;
	char boot[9], here[9], pid[16];
	int number, end = 0;

	if (sscanf(name, "cordon-%d-%" SCNu64 "-%8[0-9a-f]%n", &number, &then, boot, &end) != 3 || name[end] ||
	    number <= 0 || strlen(boot) != 8)
		return false;
	if (boot_digits(here) < 0)
		return false;
	if (strcmp(boot, here) != 0)
		return true;
	snprintf(pid, sizeof(pid), "%d", number);
	if (start_time(pid, &start) == 0)
		return start > then;
	/* hidepid hides others' processes from us: only ESRCH proves that it is gone. */
	return kill(number, 0) < 0 && errno == ESRCH;
}
