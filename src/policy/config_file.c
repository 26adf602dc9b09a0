/*
 * Reads one configuration file: see config_file.h. As strict as with policies: places in every message, no key unknown, none
 * twice. Runs in the front, with the caller's rights.
 */
#include "policy/config_file.h"

#include "base/yaml.h"
#include "policy/file.h"
#include "policy/option.h"
#include "policy/preset.h"
#include "policy/text.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct config_key_info config_keys[CONFIG_KEY_COUNT] = {
	[CONFIG_POLICY] = { "policy", "the policy of runs that name none: a preset or a file" },
	[CONFIG_PRESET_DIR] = { "preset_dir", "a directory of further presets, NAME.yaml each" },
	[CONFIG_STATE_DIR] = { "state_dir", "where running boxes are noted, for the sweep" },
	[CONFIG_SCRATCH_DIR] = { "scratch_dir", "where private files on disk live" },
	[CONFIG_IMAGES_DIR] = { "images_dir", "where images lie, for `files.root: image:NAME`" },
	[CONFIG_ENGINES] = { "engines", "who may build a box; the first where nobody is named" },
	[CONFIG_RUNSC_PLATFORM] = { "runsc_platform",
				    "how gVisor catches calls: auto (the first that works), systrap, ptrace or kvm" },
	[CONFIG_LANGUAGES] = { "languages", "languages of 'cordon code', over the built-in ones" },
	[CONFIG_COLOUR] = { "colour", "auto, always or never" },
};

const char *const colour_words[] = { "auto", "always", "never", NULL };
static const char *const platform_words[] = { "auto", "systrap", "ptrace", "kvm", NULL };

static void language_done(struct config_language *l)
{
	free(l->name);
	free(l->extension);
	strv_done(&l->command);
}

void config_full_done(struct config_full *c)
{
	free(c->config.policy);
	free(c->config.policy_place);
	free(c->config.preset_dir);
	free(c->config.state_dir);
	free(c->config.scratch_dir);
	free(c->config.images_dir);
	strv_done(&c->config.engines);
	for (size_t i = 0; i < c->config.language_count; i++)
		language_done(&c->config.languages[i]);
	free(c->config.languages);
	for (int i = 0; i < CONFIG_KEY_COUNT; i++)
		free(c->origins[i]);
	*c = (struct config_full){ 0 };
}

static struct source at_node(const struct source *base, const struct yaml_node *node, const char *key)
{
	struct source at = *base;

	at.line = node->line;
	at.column = node->column;
	at.key = key;
	return at;
}

static int want_scalar(const struct yaml_node *node, const struct source *at, struct cordon_error *err)
{
	if (node->kind == YAML_SCALAR && !yaml_is_null(node) && *node->text)
		return 0;
	source_fail(at, err, "a single value is wanted here");
	return fail_hint(err, "write it behind the colon, or remove the key");
}

static int want_text(const struct yaml_node *node, const struct source *at, struct cordon_error *err)
{
	return want_scalar(node, at, err) < 0 ? -1 : file_text_wanted(node, at, err);
}

static int want_list(const struct yaml_node *node, const struct source *at, struct cordon_error *err)
{
	if (node->kind == YAML_LIST && node->child)
		return 0;
	source_fail(at, err, "a list is wanted here");
	return fail_hint(err, "write [one, two]");
}

static int want_map(const struct yaml_node *node, const struct source *at, struct cordon_error *err)
{
	if (node->kind == YAML_MAP)
		return 0;
	source_fail(at, err, "a mapping is wanted here");
	return fail_hint(err, "write its keys below it, indented");
}

static void replace(char **to, char *with)
{
	free(*to);
	*to = with;
}

static int read_dir(char **to, const struct yaml_node *node, const struct source *at, struct cordon_error *err)
{
	char *path = NULL;

	if (want_text(node, at, err) < 0 || text_host_path(&path, node->text, at, err) < 0)
		return -1;
	replace(to, path);
	return 0;
}

static int read_policy(char **to, const struct yaml_node *node, const struct source *at, struct cordon_error *err)
{
	char *copy;

	if (want_text(node, at, err) < 0)
		return -1;
	if (!preset_name_is_valid(node->text))
		return read_dir(to, node, at, err);
	copy = strdup(node->text);
	if (!copy)
		return fail_memory(err);
	replace(to, copy);
	return 0;
}

static int read_engines(struct strv *to, const struct yaml_node *node, const struct source *base,
			const struct source *at, struct cordon_error *err)
{
	const char *words = options[OPT_ENGINE].metavar;

	if (want_list(node, at, err) < 0)
		return -1;
	strv_done(to);
	for (const struct yaml_node *n = node->child; n; n = n->next) {
		struct source entry = at_node(base, n, at->key);

		if (want_scalar(n, &entry, err) < 0)
			return -1;
		if (option_word(words, n->text) < 0) {
			struct suggestion s = { .word = n->text };
			char word[8][24];

			for (size_t i = 0; i < ARRAY_LEN(word) && *option_word_at(words, i, word[i], sizeof(word[i]));
			     i++)
				suggest_offer(&s, word[i]);
			source_fail(&entry, err, "there is no engine '%.60s'", n->text);
			return s.best ? fail_hint(err, "did you mean %s?", s.best) : fail_hint(err, "one of %s", words);
		}
		if (!strv_has(to, n->text) && strv_add(to, n->text) < 0)
			return fail_memory(err);
	}
	return 0;
}

