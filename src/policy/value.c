/* One value of a policy: see value.h. A failure leaves the value as it was. Runs in the front, with the caller's rights. */
#include "policy/value.h"

#include "policy/text.h"
#include "policy/unit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void value_done(struct policy_value *v)
{
	free(v->text);
	free(v->origin);
	strv_done(&v->list);
	*v = (struct policy_value){ 0 };
}

int value_copy(struct policy_value *to, const struct policy_value *from)
{
	*to = (struct policy_value){ .set = from->set, .is_default = from->is_default, .num = from->num };
	if (from->text && !(to->text = strdup(from->text)))
		return -ENOMEM;
	if (from->origin && !(to->origin = strdup(from->origin)))
		return -ENOMEM;
	return strv_copy(&to->list, &from->list);
}

void value_list_remove(struct strv *list, size_t i, size_t stride)
{
	for (size_t k = i; k < i + stride; k++)
		free(list->v[k]);
	memmove(list->v + i, list->v + i + stride, (list->n - i - stride + 1) * sizeof(*list->v));
	list->n -= stride;
}

/* Somebody chose it: now it has an origin. A list that grows keeps the ones before. */
static int chosen(struct policy_value *v, bool grows, const struct source *at, struct cordon_error *err)
{
	auto_free char *origin = source_origin(at);

	if (origin && grows && v->set && v->origin && !strstr(v->origin, origin) && strlen(v->origin) < 400) {
		char *both = str_printf("%s, %s", v->origin, origin);

		free(origin);
		origin = both;
	} else if (origin && grows && v->set && v->origin) {
		free(origin);
		origin = strdup(v->origin);
	}
	if (!origin)
		return fail_memory(err);
	free(v->origin);
	v->origin = STEAL(origin);
	v->set = true;
	v->is_default = false;
	return 0;
}

/* ---- scalars ------------------------------------------------------------------------------------------ */

static int wrong_word(const struct option *o, const char *text, const struct source *at, struct cordon_error *err)
{
	auto_str struct str shown = { 0 };
	struct suggestion s = { .word = text };
	char words[8][24];

	for (size_t n = 0; n < ARRAY_LEN(words) && *option_word_at(o->metavar, n, words[n], sizeof(words[n])); n++) {
		suggest_offer(&s, words[n]);
		str_addf(&shown, "%s%s", n ? ", " : "", words[n]);
	}
	if (shown.failed)
		return fail_memory(err);
	source_fail(at, err, "'%.60s' is not one of %s", text, shown.data);
	return s.best ? fail_hint(err, "did you mean %s?", s.best) : fail_hint(err, "write one of %s", shown.data);
}

static int parse_enum(enum option_id id, const char *text, uint64_t *ret, const struct source *at,
		      struct cordon_error *err)
{
	const struct option *o = &options[id];
	int word = option_word(o->metavar, text);
	struct source place = *at;

	place.key = NULL; /* the message names it */
	if (word < 0)
		return wrong_word(o, text, at, err);
	if (id == OPT_LEVEL && word >= LEVEL_VM) {
		source_fail_code(&place, CORDON_UNAVAILABLE, err, "level '%s' is not built in", text);
		return fail_hint(err, "'container' and 'process' are");
	}
	*ret = (uint64_t)word;
	return 0;
}

static int parse_switch(const char *text, uint64_t *ret, const struct source *at, struct cordon_error *err)
{
	if (strcmp(text, "true") != 0 && strcmp(text, "false") != 0) {
		source_fail(at, err, "'%.60s' is neither true nor false", text);
		return fail_hint(err, "write true or false");
	}
	*ret = text[0] == 't';
	return 0;
}

static int parse_unit(const struct option *o, const char *text, uint64_t *ret, const struct source *at,
		      struct cordon_error *err)
{
	struct unit_fault fault = { 0 };
	char least[32], most[32];
	uint64_t num;

	if (unit_parse(o->type, text, &num, &fault) < 0) {
		source_fail(at, err, "%s", fault.message);
		return fail_hint(err, "%s", fault.hint);
	}
	if (num < o->min || num > o->max) {
		source_fail(at, err, "'%.60s' is too %s", text, num < o->min ? "small" : "large");
		return fail_hint(err, "from %s to %s", unit_text(o->type, o->min, least, sizeof(least)),
				 unit_text(o->type, o->max, most, sizeof(most)));
	}
	*ret = num;
	return 0;
}

static int parse_text(enum option_id id, const char *text, char **ret, const struct source *at,
		      struct cordon_error *err)
{
	if (options[id].type == TYPE_ROOT)
		return text_root(ret, text, at, err);
	if (options[id].type == TYPE_PATH)
		return text_box_path(ret, text, at, err);
	if (text_check_word(id, text, at, err) < 0)
		return -1;
	*ret = strdup(text);
	return *ret ? 0 : fail_memory(err);
}

