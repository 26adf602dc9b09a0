/* Resource limits of one process and its children (setrlimit). Runs in the payload's child. */
#ifndef OS_LIMITS_H
#define OS_LIMITS_H

#include <stdint.h>

struct process_limits {
	uint64_t file_size_bytes, cpu_seconds;
	uint64_t data_bytes; /* 0: left alone; RLIMIT_DATA, not RLIMIT_AS, which kills Node at start */
	uint64_t processes;  /* 0: left alone; counts per user namespace, so it is exact for a box */
};
/* Soft and hard alike, never above the hard limit there is. No core is dumped, neither into a file nor into a helper. 0 or -errno. */
int limits_apply(const struct process_limits *limits);
/*
 * Open files, the same way. Apart and last: above it nobody may send a descriptor over a unix socket as long as so many of the user's are under way
 * (the kernel counts them by id), and a payload of the same id can see to that. Whoever has yet to send one has the limit of limits_raise_files().
 */
int limits_open_files(uint64_t count);
void limits_raise_files(void); /* as many as the hard limit allows */

#endif
