/*
 * Project quota: a bound on all that lies in one directory, held by the file system itself. Needs root of the host, quotactl_fd() (5.14) and a
 * file system whose project quota is enforced. Helpers return -errno. A directory is an fd that was opened to read.
 */
#ifndef OS_QUOTA_H
#define OS_QUOTA_H

#include <stdint.h>
#include <sys/types.h>

/* 0: directories made in this one can be bounded by this process. -EEXIST: it belongs to a project of somebody else's. Changes nothing. */
int quota_probe(int dir);
/* Makes a new, empty directory a project of its own with these hard limits: all that will be made in it is held to them, itself included. `owner`: a
 * pid, from which the project's number comes. A failure may leave the directory marked; quota_release() knows what to do. */
int quota_hold(int dir, pid_t owner, uint64_t bytes, uint64_t inodes);
/* Takes the limits away again; the mark, which files keep as well, stays. Does nothing to a directory that is no such project. */
void quota_release(int dir);

#endif
