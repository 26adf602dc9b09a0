/* Processes: clone3, pidfds, a clean start. Helpers return -errno. */
#ifndef OS_PROCESS_H
#define OS_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* fork with namespace flags; *ret_pidfd is close-on-exec. Returns the pid, 0 in the child, or -errno. The caller must have
 * one thread. */
pid_t process_clone(uint64_t flags, int *ret_pidfd);
/* The same, born in the v2 group behind this directory instead of joining it, which waits for a grace period (5 ms and more). Whoever may not, or
 * has no such kernel, gets -errno and no child. `ret_pidfd`: NULL where nobody asks. */
pid_t process_clone_into(uint64_t flags, int group, int *ret_pidfd);
/* Lets a child that was just forked begin on another processor than ours, where there is one. A kernel that packs short tasks onto one
 * would let it wait until we block, and what was meant to go side by side would go in turns. Where for a minute more threads wanted to run than
 * there are processors it stays here, where its memory is: none would be free. A hint: nothing depends on it. */
void process_spread(pid_t pid);
int process_open(pid_t child); /* the pidfd of a child that nobody has waited for, or -errno */
int process_signal(int pidfd, int sig);
/* Waits for the child behind pidfd; *ret_status as from waitpid. */
int process_wait(int pidfd, int *ret_status);
/* SIGKILL, wait, close; -1 is fine. */
void process_end(int *pidfd);
#define auto_proc __attribute__((cleanup(process_end)))

/* After a fork: default dispositions, nothing blocked; the parent's handlers must not run here. */
void process_reset_signals(void);
/* The same where that was done before and only SIGPIPE was ignored and signals blocked since. */
void process_restore_signals(void);
/* Closes every fd except 0, 1, 2 and the n (unsorted, sorted in place) given. */
int process_close_others(int *keep, size_t n);
/* A session keyring that nobody else has. -ENOSYS where the kernel has no keys: then there is nothing to leak. */
int process_new_keyring(void);
/* Real-time and negative priorities, an execution domain: what the caller has, a payload does not get. */
int process_reset_scheduling(void);
void process_leave_batch(void); /* of the ordinary class, if it was of that which stands back */
/* Never less likely to be killed than anybody else. Before the process becomes non-dumpable. */
void process_reset_oom(void);
void process_set_name(const char *name);
int process_no_new_privs(void);
/* As execvpe() would, but in this search path. Returns only on failure: -errno, -ENOENT where nothing of that name was found. */
int process_exec(const char *search, char *const *argv, char *const *env);

#endif
