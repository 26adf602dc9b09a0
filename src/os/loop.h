/* A file system of a fixed size in a file. Needs root. Helpers return -errno. */
#ifndef OS_LOOP_H
#define OS_LOOP_H

#include <stdint.h>

/* A detached mount of a new ext4 in an image below dir, which has no name any more when this returns. */
int loop_new_ext4(int dir, uint64_t size_bytes, uint64_t inodes);

#endif
