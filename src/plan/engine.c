/* Who builds a box: see engine.h. */
#include "plan/engine.h"

#include "base/libexec.h"
#include "base/path.h"
#include "os/subid.h"
#include "plan/engine_probe.h"
#include "plan/mounts.h"
#include "policy/config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Theirs are of a layer above, which nobody here looks into. */
extern const struct engine_ops native_ops, foreign_ops;

#define ALL ((1u << LAYER_COUNT) - 1)

/* In the order of enum policy_engine. */
const struct engine engines[ENGINES_MAX] = {
	[ENGINE_NATIVE] = { .name = "native",
			    .probe = engine_probe_native,
			    .ops = &native_ops,
			    .makes_root = true,
			    .tells_denials = true,
			    .network = ENGINE_NETWORK_OWN,
			    .layers = ALL,
			    .about = "cordon itself" },
	[ENGINE_DOCKER] = { .name = "docker",
			    .probe = engine_probe_driven,
			    .ops = &foreign_ops,
			    .driver = "cordon-engine-docker",
			    .tells_denials = true,
			    .network = ENGINE_NETWORK_ENTERED,
			    .layers = ALL & ~LAYER_BIT(USERNS),
			    .about = "a Docker daemon" },
	[ENGINE_PODMAN] = { .name = "podman",
			    .probe = engine_probe_driven,
			    .ops = &foreign_ops,
			    .driver = "cordon-engine-docker",
			    .counts_no_files = true,
			    .tells_denials = true,
			    .network = ENGINE_NETWORK_ENTERED,
			    .layers = ALL & ~LAYER_BIT(USERNS),
			    .about = "Podman's service" },
	[ENGINE_CRUN] = { .name = "crun",
			  .probe = engine_probe_driven,
			  .ops = &foreign_ops,
			  .driver = "cordon-engine",
			  .makes_root = true,
			  .keeps_numbers = true,
			  .tells_denials = true,
			  .network = ENGINE_NETWORK_GIVEN,
			  .layers = ALL,
			  .about = "an OCI runtime" },
	[ENGINE_RUNC] = { .name = "runc",
			  .probe = engine_probe_driven,
			  .ops = &foreign_ops,
			  .driver = "cordon-engine",
			  .makes_root = true,
			  .keeps_numbers = true,
			  .tells_denials = true,
			  .network = ENGINE_NETWORK_GIVEN,
			  .layers = ALL,
			  .about = "an OCI runtime" },
	/* gVisor: the calls of the payload are its own kernel's business, which knows neither Landlock nor listeners. */
	[ENGINE_RUNSC] = { .name = "runsc",
			   .probe = engine_probe_driven,
			   .ops = &foreign_ops,
			   .driver = "cordon-engine",
			   .makes_root = true,
			   .keeps_numbers = true,
			   .own_kernel = true,
			   .network = ENGINE_NETWORK_GIVEN,
			   .layers = ALL & ~LAYER_BIT(LANDLOCK),
			   .about = "gVisor, a kernel of its own" },
};
const size_t engine_count = ARRAY_LEN(engines);

static int find_program(const char *name, char **ret, struct cordon_error *err)
{
	*ret = libexec_find(name);
	if (*ret)
		return 0;
	if (errno == ENOMEM)
		return fail_memory(err);
	cordon_fail(err, CORDON_UNAVAILABLE, 0, "there is no program %s, which other engines need", name);
	return fail_hint(err, "`make install` puts it into libexec/cordon; in a build tree it lies beside the command");
}

/* An ordinary user's container has two ids: its root, which nobody in it is, is a subordinate one. */
static int check_user(struct cordon_plan *plan, struct cordon_error *err)
{
	if (subid_find(geteuid(), &plan->subuid, &plan->subgid) == 0)
		return 0;
	cordon_fail(
		err, CORDON_UNAVAILABLE, 0,
		"engine '%s' needs subordinate ids: none for this user in /etc/subuid and /etc/subgid, or no newuidmap",
		plan->engine->name);
	return fail_hint(
		err, "install uidmap and run: usermod --add-subuids 100000-165535 --add-subgids 100000-165535 USER");
}

