/* The option table, looked up: keys, words, suggestions. */
#ifndef POLICY_OPTION_H
#define POLICY_OPTION_H

#include "policy/policy.h"

/* Lists hold entries; everything else holds one value. */
static inline bool type_is_list(enum option_type type)
{
	return type >= TYPE_STRINGS;
}

static inline bool type_is_text(enum option_type type)
{
	return type == TYPE_STRING || type == TYPE_PATH || type == TYPE_ROOT;
}

/* NAME and what belongs to it. */
static inline bool type_is_map(enum option_type type)
{
	return type == TYPE_MAP || type == TYPE_SECRETS;
}

/* MOUNTS, TMPFS, MAP and SECRETS hold two strings per entry. */
static inline size_t type_stride(enum option_type type)
{
	return type == TYPE_MOUNTS || type == TYPE_TMPFS || type_is_map(type) ? 2 : 1;
}

int option_find(const char *key); /* enum option_id or -1; "network" is short for network.mode */
/* Index of a word in "a|b|c", or -1. */
int option_word(const char *words, const char *word);
/* The index'th word of "a|b|c" into buf. */
const char *option_word_at(const char *words, uint64_t index, char *buf, size_t size);
/* A section ("limits") of the table. */
bool option_is_section(const char *name);

/* "Did you mean": offer candidates, then look at best. */
struct suggestion {
	const char *word, *best;
	size_t distance;
};
void suggest_offer(struct suggestion *s, const char *candidate);
void suggest_words(struct suggestion *s, const char *const *words); /* NULL-terminated */
/* The key that someone who wrote `name` in `section` (NULL: at the top) may have meant, or NULL. Full keys. */
const char *option_suggest(const char *section, const char *name);

#endif
