/*
 * Policies from presets and files, with what they extend. A chain is at most LOAD_DEPTH_MAX long, and nothing stands in it
 * twice. The base comes first, each extending file over it; both are the operator's, so a file may widen its base. Relative
 * paths start at the file's directory; in a built-in preset at the working directory, so that it can speak of "the project".
 * Runs in the front, with the caller's rights.
 */
#include "base/fd.h"
#include "base/path.h"
#include "base/yaml.h"
#include "policy/build.h"
#include "policy/config.h"
#include "policy/file.h"
#include "policy/network.h"
#include "policy/preset.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LOAD_DEPTH_MAX = 8 };

struct loading {
	struct cordon_policy *policy; /* grows from the base upwards */
	struct strv visited;          /* "preset NAME" and "DEV:INODE" */
};

/* One member of the chain. */
struct member {
	char *name; /* in messages: the path, or "preset NAME" */
	char *dir;  /* where its relative paths start; NULL: nowhere */
	char *text;
	size_t len;
	bool is_preset;
};

static void member_done(struct member *m)
{
	free(m->name);
	free(m->dir);
	free(m->text);
}

static bool is_path(const char *name)
{
	return strchr(name, '/') || str_ends(name, ".yaml") || str_ends(name, ".yml") || str_ends(name, ".json");
}

static int visit(struct loading *l, const char *identity, const char *name, const char *where, struct cordon_error *err)
{
	if (strv_has(&l->visited, identity)) {
		cordon_fail(err, CORDON_INVALID, 0, "%s'%.200s' extends itself", where, name);
		return fail_hint(err, "remove one 'extends' of the circle");
	}
	if (l->visited.n >= LOAD_DEPTH_MAX) {
		cordon_fail(err, CORDON_INVALID, 0, "%smore than %d policies extend one another", where,
			    LOAD_DEPTH_MAX);
		return fail_hint(err, "write some of them into one file");
	}
	return strv_add(&l->visited, identity) < 0 ? fail_memory(err) : 0;
}

static int open_file(struct loading *l, struct member *m, const char *path, const char *where, struct cordon_error *err)
{
	char identity[64];
	struct stat st;
	ssize_t len;

	if (stat(path, &st) < 0) {
		cordon_fail(err, errno == ENOENT || errno == ENOTDIR ? CORDON_NOT_FOUND : CORDON_SYSTEM, errno,
			    "%spolicy '%.300s'", where, path);
		return fail_hint(err, "is the path right? a name without a slash and ending is a preset");
	}
	snprintf(identity, sizeof(identity), "%" PRIu64 ":%" PRIu64, (uint64_t)st.st_dev, (uint64_t)st.st_ino);
	if (visit(l, identity, path, where, err) < 0)
		return -1;
	len = fd_load_at(AT_FDCWD, path, YAML_BYTES_MAX, &m->text);
	if (len == -EFBIG)
		return cordon_fail(err, CORDON_INVALID, 0, "%s'%.300s' is larger than 1 MiB", where, path);
	if (len < 0)
		return cordon_fail(err, CORDON_SYSTEM, (int)-len, "%scannot read '%.300s'", where, path);
	m->len = (size_t)len;
	m->name = strdup(path);
	m->dir = source_dir(path);
	return m->name ? 0 : fail_memory(err);
}

static int open_built_in(struct loading *l, struct member *m, const char *name, const char *where,
			 struct cordon_error *err)
{
	const struct preset *preset = preset_find(name);

	m->name = str_printf("preset %s", name);
	if (!m->name)
		return fail_memory(err);
	if (visit(l, m->name, name, where, err) < 0)
		return -1;
	m->is_preset = true;
	m->dir = getcwd(NULL, 0); /* it has no directory of its own; NULL: relative paths are refused */
	m->text = strdup(preset->text);
	m->len = strlen(preset->text);
	return m->text ? 0 : fail_memory(err);
}

/* A preset of the installation goes before the built-in one of the same name, and may extend that. */
static int open_preset(struct loading *l, struct member *m, const char *name, const char *where,
		       struct cordon_error *err)
{
	const struct config *config = config_get(err);
	auto_free char *path = NULL, *identity = str_printf("installed %s", name);

	if (!config)
		return -1;
	if (!identity)
		return fail_memory(err);
	if (!preset_name_is_valid(name))
		return preset_fail(where, name, config->preset_dir, err);
	if (config->preset_dir && !strv_has(&l->visited, identity)) {
		path = str_printf("%s/%s.yaml", config->preset_dir, name);
		if (!path)
			return fail_memory(err);
		if (access(path, F_OK) == 0)
			return strv_add(&l->visited, identity) < 0 ? fail_memory(err)
								   : open_file(l, m, path, where, err);
	}
	if (!preset_find(name))
		return preset_fail(where, name, config->preset_dir, err);
	return open_built_in(l, m, name, where, err);
}