/* What nobody has named is the installation's choice; what it does not have among its engines is refused. */
static int choose(struct cordon_plan *plan, const struct cordon_policy *policy, struct cordon_error *err)
{
	const struct config *config = config_get(err);

	if (!config)
		return -1;
	plan->engine = &engines[policy_num(policy, OPT_ENGINE)];
	for (size_t i = 0; !policy->values[OPT_ENGINE].origin && i < engine_count; i++)
		if (strcmp(engines[i].name, config->engines.v[0]) == 0)
			plan->engine = &engines[i];
	plan->engine_platform = plan->engine->own_kernel ? config->runsc_platform : NULL;
	if (strv_has(&config->engines, plan->engine->name))
		return 0;
	cordon_fail(err, CORDON_DENIED, 0, "engine '%s' is not one of this installation's", plan->engine->name);
	return fail_hint(err, "`cordon config show` tells them (engines)");
}

int plan_resolve_engine(struct cordon_plan *plan, const struct cordon_policy *policy, struct cordon_error *err)
{
	if (choose(plan, policy, err) < 0)
		return -1;
	if (!plan->engine->driver)
		return 0;
	if (plan->level != LEVEL_CONTAINER) {
		cordon_fail(err, CORDON_INVALID, 0, "engine '%s' makes containers: level 'process' is not one",
			    plan->engine->name);
		return fail_hint(err, "use --level container, or --engine native");
	}
	if (geteuid() != 0 && plan->engine->makes_root && check_user(plan, err) < 0)
		return -1;
	if (find_program(plan->engine->driver, &plan->driver, err) < 0)
		return -1;
	return find_program("cordon-init", &plan->init, err);
}

/* These are the runtime's own, and would hide what is laid there. */
static int check_place(const struct cordon_plan *plan, const char *dest, struct cordon_error *err)
{
	static const char *const theirs[] = { "/proc", "/dev", "/.cordon" };

	for (size_t i = 0; i < ARRAY_LEN(theirs); i++)
		if (path_is_within(dest, theirs[i]) && !path_is_within(dest, "/dev/shm"))
			return cordon_fail(err, CORDON_DENIED, 0, "engine '%s' has its own %s: nothing can lie at '%s'",
					   plan->engine->name, theirs[i], dest);
	return 0;
}

/* The root of an image is as it is: files go into what can be written. */
static int check_in(const struct cordon_plan *plan, const char *dest, struct cordon_error *err)
{
	if (plan->engine->makes_root || plan_can_write(plan, dest))
		return 0;
	cordon_fail(err, CORDON_UNAVAILABLE, 0, "engine '%s' cannot copy in to '%s': an image's root is read-only",
		    plan->engine->name, dest);
	return fail_hint(err, "copy it into %s or /tmp, or mount it with --ro", plan->home);
}

/* In a directory that is the root's own, which somebody may swap for a link while a runtime looks mounts up by name. The others have fds. */
static int check_way(const struct cordon_plan *plan, const char *dest, struct cordon_error *err)
{
	auto_free char *top = strndup(dest + 1, strcspn(dest + 1, "/"));

	if (!plan->engine->own_kernel || !plan->root || plan->image.name || !strchr(dest + 1, '/'))
		return 0;
	if (!top)
		return fail_memory(err);
	for (size_t i = 0; i < plan->mount_count; i++)
		if (strcmp(plan->mounts[i].dest, dest) != 0 && path_is_within(dest, plan->mounts[i].dest))
			return 0; /* it comes with that one */
	if (path_is_within(dest, "/home") || path_is_within(dest, "/tmp") ||
	    faccessat(plan->root_fd, top, F_OK, AT_SYMLINK_NOFOLLOW) < 0)
		return 0;
	cordon_fail(err, CORDON_UNAVAILABLE, 0,
		    "engine '%s' cannot mount at '%s', in a directory that others may change: /%s of the root",
		    plan->engine->name, dest, top);
	return fail_hint(err, "mount it at the top, or make an image of the root: cordon image import");
}

