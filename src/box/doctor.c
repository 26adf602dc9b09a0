/*
 * `cordon doctor`: what each layer found (os/probe.h), which levels therefore work, and what the weaker one
 * cannot promise, for people and as JSON. Runs in the caller; every try happens in a child and leaves
 * nothing behind.
 */
#include "base/error.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/str.h"
#include "os/cgroup.h"
#include "os/probe.h"
#include "os/quota.h"
#include "plan/engine_probe.h"
#include "policy/config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

enum { PROMISES_MAX = 10, MISSING_MAX = PROBE_FINDINGS_MAX + 1 };

struct level {
	const char *name;
	bool works;
	const char *missing[MISSING_MAX];             /* NULL-terminated: names of findings */
	const char *cannot_promise[PROMISES_MAX + 1]; /* NULL-terminated */
};

struct report {
	struct probe_finding findings[PROBE_FINDINGS_MAX];
	size_t count;
	struct level levels[2];
	struct engine_finding engines[ENGINES_MAX];
	struct utsname system;
	const char *container;    /* or NULL */
	const char *limit_source; /* "cgroup" or "watch" */
};

static const struct probe_finding *finding(const struct report *r, const char *name)
{
	for (size_t i = 0; i < r->count; i++)
		if (strcmp(r->findings[i].name, name) == 0)
			return &r->findings[i];
	return NULL;
}

static bool has(const struct report *r, const char *name)
{
	const struct probe_finding *f = finding(r, name);

	return f && f->state == PROBE_AVAILABLE;
}

static void level_needs(struct level *level, const struct report *r, const char *name, unsigned bit)
{
	size_t n = 0;

	level->name = name;
	for (size_t i = 0; i < r->count; i++)
		if (r->findings[i].levels & bit && r->findings[i].state == PROBE_MISSING)
			level->missing[n++] = r->findings[i].name;
	level->works = n == 0;
}

static void no_promise(struct level *level, const char *text)
{
	size_t n = 0;

	while (level->cannot_promise[n])
		n++;
	if (n < PROMISES_MAX)
		level->cannot_promise[n] = text;
}

static void judge_process(struct level *level, const struct report *r)
{
	level_needs(level, r, "process", PROBE_FOR_PROCESS);
	no_promise(level, "pid visibility: the host's processes show in /proc");
	no_promise(level, "a network by name: without a network namespace of its own there is none (--net none)");
	no_promise(level, "loopback servers: socket() is refused for every family, also towards oneself");
	no_promise(level, "forkserver and the like: named AF_UNIX sockets are refused, only socketpair() remains");
	no_promise(level, "named semaphores and shared memory, as of multiprocessing's locks and pools: no /dev/shm");
	no_promise(level, "watching files: inotify is refused, since it would tell of files outside");
	if (!has(r, "cgroup"))
		no_promise(level, "descendants when the keeper itself is killed: without a cgroup nothing ends them");
	if (!has(r, "landlock"))
		no_promise(level, "all of Landlock: what its ABI here lacks is not held, above all signals to the "
				  "user's other processes (ABI 6, kernel 6.12)");
}

static void judge_container(struct level *level, const struct report *r)
{
	level_needs(level, r, "container", PROBE_FOR_CONTAINER);
	no_promise(level, "safety from a hole in the kernel: it is the host's");
	if (strcmp(r->limit_source, "watch") == 0)
		no_promise(level, "exact memory limits: without cgroups they are per process and by polling");
	if (!has(r, "cgroup.cpu"))
		no_promise(level, "a share of CPU: only CPU time is bounded");
	if (!has(r, "cgroup.io"))
		no_promise(level, "a bound on disk bandwidth");
}

