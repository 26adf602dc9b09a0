/*
 * Building a plan: one function per concern, in the order they depend on each other. Pure but for reading the host. Runs in the
 * front, with the caller's rights.
 */
#include "plan/plan.h"

#include "base/fd.h"
#include "base/path.h"
#include "os/landlock.h"
#include "os/quota.h"
#include "os/subid.h"
#include "plan/command.h"
#include "plan/engine.h"
#include "plan/image.h"
#include "plan/mounts.h"
#include "plan/network.h"
#include "policy/config.h"
#include "policy/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What must be left for the home and /dev/shm. */
enum { PRIVATE_MIN_BYTES = 64 << 10 };

__attribute__((format(printf, 2, 3))) static void note(struct cordon_plan *plan, const char *fmt, ...)
{
	auto_str struct str s = { 0 };
	va_list ap;

	va_start(ap, fmt);
	str_addv(&s, fmt, ap);
	va_end(ap);
	(void)strv_add_take(&plan->notes, str_take(&s));
}

static int resolve_level(struct cordon_plan *plan, const struct cordon_policy *policy, struct cordon_error *err)
{
	const struct strv *degrade = policy_list(policy, OPT_DEGRADE);

	plan->level = (enum policy_level)policy_num(policy, OPT_LEVEL);
	if (plan->level != LEVEL_PROCESS && plan->level != LEVEL_CONTAINER)
		return cordon_fail(err, CORDON_UNAVAILABLE, 0, "level '%s' is not built in",
				   plan->level == LEVEL_VM ? "vm" : "wasm");
	for (size_t i = 0; i < degrade->n; i++) {
		int layer = layer_by_name(degrade->v[i]);

		if (layer < 0)
			return cordon_fail(err, CORDON_INVALID, 0, "degrade: no layer '%s'", degrade->v[i]);
		if (layer == LAYER_MOUNTNS || layer == LAYER_PIDNS || layer == LAYER_NO_NEW_PRIVS ||
		    layer == LAYER_RLIMITS)
			return cordon_fail(err, CORDON_INVALID, 0, "degrade: a box cannot do without %s",
					   degrade->v[i]);
		if (layer == LAYER_USERNS && geteuid() != 0) {
			cordon_fail(err, CORDON_INVALID, 0, "degrade: only root can build a container without userns");
			return fail_hint(err, "use --level process");
		}
		plan->may_degrade |= 1u << layer;
	}
	return 0;
}

static int resolve_layers(struct cordon_plan *plan, struct cordon_error *err)
{
	plan->layers = LAYER_BIT(RLIMITS) | LAYER_BIT(NO_NEW_PRIVS) | LAYER_BIT(LANDLOCK) | LAYER_BIT(SECCOMP);
	if (plan->level == LEVEL_CONTAINER)
		plan->layers |= LAYER_BIT(USERNS) | LAYER_BIT(MOUNTNS) | LAYER_BIT(PIDNS) | LAYER_BIT(NETNS) |
				LAYER_BIT(IPCNS) | LAYER_BIT(UTSNS) | LAYER_BIT(CGROUPNS);
	plan->landlock_abi = landlock_abi();
	if (!(plan->engine->layers & LAYER_BIT(LANDLOCK))) {
		plan->layers &= plan->engine->layers;
		return 0;
	}
	plan->layers &= plan->engine->layers;
	if (plan->landlock_abi > 0)
		return 0;
	if (plan->level == LEVEL_PROCESS || !(plan->may_degrade & LAYER_BIT(LANDLOCK))) {
		cordon_fail(err, CORDON_UNAVAILABLE, 0, "this kernel has no Landlock");
		return fail_hint(err, "boot with lsm=landlock,… (kernel 5.13 or later)%s",
				 plan->level == LEVEL_PROCESS ? "; process level cannot do without it"
							      : ", or accept a weaker box with --degrade landlock");
	}
	plan->layers &= ~LAYER_BIT(LANDLOCK);
	plan->degraded |= LAYER_BIT(LANDLOCK);
	return 0;
}

