/*
 * The option table itself and what is asked of it: see option.h, options.def. Everything is constant; nothing here
 * allocates. Pure.
 */
#include "policy/option.h"

#include "policy/unit.h"

#include <stdio.h>
#include <string.h>

const struct option options[OPTION_COUNT] = {
#define OPTION(id, key, flag, type, metavar, default_text, min, max, narrow, help) \
	[OPT_##id] = { key, flag, TYPE_##type, metavar, default_text, min, max, NARROW_##narrow, help },
#include "policy/options.def"
#undef OPTION
};

static const struct cordon_option public_options[OPTION_COUNT] = {
#define OPTION(id, key, flag, type, metavar, default_text, min, max, narrow, help)                              \
	[OPT_##id] = {                                                                                          \
		key, flag, metavar, default_text, help, TYPE_##type >= TYPE_STRINGS, TYPE_##type == TYPE_SWITCH \
	},
#include "policy/options.def"
#undef OPTION
};

const struct cordon_option *cordon_options(size_t *ret_count)
{
	*ret_count = OPTION_COUNT;
	return public_options;
}

int option_find(const char *key)
{
	for (int i = 0; i < OPTION_COUNT; i++)
		if (strcmp(options[i].key, key) == 0)
			return i;
	return strcmp(key, "network") == 0 ? OPT_NETWORK : -1;
}

int option_word(const char *words, const char *word)
{
	size_t len = strlen(word);

	for (int i = 0; len; i++) {
		size_t n = strcspn(words, "|");

		if (n == len && memcmp(words, word, n) == 0)
			return i;
		if (!words[n])
			break;
		words += n + 1;
	}
	return -1;
}

const char *option_word_at(const char *words, uint64_t index, char *buf, size_t size)
{
	for (; index; index--) {
		words = strchr(words, '|');
		if (!words)
			return "";
		words++;
	}
	snprintf(buf, size, "%.*s", (int)strcspn(words, "|"), words);
	return buf;
}

bool option_is_section(const char *name)
{
	size_t len = strlen(name);

	for (int i = 0; i < OPTION_COUNT; i++)
		if (str_starts(options[i].key, name) && options[i].key[len] == '.')
			return true;
	return false;
}

const char *option_number_text(const struct option *o, uint64_t num, char *buf, size_t size)
{
	if (o->type == TYPE_ENUM)
		return option_word_at(o->metavar, num, buf, size);
	if (o->type == TYPE_SWITCH)
		return num ? "true" : "false";
	return unit_text(o->type, num, buf, size);
}

void suggest_offer(struct suggestion *s, const char *candidate)
{
	size_t limit = strlen(s->word) / 3 + 1;
	size_t distance = strcasecmp(s->word, candidate) == 0 ? 0 : str_distance(s->word, candidate, limit);

	if (distance > limit || distance >= strlen(candidate) || (s->best && distance >= s->distance))
		return;
	s->best = candidate;
	s->distance = distance;
}

void suggest_words(struct suggestion *s, const char *const *words)
{
	for (; *words; words++)
		suggest_offer(s, *words);
}

/* Names people bring from elsewhere. */
static const char *const known_elsewhere[][2] = {
	{ "timeout", "limits.wall_time" },
	{ "pids", "limits.processes" },
	{ "cpu", "limits.cpus" },
	{ "mem", "limits.memory" },
	{ "readonly", "files.read" },
	{ "ro", "files.read" },
	{ "rw", "files.write" },
	{ "mounts", "files.write" },
	{ "seccomp", "process.syscalls" },
	{ "environment", "process.env" },
	{ "cwd", "process.workdir" },
	{ "net", "network" },
	{ "deadline", "limits.wall_time" },
	{ "egress", "network.allow" },
	{ "allowlist", "network.allow" },
	{ "allowed_hosts", "network.allow" },
	{ "hosts", "network.allow" },
	{ "proxy", "network.upstream_proxy" },
	{ "credentials", "secrets" },
};

/* Whether the key stands in this section (NULL: at the top); *ret_name is its name there. */
static bool key_is_in(const char *key, const char *section, const char **ret_name)
{
	const char *dot = strchr(key, '.');
	size_t len = dot ? (size_t)(dot - key) : 0;

	*ret_name = dot ? dot + 1 : key;
	return section ? dot && strlen(section) == len && memcmp(section, key, len) == 0 : !dot;
}

const char *option_suggest(const char *section, const char *name)
{
	static const char *const top[] = { "version", "extends", "limits", "files", "network", "process", NULL };
	struct suggestion s = { .word = name };
	const char *best = NULL;

	for (size_t i = 0; i < ARRAY_LEN(known_elsewhere); i++)
		if (strcmp(known_elsewhere[i][0], name) == 0)
			return known_elsewhere[i][1];
	if (!section)
		suggest_words(&s, top);
	best = s.best;
	/* The same section first, then the same name anywhere. */
	for (int pass = 0; pass < 2 && !best; pass++)
		for (int i = 0; i < OPTION_COUNT; i++) {
			const char *short_name, *before = s.best;

			if (key_is_in(options[i].key, section, &short_name) != (pass == 0))
				continue;
			suggest_offer(&s, short_name);
			if (s.best != before)
				best = options[i].key;
		}
	return best;
}