static int load_member(struct loading *l, struct member *m, struct cordon_error *err);

/* What `m` extends, loaded into the policy before it. */
static int load_base(struct loading *l, const struct member *m, const struct yaml_node *extends,
		     struct cordon_error *err)
{
	auto_free char *where = str_printf("%s:%u:%u: ", m->name, extends->line, extends->column), *path = NULL;
	struct member base = { 0 };
	int status;

	if (!where)
		return fail_memory(err);
	if (!is_path(extends->text)) {
		status = open_preset(l, &base, extends->text, where, err);
	} else if (extends->text[0] != '/' && !m->dir) {
		cordon_fail(err, CORDON_INVALID, 0, "%sextends: '%.200s' is not an absolute path", where,
			    extends->text);
		status = fail_hint(err, "there is no directory here that it could start at");
	} else {
		const char *text = extends->text;
		bool absolute = text[0] == '/';

		while (str_starts(text, "./"))
			text += 1 + strspn(text + 1, "/");
		path = absolute ? strdup(text) : str_printf("%s/%s", m->dir, text);
		status = path ? open_file(l, &base, path, where, err) : fail_memory(err);
	}
	if (status == 0)
		status = load_member(l, &base, err);
	member_done(&base);
	return status;
}

static int load_member(struct loading *l, struct member *m, struct cordon_error *err)
{
	struct source base = { .file = m->name, .origin = m->is_preset ? m->name : NULL, .dir = m->dir };
	auto_policy struct cordon_policy *layer = NULL;
	struct yaml_node *root = NULL;
	struct file_head head;
	int status = -1;

	if (yaml_parse(&root, m->name, m->text, m->len, err) < 0)
		return -1;
	if (policy_alloc(&layer, err) == 0 && file_read(layer, &head, root, &base, err) == 0 &&
	    (!head.extends || load_base(l, m, head.extends, err) == 0))
		status = policy_merge(l->policy, layer, err);
	yaml_free(root);
	return status;
}

/* Loads the chain that begins with m; uses m up. `opened` is the status of opening it. */
static int load_chain(struct cordon_policy **ret, struct loading *l, struct member *m, int opened,
		      struct cordon_error *err)
{
	int status = opened;

	if (status == 0)
		status = policy_alloc_defaults(&l->policy, err);
	if (status == 0) {
		l->policy->name = m->name ? strdup(m->is_preset ? m->name + strlen("preset ") : m->name) : NULL;
		status = l->policy->name ? load_member(l, m, err) : fail_memory(err);
	}
	if (status == 0)
		status = network_check(l->policy, err);
	if (status == 0)
		*ret = STEAL(l->policy);
	else
		fail_step(err, "policy");
	cordon_policy_free(l->policy);
	strv_done(&l->visited);
	member_done(m);
	return status;
}

int policy_load(struct cordon_policy **ret, const char *name_or_path, const char *where, struct cordon_error *err)
{
	struct loading l = { 0 };
	struct member m = { 0 };
	int opened;

	if (is_path(name_or_path))
		opened = open_file(&l, &m, name_or_path, where, err);
	else
		opened = open_preset(&l, &m, name_or_path, where, err);
	return load_chain(ret, &l, &m, opened, err);
}

int cordon_policy_load(struct cordon_policy **ret_policy, const char *name_or_path, struct cordon_error *err)
{
	return policy_load(ret_policy, name_or_path, "", err);
}

int cordon_policy_parse(struct cordon_policy **ret_policy, const char *name, const char *dir, const char *text,
			size_t len, struct cordon_error *err)
{
	struct loading l = { 0 };
	struct member m = { 0 };
	int opened = 0;

	if (dir && dir[0] != '/')
		return cordon_fail(err, CORDON_INVALID, 0, "'%.200s' is not an absolute directory", dir);
	m.name = strdup(name);
	m.dir = dir ? strdup(dir) : NULL;
	m.text = malloc(len + 1);
	if (!m.name || (dir && !m.dir) || !m.text) {
		opened = fail_memory(err);
	} else {
		if (len)
			memcpy(m.text, text, len);
		m.text[len] = '\0';
		m.len = len;
	}
	return load_chain(ret_policy, &l, &m, opened, err);
}
