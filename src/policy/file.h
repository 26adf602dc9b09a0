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

/* `base` has file, origin and dir; line and column are filled in here. */
int file_read(struct cordon_policy *layer, struct file_head *ret_head, const struct yaml_node *root,
	      const struct source *base, struct cordon_error *err);

#endif
