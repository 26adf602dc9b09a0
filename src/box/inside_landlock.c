/*
 * What a payload may reach by path: its Landlock rules. A box's are made by init, which has the time, and go to the payload's child at the gate; those of
 * listed commands, whose paths may be symlinks, by the child itself once the host's tree is gone, as at process level and for a job in a box that
 * lives. They are applied by the child, after every open.
 */
#include "box/inside.h"

#include "base/error.h"
#include "base/fd.h"
#include "os/landlock.h"

#include <unistd.h>

static int fail(struct inside *in, int errnum, const char *what)
{
	return cordon_fail(in->err, CORDON_SYSTEM, errnum, "%s", what);
}

struct grant {
	const char *path;
	unsigned access;
};

static int grant_all(struct inside *in, int ruleset, const struct grant *grants, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		int r = landlock_allow_path(ruleset, in->plan->landlock_abi, grants[i].path, grants[i].access);

		if (r < 0)
			return cordon_fail(in->err, CORDON_SYSTEM, -r, "Landlock rule for '%s'", grants[i].path);
	}
	return 0;
}

/* At process level by the fd that the plan checked: its path may lead elsewhere by now. */
static int grant_mount(struct inside *in, int ruleset, const struct plan_mount *m, unsigned exec)
{
	const struct grant g = { m->dest, LANDLOCK_READ | exec | (m->writable ? LANDLOCK_WRITE : 0) };
	int r;

	if (!in->work)
		return grant_all(in, ruleset, &g, 1);
	r = landlock_allow(ruleset, in->plan->landlock_abi, m->fd, g.access);
	return r < 0 ? cordon_fail(in->err, CORDON_SYSTEM, -r, "Landlock rule for '%s'", m->source) : 0;
}

static int grant_mounts(struct inside *in, int ruleset, unsigned exec)
{
	for (size_t i = 0; i < in->plan->mount_count; i++)
		if (grant_mount(in, ruleset, &in->plan->mounts[i], exec) < 0)
			return -1;
	for (size_t i = 0; i < in->plan->private_count; i++) {
		const struct grant g = { in->plan->privates[i].dest, LANDLOCK_READ | LANDLOCK_WRITE | exec };

		if (!in->work && grant_all(in, ruleset, &g, 1) < 0)
			return -1;
	}
	return 0;
}

/* The whole private root may be read; only what is writable may be written. A path from outside never passes our root. */
static int grant_container(struct inside *in, int ruleset)
{
	unsigned exec = in->plan->exec_lock ? 0 : LANDLOCK_EXEC, rw = LANDLOCK_READ | LANDLOCK_WRITE | exec;
	const struct grant grants[] = {
		{ "/", LANDLOCK_READ | exec },
		{ "/tmp", rw },
		{ in->plan->home, rw },
		{ "/dev", LANDLOCK_READ | LANDLOCK_WRITE | LANDLOCK_DEVICE },
		/* /proc/self/mem writes through page protections: another program could be poked into a listed one. */
		{ "/proc", LANDLOCK_READ | (in->plan->exec_lock ? 0 : LANDLOCK_WRITE) },
	};

	if (grant_all(in, ruleset, grants, ARRAY_LEN(grants)) < 0 || grant_mounts(in, ruleset, exec) < 0)
		return -1;
	for (size_t i = 0; in->plan->exec_lock && i < in->plan->command_paths.n; i++) {
		const struct grant g = { in->plan->command_paths.v[i], LANDLOCK_READ | LANDLOCK_EXEC };

		if (grant_all(in, ruleset, &g, 1) < 0)
			return -1;
	}
	for (size_t i = 0; in->plan->exec_lock && i < in->plan->loader_paths.n; i++) {
		const struct grant g = { in->plan->loader_paths.v[i], LANDLOCK_READ | LANDLOCK_EXEC };

		if (grant_all(in, ruleset, &g, 1) < 0)
			return -1;
	}
	return 0;
}

