/*
 * Policies as objects: the table's defaults, single settings, layers over layers. Every `cordon run` passes here, so the defaults
 * cost a few microseconds and no file. Runs in the front, with the caller's rights.
 */
#include "policy/policy.h"

#include "policy/build.h"
#include "policy/config.h"
#include "policy/network.h"
#include "policy/unit.h"
#include "policy/value.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int policy_alloc(struct cordon_policy **ret, struct cordon_error *err)
{
	struct cordon_policy *p = calloc(1, sizeof(*p));

	if (!p)
		return fail_memory(err);
	*ret = p;
	return 0;
}

void cordon_policy_free(struct cordon_policy *p)
{
	if (!p)
		return;
	for (int i = 0; i < OPTION_COUNT; i++)
		value_done(&p->values[i]);
	strv_done(&p->requested);
	free(p->name);
	free(p);
}

void policy_free_p(struct cordon_policy **p)
{
	cordon_policy_free(*p);
	*p = NULL;
}

/* The default of one row, without the checks that a user's text needs. */
static int set_default(struct policy_value *v, const struct option *o, struct cordon_error *err)
{
	struct unit_fault fault;

	if (!o->default_text)
		return 0;
	v->set = true;
	v->is_default = true;
	if (type_is_list(o->type))
		return 0;
	if (type_is_text(o->type)) {
		v->text = strdup(o->default_text);
		return v->text ? 0 : fail_memory(err);
	}
	if (o->type == TYPE_ENUM || o->type == TYPE_SWITCH) {
		int word = option_word(o->type == TYPE_ENUM ? o->metavar : "false|true", o->default_text);

		v->num = (uint64_t)word;
		return word >= 0 ? 0 : cordon_fail(err, CORDON_INTERNAL, 0, "the default of %s", o->key);
	}
	if (unit_parse(o->type, o->default_text, &v->num, &fault) < 0)
		return cordon_fail(err, CORDON_INTERNAL, 0, "the default of %s: %s", o->key, fault.message);
	return 0;
}

int policy_alloc_defaults(struct cordon_policy **ret, struct cordon_error *err)
{
	auto_policy struct cordon_policy *p = NULL;

	if (policy_alloc(&p, err) < 0)
		return -1;
	for (int i = 0; i < OPTION_COUNT; i++)
		if (set_default(&p->values[i], &options[i], err) < 0)
			return -1;
	*ret = STEAL(p);
	return 0;
}

int cordon_policy_new(struct cordon_policy **ret_policy, struct cordon_error *err)
{
	const struct config *config = config_get(err);

	if (!config)
		return -1;
	if (config->policy)
		return policy_load(ret_policy, config->policy, config->policy_place, err);
	return policy_alloc_defaults(ret_policy, err);
}

int cordon_policy_new_request(struct cordon_policy **ret_request, struct cordon_error *err)
{
	if (policy_alloc(ret_request, err) < 0)
		return -1;
	(*ret_request)->is_request = true;
	return 0;
}

int policy_copy(struct cordon_policy **ret, const struct cordon_policy *from, struct cordon_error *err)
{
	auto_policy struct cordon_policy *p = NULL;

	if (policy_alloc(&p, err) < 0)
		return -1;
	p->is_request = from->is_request;
	for (int i = 0; i < OPTION_COUNT; i++)
		if (value_copy(&p->values[i], &from->values[i]) < 0)
			return fail_memory(err);
	p->is_narrowed = from->is_narrowed;
	p->name = from->name ? strdup(from->name) : NULL;
	if ((from->name && !p->name) || strv_copy(&p->requested, &from->requested) < 0)
		return fail_memory(err);
	*ret = STEAL(p);
	return 0;
}

/* ---- where things are mounted -------------------------------------------------------------------------- */

static const enum option_id mount_ids[] = { OPT_READ, OPT_WRITE, OPT_TMPFS };

/* The DEST of an entry: the second half of a mount, the first of a tmpfs. */
static const char *entry_dest(enum option_id id, const struct strv *list, size_t i)
{
	return list->v[id == OPT_TMPFS ? i : i + 1];
}

static bool is_mount(enum option_id id)
{
	return options[id].type == TYPE_MOUNTS || options[id].type == TYPE_TMPFS;
}

/* Whether the last entry of `id` stands where another one does. */
static int check_dest(const struct cordon_policy *p, enum option_id id, const struct source *at,
		      struct cordon_error *err)
{
	const struct strv *mine = policy_list(p, id);
	const char *dest = entry_dest(id, mine, mine->n - 2);

	for (size_t k = 0; k < ARRAY_LEN(mount_ids); k++) {
		const struct strv *list = policy_list(p, mount_ids[k]);
		const char *origin = p->values[mount_ids[k]].origin;

		for (size_t i = 0; i + 2 <= list->n; i += 2) {
			if ((list == mine && i == mine->n - 2) || strcmp(entry_dest(mount_ids[k], list, i), dest) != 0)
				continue;
			source_fail(at, err, "something else is mounted at '%.200s'", dest);
			return fail_hint(err, "it is in %s (%s); give one of them another DEST",
					 options[mount_ids[k]].key, origin ? origin : "default");
		}
	}
	return 0;
}

