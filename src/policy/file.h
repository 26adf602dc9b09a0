/* One policy file's tree as a layer: every key of the table, with positions. */
#ifndef POLICY_FILE_H
#define POLICY_FILE_H

#include "base/yaml.h"
#include "policy/policy.h"
#include "policy/source.h"

/* What stands in a file besides the table's keys. */
struct file_head {
	const struct yaml_node *extends; /* into the tree, or NULL */
};

/* ---- inside: parts of the tree ---- */

struct source file_at_value(const struct source *base, const struct yaml_node *node, const char *key);
struct source file_at_key(const struct source *base, const struct yaml_node *node);
int file_wrong_kind(const struct yaml_node *node, enum yaml_kind want, const struct source *at, const char *hint,
		    struct cordon_error *err);
/* A scalar that YAML and JSON take for a number or a truth value is none. */
int file_text_wanted(const struct yaml_node *node, const struct source *at, struct cordon_error *err);
/* network.allow, network.allow_cidr and secrets (file_network.c). */
int file_read_rules(struct cordon_policy *layer, enum option_id id, const struct yaml_node *node,
		    const struct source *at, struct cordon_error *err);
int file_read_secrets(struct cordon_policy *layer, const struct yaml_node *node, const struct source *at,
		      struct cordon_error *err);

/* `base` has file, origin and dir; line and column are filled in here. */
int file_read(struct cordon_policy *layer, struct file_head *ret_head, const struct yaml_node *root,
	      const struct source *base, struct cordon_error *err);

#endif