/* Without mounts of its own, Landlock is the first lock: system directories, a few devices, one private directory. */
static int grant_process(struct inside *in, int ruleset)
{
	const unsigned rx = LANDLOCK_READ | LANDLOCK_EXEC;
	const struct grant grants[] = {
		{ "/usr", rx },
		{ "/bin", rx },
		{ "/sbin", rx },
		{ "/lib", rx },
		{ "/lib32", rx },
		{ "/lib64", rx },
		{ "/etc/ld.so.cache", LANDLOCK_READ },
		{ "/etc/ld.so.conf", LANDLOCK_READ },
		{ "/etc/ld.so.conf.d", LANDLOCK_READ },
		{ "/etc/alternatives", rx },
		{ "/etc/localtime", LANDLOCK_READ },
		{ "/etc/timezone", LANDLOCK_READ },
		{ "/etc/nsswitch.conf", LANDLOCK_READ },
		{ "/etc/mime.types", LANDLOCK_READ },
		{ "/etc/ssl/certs", LANDLOCK_READ },
		{ "/etc/ssl/openssl.cnf", LANDLOCK_READ },
		{ "/etc/services", LANDLOCK_READ },
		{ "/etc/protocols", LANDLOCK_READ },
		{ "/etc/java-17-openjdk", LANDLOCK_READ },
		{ "/etc/java-21-openjdk", LANDLOCK_READ },
		{ "/etc/perl", LANDLOCK_READ },
		{ "/etc/python3", LANDLOCK_READ },
		{ "/dev/null", LANDLOCK_READ | LANDLOCK_WRITE },
		{ "/dev/zero", LANDLOCK_READ | LANDLOCK_WRITE },
		{ "/dev/full", LANDLOCK_READ | LANDLOCK_WRITE },
		{ "/dev/random", LANDLOCK_READ },
		{ "/dev/urandom", LANDLOCK_READ },
		{ "/dev/tty", LANDLOCK_READ | LANDLOCK_WRITE | LANDLOCK_DEVICE },
		{ "/proc/meminfo", LANDLOCK_READ },
		{ "/proc/cpuinfo", LANDLOCK_READ },
		{ "/proc/stat", LANDLOCK_READ },
		{ "/proc/filesystems", LANDLOCK_READ },
		{ "/proc/sys/kernel/osrelease", LANDLOCK_READ },
		{ "/proc/sys/vm/overcommit_memory", LANDLOCK_READ },
		{ "/sys/devices/system/cpu", LANDLOCK_READ },
		{ in->work, rx | LANDLOCK_WRITE },
	};

	int r = 0;

	if (grant_all(in, ruleset, grants, ARRAY_LEN(grants)) < 0)
		return -1;
	if (in->plan->tty) /* stdin is by now the box's terminal: /dev/stdin and its like lead to its name */
		r = landlock_allow(ruleset, in->plan->landlock_abi, STDIN_FILENO,
				   LANDLOCK_READ | LANDLOCK_WRITE | LANDLOCK_DEVICE);
	if (r < 0)
		return fail(in, -r, "make the Landlock rule for the terminal");
	return grant_mounts(in, ruleset, LANDLOCK_EXEC);
}

static int make_rules(struct inside *in)
{
	auto_close int ruleset = landlock_new(in->plan->landlock_abi, in->plan->level == LEVEL_PROCESS);

	if (ruleset < 0)
		return fail(in, -ruleset, "make a Landlock ruleset");
	if ((in->work ? grant_process(in, ruleset) : grant_container(in, ruleset)) < 0)
		return -1;
	in->rules = STEAL_FD(ruleset);
	return 0;
}

int inside_rules(struct inside *in)
{
	if (!(in->plan->layers & LAYER_BIT(LANDLOCK)) || in->plan->exec_lock || in->plan->lives)
		return 0;
	return make_rules(in);
}

int inside_landlock(struct inside *in)
{
	int r;

	if (!(in->plan->layers & LAYER_BIT(LANDLOCK)))
		return 0;
	if (in->rules < 0 && make_rules(in) < 0)
		return -1;
	r = landlock_restrict(in->rules);
	fd_close(&in->rules);
	if (r < 0)
		return fail(in, -r, "apply Landlock");
	in->applied |= LAYER_BIT(LANDLOCK);
	return 0;
}
