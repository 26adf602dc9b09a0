/* What a plan would do, layer by layer and path by path, for people and as JSON. */
#include "base/json.h"
#include "plan/engine.h"
#include "plan/engine_probe.h"
#include "plan/plan.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char *level_text(const struct cordon_plan *p)
{
	return p->level == LEVEL_PROCESS ? "process" : "container";
}

static const char *storage_text(const struct cordon_plan *p)
{
	switch (p->storage) {
	case PLAN_STORAGE_MEMORY:
		return p->limits_by_watch ? "memory (tmpfs, on top of limits.memory, which is watched)"
					  : "memory (tmpfs, counts against limits.memory)";
	case PLAN_STORAGE_QUOTA:
		return "disk (a directory with a project quota of limits.disk)";
	case PLAN_STORAGE_LOOP:
		return "disk (an image of the size of limits.disk)";
	case PLAN_STORAGE_WATCH:
		break;
	}
	return "disk (a directory that the keeper watches)";
}

struct limit_row {
	const char *name;
	uint64_t value;
	enum { BYTES, RATE, MS, NUMBER, MILLI } unit;
};

static size_t limit_rows(const struct cordon_plan *p, struct limit_row rows[16])
{
	const struct plan_limits *l = &p->limits;
	const struct limit_row all[] = {
		{ "memory", l->memory_bytes, BYTES },
		{ "cpus", l->cpu_milli, MILLI },
		{ "cpu_time", l->cpu_time_ms, MS },
		{ "wall_time", l->wall_time_ms, MS },
		{ "grace", l->grace_ms, MS },
		{ "processes", l->processes, NUMBER },
		{ "open_files", l->open_files, NUMBER },
		{ "file_size", l->file_size_bytes, BYTES },
		{ "output", l->output_bytes, BYTES },
		{ "disk", l->disk_bytes, BYTES },
		{ "inodes", l->inodes, NUMBER },
		{ "tmp", l->tmp_bytes, BYTES },
		{ "disk_read", l->read_bps, RATE },
		{ "disk_write", l->write_bps, RATE },
	};

	memcpy(rows, all, sizeof(all));
	return ARRAY_LEN(all);
}

/* ---- text ---- */

static void text_list(struct str *s, const char *title, const struct strv *list)
{
	if (!list->n)
		return;
	str_addf(s, "%s\n", title);
	for (size_t i = 0; i < list->n; i++)
		str_addf(s, "  %s\n", list->v[i]);
}

static void text_words(struct str *s, const char *title, const struct strv *words)
{
	for (size_t i = 0; i < words->n; i++)
		str_addf(s, "%s%s", i ? " " : title, words->v[i]);
}

static void text_rule(struct str *s, const struct net_rule *rule)
{
	str_addf(s, "  %s", rule->text);
	text_words(s, ", only ", &rule->methods);
	text_words(s, rule->methods.n ? " of " : ", only ", &rule->paths);
	str_addf(s, "%s%s\n", rule->secret ? " with secret " : "", rule->secret ? rule->secret : "");
}

static void text_network(struct str *s, const struct cordon_plan *p)
{
	const struct net_rules *rules = &p->network.config.rules;

	if (!p->network.is_on) {
		str_add(s, p->level == LEVEL_PROCESS ? "network  none (no sockets)\n"
						     : "network  none (loopback of its own)\n");
		return;
	}
	str_addf(s, "network  %s%s; private addresses %s; %" PRIu64 " connections at once\n",
		 rules->mode == NET_OPEN ? "open" : "by name", rules->read_only ? ", only to read" : "",
		 rules->allow_private ? "allowed" : "refused", p->network.config.connections);
	for (size_t i = 0; i < rules->n; i++)
		text_rule(s, &rules->v[i]);
	if (p->network.intercepts)
		str_add(s, "  TLS is looked into where a rule speaks of methods, paths or a secret: the box trusts an "
			   "authority of its own\n");
}

/* Where the engine makes no user namespace, there is one id, inside and outside. */
static void text_user(struct str *s, const struct cordon_plan *p)
{
	str_addf(s, "user     %s ", p->user);
	if (p->engine->layers & LAYER_BIT(USERNS))
		str_addf(s, "(uid %d inside, %s)\n", PLAN_UID,
			 p->as_root ? "an unprivileged id of its own on the host" : "the caller's own id on the host");
	else if (p->as_root)
		str_add(s, "(an unprivileged id of its own, the same inside and on the host)\n");
	else
		str_addf(s, "(uid %u, the caller's own, the same inside and on the host)\n", (unsigned)geteuid());
}

static void text_layer_list(struct str *s, const char *what, unsigned layers)
{
	if (!layers)
		return;
	str_addf(s, "%-8s", what);
	for (int i = 0; i < LAYER_COUNT; i++)
		if (layers & (1u << i))
			str_addf(s, " %s", layer_name((enum layer)i));
	str_add(s, "\n");
}

