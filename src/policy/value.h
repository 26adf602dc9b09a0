/*
 * One value of a policy: set from text, grown by an entry, copied, laid over another. Text is checked here, against
 * the option's row and, for words, against what the option means.
 */
#ifndef POLICY_VALUE_H
#define POLICY_VALUE_H

#include "policy/option.h"
#include "policy/source.h"

enum { VALUE_ENTRIES_MAX = 1024 };

/* A scalar type, from its text. */
int value_set(struct policy_value *v, enum option_id id, const char *text, const struct source *at,
	      struct cordon_error *err);
/* A list type: one more entry. An entry that is there already changes nothing. */
int value_add(struct policy_value *v, enum option_id id, const char *text, const struct source *at,
	      struct cordon_error *err);
/* MAP: the same from its two halves. */
int value_add_pair(struct policy_value *v, enum option_id id, const char *name, const char *text,
		   const struct source *at, struct cordon_error *err);
/* The strings of one more entry (second: NULL where an entry is one), checked already; taken also on failure. */
int value_push(struct policy_value *v, enum option_id id, char *first, char *second, const struct source *at,
	       struct cordon_error *err);
/* A list type: there, with no entry (yet). */
int value_set_empty(struct policy_value *v, enum option_id id, const struct source *at, struct cordon_error *err);
int value_copy(struct policy_value *to, const struct policy_value *from); /* 0 or -ENOMEM; to is empty */
void value_done(struct policy_value *v);

/* Takes the `stride` strings of entry i out of a list. */
void value_list_remove(struct strv *list, size_t i, size_t stride);

#endif