static int resolve_cgroup(struct cordon_plan *plan, const struct cordon_policy *policy, struct cordon_error *err)
{
	const struct strv *require = policy_list(policy, OPT_REQUIRE);

	cgroup_probe(&plan->cgroup);
	plan->limits_by_watch = (plan->cgroup.can & PLAN_CGROUP_NEEDS) != PLAN_CGROUP_NEEDS && !plan->engine->driver;
	if (plan->cgroup.mode != CGROUP_NONE || plan->engine->driver)
		plan->layers |= LAYER_BIT(CGROUP);
	for (size_t i = 0; i < require->n; i++) {
		int layer = layer_by_name(require->v[i]);

		if (layer < 0)
			return cordon_fail(err, CORDON_INVALID, 0, "require: no layer '%s'", require->v[i]);
		if (!(plan->engine->layers & (1u << layer))) {
			cordon_fail(err, CORDON_UNAVAILABLE, 0,
				    "required layer '%s' cannot be had: engine '%s' does not give it", require->v[i],
				    plan->engine->name);
			return fail_hint(err, "leave it out of `require`, or use --engine native");
		}
		if ((layer == LAYER_CGROUP && plan->limits_by_watch) || !(plan->layers & (1u << layer))) {
			cordon_fail(err, CORDON_UNAVAILABLE, 0, "required layer '%s' cannot be had%s%s", require->v[i],
				    layer == LAYER_CGROUP ? ": " : "", layer == LAYER_CGROUP ? plan->cgroup.why : "");
			return fail_hint(err, "%s",
					 layer == LAYER_CGROUP ? plan->cgroup.remedy : "see `cordon doctor`");
		}
		plan->may_degrade &= ~(1u << layer);
		plan->required |= 1u << layer;
	}
	return 0;
}

static bool is_tighter(const struct cordon_policy *policy, enum option_id id)
{
	struct unit_fault fault = { 0 };
	uint64_t usual;

	return unit_parse(options[id].type, options[id].default_text, &usual, &fault) == 0 &&
	       policy_num(policy, id) < usual;
}

static int fail_rates(const struct cordon_plan *plan, const char *what, struct cordon_error *err)
{
	cordon_fail(err, CORDON_UNAVAILABLE, 0, "%s cgroup controller: %s", what, plan->cgroup.why);
	return fail_hint(err, "%s", plan->cgroup.remedy);
}

int plan_settle_rates(struct cordon_plan *plan, struct cordon_error *err)
{
	if (!(plan->cgroup.can & CGROUP_CAN_CPU) && !plan->engine->driver && plan->limits.cpu_milli) {
		if (plan->share_needed)
			return fail_rates(plan, "limits.cpus needs the cpu", err);
		plan->limits.cpu_milli = 0;
		note(plan, "there is no share of CPU: no cpu cgroup controller; CPU time in all is bounded");
	}
	if ((plan->cgroup.can & CGROUP_CAN_IO) || plan->engine->driver ||
	    !(plan->limits.read_bps || plan->limits.write_bps))
		return 0;
	if (plan->rates_needed)
		return fail_rates(plan, "limits.disk_read and limits.disk_write need the io (blkio)", err);
	plan->limits.read_bps = plan->limits.write_bps = 0;
	note(plan, "disk I/O is not limited: no io (blkio) cgroup controller");
	return 0;
}

static int resolve_rates(struct cordon_plan *plan, const struct cordon_policy *policy, struct cordon_error *err)
{
	plan->rates_needed = is_tighter(policy, OPT_DISK_READ) || is_tighter(policy, OPT_DISK_WRITE);
	plan->share_needed = is_tighter(policy, OPT_CPUS);
	return plan_settle_rates(plan, err);
}