static void text_layers(struct str *s, const struct cordon_plan *p, const struct engine_finding *engine)
{
	str_addf(s, "level    %s, engine %s%s%s%s%s\n", level_text(p), p->engine->name, engine->version[0] ? " " : "",
		 engine->version, p->engine_platform ? ", platform " : "",
		 p->engine_platform ? p->engine_platform : "");
	text_layer_list(s, "layers", p->layers);
	text_layer_list(s, "required", p->required);
	text_layer_list(s, "without", p->degraded);
	str_addf(s, "syscalls %s%s%s; refused ones are %s\n", p->seccomp.strict ? "strict" : "default",
		 p->seccomp.no_sockets ? ", no sockets" : "", p->seccomp.exec_lock ? ", no new code" : "",
		 p->engine->tells_denials ? "reported" : "not reported: the engine cannot");
	text_user(s, p);
	text_network(s, p);
}

static void text_limits(struct str *s, const struct cordon_plan *p)
{
	struct limit_row rows[16];
	size_t n = limit_rows(p, rows);
	char buf[32];

	str_addf(s, "limits   by %s\n", p->limits_by_watch ? "watch (no cgroup to be had)" : "cgroup");
	for (size_t i = 0; i < n; i++) {
		str_addf(s, "  %-10s ", rows[i].name);
		if (rows[i].unit == BYTES)
			str_add(s, str_size(rows[i].value, buf));
		else if ((rows[i].unit == RATE || rows[i].unit == MILLI) && !rows[i].value)
			str_add(s, "not limited");
		else if (rows[i].unit == RATE)
			str_addf(s, "%s/s", str_size(rows[i].value, buf));
		else if (rows[i].unit == MS)
			str_addf(s, "%.3g s", (double)rows[i].value / 1000);
		else if (rows[i].unit == MILLI)
			str_addf(s, "%.3g", (double)rows[i].value / 1000);
		else
			str_addf(s, "%" PRIu64, rows[i].value);
		str_add_char(s, '\n');
	}
}

static void text_files(struct str *s, const struct cordon_plan *p)
{
	char buf[32];

	str_addf(s, "files    root: %s%s%s%s%s, read-only; private files: %s\n",
		 p->image.name || p->engine_image ? "image " : "",
		 p->engine_image ? p->engine_image
		 : p->image.name ? p->image.name
		 : p->root       ? p->root
				 : "the host's /usr and friends",
		 p->image.name ? " (" : "", p->image.name ? p->image.id : "", p->image.name ? ")" : "",
		 storage_text(p));
	if (p->level == LEVEL_CONTAINER) {
		str_addf(s, "  rw  %s\n  rw  /tmp (%s)\n  rw  /dev/shm\n", p->home, str_size(p->limits.tmp_bytes, buf));
		for (size_t i = 0; i < p->private_count; i++)
			str_addf(s, "  rw  %s (%s)\n", p->privates[i].dest, str_size(p->privates[i].size_bytes, buf));
	} else {
		str_addf(s, "  rw  a private directory below %s\n", p->scratch_dir);
	}
	for (size_t i = 0; i < p->mount_count; i++)
		str_addf(s, "  %s  %s <- %s\n", p->mounts[i].writable ? "rw" : "ro", p->mounts[i].dest,
			 p->mounts[i].source);
	for (size_t i = 0; i < p->protect_count; i++)
		str_addf(s, "  ro  %s/%s (protected)\n", p->mounts[p->protects[i].mount].dest, p->protects[i].below);
	for (size_t i = 0; i < p->in_count; i++)
		str_addf(s, "  in  %s <- %s\n", p->ins[i].box, p->ins[i].host);
	for (size_t i = 0; i < p->out_count; i++)
		str_addf(s, "  out %s -> %s\n", p->outs[i].box, p->outs[i].host);
}

static char *describe_text(const struct cordon_plan *p)
{
	struct engine_finding engine;
	struct str s = { 0 };

	engine_probe_one(p->engine, &engine);
	if (!engine.works)
		str_addf(&s, "not available here: %s\n", engine.why);
	if (engine.remedy[0])
		str_addf(&s, "remedy: %s\n", engine.remedy);
	text_layers(&s, p, &engine);
	text_limits(&s, p);
	text_files(&s, p);
	str_add(&s, "run     ");
	for (size_t i = 0; i < p->argv.n; i++)
		str_addf(&s, " %s", p->argv.v[i]);
	str_addf(&s, "\nin       %s\n", p->workdir);
	text_list(&s, "commands (nothing else becomes a program)", &p->command_paths);
	text_list(&s, "environment", &p->env);
	text_list(&s, "notes", &p->notes);
	return str_take(&s);
}

/* ---- JSON ---- */

static void json_layers(struct json *j, const char *key, unsigned mask)
{
	json_array(j, key);
	for (int i = 0; i < LAYER_COUNT; i++)
		if (mask & (1u << i))
			json_string(j, NULL, layer_name((enum layer)i));
	json_end_array(j);
}

