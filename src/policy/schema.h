/* Parts of the JSON Schema: see schema.c. */
#ifndef POLICY_SCHEMA_H
#define POLICY_SCHEMA_H

#include "base/json.h"
#include "policy/policy.h"

void schema_text(struct json *j, const char *pattern);
/* The lists of rules and the map of secrets (schema_network.c). */
void schema_rules(struct json *j, enum option_id id);
void schema_secrets(struct json *j);

#endif
