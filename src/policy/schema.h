/* Parts of the JSON Schema: see schema.c. */
#ifndef POLICY_SCHEMA_H
#define POLICY_SCHEMA_H

#include "base/json.h"
#include "policy/policy.h"

/* From 1 to 65535. */
#define SCHEMA_PORT "([1-9][0-9]{0,3}|[1-5][0-9]{4}|6([0-4][0-9]{3}|5([0-4][0-9]{2}|5([0-2][0-9]|3[0-5]))))"

void schema_text(struct json *j, const char *pattern);
/* A number with its unit, as text. */
void schema_unit(struct json *j, enum option_type type, uint64_t min, uint64_t max);
/* The lists of rules and the map of secrets (schema_network.c). */
void schema_rules(struct json *j, enum option_id id);
void schema_secrets(struct json *j);

#endif