/* One of `words`, of which the first is the default. */
static int read_word(int *to, const char *const *words, const struct yaml_node *node, const struct source *at,
		     struct cordon_error *err)
{
	struct suggestion s = { 0 };
	auto_str struct str all = { 0 };

	if (want_scalar(node, at, err) < 0)
		return -1;
	s.word = node->text;
	for (int i = 0; words[i]; i++) {
		str_addf(&all, "%s%s", i ? ", " : "", words[i]);
		if (strcmp(words[i], node->text) == 0) {
			*to = i;
			return 0;
		}
	}
	if (all.failed)
		return fail_memory(err);
	suggest_words(&s, words);
	source_fail(at, err, "'%.60s' is not one of %s", node->text, all.data);
	return s.best ? fail_hint(err, "did you mean %s?", s.best) : fail_hint(err, "write one of %s", all.data);
}

static int read_platform(const char **to, const struct yaml_node *node, const struct source *at,
			 struct cordon_error *err)
{
	int word = 0;

	if (read_word(&word, platform_words, node, at, err) < 0)
		return -1;
	*to = word ? platform_words[word] : NULL;
	return 0;
}

/* ---- languages ---------------------------------------------------------------------------------------- */

static bool is_name(const char *text, const char *also)
{
	size_t len = strlen(text);

	for (const char *p = text; *p; p++)
		if (!isalnum((unsigned char)*p) && !strchr(also, *p))
			return false;
	return len && len <= 32 && isalnum((unsigned char)text[0]);
}

static int read_command(struct config_language *l, const struct yaml_node *node, const struct source *base,
			const struct source *at, struct cordon_error *err)
{
	bool has_file = false;

	if (want_list(node, at, err) < 0)
		return -1;
	for (const struct yaml_node *n = node->child; n; n = n->next) {
		struct source entry = at_node(base, n, at->key);

		if (want_scalar(n, &entry, err) < 0)
			return -1;
		has_file = has_file || strstr(n->text, "{file}");
		if (strv_add(&l->command, n->text) < 0)
			return fail_memory(err);
	}
	if (has_file)
		return 0;
	source_fail(at, err, "'{file}' is missing: it stands for the program's file");
	return fail_hint(err, "as in [python3, '{file}', '{args}']");
}

static int read_language_key(struct config_language *l, const struct yaml_node *n, const struct source *base,
			     struct cordon_error *err)
{
	static const char *const keys[] = { "command", "extension", NULL };
	struct source at = at_node(base, n, n->key);
	struct suggestion s = { .word = n->key };

	if (strcmp(n->key, "command") == 0)
		return read_command(l, n, base, &at, err);
	if (strcmp(n->key, "extension") != 0) {
		at.line = n->key_line;
		at.column = n->key_column;
		at.key = NULL;
		suggest_words(&s, keys);
		source_fail(&at, err, "no such key in a language: '%.60s'", n->key);
		return s.best ? fail_hint(err, "did you mean %s?", s.best)
			      : fail_hint(err, "there are 'command' and 'extension'");
	}
	if (want_scalar(n, &at, err) < 0)
		return -1;
	if (!is_name(n->text, "+_")) {
		source_fail(&at, err, "'%.60s' is not a file's extension", n->text);
		return fail_hint(err, "letters and digits without a dot, as in py");
	}
	l->extension = strdup(n->text);
	return l->extension ? 0 : fail_memory(err);
}

/* Over one of the same name, or behind the others. Takes what l holds. */
static int put_language(struct config *c, struct config_language *l, struct cordon_error *err)
{
	struct config_language *bigger;

	for (size_t i = 0; i < c->language_count; i++)
		if (strcmp(c->languages[i].name, l->name) == 0) {
			language_done(&c->languages[i]);
			c->languages[i] = *l;
			return 0;
		}
	bigger = realloc(c->languages, (c->language_count + 1) * sizeof(*bigger));
	if (!bigger) {
		language_done(l);
		return fail_memory(err);
	}
	c->languages = bigger;
	bigger[c->language_count++] = *l;
	return 0;
}

static int read_language(struct config *c, const struct yaml_node *node, const struct source *base,
			 struct cordon_error *err)
{
	struct source at = at_node(base, node, node->key);
	struct config_language l = { 0 };
	int status = want_map(node, &at, err);

	if (status == 0 && !is_name(node->key, "+_-#"))
		status = source_fail(&at, err, "not a language's name");
	for (const struct yaml_node *n = node->child; n && status == 0; n = n->next)
		status = read_language_key(&l, n, base, err);
	if (status == 0 && (!l.command.n || !l.extension)) {
		source_fail(&at, err, "'command' and 'extension' are both needed");
		status = fail_hint(err, "as in {command: [python3, '{file}', '{args}'], extension: py}");
	}
	if (status == 0 && !(l.name = strdup(node->key)))
		status = fail_memory(err);
	if (status == 0)
		return put_language(c, &l, err);
	language_done(&l);
	return -1;
}

