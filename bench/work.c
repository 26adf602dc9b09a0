/*
 * What a payload does all day, timed by itself so that the box's start does not count: work cpu|syscall COUNT. Prints nanoseconds.
 * Linked statically: the loop is the same machine code at the same place inside and outside.
 */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static uint64_t cpu(uint64_t count)
{
	uint64_t x = 88172645463325252;

	while (count--) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
	}
	return x;
}

static uint64_t calls(uint64_t count)
{
	uint64_t x = 0;

	while (count--)
		x += (uint64_t)syscall(SYS_getppid);
	return x;
}

int main(int argc, char **argv)
{
	uint64_t count = argc > 2 ? strtoull(argv[2], NULL, 10) : 0, from, result;

	if (!count)
		return 2;
	from = now_ns();
	result = strcmp(argv[1], "cpu") == 0 ? cpu(count) : calls(count);
	printf("%" PRIu64 "\n", now_ns() - from);
	return result == 1; /* it was needed: the loop cannot be left out */
}
