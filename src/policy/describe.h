/* Parts of how a policy is told: see describe.c. */
#ifndef POLICY_DESCRIBE_H
#define POLICY_DESCRIBE_H

#include "base/json.h"

/* A text as YAML takes it for itself, in quotes where it must be. */
void describe_scalar(struct str *s, const char *text);
/* network.allow and secrets, as YAML in one line and as JSON (describe_network.c). */
void describe_rules(struct str *s, const struct strv *list);
void describe_secrets(struct str *s, const struct strv *list);
void describe_rules_json(struct json *j, const char *name, const struct strv *list);
void describe_secrets_json(struct json *j, const char *name, const struct strv *list);

#endif