static int read_languages(struct config *c, const struct yaml_node *node, const struct source *base,
			  const struct source *at, struct cordon_error *err)
{
	if (want_map(node, at, err) < 0)
		return -1;
	for (const struct yaml_node *n = node->child; n; n = n->next)
		if (read_language(c, n, base, err) < 0)
			return -1;
	return 0;
}

/* ---- the file ----------------------------------------------------------------------------------------- */

static int read_key(struct config_full *c, enum config_key key, const struct yaml_node *node, const struct source *base,
		    struct cordon_error *err)
{
	struct source at = at_node(base, node, config_keys[key].name);
	struct config *to = &c->config;
	char *origin;
	int status = -1;

	switch (key) {
	case CONFIG_POLICY:
		status = read_policy(&to->policy, node, &at, err);
		if (status == 0) {
			replace(&to->policy_place, str_printf("%s:%u:%u: ", at.file, at.line, at.column));
			status = to->policy_place ? 0 : fail_memory(err);
		}
		break;
	case CONFIG_PRESET_DIR:
		status = read_dir(&to->preset_dir, node, &at, err);
		break;
	case CONFIG_STATE_DIR:
		status = read_dir(&to->state_dir, node, &at, err);
		break;
	case CONFIG_SCRATCH_DIR:
		status = read_dir(&to->scratch_dir, node, &at, err);
		break;
	case CONFIG_IMAGES_DIR:
		status = read_dir(&to->images_dir, node, &at, err);
		break;
	case CONFIG_ENGINES:
		status = read_engines(&to->engines, node, base, &at, err);
		break;
	case CONFIG_RUNSC_PLATFORM:
		status = read_platform(&to->runsc_platform, node, &at, err);
		break;
	case CONFIG_LANGUAGES:
		status = read_languages(to, node, base, &at, err);
		break;
	case CONFIG_COLOUR:
		status = read_word(&to->colour, colour_words, node, &at, err);
		break;
	case CONFIG_KEY_COUNT:
		break;
	}
	if (status < 0)
		return -1;
	origin = source_origin(&at);
	if (!origin)
		return fail_memory(err);
	replace(&c->origins[key], origin);
	return 0;
}

static int unknown_key(const struct yaml_node *node, const struct source *base, struct cordon_error *err)
{
	struct source at = *base;
	struct suggestion s = { .word = node->key };

	at.line = node->key_line;
	at.column = node->key_column;
	for (int i = 0; i < CONFIG_KEY_COUNT; i++)
		suggest_offer(&s, config_keys[i].name);
	source_fail(&at, err, "no such key: '%.100s'", node->key);
	if (s.best)
		return fail_hint(err, "did you mean %s?", s.best);
	return fail_hint(err, "there are policy, preset_dir, state_dir, scratch_dir, images_dir, engines, "
			      "runsc_platform, languages, colour");
}

static int read_entry(struct config_full *c, const struct yaml_node *node, const struct source *base,
		      struct cordon_error *err)
{
	for (int i = 0; i < CONFIG_KEY_COUNT; i++)
		if (strcmp(config_keys[i].name, node->key) == 0)
			return read_key(c, (enum config_key)i, node, base, err);
	return unknown_key(node, base, err);
}

static int check_version(const struct yaml_node *root, const struct source *base, struct cordon_error *err)
{
	struct source at = *base;

	for (const struct yaml_node *n = root->child; n; n = n->next) {
		if (strcmp(n->key, "version") != 0)
			continue;
		if (n->kind == YAML_SCALAR && n->plain && strcmp(n->text, "1") == 0)
			return 0;
		at = at_node(base, n, "version");
		source_fail(&at, err, "only version 1 is known here");
		return fail_hint(err, "write 'version: 1'");
	}
	at.line = at.column = 1;
	source_fail(&at, err, "'version: 1' is missing");
	return fail_hint(err, "begin the file with 'version: 1'");
}

static int read_root(struct config_full *c, const struct yaml_node *root, const struct source *base,
		     struct cordon_error *err)
{
	struct source at = at_node(base, root, NULL);

	if (want_map(root, &at, err) < 0 || check_version(root, base, err) < 0)
		return -1;
	for (const struct yaml_node *n = root->child; n; n = n->next)
		if (strcmp(n->key, "version") != 0 && read_entry(c, n, base, err) < 0)
			return -1;
	return 0;
}

int config_file_read(struct config_full *c, const char *name, const char *dir, const char *text, size_t len,
		     struct cordon_error *err)
{
	struct source base = { .file = name, .dir = dir };
	struct yaml_node *root = NULL;
	int status = yaml_parse(&root, name, text, len, err);

	if (status == 0)
		status = read_root(c, root, &base, err);
	yaml_free(root);
	if (status < 0 && err)
		snprintf(err->step, sizeof(err->step), "config");
	return status;
}