/* Removes what base mounts where the layer mounts something. */
static void drop_dests(struct cordon_policy *base, const struct cordon_policy *layer)
{
	for (size_t k = 0; k < ARRAY_LEN(mount_ids); k++) {
		const struct strv *over = policy_list(layer, mount_ids[k]);

		for (size_t i = 0; i + 2 <= over->n; i += 2)
			for (size_t b = 0; b < ARRAY_LEN(mount_ids); b++) {
				struct strv *under = &base->values[mount_ids[b]].list;

				for (size_t j = under->n; j >= 2; j -= 2)
					if (strcmp(entry_dest(mount_ids[b], under, j - 2),
						   entry_dest(mount_ids[k], over, i)) == 0)
						value_list_remove(under, j - 2, 2);
			}
	}
}

/* ---- setting and merging ------------------------------------------------------------------------------- */

int policy_put(struct cordon_policy *p, enum option_id id, const char *text, const struct source *at,
	       struct cordon_error *err)
{
	struct policy_value *v = &p->values[id];
	size_t before = v->list.n;

	if (!type_is_list(options[id].type))
		return value_set(v, id, text, at, err);
	if (options[id].type == TYPE_RULES || options[id].type == TYPE_SECRETS)
		return network_put(p, id, text, at, err);
	if (value_add(v, id, text, at, err) < 0)
		return -1;
	if (is_mount(id) && v->list.n > before && check_dest(p, id, at, err) < 0) {
		value_list_remove(&v->list, v->list.n - 2, 2);
		return -1;
	}
	return 0;
}

/* "preset build, policy.yaml:3:9": who added entries, in order. */
static int merge_origin(struct policy_value *under, struct policy_value *over, bool had_entries,
			struct cordon_error *err)
{
	char *both = had_entries && under->origin && over->list.n ? str_printf("%s, %s", under->origin, over->origin)
		     : had_entries && under->origin               ? STEAL(under->origin)
								  : STEAL(over->origin);

	if (!both)
		return fail_memory(err);
	free(under->origin);
	under->origin = both;
	under->set = true;
	under->is_default = false;
	return 0;
}

/* The layer's list behind the base's; a variable that both name is the layer's. */
static int merge_list(struct policy_value *under, struct policy_value *over, enum option_id id,
		      struct cordon_error *err)
{
	size_t stride = type_stride(options[id].type);
	bool had_entries = under->list.n;

	for (size_t i = 0; i + stride <= over->list.n; i += stride) {
		bool there = stride == 1 && strv_has(&under->list, over->list.v[i]);

		for (size_t j = under->list.n; type_is_map(options[id].type) && j >= 2; j -= 2)
			if (strcmp(under->list.v[j - 2], over->list.v[i]) == 0)
				value_list_remove(&under->list, j - 2, 2);
		for (size_t k = 0; k < stride && !there; k++)
			if (strv_add(&under->list, over->list.v[i + k]) < 0)
				return fail_memory(err);
	}
	if (under->list.n > (size_t)VALUE_ENTRIES_MAX * stride)
		return cordon_fail(err, CORDON_INVALID, 0, "%s: %s has more than %d entries with what it extends",
				   over->origin, options[id].key, VALUE_ENTRIES_MAX);
	return merge_origin(under, over, had_entries, err);
}

int policy_merge(struct cordon_policy *base, struct cordon_policy *layer, struct cordon_error *err)
{
	drop_dests(base, layer);
	for (int i = 0; i < OPTION_COUNT; i++) {
		struct policy_value *under = &base->values[i], *over = &layer->values[i];

		if (!over->set)
			continue;
		if (type_is_list(options[i].type) && options[i].type != TYPE_STRINGS) {
			if (merge_list(under, over, (enum option_id)i, err) < 0)
				return -1;
			continue;
		}
		value_done(under);
		*under = *over;
		*over = (struct policy_value){ 0 };
	}
	return 0;
}

static int unknown_key(const char *key, struct cordon_error *err)
{
	const char *dot = strchr(key, '.');
	auto_free char *section = dot ? strndup(key, (size_t)(dot - key)) : NULL;
	const char *best = option_suggest(section, dot ? dot + 1 : key);

	cordon_fail(err, CORDON_INVALID, 0, "no such key: '%.100s'", key);
	fail_step(err, "policy");
	return best ? fail_hint(err, "did you mean %s?", best) : fail_hint(err, "the policy schema lists every key");
}

int cordon_policy_set_from(struct cordon_policy *policy, const char *key, const char *value, const char *origin,
			   struct cordon_error *err)
{
	int id = option_find(key);
	auto_free char *dir = NULL;
	struct source at = { .origin = origin, .key = key };

	if (id < 0)
		return unknown_key(key, err);
	if (options[id].type == TYPE_MOUNTS || options[id].type == TYPE_HOSTPATHS || options[id].type == TYPE_ROOT ||
	    id == OPT_SECRETS)
		dir = getcwd(NULL, 0); /* NULL: relative paths are refused */
	at.dir = dir;
	if (policy_put(policy, (enum option_id)id, value, &at, err) < 0)
		return -1;
	if (options[id].type == TYPE_RULES || id == OPT_SECRETS)
		return network_imply_allow(policy, &at, err);
	return 0;
}

int cordon_policy_set(struct cordon_policy *policy, const char *key, const char *value, struct cordon_error *err)
{
	return cordon_policy_set_from(policy, key, value, NULL, err);
}
