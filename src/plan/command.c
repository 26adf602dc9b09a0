/*
 * What is executed. Commands are looked up in the box's root, not in the caller's PATH: what the caller has in its home, the
 * box never sees. Runs in the front; changes nothing.
 */
#include "plan/command.h"

#include "base/fd.h"
#include "base/json.h"
#include "base/path.h"
#include "plan/elf.h"
#include "plan/engine.h"
#include "policy/config.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- looking up ---- */

static char *find_at(const struct cordon_plan *plan, const char *path)
{
	auto_close int fd = -1;
	char real[4096];
	const char *below;
	struct stat st;

	if (plan->root_fd >= 0)
		fd = fd_openat2(plan->root_fd, path, O_PATH, 0, RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS);
	else
		fd = open(path, O_PATH | O_CLOEXEC);
	if (fd < 0) {
		if (plan->root_fd >= 0)
			errno = -fd;
		return NULL;
	}
	if (fstat(fd, &st) < 0 || fd_real_path(fd, real, sizeof(real)) < 0)
		return NULL;
	if (!S_ISREG(st.st_mode) || !(st.st_mode & 0111)) {
		errno = EACCES;
		return NULL;
	}
	below = plan->root ? path_below(real, plan->root) : real + 1;
	return below ? str_printf("/%s", below) : NULL;
}

char *plan_find_command(const struct cordon_plan *plan, const char *name)
{
	const char *at = plan->path;
	int seen = ENOENT;

	if (strchr(name, '/')) {
		auto_free char *clean = path_clean(plan->workdir, name);

		return clean ? find_at(plan, clean) : NULL;
	}
	while (*at) {
		size_t n = strcspn(at, ":");
		auto_free char *path = str_printf("%.*s/%s", (int)n, at, name);
		char *real = path ? find_at(plan, path) : NULL;

		if (real)
			return real;
		if (errno == EACCES)
			seen = EACCES;
		at += n + (at[n] == ':');
	}
	errno = seen;
	return NULL;
}

/* ---- languages ---- */

#define COMMAND(...)              \
	(const char *const[])     \
	{                         \
		__VA_ARGS__, NULL \
	}
static const struct language languages[] = {
	{ "python", "py", COMMAND("python3", "{file}"), NULL },
	{ "bash", "sh", COMMAND("bash", "{file}"), NULL },
	{ "sh", "sh", COMMAND("sh", "{file}"), NULL },
	{ "node", "js", COMMAND("node", "{file}"), NULL },
	{ "perl", "pl", COMMAND("perl", "{file}"), NULL },
	{ "ruby", "rb", COMMAND("ruby", "{file}"), NULL },
	{ "c", "c",
	  /* Whatever its name ends in, or nothing: to cc that would be a language of its own, or the linker's. */
	  COMMAND("sh", "-c",
		  "cc -O1 -o \"$1.out\" -x c \"$1\" -x none -lm || exit; file=$1.out; shift; exec \"$file\" \"$@\"",
		  "cordon-c", "{file}"),
	  "cc" },
};

const struct language *language_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(languages); i++)
		if (strcmp(languages[i].name, name) == 0)
			return &languages[i];
	return NULL;
}

char *cordon_languages(enum cordon_format format)
{
	struct json j = { .pretty = true };

	if (format == CORDON_JSON)
		json_array(&j, NULL);
	for (size_t i = 0; i < ARRAY_LEN(languages); i++) {
		if (format == CORDON_JSON) {
			json_object(&j, NULL);
			json_string(&j, "name", languages[i].name);
			json_strings(&j, "command", languages[i].command);
			json_end_object(&j);
		} else {
			str_addf(&j.out, "%-8s %s\n", languages[i].name,
				 languages[i].needs ? languages[i].needs : languages[i].command[0]);
		}
	}
	if (format == CORDON_JSON)
		json_end_array(&j);
	return json_take(&j);
}

struct found_language {
	const char *name, *extension;
	const char *const *command;
	const char *needs;
};

/* The configuration's languages come before the built-in ones. */
static int find_language(const char *name, struct found_language *ret, struct cordon_error *err)
{
	const struct config *config = config_get(err);
	const struct language *l;
	auto_str struct str known = { 0 };

	if (!config)
		return -1;
	for (size_t i = 0; i < config->language_count; i++)
		if (strcmp(config->languages[i].name, name) == 0) {
			*ret = (struct found_language){ config->languages[i].name, config->languages[i].extension,
							(const char *const *)config->languages[i].command.v, NULL };
			return 0;
		}
	l = language_find(name);
	if (l) {
		*ret = (struct found_language){ l->name, l->extension, l->command, l->needs };
		return 0;
	}
	for (size_t i = 0; i < ARRAY_LEN(languages); i++)
		str_addf(&known, "%s%s", i ? ", " : "", languages[i].name);
	cordon_fail(err, CORDON_NOT_FOUND, 0, "no language '%s'", name);
	return fail_hint(err, "known languages: %s; more can be declared in the configuration",
			 known.data ? known.data : "");
}

