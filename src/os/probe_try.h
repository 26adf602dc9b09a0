/*
 * The tries behind probe_all(): each does the real thing, once, and returns 0 or -errno. All but
 * probe_attempt() change the process they run in and belong into a child.
 */
#ifndef OS_PROBE_TRY_H
#define OS_PROBE_TRY_H

/* Runs fn in a forked child and returns what it returned; -EIO where the child died of it, -ETIMEDOUT after
 * seconds. */
int probe_attempt(int (*fn)(void));

int try_userns(void);
int try_mountns(void);
int try_pidns(void);
int try_netns(void);
int try_gateway(void);
int try_ipcns(void);
int try_utsns(void);
int try_cgroupns(void);
int try_timens(void);
int try_proc_mount(void);
int try_overlay(void);
int try_idmap(void);
int try_cgroup(void);
/* Where it is a scope that has the controller: whether it has. 0 or -EOPNOTSUPP; -errno where there is no scope. */
int try_scope_cpu(void);
int try_scope_io(void);
int try_rlimits(void);
int try_no_new_privs(void);
int try_landlock(void);
int try_seccomp(void);
int try_seccomp_notify(void);
int try_syscalls(void);

#endif