/* The installation says where scratch directories are, so that it is not one of those that probe_all() tries. It is for root alone. */
static void examine_quota(struct report *r)
{
	const struct config *config = config_get(NULL);
	auto_close int dir = config ? open(config->scratch_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	struct probe_finding *f = &r->findings[r->count];
	int found = dir < 0 ? -errno : quota_probe(dir);

	if (!config || r->count == PROBE_FINDINGS_MAX || geteuid() != 0)
		return;
	*f = (struct probe_finding){ .name = "project_quota", .state = found == 0 ? PROBE_AVAILABLE : PROBE_LIMITED };
	r->count++;
	if (found == 0) {
		snprintf(f->detail, sizeof(f->detail), "`storage: disk` is bounded by the file system of %s itself",
			 config->scratch_dir);
		return;
	}
	snprintf(f->detail, sizeof(f->detail), "%s %s; `storage: disk` is bounded in other ways", config->scratch_dir,
		 found == -EEXIST ? "belongs to a project already" : "is on no file system that enforces it");
	snprintf(
		f->remedy, sizeof(f->remedy), "%s",
		found == -EEXIST
			? "set scratch_dir to a directory that belongs to none (lsattr -pd tells)"
			: "to do without an image, and for a bound with --keep: set scratch_dir to an ext4 mounted "
			  "with prjquota (tune2fs -O "
			  "project,quota -Q prjquota while it is not mounted) or an xfs with pquota, on a kernel of at "
			  "least 5.14");
}

static void examine(struct report *r)
{
	struct cgroup_host host;

	r->count = probe_all(r->findings);
	examine_quota(r);
	cgroup_probe(&host);
	r->limit_source = has(r, "cgroup") && (host.can & PLAN_CGROUP_NEEDS) == PLAN_CGROUP_NEEDS ? "cgroup" : "watch";
	r->container = probe_container();
	if (uname(&r->system) < 0)
		snprintf(r->system.release, sizeof(r->system.release), "unknown");
	engine_probe(r->engines);
	judge_container(&r->levels[0], r);
	judge_process(&r->levels[1], r);
}

static bool lacks_network(const struct engine *e)
{
	return engine_network(e, geteuid() == 0) == ENGINE_NETWORK_REFUSED;
}

static void json_engines(struct json *j, const struct report *r)
{
	json_array(j, "engines");
	for (size_t i = 0; i < engine_count; i++) {
		const struct engine_finding *f = &r->engines[i];

		json_object(j, NULL);
		json_string(j, "name", f->engine->name);
		json_bool(j, "works", f->works);
		json_string(j, "version", f->works ? f->version : NULL);
		json_string(j, "about", f->engine->about);
		json_string(j, "why", f->works ? NULL : f->why);
		json_string(j, "remedy", f->remedy[0] ? f->remedy : NULL);
		json_array(j, "layers");
		for (int layer = 0; layer < LAYER_COUNT; layer++)
			if (f->engine->layers & (1u << layer))
				json_string(j, NULL, layer_name((enum layer)layer));
		json_end_array(j);
		json_bool(j, "tells_denials", f->engine->tells_denials);
		json_bool(j, "has_network", !lacks_network(f->engine));
		json_end_object(j);
	}
	json_end_array(j);
}

static char *as_json(const struct report *r)
{
	static const char *const states[] = { "available", "limited", "missing" };
	struct json j = { .pretty = true };

	json_object(&j, NULL);
	json_bool(&j, "ok", r->levels[0].works);
	json_string(&j, "version", cordon_version());
	json_string(&j, "kernel", r->system.release);
	json_string(&j, "machine", r->system.machine);
	json_uint(&j, "uid", geteuid());
	json_string(&j, "container", r->container);
	json_string(&j, "limit_source", r->limit_source);
	json_array(&j, "layers");
	for (size_t i = 0; i < r->count; i++) {
		json_object(&j, NULL);
		json_string(&j, "name", r->findings[i].name);
		json_string(&j, "state", states[r->findings[i].state]);
		json_string(&j, "detail", r->findings[i].detail);
		json_string(&j, "remedy", r->findings[i].remedy[0] ? r->findings[i].remedy : NULL);
		json_end_object(&j);
	}
	json_end_array(&j);
	json_array(&j, "levels");
	for (size_t i = 0; i < ARRAY_LEN(r->levels); i++) {
		json_object(&j, NULL);
		json_string(&j, "name", r->levels[i].name);
		json_bool(&j, "works", r->levels[i].works);
		json_strings(&j, "missing", r->levels[i].missing);
		json_strings(&j, "cannot_promise", r->levels[i].cannot_promise);
		json_end_object(&j);
	}
	json_end_array(&j);
	json_engines(&j, r);
	json_end_object(&j);
	return json_take(&j);
}

/* The same cause often takes several layers away: its remedy is told once, the others point to it. */
static const char *told_before(const struct report *r, size_t i)
{
	for (size_t k = 0; k < i; k++)
		if (strcmp(r->findings[k].remedy, r->findings[i].remedy) == 0)
			return r->findings[k].name;
	return NULL;
}

static void add_finding(struct str *s, const struct report *r, size_t i)
{
	static const char *const words[] = { "ok", "warn", "no" };
	const struct probe_finding *f = &r->findings[i];
	const char *before = told_before(r, i);

	str_addf(s, "%-5s %-16s %s\n", words[f->state], f->name, f->detail);
	if (!f->remedy[0])
		return;
	if (before)
		str_addf(s, "%-5s %-16s remedy: as for %s\n", "", "", before);
	else
		str_addf(s, "%-5s %-16s remedy: %s\n", "", "", f->remedy);
}

static void add_level(struct str *s, const struct level *level)
{
	if (level->works)
		str_addf(s, "%-5s %-16s works\n", "ok", level->name);
	else
		str_addf(s, "%-5s %-16s does not work without", "no", level->name);
	for (size_t i = 0; !level->works && level->missing[i]; i++)
		str_addf(s, "%s %s%s", i ? "," : "", level->missing[i], level->missing[i + 1] ? "" : "\n");
	for (size_t i = 0; level->works && level->cannot_promise[i]; i++)
		str_addf(s, "%-5s %-16s cannot promise %s\n", "", "", level->cannot_promise[i]);
}

/* A runtime's limits are cgroups or refused: without any the box needs a policy that asks for none. */
static void add_engine(struct str *s, const struct report *r, const struct engine_finding *f)
{
	bool unheld = f->works && f->engine->makes_root && f->engine->driver && strcmp(r->limit_source, "cgroup") != 0;

	str_addf(s, "%-5s %-16s %s%s%s%s%s\n",
		 !f->works ? "no"
		 : unheld  ? "warn"
			   : "ok",
		 f->engine->name, f->engine->about, f->works ? ", " : ": ", f->works ? f->version : f->why,
		 f->works && lacks_network(f->engine) ? "; without a network" : "",
		 unheld ? "; limits cannot be held: no cgroup is delegated" : "");
	if (f->remedy[0])
		str_addf(s, "%-5s %-16s remedy: %s\n", "", "", f->remedy);
	if (!f->works)
		return;
	str_addf(s, "%-5s %-16s layers:", "", "");
	for (int layer = 0; layer < LAYER_COUNT; layer++)
		if (f->engine->layers & (1u << layer))
			str_addf(s, " %s", layer_name((enum layer)layer));
	str_add(s, "\n");
}

static char *as_text(const struct report *r)
{
	struct str s = { 0 };

	str_addf(&s, "cordon %s on Linux %s (%s), uid %u", cordon_version(), r->system.release, r->system.machine,
		 (unsigned)geteuid());
	str_addf(&s, "%s%s\n\nlayers\n", r->container ? ", inside " : "", r->container ? r->container : "");
	for (size_t i = 0; i < r->count; i++)
		add_finding(&s, r, i);
	str_add(&s, "\nlevels\n");
	for (size_t i = 0; i < ARRAY_LEN(r->levels); i++)
		add_level(&s, &r->levels[i]);
	str_add(&s, "\nengines\n");
	for (size_t i = 0; i < engine_count; i++)
		add_engine(&s, r, &r->engines[i]);
	str_addf(&s, "\nlimits come from %s\n",
		 strcmp(r->limit_source, "cgroup") == 0 ? "cgroups"
							: "rlimits and polling (watch); --require cgroup refuses that");
	return str_take(&s);
}

int cordon_doctor(enum cordon_format format, char **ret_text, bool *ret_ok, struct cordon_error *err)
{
	auto_free struct report *r = calloc(1, sizeof(*r));
	char *text;

	if (!r)
		return fail_memory(err);
	examine(r);
	text = format == CORDON_JSON ? as_json(r) : as_text(r);
	if (!text)
		return fail_memory(err);
	*ret_text = text;
	*ret_ok = r->levels[0].works;
	return 0;
}
