/*
 * The values of secrets: see secret.h.
 *
 * Egress knows names and placeholders from its start; a value is asked for over the event socket when the first request needs it, and again when
 * its time is over. A failure is remembered for a moment, so that a box cannot make somebody run a command as fast as it can send
 * requests. The value before the current one is still masked: a response may be on its way that holds it.
 *
 * The egress process; no privilege.
 */
#include "egress/secret.h"

#include "base/clock.h"
#include "egress/vault.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { FAILURE_US = 3 * 1000000, ASK_AGAIN_US = 30 * 1000000 };

struct value {
	size_t len;
	char data[NET_SECRET_MAX];
};

struct entry {
	const struct net_secret *secret;
	struct value *now, *before; /* in vaults, or NULL */
	bool good;                  /* `now` may be used */
	uint64_t until_us;          /* 0: for good; of the value, or of the failure */
	uint64_t asked_us;          /* an answer is awaited; 0: none */
	char why[160];              /* it failed; empty: it did not */
};

struct secrets {
	void (*want)(void *arg, const char *name);
	void *arg;
	struct secret_wait waiting; /* head of a ring */
	struct mask *mask;          /* of all values; NULL: to be made */
	size_t count;
	struct entry entries[];
};

struct secrets *secrets_new(const struct net_config *config, void (*want)(void *arg, const char *name), void *arg)
{
	struct secrets *s = calloc(1, sizeof(*s) + config->secret_count * sizeof(s->entries[0]));

	if (!s)
		return NULL;
	s->want = want;
	s->arg = arg;
	s->waiting.next = s->waiting.prev = &s->waiting;
	s->count = config->secret_count;
	for (size_t i = 0; i < s->count; i++)
		s->entries[i].secret = &config->secrets[i];
	return s;
}

void secrets_free(struct secrets *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->count; i++) {
		vault_free(s->entries[i].now, sizeof(struct value));
		vault_free(s->entries[i].before, sizeof(struct value));
	}
	while (s->waiting.next != &s->waiting)
		secrets_forget(s->waiting.next);
	mask_unref(s->mask);
	free(s);
}

static struct entry *find(struct secrets *s, const char *name)
{
	for (size_t i = 0; i < s->count; i++) {
		if (strcmp(s->entries[i].secret->name, name) == 0)
			return &s->entries[i];
	}
	return NULL;
}

static void fail(struct entry *e, const char *why, size_t len)
{
	if (len >= sizeof(e->why))
		len = sizeof(e->why) - 1;
	memcpy(e->why, why, len);
	e->why[len] = '\0';
	for (char *c = e->why; *c; c++) {
		if (*c < ' ' || *c > '~')
			*c = '?';
	}
	if (!e->why[0])
		memcpy(e->why, "no reason given", sizeof("no reason given"));
	e->good = false;
	e->until_us = clock_us() + FAILURE_US;
}

/* What would end a header line, or is none of text. Line ends at the very end are what commands and files leave behind. */
static const char *check_value(const char *data, size_t *len)
{
	while (*len && (data[*len - 1] == '\n' || data[*len - 1] == '\r'))
		--*len;
	if (!*len)
		return "the value is empty";
	for (size_t i = 0; i < *len; i++) {
		if ((data[i] >= 0 && data[i] < ' ' && data[i] != '\t') || data[i] == 0x7f)
			return "the value has a line end or another control character in it";
	}
	return NULL;
}

static void store(struct secrets *s, struct entry *e, const char *data, size_t len)
{
	struct value *fresh = e->now && e->now->len == len && memcmp(e->now->data, data, len) == 0
				      ? e->now
				      : vault_alloc(sizeof(*fresh));

	if (!fresh) {
		fail(e, "out of memory", strlen("out of memory"));
		return;
	}
	if (fresh != e->now) {
		fresh->len = len;
		memcpy(fresh->data, data, len);
		vault_free(e->before, sizeof(*e->before));
		e->before = e->now;
		e->now = fresh;
		mask_unref(s->mask);
		s->mask = NULL;
	}
	e->why[0] = '\0';
	e->good = true;
	e->until_us = e->secret->ttl_ms ? clock_us() + e->secret->ttl_ms * 1000 : 0;
}

static void wake(struct secrets *s)
{
	struct secret_wait todo;

	/* Who has to wait again must not be met twice: the ring is taken over first. */
	if (s->waiting.next == &s->waiting)
		return;
	todo = s->waiting;
	todo.next->prev = todo.prev->next = &todo;
	s->waiting.next = s->waiting.prev = &s->waiting;
	while (todo.next != &todo) {
		struct secret_wait *wait = todo.next;

		secrets_forget(wait);
		wait->ready(wait);
	}
}

void secrets_answer(struct secrets *s, const struct net_secret_value *answer)
{
	struct entry *e = NULL;
	const char *why;
	size_t len = answer->len;

	if (memchr(answer->name, '\0', sizeof(answer->name)))
		e = find(s, answer->name);
	if (!e || !e->asked_us)
		return;
	e->asked_us = 0;
	if (len > sizeof(answer->text))
		len = 0;
	if (!answer->ok) {
		fail(e, answer->text, strnlen(answer->text, len));
	} else {
		why = check_value(answer->text, &len);
		if (why)
			fail(e, why, strlen(why));
		else
			store(s, e, answer->text, len);
	}
	wake(s);
}

int secrets_get(struct secrets *s, const char *name, uint64_t now_us, struct secret_use *ret, const char **ret_why)
{
	struct entry *e = find(s, name);
	bool fresh = e && (!e->until_us || now_us < e->until_us);

	*ret_why = "it is not configured";
	if (!e)
		return -EACCES;
	if (e->good && fresh) {
		*ret = (struct secret_use){ .secret = e->secret, .value = e->now->data, .len = e->now->len };
		return 0;
	}
	if (!e->good && e->why[0] && fresh) {
		*ret_why = e->why;
		return -EACCES;
	}
	if (!e->asked_us || now_us - e->asked_us > ASK_AGAIN_US) {
		e->asked_us = now_us;
		s->want(s->arg, name);
	}
	return -EAGAIN;
}

void secrets_wait(struct secrets *s, struct secret_wait *wait)
{
	if (wait->next)
		return;
	wait->next = &s->waiting;
	wait->prev = s->waiting.prev;
	wait->prev->next = wait;
	s->waiting.prev = wait;
}

void secrets_forget(struct secret_wait *wait)
{
	if (!wait->next)
		return;
	wait->next->prev = wait->prev;
	wait->prev->next = wait->next;
	wait->next = wait->prev = NULL;
}

struct mask *secrets_mask(struct secrets *s, bool *ret_failed)
{
	struct mask_value *values;
	size_t n = 0;

	*ret_failed = false;
	if (s->mask)
		return mask_ref(s->mask);
	values = calloc(s->count * 2 + 1, sizeof(*values));
	for (size_t i = 0; values && i < s->count; i++) {
		struct entry *e = &s->entries[i];

		if (e->now)
			values[n++] = (struct mask_value){ e->now->data, e->now->len };
		if (e->before)
			values[n++] = (struct mask_value){ e->before->data, e->before->len };
	}
	if (values)
		s->mask = mask_new(values, n);
	*ret_failed = !s->mask;
	free(values);
	return mask_ref(s->mask);
}