/* Private files in memory count against it: what nobody chose follows the memory, what was chosen must fit. */
static int resolve_disk(struct cordon_plan *plan, const struct cordon_policy *policy, struct cordon_error *err)
{
	struct plan_limits *l = &plan->limits;
	bool in_memory = plan->storage == PLAN_STORAGE_MEMORY;
	uint64_t privates = 0;
	char a[32], b[32];

	for (size_t i = 0; i < plan->private_count; i++)
		privates += plan->privates[i].size_bytes;
	if (in_memory && policy->values[OPT_DISK].is_default && l->disk_bytes > l->memory_bytes / 2) {
		l->disk_bytes = l->memory_bytes / 2;
		note(plan, "limits.disk is half of the memory: %s", str_size(l->disk_bytes, a));
	}
	if (in_memory && l->disk_bytes > l->memory_bytes) {
		cordon_fail(err, CORDON_INVALID, 0, "limits.disk (%s) cannot be held by limits.memory (%s)",
			    str_size(l->disk_bytes, a), str_size(l->memory_bytes, b));
		return fail_hint(err, "lower --disk, raise --memory, or use --storage disk");
	}
	if (policy->values[OPT_TMP].is_default && l->tmp_bytes > l->disk_bytes / 2)
		l->tmp_bytes = l->disk_bytes / 2;
	if (l->tmp_bytes + privates + PRIVATE_MIN_BYTES > l->disk_bytes) {
		cordon_fail(err, CORDON_INVALID, 0,
			    "files.tmp and files.tmpfs (%s together) leave nothing of limits.disk (%s)",
			    str_size(l->tmp_bytes + privates, a), str_size(l->disk_bytes, b));
		return fail_hint(err, "raise --disk or lower --tmp");
	}
	return 0;
}

static void resolve_limits(struct cordon_plan *plan, const struct cordon_policy *policy)
{
	plan->limits = (struct plan_limits){
		.memory_bytes = policy_num(policy, OPT_MEMORY),
		.cpu_milli = policy_num(policy, OPT_CPUS),
		.cpu_time_ms = policy_num(policy, OPT_CPU_TIME),
		.wall_time_ms = policy_num(policy, OPT_WALL_TIME),
		.grace_ms = policy_num(policy, OPT_GRACE),
		.processes = policy_num(policy, OPT_PROCESSES),
		.open_files = policy_num(policy, OPT_OPEN_FILES),
		.file_size_bytes = policy_num(policy, OPT_FILE_SIZE),
		.output_bytes = policy_num(policy, OPT_OUTPUT),
		.disk_bytes = policy_num(policy, OPT_DISK),
		.inodes = policy_num(policy, OPT_INODES),
		.tmp_bytes = policy_num(policy, OPT_TMP),
		.read_bps = policy_num(policy, OPT_DISK_READ),
		.write_bps = policy_num(policy, OPT_DISK_WRITE),
	};
}

/*
 * Only a payload in a user namespace cannot take its files out of their project, and only our own boxes are written by nobody else: what serves
 * another engine's may have the right to exceed quotas.
 */