int value_set(struct policy_value *v, enum option_id id, const char *text, const struct source *at,
	      struct cordon_error *err)
{
	const struct option *o = &options[id];
	auto_free char *copy = NULL;
	uint64_t num = 0;
	int status;

	if (type_is_text(o->type))
		status = parse_text(id, text, &copy, at, err);
	else if (o->type == TYPE_ENUM)
		status = parse_enum(id, text, &num, at, err);
	else if (o->type == TYPE_SWITCH)
		status = parse_switch(text, &num, at, err);
	else
		status = parse_unit(o, text, &num, at, err);
	if (status < 0 || chosen(v, false, at, err) < 0)
		return -1;
	v->num = num;
	free(v->text);
	v->text = STEAL(copy);
	return 0;
}

/* ---- lists -------------------------------------------------------------------------------------------- */

static bool list_has(const struct strv *list, char *const entry[2], size_t stride)
{
	for (size_t i = 0; i + stride <= list->n; i += stride)
		if (strcmp(list->v[i], entry[0]) == 0 && (stride == 1 || strcmp(list->v[i + 1], entry[1]) == 0))
			return true;
	return false;
}

/* Takes the strings of the entry, also on failure. */
static int list_push(struct policy_value *v, size_t stride, char *entry[2], const struct source *at,
		     struct cordon_error *err)
{
	auto_free char *first = entry[0], *second = entry[1];

	if (!first || (stride == 2 && !second))
		return fail_memory(err);
	if (v->list.n >= (size_t)VALUE_ENTRIES_MAX * stride)
		return source_fail(at, err, "more than %d entries", VALUE_ENTRIES_MAX);
	if (chosen(v, true, at, err) < 0)
		return -1;
	if (list_has(&v->list, entry, stride))
		return 0;
	if (strv_add_take(&v->list, STEAL(first)) < 0)
		return fail_memory(err);
	if (stride == 2 && strv_add_take(&v->list, STEAL(second)) < 0) {
		value_list_remove(&v->list, v->list.n - 1, 1);
		return fail_memory(err);
	}
	return 0;
}

int value_push(struct policy_value *v, enum option_id id, char *first, char *second, const struct source *at,
	       struct cordon_error *err)
{
	char *entry[2] = { first, second };

	return list_push(v, type_stride(options[id].type), entry, at, err);
}

int value_add_pair(struct policy_value *v, enum option_id id, const char *name, const char *text,
		   const struct source *at, struct cordon_error *err)
{
	char *entry[2];

	if (id == OPT_ENV && text_check_env(name, at, err) < 0)
		return -1;
	for (size_t i = 0; i + 2 <= v->list.n; i += 2)
		if (strcmp(v->list.v[i], name) == 0) {
			value_list_remove(&v->list, i, 2);
			break;
		}
	entry[0] = strdup(name);
	entry[1] = strdup(text);
	return list_push(v, 2, entry, at, err);
}

static int add_assignment(struct policy_value *v, enum option_id id, const char *text, const struct source *at,
			  struct cordon_error *err)
{
	const char *equals = strchr(text, '=');
	auto_free char *name = equals ? strndup(text, (size_t)(equals - text)) : NULL;

	if (!equals) {
		source_fail(at, err, "'%.100s' is not NAME=VALUE", text);
		return fail_hint(err, "what is to be passed on from the caller's environment is process.pass_env");
	}
	if (!name)
		return fail_memory(err);
	return value_add_pair(v, id, name, equals + 1, at, err);
}

int value_add(struct policy_value *v, enum option_id id, const char *text, const struct source *at,
	      struct cordon_error *err)
{
	enum option_type type = options[id].type;
	char *entry[2] = { NULL, NULL };
	int status = 0;

	if (type == TYPE_MAP)
		return add_assignment(v, id, text, at, err);
	if (type == TYPE_MOUNTS)
		status = text_mount(entry, text, at, err);
	else if (type == TYPE_TMPFS)
		status = text_tmpfs(entry, text, at, err);
	else if (type == TYPE_PATHS)
		status = text_protect_path(entry, text, at, err);
	else if (type == TYPE_HOSTPATHS)
		status = text_host_path(entry, text, at, err);
	else if (text_check_word(id, text, at, err) < 0)
		status = -1;
	else
		entry[0] = strdup(text);
	return status < 0 ? -1 : list_push(v, type_stride(type), entry, at, err);
}

int value_set_empty(struct policy_value *v, enum option_id id, const struct source *at, struct cordon_error *err)
{
	if (id == OPT_COMMANDS) {
		source_fail(at, err, "an empty list allows nothing at all");
		return fail_hint(err, "name the programs that may run, or leave the key out: then any may");
	}
	if (chosen(v, false, at, err) < 0)
		return -1;
	strv_done(&v->list);
	return 0;
}