static int place_code(struct cordon_plan *plan, const struct cordon_job *job, const struct found_language *l,
		      struct cordon_error *err)
{
	const char *name = job->code_name ? path_name(job->code_name) : NULL;

	plan->code.path = name && *name ? str_printf("%s/%s", plan->home, name)
					: str_printf("%s/main.%s", plan->home, l->extension ? l->extension : "txt");
	plan->code.data = malloc(job->code_len + 1);
	if (!plan->code.path || !plan->code.data)
		return fail_memory(err);
	if (job->code_len)
		memcpy(plan->code.data, job->code, job->code_len);
	plan->code.data[job->code_len] = '\0';
	plan->code.len = job->code_len;
	return 0;
}

static int need_command(const struct cordon_plan *plan, const char *language, const char *command,
			struct cordon_error *err)
{
	auto_free char *found = plan_find_command(plan, command);

	if (found)
		return 0;
	cordon_fail(err, CORDON_NOT_FOUND, 0, "language '%s' needs '%s', which the box does not have", language,
		    command);
	return fail_hint(err, "install '%s' on this host (under /usr), or use files.root with a root that has it",
			 command);
}

static int language_argv(struct cordon_plan *plan, const struct cordon_job *job, struct cordon_error *err)
{
	struct found_language l = { 0 };

	if (find_language(job->language, &l, err) < 0 || place_code(plan, job, &l, err) < 0)
		return -1;
	if (plan->engine->makes_root && (need_command(plan, l.name, l.command[0], err) < 0 ||
					 (l.needs && need_command(plan, l.name, l.needs, err) < 0)))
		return -1;
	for (const char *const *a = l.command; *a; a++)
		if (strv_add(&plan->argv, strcmp(*a, "{file}") == 0 ? plan->code.path : *a) < 0)
			return fail_memory(err);
	return 0;
}

int plan_resolve_argv(struct cordon_plan *plan, const struct cordon_job *job, struct cordon_error *err)
{
	if (job->language && language_argv(plan, job, err) < 0)
		return -1;
	for (const char *const *a = job->argv; a && *a; a++)
		if (strv_add(&plan->argv, *a) < 0)
			return fail_memory(err);
	if (plan->lives && !plan->argv.n)
		return 0;
	if (!plan->argv.n || !plan->argv.v[0][0])
		return cordon_fail(err, CORDON_INVALID, 0, "nothing to run: the command is empty");
	return 0;
}

/* ---- environment ---- */

static int set_env(struct cordon_plan *plan, const char *name, size_t name_len, const char *value,
		   struct cordon_error *err)
{
	char *entry = str_printf("%.*s=%s", (int)name_len, name, value);

	if (!entry)
		return fail_memory(err);
	for (size_t i = 0; i < plan->env.n; i++)
		if (strncmp(plan->env.v[i], entry, name_len + 1) == 0) {
			free(plan->env.v[i]);
			plan->env.v[i] = entry;
			return 0;
		}
	return strv_add_take(&plan->env, entry) < 0 ? fail_memory(err) : 0;
}

static int set_env_name(struct cordon_plan *plan, const char *name, const char *value, struct cordon_error *err)
{
	return set_env(plan, name, strlen(name), value, err);
}

/* By the same rules as what a request asks for. */
static int check_callers(const struct cordon_policy *policy, const char *entry, size_t name_len,
			 struct cordon_error *err)
{
	auto_free char *name = strndup(entry, name_len);

	return name ? policy_check_variable(policy, name, entry + name_len + 1, err) : fail_memory(err);
}

/* What an image says lies under everything that the policy and the caller say, and never over what is the box's own. */
static int image_env(struct cordon_plan *plan, struct cordon_error *err)
{
	static const char *const own[] = { "PATH=", "HOME=", "TERM=" };

	for (size_t i = 0; i < plan->image.env.n; i++) {
		const char *entry = plan->image.env.v[i], *eq = strchr(entry, '=');
		bool is_own = !eq;

		for (size_t k = 0; k < ARRAY_LEN(own); k++)
			is_own = is_own || str_starts(entry, own[k]);
		if (!is_own && set_env(plan, entry, (size_t)(eq - entry), eq + 1, err) < 0)
			return -1;
	}
	return 0;
}