static bool can_use_quota(const struct cordon_plan *plan)
{
	auto_close int dir = -1;

	if (!plan->as_root || plan->engine->driver || !(plan->layers & LAYER_BIT(USERNS)) ||
	    plan->may_degrade & LAYER_BIT(USERNS))
		return false;
	dir = open(plan->scratch_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return dir >= 0 && quota_probe(dir) == 0;
}

/* An image goes with the box: there is none to keep. */
static bool can_use_loop(const struct cordon_plan *plan)
{
	return plan->as_root && !plan->keep && access("/sbin/mkfs.ext4", X_OK) == 0 &&
	       access("/dev/loop-control", W_OK) == 0;
}

static int resolve_storage(struct cordon_plan *plan, const struct cordon_policy *policy, struct cordon_error *err)
{
	const struct config *config;

	if (plan->keep && policy_num(policy, OPT_STORAGE) != STORAGE_DISK && plan->level == LEVEL_CONTAINER) {
		cordon_fail(err, CORDON_INVALID, 0,
			    "--keep keeps the scratch directory, and there is none with files.storage: memory");
		return fail_hint(err, "add --storage disk, or take files out with --out");
	}
	config = config_get(err);
	if (!config)
		return -1;
	plan->scratch_dir = strdup(config->scratch_dir);
	plan->state_dir = strdup(config->state_dir);
	if (!plan->scratch_dir || !plan->state_dir)
		return fail_memory(err);
	if (plan->level == LEVEL_PROCESS)
		plan->storage = PLAN_STORAGE_WATCH;
	else if (policy_num(policy, OPT_STORAGE) == STORAGE_DISK)
		plan->storage = can_use_quota(plan)  ? PLAN_STORAGE_QUOTA
				: can_use_loop(plan) ? PLAN_STORAGE_LOOP
						     : PLAN_STORAGE_WATCH;
	return 0;
}

static int resolve_root(struct cordon_plan *plan, const struct cordon_policy *policy, struct cordon_error *err)
{
	const char *root = policy_text(policy, OPT_ROOT);
	struct stat st;

	plan->root_fd = -1;
	plan->path = strdup(PLAN_PATH);
	if (!plan->path)
		return fail_memory(err);
	if (!plan->engine->makes_root)
		return plan_take_engine_image(plan, root, err);
	if (!root || strcmp(root, "host") == 0)
		return 0;
	if (plan->level == LEVEL_PROCESS)
		return cordon_fail(err, CORDON_UNAVAILABLE, 0,
				   "level 'process' has no root of its own: files.root must be 'host'");
	if (str_starts(root, PLAN_IMAGE_PREFIX))
		return plan_resolve_image(plan, root + strlen(PLAN_IMAGE_PREFIX), err);
	plan->root_fd = plan_open_source(root, 0, policy_list(policy, OPT_FORBIDDEN), &plan->root, &st, err);
	if (plan->root_fd < 0)
		return -1;
	if (!S_ISDIR(st.st_mode))
		return cordon_fail(err, CORDON_INVALID, 0, "files.root: '%s' is not a directory", root);
	return 0;
}

/* The caller's directory if the box has it, else the image's, else the home. */
static int resolve_workdir(struct cordon_plan *plan, const struct cordon_policy *policy, const struct cordon_job *job,
			   struct cordon_error *err)
{
	const char *asked = job->workdir                      ? job->workdir
			    : policy_has(policy, OPT_WORKDIR) ? policy_text(policy, OPT_WORKDIR)
							      : NULL;
	auto_free char *cwd = asked ? NULL : realpath(".", NULL);

	if (asked) {
		plan->workdir = path_clean(plan->home, asked);
		return plan->workdir ? 0 : cordon_fail(err, CORDON_INVALID, 0, "'%s' is not a path", asked);
	}
	for (size_t i = 0; cwd && i < plan->mount_count; i++) {
		const struct plan_mount *m = &plan->mounts[i];
		const char *below = m->is_dir ? path_below(cwd, m->source) : NULL;

		if (!below)
			continue;
		plan->workdir = *below ? str_printf("%s/%s", m->dest, below) : strdup(m->dest);
		return plan->workdir ? 0 : fail_memory(err);
	}
	plan->workdir = strdup(plan_image_workdir(plan) ? plan_image_workdir(plan) : plan->home);
	return plan->workdir ? 0 : fail_memory(err);
}

static int resolve_user(struct cordon_plan *plan, const struct cordon_policy *policy, struct cordon_error *err)
{
	plan->as_root = geteuid() == 0;
	plan->caller_uid = geteuid();
	plan->caller_gid = getegid();
	plan->subuids = !plan->as_root && plan->level == LEVEL_CONTAINER && policy_num(policy, OPT_SUBUIDS);
	if (plan->subuids && subid_find(plan->caller_uid, &plan->subuid, &plan->subgid) < 0) {
		cordon_fail(err, CORDON_UNAVAILABLE, 0,
			    "process.subuids: no ids for this user in /etc/subuid and /etc/subgid, or no newuidmap");
		return fail_hint(
			err,
			"install uidmap and run: usermod --add-subuids 100000-165535 --add-subgids 100000-165535 USER");
	}
	plan->user = strdup(policy_text(policy, OPT_USER));
	if (!plan->user)
		return fail_memory(err);
	if (strcmp(plan->user, "root") == 0) {
		cordon_fail(err, CORDON_DENIED, 0, "process.user: a payload is never root");
		return fail_hint(err, "any other name will do; it is the box's own unprivileged user");
	}
	plan->home = str_printf("/home/%s", plan->user);
	return plan->home ? 0 : fail_memory(err);
}

static int resolve_filter(struct cordon_plan *plan, const struct cordon_policy *policy, struct cordon_error *err)
{
	plan->seccomp = (struct seccomp_options){
		.strict = policy_num(policy, OPT_SYSCALLS) == SYSCALLS_STRICT,
		.no_sockets = plan->level == LEVEL_PROCESS,
		.on_host = plan->level == LEVEL_PROCESS,
		.exec_lock = plan->exec_lock,
		.notify = true,
	};
	if (plan->exec_lock && plan->level == LEVEL_PROCESS) {
		cordon_fail(err, CORDON_UNAVAILABLE, 0,
			    "process.commands needs mounts of its own, which level 'process' does not have");
		return fail_hint(err, "use --level container");
	}
	return 0;
}

/* Without mounts of its own a box can only be given the host's paths as they are, with the host's ids. */
static int check_process_level(struct cordon_plan *plan, struct cordon_error *err)
{
	if (plan->level != LEVEL_PROCESS)
		return 0;
	for (size_t i = 0; i < plan->mount_count; i++) {
		const struct plan_mount *m = &plan->mounts[i];

		if (strcmp(m->source, m->dest) != 0) {
			cordon_fail(err, CORDON_UNAVAILABLE, 0,
				    "level 'process' has no mounts: '%s' cannot appear as '%s'", m->source, m->dest);
			return fail_hint(err, "give the real path without a destination, or use --level container");
		}
		if (m->writable && plan->as_root) {
			if (m->owner_uid == 0 || (plan->process_uid && plan->process_uid != m->owner_uid)) {
				cordon_fail(err, CORDON_UNAVAILABLE, 0,
					    "level 'process' as root: the payload's user cannot be given '%s'",
					    m->source);
				return fail_hint(err, "run cordon as the user who owns it, or use --level container");
			}
			plan->process_uid = m->owner_uid;
			plan->process_gid = m->owner_gid;
		}
	}
	if (plan->protect_count || plan->private_count) {
		cordon_fail(err, CORDON_UNAVAILABLE, 0, "level 'process' has no mounts: %s cannot hold",
			    plan->protect_count ? "files.protect" : "files.tmpfs");
		return fail_hint(err, "use --level container");
	}
	note(plan,
	     "process level cannot promise: that other processes of the host are invisible, that files cannot be "
	     "told to exist, "
	     "that a server on the payload's own loopback works (there are no sockets), multiprocessing's "
	     "forkserver, locks and pools (there is no /dev/shm), watching files (there is no inotify), and, without "
	     "a cgroup, the end of every descendant when the keeper itself is killed");
	note(plan,
	     "at process level HOME and TMPDIR are a private directory of the run's own, below scratch_dir of the "
	     "configuration, and so is the home wherever it is named here");
	return 0;
}

/* What is said of a job that is not there yet. */
static int resolve_life(struct cordon_plan *plan, const struct cordon_policy *policy, const struct cordon_job *job,
			struct cordon_error *err)
{
	uint64_t most = plan->limits.wall_time_ms;

	if (job->timeout_ms > most) {
		cordon_fail(err, CORDON_DENIED, 0, "a deadline of %llu ms is later than limits.wall_time",
			    (unsigned long long)job->timeout_ms);
		return fail_hint(err, "limits.wall_time is %llu ms", (unsigned long long)most);
	}
	if (job->timeout_ms)
		plan->limits.wall_time_ms = job->timeout_ms;
	plan->lives = job->lives;
	if (!plan->lives)
		return 0;
	if ((job->argv && job->argv[0]) || job->language || job->tty || job->keep || (job->out && job->out[0]))
		return cordon_fail(err, CORDON_INVALID, 0,
				   "a box that lives is planned without command, language, out, tty and keep");
	if (plan->level != LEVEL_CONTAINER) {
		cordon_fail(err, CORDON_UNAVAILABLE, 0,
			    "level 'process' has no boxes that live: nothing but its end is sure to end a job");
		return fail_hint(err, "use --level container");
	}
	return policy_copy(&plan->policy, policy, err);
}

static int build(struct cordon_plan *plan, const struct cordon_policy *policy, const struct cordon_job *job,
		 struct cordon_error *err)
{
	resolve_limits(plan, policy);
	plan->tty = job->tty;
	plan->keep = job->keep;
	plan->out_max_bytes = job->out_max_bytes ? job->out_max_bytes : 1ULL << 30;
	if (resolve_level(plan, policy, err) < 0 || resolve_life(plan, policy, job, err) < 0 ||
	    plan_resolve_engine(plan, policy, err) < 0 || resolve_user(plan, policy, err) < 0 ||
	    resolve_layers(plan, err) < 0 || resolve_cgroup(plan, policy, err) < 0 ||
	    resolve_rates(plan, policy, err) < 0 || resolve_storage(plan, policy, err) < 0 ||
	    resolve_root(plan, policy, err) < 0)
		return -1;
	if (plan_resolve_mounts(plan, policy, err) < 0 || plan_resolve_protects(plan, policy, err) < 0 ||
	    plan_resolve_privates(plan, policy, err) < 0 || resolve_disk(plan, policy, err) < 0 ||
	    resolve_workdir(plan, policy, job, err) < 0)
		return -1;
	if (plan_resolve_argv(plan, job, err) < 0 || plan_resolve_env(plan, policy, job, err) < 0 ||
	    plan_resolve_network(plan, policy, err) < 0 || plan_check_patterns(plan, policy, err) < 0 ||
	    plan_resolve_commands(plan, policy, err) < 0)
		return -1;
	if (resolve_filter(plan, policy, err) < 0 || check_process_level(plan, err) < 0 ||
	    plan_resolve_copies(plan, policy, job->in, job->out, err) < 0)
		return -1;
	if (plan->lives && plan->in_count && !plan->engine->makes_root) {
		cordon_fail(err, CORDON_UNAVAILABLE, 0, "a box of %s that lives is opened empty", plan->engine->name);
		return fail_hint(err, "leave `in` out, and use cordon_box_put() once it stands");
	}
	return plan_check_engine(plan, policy, err);
}

int cordon_plan_new(struct cordon_plan **ret_plan, const struct cordon_policy *policy, const struct cordon_job *job,
		    struct cordon_error *err)
{
	struct cordon_job whole = { 0 };
	struct cordon_plan *plan;

	if (!policy || policy->is_request || !job || job->size < sizeof(size_t))
		return cordon_fail(err, CORDON_INVALID, 0, "a plan needs a policy and a job with its size set");
	memcpy(&whole, job, job->size < sizeof(whole) ? job->size : sizeof(whole)); /* an older header's is shorter */
	plan = calloc(1, sizeof(*plan));
	if (!plan)
		return fail_memory(err);
	plan->root_fd = -1;
	if (build(plan, policy, &whole, err) < 0) {
		cordon_plan_free(plan);
		return fail_step(err, "plan");
	}
	*ret_plan = plan;
	return 0;
}

void plan_free_copies(struct plan_copy *copies, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		fd_close(&copies[i].fd);
		free(copies[i].host);
		free(copies[i].box);
	}
	free(copies);
}