static int check_places(const struct cordon_plan *plan, struct cordon_error *err)
{
	for (size_t i = 0; i < plan->mount_count; i++)
		if (check_place(plan, plan->mounts[i].dest, err) < 0 || check_way(plan, plan->mounts[i].dest, err) < 0)
			return -1;
	for (size_t i = 0; i < plan->private_count; i++)
		if (check_place(plan, plan->privates[i].dest, err) < 0)
			return -1;
	for (size_t i = 0; i < plan->in_count; i++)
		if (check_place(plan, plan->ins[i].box, err) < 0 || check_in(plan, plan->ins[i].box, err) < 0)
			return -1;
	return 0;
}

char *engine_directory(uid_t uid)
{
	const char *runtime = getenv("XDG_RUNTIME_DIR");

	if (uid == 0)
		return strdup("/run/cordon-engine");
	return runtime && runtime[0] == '/' ? str_printf("%s/cordon-engine", runtime)
					    : str_printf("/tmp/cordon-engine-%u", (unsigned)uid);
}

/* A namespace of the host's own, which takes root to make; what an ordinary user's runtime makes is entered. gVisor looks at its namespace when
 * it starts, and that would be too late. */
enum engine_network engine_network(const struct engine *e, bool as_root)
{
	if (e->network != ENGINE_NETWORK_GIVEN || as_root)
		return e->network;
	return e->own_kernel ? ENGINE_NETWORK_REFUSED : ENGINE_NETWORK_ENTERED;
}

enum engine_network plan_engine_network(const struct cordon_plan *plan)
{
	return engine_network(plan->engine, plan->as_root);
}

/* A runtime that is started by us can hold memory only in groups that are ours; a daemon has its own. Known here, and not every runtime gets
 * as far as telling. */
static int check_groups(const struct cordon_plan *plan, struct cordon_error *err)
{
	if (!plan->engine->makes_root || !plan->limits.memory_bytes || (plan->cgroup.can & CGROUP_CAN_MEMORY))
		return 0;
	cordon_fail(err, CORDON_UNAVAILABLE, 0, "%s cannot hold limits.memory on this host", plan->engine->name);
	(void)fail_hint(err, plan->as_root ? "see `cordon doctor`; --engine native watches what the kernel cannot"
					   : "systemd-run --user --scope -p Delegate=yes cordon run … gives control "
					     "groups to a user; --engine native watches what the kernel cannot");
	return fail_step(err, "engine");
}

/* What a box of another engine cannot have, by the name that the policy gives it. */
int plan_check_engine(const struct cordon_plan *plan, const struct cordon_policy *policy, struct cordon_error *err)
{
	const struct {
		bool asked;
		const char *what, *instead;
	} rows[] = {
		{ plan->network.is_on && plan_engine_network(plan) == ENGINE_NETWORK_REFUSED,
		  plan->as_root ? "a network (network.mode)" : "a network (network.mode) to an ordinary user",
		  "--net none" },
		{ plan->engine->counts_no_files && !plan->as_root && !policy->values[OPT_INODES].is_default,
		  "limits.inodes to an ordinary user", "leave it as it is" },
		/* Rates hold for direct I/O, which gVisor turns into that of the host's cache. */
		{ (!plan->engine->makes_root || plan->engine->own_kernel) && plan->rates_needed,
		  "limits.disk_read and limits.disk_write", "leave them as they are" },
		{ plan->exec_lock,
		  "process.commands (--commands): its containers have more that can be run than what a list names",
		  "leave it out" },
		{ plan->storage != PLAN_STORAGE_MEMORY && !plan->engine->makes_root, "files.storage: disk",
		  "--storage memory" },
		{ policy_num(policy, OPT_SUBUIDS), "process.subuids", "leave it out" },
		{ plan->may_degrade, "degrade: it gives its layers or none", "leave it out" },
	};

	if (!plan->engine->driver)
		return 0;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		if (!rows[i].asked)
			continue;
		cordon_fail(err, CORDON_UNAVAILABLE, 0, "engine '%s' cannot give %s", plan->engine->name, rows[i].what);
		return fail_hint(err, "%s, or use --engine native", rows[i].instead);
	}
	return check_groups(plan, err) < 0 ? -1 : check_places(plan, err);
}
