/*
 * File descriptors. Everything is close-on-exec at birth; an unset fd is -1 and tested `>= 0`. Helpers return
 * -errno and stay silent. Any process, any privilege.
 */
#ifndef BASE_FD_H
#define BASE_FD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Closes once, keeps errno, never retries; sets *fd to -1. */
void fd_close(int *fd);
#define auto_close __attribute__((cleanup(fd_close)))
#define STEAL_FD(fd)                      \
	({                                \
		int *steal_p_ = &(fd);    \
		int steal_v_ = *steal_p_; \
		*steal_p_ = -1;           \
		steal_v_;                 \
	})

int fd_write_all(int fd, const void *data, size_t len); /* 0 or -errno */
ssize_t fd_read_full(int fd, void *data, size_t len);   /* bytes until EOF or len, or -errno */
/* Opens dirfd/path, writes text in one write, closes. For /proc and cgroup files. */
int fd_write_file_at(int dirfd, const char *path, const char *text); /* 0 or -errno */
/* A small file as a NUL-terminated string of at most size-1 bytes; returns its length. */
ssize_t fd_read_file_at(int dirfd, const char *path, char *buf, size_t size);
/* The whole file, at most max bytes (-EFBIG beyond); *ret_data is malloc'd and NUL-terminated. */
ssize_t fd_load(int fd, size_t max, char **ret_data);
ssize_t fd_load_at(int dirfd, const char *path, size_t max, char **ret_data);
/* openat2 with RESOLVE_*; flags always get O_CLOEXEC. */
int fd_openat2(int dirfd, const char *path, int flags, unsigned mode, uint64_t resolve);
/* What /proc/self/fd says of it, into buf; 0 or -errno. */
int fd_real_path(int fd, char *buf, size_t size);
int fd_set_nonblock(int fd, bool on);
/* The same file from 3 upwards, where the caller has stdin, stdout or stderr closed; takes fd. -errno, also for a negative fd. */
int fd_above_stdio(int fd);
/* One byte of data and up to n fds over a unix socket; and back. -errno on failure; recv returns how many fds came. */
int fd_send(int sock, const void *data, size_t len, const int *fds, size_t n);
ssize_t fd_recv(int sock, void *data, size_t len, int *fds, size_t max, size_t *ret_n);

#endif
