/*
 * What this host gives, and why not: the run path asks for the reason of a failure that it has met, `cordon
 * doctor` tries each layer beforehand. Any process, the caller's rights. Reads sysctls and /proc; the tries
 * happen in forked children.
 */
#ifndef OS_PROBE_H
#define OS_PROBE_H

#include <stdbool.h>
#include <stddef.h>

/* Why clone() or unshare() with these CLONE_NEW* flags failed with errnum, or what was done with the new
 * user namespace right after (a map or a mount refused: EPERM or EACCES), and the exact remedy. Both are
 * always filled; remedy may be "". */
void probe_explain_clone(int errnum, unsigned long flags, char *why, size_t why_size, char *remedy, size_t remedy_size);
/* The same for a fresh /proc that the kernel refused to mount. */
void probe_explain_proc(int errnum, char *why, size_t why_size, char *remedy, size_t remedy_size);
/* Landlock: errnum of landlock_create_ruleset(). */
void probe_explain_landlock(int errnum, char *why, size_t why_size, char *remedy, size_t remedy_size);

/* "docker", "podman", "kubernetes", "lxc", "systemd-nspawn", "wsl", "a container"; NULL on a plain host. */
const char *probe_container(void);
/* A number from below /proc/sys ("user/max_user_namespaces"); -1 where there is no such file. */
long probe_sysctl(const char *name);
bool probe_kernel_at_least(unsigned major, unsigned minor);

enum probe_state { PROBE_AVAILABLE, PROBE_LIMITED, PROBE_MISSING };
enum { PROBE_FOR_CONTAINER = 1, PROBE_FOR_PROCESS = 2 };
struct probe_finding {
	const char *name; /* a layer's ("userns"), or a means to one ("proc_mount") */
	unsigned levels;  /* PROBE_FOR_*: which levels do not work without it */
	enum probe_state state;
	char detail[320]; /* what there is, or why not */
	char remedy[768]; /* "" where there is nothing to do */
};
enum { PROBE_FINDINGS_MAX = 40 };
/* Tries everything, each in a child of its own; returns how many findings there are. */
size_t probe_all(struct probe_finding findings[PROBE_FINDINGS_MAX]);

#endif
