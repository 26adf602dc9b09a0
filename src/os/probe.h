/*
 * What this host gives, and why not: the run path asks for the reason of a failure that it has met, `cordon doctor` tries each
 * layer beforehand. Any process, the caller's rights. Reads sysctls and /proc; the tries happen in forked children.
 */
#ifndef OS_PROBE_H
#define OS_PROBE_H

#include <stdbool.h>
#include <stddef.h>

/* Why clone() or unshare() with these CLONE_NEW* flags failed with errnum, or what was done with the new user namespace
 * right after (a map or a mount refused: EPERM or EACCES), and the exact remedy. Both are always filled; remedy may be "". */
void probe_explain_clone(int errnum, unsigned long flags, char *why, size_t why_size, char *remedy,
			 size_t remedy_size);
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
struct probe_finding {
	const char *name;
	enum probe_state state;
	bool is_layer;     /* a layer's name of the design; otherwise a means to one */
	char detail[320];
	char remedy[640];  /* "" where there is nothing to do */
};
enum { PROBE_FINDINGS_MAX = 40 };
/* Tries everything; returns how many findings there are. */
size_t probe_all(struct probe_finding findings[PROBE_FINDINGS_MAX]);

#endif
