/*
 * A small tree of a YAML or JSON text with positions, for policies and configuration. Strict on purpose: one document, UTF-8,
 * at most YAML_BYTES_MAX bytes, YAML_DEPTH_MAX levels and YAML_NODES_MAX nodes; no anchors, aliases, tags or merge keys;
 * no key twice; no NUL in any text. Scalars stay text: what a word means is the business of whoever reads the tree.
 */
#ifndef BASE_YAML_H
#define BASE_YAML_H

#include "base/error.h"

enum { YAML_BYTES_MAX = 1 << 20, YAML_DEPTH_MAX = 16, YAML_NODES_MAX = 16384 };

enum yaml_kind { YAML_SCALAR, YAML_LIST, YAML_MAP };

struct yaml_node {
	enum yaml_kind kind;
	bool plain;            /* a scalar without quotes */
	unsigned line, column; /* from 1 */
	char *text;            /* of a scalar; never NULL there */
	char *key;             /* in a map: its key, and where that stands */
	unsigned key_line, key_column;
	struct yaml_node *child; /* of a list or map: the first, in order */
	struct yaml_node *next;
};

/* `name` stands for the text in messages: "name:line:column: …". A name in .json must be JSON. */
int yaml_parse(struct yaml_node **ret_root, const char *name, const char *text, size_t len, struct cordon_error *err);
void yaml_free(struct yaml_node *root);
/* A scalar that YAML takes for "nothing": empty, ~ or null without quotes. */
bool yaml_is_null(const struct yaml_node *node);

#endif