int plan_resolve_env(struct cordon_plan *plan, const struct cordon_policy *policy, const struct cordon_job *job,
		     struct cordon_error *err)
{
	const struct strv *env = policy_list(policy, OPT_ENV), *pass = policy_list(policy, OPT_PASS_ENV);
	const char *term = plan->tty ? secure_getenv("TERM") : NULL;
	bool is_known = plan->engine->makes_root; /* else init puts these, and the image's own, under what follows */

	if ((is_known && set_env_name(plan, "PATH", plan->path, err) < 0) ||
	    set_env_name(plan, "HOME", plan->home, err) < 0 ||
	    (is_known && set_env_name(plan, "LANG", "C.UTF-8", err) < 0) ||
	    set_env_name(plan, "TERM", term ? term : "dumb", err) < 0 || image_env(plan, err) < 0)
		return -1;
	for (size_t i = 0; i < pass->n; i++) {
		const char *value = getenv(pass->v[i]);

		if (value && set_env_name(plan, pass->v[i], value, err) < 0)
			return -1;
	}
	for (size_t i = 0; i + 1 < env->n; i += 2)
		if (set_env_name(plan, env->v[i], env->v[i + 1], err) < 0)
			return -1;
	return plan_add_env(plan, policy, job->env, err);
}

int plan_add_env(struct cordon_plan *plan, const struct cordon_policy *policy, const char *const *env,
		 struct cordon_error *err)
{
	for (const char *const *e = env; e && *e; e++) {
		const char *eq = strchr(*e, '=');

		if (!eq || eq == *e)
			return cordon_fail(err, CORDON_INVALID, 0, "environment entry '%s' is not NAME=VALUE", *e);
		if (policy->is_narrowed && check_callers(policy, *e, (size_t)(eq - *e), err) < 0)
			return -1;
		if (set_env(plan, *e, (size_t)(eq - *e), eq + 1, err) < 0)
			return -1;
	}
	return 0;
}

/* ---- the command allowlist ---- */

static int open_in_root(const struct cordon_plan *plan, const char *path)
{
	if (plan->root_fd >= 0)
		return fd_openat2(plan->root_fd, path, O_RDONLY, 0, RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS);
	return open(path, O_RDONLY | O_CLOEXEC);
}

/* A dynamic program needs its loader; a script needs its interpreter, which must be listed itself. */
static int command_needs(struct cordon_plan *plan, const char *name, const char *path, struct cordon_error *err)
{
	auto_close int fd = open_in_root(plan, path);
	auto_free char *real = NULL;
	char needs[256];

	switch (fd < 0 ? PROGRAM_STATIC : program_needs(fd, needs, sizeof(needs))) {
	case PROGRAM_DYNAMIC:
		real = find_at(plan, needs);
		if (!real || strv_has(&plan->loader_paths, real))
			return 0;
		return strv_add_take(&plan->loader_paths, STEAL(real)) < 0 ? fail_memory(err) : 0;
	case PROGRAM_SCRIPT:
		real = find_at(plan, needs);
		if (real && strv_has(&plan->command_paths, real))
			return 0;
		cordon_fail(err, CORDON_INVALID, 0,
			    "process.commands: '%s' is a script for '%s', which is not listed before it", name, needs);
		return fail_hint(err, "list the interpreter first; a listed interpreter can run code of its own");
	case PROGRAM_STATIC:
	case PROGRAM_OTHER:
		break;
	}
	return 0;
}

/* The payload must not reach the file under a name that can be written: the name it is listed by is made read-only, others are not. */
static int check_command_names(const struct cordon_plan *plan, const char *name, const char *path,
			       struct cordon_error *err)
{
	auto_close int fd = open_in_root(plan, path);
	char real[PATH_MAX];
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0 || fd_real_path(fd, real, sizeof(real)) < 0)
		return 0; /* execve will say so */
	for (size_t i = 0; i < plan->mount_count; i++) {
		const struct plan_mount *m = &plan->mounts[i];
		size_t len = strlen(m->source);
		auto_free char *inside = NULL;

		if (!m->writable || !path_is_within(real, m->source))
			continue;
		inside = str_printf("%s%s", m->dest, real + len);
		if (!inside)
			return fail_memory(err);
		if (st.st_nlink == 1 && strcmp(inside, path) == 0)
			continue;
		cordon_fail(err, CORDON_INVALID, 0, "process.commands: '%s' can be written under another name in '%s'",
			    name, m->dest);
		return fail_hint(
			err,
			"mount its directory once and give the file one name, or list a program that lies elsewhere");
	}
	return 0;
}

