/*
 * The process that a daemon names as a container's first. Daemons are trusted with what they make, but a name is only a number: behind a
 * tunnel it is another machine's, and here somebody else has it, perhaps the init of another box. What cannot be had by accident or from
 * there is the program's place, a directory of a random name that this container alone has. The caller's rights.
 */
#include "driver/docker.h"

#include "base/clock.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { EXEC_US = 2000000, LOOK_NS = 2000000 };

enum docker_whose docker_whose(int pid, const char *inside, const char *init)
{
	struct stat theirs, ours;
	char link[64], path[256];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/%d/exe", pid);
	n = readlink(link, path, sizeof(path) - 1);
	if (n < 0)
		return errno == EACCES || errno == EPERM ? DOCKER_UNSEEN : DOCKER_GONE;
	path[n] = '\0';
	if (strcmp(path, inside) == 0 && stat(link, &theirs) == 0 && stat(init, &ours) == 0 &&
	    theirs.st_dev == ours.st_dev && theirs.st_ino == ours.st_ino)
		return DOCKER_OURS;
	return DOCKER_OTHERS;
}

enum docker_whose docker_await(int pid, const char *inside, const char *init)
{
	const struct timespec pause = { .tv_nsec = LOOK_NS };
	const uint64_t until_us = clock_us() + EXEC_US;
	enum docker_whose whose;

	while ((whose = docker_whose(pid, inside, init)) == DOCKER_OTHERS && clock_us() < until_us)
		nanosleep(&pause, NULL);
	return whose;
}
