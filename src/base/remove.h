/* Removing a tree by fd: no symlink is followed, no file system is crossed. */
#ifndef BASE_REMOVE_H
#define BASE_REMOVE_H

/* 0 or -errno; goes on after a failure. Missing is fine. */
int remove_tree(int dirfd, const char *name);

#endif