void cordon_plan_free(struct cordon_plan *plan)
{
	if (!plan)
		return;
	for (size_t i = 0; i < plan->mount_count; i++) {
		fd_close(&plan->mounts[i].fd);
		free(plan->mounts[i].source);
		free(plan->mounts[i].dest);
	}
	for (size_t i = 0; i < plan->protect_count; i++)
		free(plan->protects[i].below);
	for (size_t i = 0; i < plan->private_count; i++)
		free(plan->privates[i].dest);
	plan_free_copies(plan->ins, plan->in_count);
	plan_free_copies(plan->outs, plan->out_count);
	fd_close(&plan->root_fd);
	free(plan->mounts);
	free(plan->protects);
	free(plan->privates);
	free(plan->driver);
	free(plan->init);
	free(plan->scratch_dir);
	free(plan->state_dir);
	free(plan->root);
	free(plan->engine_image);
	free(plan->path);
	store_image_done(&plan->image);
	free(plan->user);
	free(plan->home);
	free(plan->workdir);
	free(plan->code.path);
	free(plan->code.data);
	strv_done(&plan->argv);
	strv_done(&plan->env);
	strv_done(&plan->commands);
	strv_done(&plan->command_paths);
	strv_done(&plan->loader_paths);
	strv_done(&plan->notes);
	plan_network_done(&plan->network);
	cordon_policy_free(plan->policy);
	free(plan);
}
