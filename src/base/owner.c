/* Owner names: see owner.h. */
#include "base/owner.h"

#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { YOUNG_TICKS = 500 }; /* five seconds */

static pthread_once_t boot_once = PTHREAD_ONCE_INIT;
static char boot[9]; /* empty: could not be read */

static void read_boot(void)
{
	char text[64];

	if (fd_read_file_at(AT_FDCWD, "/proc/sys/kernel/random/boot_id", text, sizeof(text)) >= 8)
		memcpy(boot, text, 8);
}

static const char *boot_digits(void)
{
	(void)pthread_once(&boot_once, read_boot);
	return boot[0] ? boot : NULL;
}

/* Fields 22 and 3 of /proc/PID/stat; the command in field 2 may hold anything, so count from its last ')'. */
static int start_time(const char *pid, uint64_t *ret_start, bool *ret_is_dead)
{
	char path[64], text[1024], *p;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%s/stat", pid);
	n = fd_read_file_at(AT_FDCWD, path, text, sizeof(text));
	if (n < 0)
		return (int)n;
	p = strrchr(text, ')');
	*ret_is_dead = p && p[1] && (p[2] == 'Z' || p[2] == 'X');
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

/* In which a pid means somebody; 0 where the kernel does not tell. Not kept: a child may be in another one. */
static unsigned long pid_namespace(void)
{
	struct stat st;

	return stat("/proc/self/ns/pid", &st) < 0 ? 0 : (unsigned long)st.st_ino;
}

int owner_name(char buf[OWNER_NAME_MAX])
{
	const char *here = boot_digits();
	unsigned long place = pid_namespace();

	if (!here || !place)
		return -EIO;
	snprintf(buf, OWNER_NAME_MAX, "cordon-%d-%" PRIu64 "-%s-%lx", (int)getpid(), now_ticks(), here, place);
	return 0;
}

/* "cordon-PID-TIME-BOOT-PLACE"; without a place it is here. */
static bool parse(const char *name, int *ret_pid, uint64_t *ret_then, char ret_boot[9], unsigned long *ret_place)
{
	int end = 0, more = 0;

	*ret_place = 0;
	if (sscanf(name, "cordon-%d-%" SCNu64 "-%8[0-9a-f]%n", ret_pid, ret_then, ret_boot, &end) != 3 ||
	    *ret_pid <= 0 || strlen(ret_boot) != 8)
		return false;
	return !name[end] || (sscanf(name + end, "-%lx%n", ret_place, &more) == 1 && !name[end + more]);
}

bool owner_is_of_this_boot(const char *name)
{
	const char *here = boot_digits();
	unsigned long place;
	uint64_t then;
	char named[9];
	int number;

	return here && parse(name, &number, &then, named, &place) && strcmp(named, here) == 0;
}

bool owner_is_orphan(const char *name)
{
	uint64_t then, start;
	unsigned long place;
	bool is_dead;
	char named[9], pid[16];
	const char *here = boot_digits();
	int number;

	if (!parse(name, &number, &then, named, &place) || !here)
		return false;
	if (strcmp(named, here) != 0)
		return true;
	if (place && place != pid_namespace())
		return false; /* who has that number there is not seen from here */
	if (kill(number, 0) < 0 && errno == ESRCH)
		return true;
	/* There is such a process. Within seconds its number cannot have come round to another one. */
	if (now_ticks() < then + YOUNG_TICKS)
		return false;
	snprintf(pid, sizeof(pid), "%d", number);
	/* hidepid may hide it from us: only a later start proves that it is another one. One that nobody waits for, as
	 * where a container's first process is no init, does nothing any more. */
	return start_time(pid, &start, &is_dead) == 0 && (start > then || is_dead);
}