static void json_limits(struct json *j, const struct cordon_plan *p)
{
	static const char *const suffix[] = {
		[BYTES] = "_bytes", [RATE] = "_bytes_per_second", [MS] = "_ms", [NUMBER] = "", [MILLI] = "_thousandths"
	};
	struct limit_row rows[16];
	size_t n = limit_rows(p, rows);

	json_object(j, "limits");
	for (size_t i = 0; i < n; i++) {
		char key[64];

		snprintf(key, sizeof(key), "%s%s", rows[i].name, suffix[rows[i].unit]);
		json_uint(j, key, rows[i].value);
	}
	json_end_object(j);
}

static void json_mounts(struct json *j, const struct cordon_plan *p)
{
	json_array(j, "mounts");
	for (size_t i = 0; i < p->mount_count; i++) {
		json_object(j, NULL);
		json_string(j, "source", p->mounts[i].source);
		json_string(j, "dest", p->mounts[i].dest);
		json_bool(j, "writable", p->mounts[i].writable);
		json_end_object(j);
	}
	json_end_array(j);
	json_array(j, "protected");
	for (size_t i = 0; i < p->protect_count; i++) {
		auto_free char *path = str_printf("%s/%s", p->mounts[p->protects[i].mount].dest, p->protects[i].below);

		json_string(j, NULL, path);
	}
	json_end_array(j);
}

static void json_copies(struct json *j, const char *key, const struct plan_copy *copies, size_t n)
{
	json_array(j, key);
	for (size_t i = 0; i < n; i++) {
		json_object(j, NULL);
		json_string(j, "host", copies[i].host);
		json_string(j, "box", copies[i].box);
		json_end_object(j);
	}
	json_end_array(j);
}

static void json_network(struct json *j, const struct cordon_plan *p)
{
	static const char *const modes[] = { [NET_NONE] = "none", [NET_ALLOW] = "allow", [NET_OPEN] = "open" };
	const struct net_rules *rules = &p->network.config.rules;

	json_object(j, "network");
	json_string(j, "mode", modes[rules->mode]);
	if (p->network.is_on) {
		json_bool(j, "read_only", rules->read_only);
		json_string(j, "private", rules->allow_private ? "allow" : "deny");
		json_bool(j, "intercepts", p->network.intercepts);
		json_uint(j, "connections", p->network.config.connections);
		json_array(j, "allow");
		for (size_t i = 0; i < rules->n; i++)
			json_string(j, NULL, rules->v[i].text);
		json_end_array(j);
	}
	json_end_object(j);
}

static char *describe_json(const struct cordon_plan *p)
{
	struct json j = { .pretty = true };
	struct engine_finding engine;

	engine_probe_one(p->engine, &engine);
	json_object(&j, NULL);
	json_string(&j, "level", level_text(p));
	json_string(&j, "engine", p->engine->name);
	if (p->engine_platform)
		json_string(&j, "engine_platform", p->engine_platform);
	json_string(&j, "engine_version", engine.works ? engine.version : NULL);
	json_string(&j, "unavailable", engine.works ? NULL : engine.why);
	json_layers(&j, "engine_layers", p->engine->layers);
	json_layers(&j, "layers", p->layers);
	json_layers(&j, "required", p->required);
	json_layers(&j, "degraded", p->degraded);
	json_layers(&j, "may_degrade", p->may_degrade);
	json_string(&j, "limit_source", p->limits_by_watch ? "watch" : "cgroup");
	json_limits(&j, p);
	json_string(&j, "syscalls", p->seccomp.strict ? "strict" : "default");
	json_network(&j, p);
	json_string(&j, "root", p->engine_image ? "image" : p->root ? p->root : "host");
	if (p->engine_image) {
		json_object(&j, "image");
		json_string(&j, "name", p->engine_image);
		json_end_object(&j);
	}
	if (p->image.name) {
		json_object(&j, "image");
		json_string(&j, "name", p->image.name);
		json_string(&j, "id", p->image.id);
		json_end_object(&j);
	}
	json_string(&j, "storage", storage_text(p));
	json_mounts(&j, p);
	json_copies(&j, "in", p->ins, p->in_count);
	json_copies(&j, "out", p->outs, p->out_count);
	json_string(&j, "user", p->user);
	json_string(&j, "home", p->home);
	json_string(&j, "workdir", p->workdir);
	json_strings(&j, "argv", (const char *const *)p->argv.v);
	json_strings(&j, "env", (const char *const *)p->env.v);
	json_bool(&j, "commands_locked", p->exec_lock);
	json_strings(&j, "commands", (const char *const *)p->command_paths.v);
	json_bool(&j, "tty", p->tty);
	json_strings(&j, "notes", (const char *const *)p->notes.v);
	json_end_object(&j);
	return json_take(&j);
}

char *cordon_plan_describe(const struct cordon_plan *plan, enum cordon_format format)
{
	return format == CORDON_JSON ? describe_json(plan) : describe_text(plan);
}