int plan_resolve_commands(struct cordon_plan *plan, const struct cordon_policy *policy, struct cordon_error *err)
{
	const struct strv *names = policy_list(policy, OPT_COMMANDS);

	if (!policy_has(policy, OPT_COMMANDS))
		return 0;
	plan->exec_lock = true;
	if (!plan->engine->makes_root)
		return 0; /* to be refused: plan_check_engine() */
	for (size_t i = 0; i < names->n; i++) {
		char *path = plan_find_command(plan, names->v[i]);

		if (!path) {
			cordon_fail(err, CORDON_NOT_FOUND, 0, "process.commands: '%s' is not in the box", names->v[i]);
			return fail_hint(err, "it is looked for in %s of the box's root", plan->path);
		}
		if (strv_add(&plan->commands, names->v[i]) < 0 || strv_add_take(&plan->command_paths, path) < 0)
			return fail_memory(err);
		if (check_command_names(plan, names->v[i], path, err) < 0 ||
		    command_needs(plan, names->v[i], path, err) < 0)
			return -1;
	}
	return plan->lives ? 0 : plan_check_first(plan, err);
}

int plan_check_first(const struct cordon_plan *plan, struct cordon_error *err)
{
	auto_str struct str list = { 0 };
	auto_free char *first = NULL;

	if (!plan->exec_lock || !plan->argv.n)
		return 0;
	for (size_t i = 0; i < plan->commands.n; i++)
		str_addf(&list, "%s%s", i ? ", " : "", plan->commands.v[i]);
	first = plan_find_command(plan, plan->argv.v[0]);
	if (first && strv_has(&plan->command_paths, first))
		return 0;
	if (!first && errno == ENOENT && !strchr(plan->argv.v[0], '/'))
		return cordon_fail(err, CORDON_NOT_FOUND, 0, "'%s' is not in the box", plan->argv.v[0]);
	cordon_fail(err, CORDON_DENIED, 0, "'%s' is not among the allowed commands", plan->argv.v[0]);
	return fail_hint(err, "process.commands allows: %s", list.data ? list.data : "");
}

/* ---- the courtesy check ---- */

/* A shell's line stands behind all of its options, of which -o and -O have an argument. */
static const char *line_behind_options(const struct strv *argv)
{
	bool has_c = false;

	for (size_t i = 1; i < argv->n; i++) {
		const char *a = argv->v[i];

		if ((a[0] != '-' && a[0] != '+') || !a[1])
			return has_c ? a : NULL;
		if (strcmp(a, "--") == 0)
			return has_c && i + 1 < argv->n ? argv->v[i + 1] : NULL;
		has_c = has_c || (a[0] == '-' && a[1] != '-' && strchr(a, 'c'));
		i += a[1] != '-' && (a[strlen(a) - 1] == 'o' || a[strlen(a) - 1] == 'O');
	}
	return NULL;
}

/* argv is a shell with -c: returns its line, or NULL. */
static const char *shell_line(const struct cordon_plan *plan)
{
	static const char *const shells[] = { "sh", "bash", "dash", "zsh", "ksh" };
	const char *name = path_name(plan->argv.v[0]);

	for (size_t i = 0; i < ARRAY_LEN(shells); i++)
		if (strcmp(name, shells[i]) == 0)
			return line_behind_options(&plan->argv);
	return NULL;
}

/* `code sh -e LINE` is the same as `run -- sh -c LINE`. A whole script is its author's business. */
static const char *code_line(const struct cordon_plan *plan)
{
	const char *name = path_name(plan->argv.v[0]), *end = strchr(plan->code.data, '\n');
	bool is_shell = strcmp(name, "sh") == 0 || strcmp(name, "bash") == 0;

	return is_shell && plan->argv.n > 1 && strcmp(plan->argv.v[1], plan->code.path) == 0 && (!end || !end[1])
		       ? plan->code.data
		       : NULL;
}

int plan_check_patterns(const struct cordon_plan *plan, const struct cordon_policy *policy, struct cordon_error *err)
{
	const char *line = !plan->argv.n     ? NULL
			   : plan->code.path ? code_line(plan)
					     : shell_line(plan),
		   *pattern = line ? refuse_match(policy, line) : NULL;

	if (!pattern)
		return 0;
	cordon_fail(err, CORDON_DENIED, 0, "the shell line matches '%s', which process.refuse_patterns refuses",
		    pattern);
	return fail_hint(err, "%s; if it is meant, set process.refuse_patterns: []", refuse_reason(pattern));
}
