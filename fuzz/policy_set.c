/*
 * Any text for any key: the first byte chooses the key, the rest is the value. What a policy takes must survive being told
 * and read again; a request with it must narrow the very policy that has it, or be refused with a reason.
 */
#include "base/json.h"
#include "policy/policy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void die(const char *what, const char *detail)
{
	fprintf(stderr, "%s: %s\n", what, detail ? detail : "");
	abort();
}

static bool same_value(const struct policy_value *a, const struct policy_value *b)
{
	if (a->num != b->num || a->list.n != b->list.n || !a->text != !b->text ||
	    (a->text && strcmp(a->text, b->text) != 0))
		return false;
	for (size_t i = 0; i < a->list.n; i++)
		if (strcmp(a->list.v[i], b->list.v[i]) != 0)
			return false;
	return true;
}

static void check_told(const struct cordon_policy *p, enum option_id id)
{
	char *text = cordon_policy_describe(p, CORDON_TEXT);
	struct cordon_policy *again = NULL;
	struct cordon_error err = { 0 };

	if (!text || cordon_policy_parse(&again, "told.yaml", NULL, text, strlen(text), &err) < 0)
		die(err.message, text);
	if (!same_value(&p->values[id], &again->values[id]))
		die("read differently", text);
	cordon_policy_free(again);
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	enum option_id id = size ? data[0] % OPTION_COUNT : 0;
	char *value = strndup(size ? (const char *)data + 1 : "", size ? size - 1 : 0);
	struct cordon_policy *p = NULL, *r = NULL;
	struct cordon_error err = { 0 };

	if (!value || cordon_policy_new(&p, &err) < 0 || cordon_policy_new_request(&r, &err) < 0)
		die("cannot begin", err.message);
	if (cordon_policy_set(p, options[id].key, value, &err) == 0) {
		if (json_is_utf8(value, strlen(value)))
			check_told(p, id);
		if (cordon_policy_set(r, options[id].key, value, &err) < 0)
			die("a request does not take what a policy takes", err.message);
		if (cordon_policy_narrow(p, r, &err) < 0 && !err.message[0])
			die("refused without a reason", NULL);
	} else if (!err.message[0] || !err.code) {
		die("refused without a reason", NULL);
	}
	cordon_policy_free(p);
	cordon_policy_free(r);
	free(value);
	return 0;
}
