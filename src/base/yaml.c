/*
 * YAML and JSON through libfyaml's event parser: see yaml.h. The library's own documents are not used, since they resolve
 * aliases and recurse; here its events become nodes, and whatever is not wanted ends the reading at its position.
 * Runs in the front, with the caller's rights.
 */
#include "base/yaml.h"

#include "base/json.h"
#include "base/str.h"

#include <libfyaml.h>
#include <stdlib.h>
#include <string.h>

struct reader {
	struct fy_parser *parser;
	struct fy_diag *diag;
	const char *name;
	unsigned nodes;
	struct cordon_error *err;
};

struct place {
	unsigned line, column;
};

static struct place event_place(struct fy_event *event, struct place otherwise)
{
	const struct fy_mark *mark = fy_event_start_mark(event);

	struct fy_token *token = event->type == FYET_SCALAR ? event->scalar.value : NULL;
	enum fy_scalar_style style = token ? fy_token_scalar_style(token) : FYSS_PLAIN;
	bool quoted = style == FYSS_SINGLE_QUOTED || style == FYSS_DOUBLE_QUOTED;

	if (!mark || mark->line < 0 || mark->column < 0)
		return otherwise;
	/* The mark of a quoted scalar stands behind its quote. */
	return (struct place){ (unsigned)mark->line + 1, (unsigned)mark->column + (quoted ? 0 : 1) };
}

static int refuse(struct reader *r, struct place at, const char *what, const char *hint)
{
	cordon_fail(r->err, CORDON_INVALID, 0, "%s:%u:%u: %s", r->name, at.line, at.column, what);
	return fail_hint(r->err, "%s", hint);
}

/* The parser stopped: its first diagnostic says why and where. */
static int refuse_syntax(struct reader *r)
{
	void *iter = NULL;
	const struct fy_diag_error *e = fy_diag_errors_iterate(r->diag, &iter);

	if (!e)
		return refuse(r, (struct place){ 1, 1 }, "not a YAML document", "check the syntax");
	/* libfyaml counts from 0 in marks, from 1 in diagnostics. */
	cordon_fail(r->err, CORDON_INVALID, 0, "%s:%d:%d: %s", r->name, e->line > 0 ? e->line : 1,
		    e->column > 0 ? e->column : 1, e->msg ? e->msg : "syntax error");
	return fail_hint(r->err, "check indentation, brackets and quotes there and on the line before");
}

void yaml_free(struct yaml_node *node)
{
	while (node) {
		struct yaml_node *next = node->next;

		yaml_free(node->child); /* as deep as YAML_DEPTH_MAX */
		free(node->text);
		free(node->key);
		free(node);
		node = next;
	}
}

bool yaml_is_null(const struct yaml_node *node)
{
	return node->kind == YAML_SCALAR && node->plain &&
	       (!*node->text || strcmp(node->text, "~") == 0 || strcasecmp(node->text, "null") == 0);
}

/* Piece by piece: fy_token_get_text() of libfyaml 0.7 leaks where a text has many pieces (escapes, lines). */
static int token_text(struct fy_token *token, struct str *text)
{
	struct fy_token_iter *iter = fy_token_iter_create(token);
	const struct fy_iter_chunk *chunk = NULL;
	int failed = 0;

	if (!iter)
		return -1;
	while ((chunk = fy_token_iter_chunk_next(iter, chunk, &failed)))
		str_add_bytes(text, chunk->str, chunk->len);
	fy_token_iter_destroy(iter);
	return failed ? -1 : 0;
}

/* The text of a scalar, which C code can hold. */
static int scalar_text(struct reader *r, struct fy_event *event, struct place at, char **ret)
{
	auto_str struct str text = { 0 };

	if (event->scalar.value && token_text(event->scalar.value, &text) < 0)
		return refuse(r, at, "a value that cannot be read", "check the escapes in it");
	if (text.len && memchr(text.data, 0, text.len))
		return refuse(r, at, "a NUL character in a value", "remove it");
	if (!json_is_utf8(text.data, text.len))
		return refuse(r, at, "a value that is not UTF-8", "check the escapes in it");
	*ret = str_take(&text);
	return *ret ? 0 : fail_memory(r->err);
}

/* What no policy needs and what makes a text mean more than it says. */
static int check_plainness(struct reader *r, struct fy_event *event, struct place at)
{
	if (event->type == FYET_ALIAS)
		return refuse(r, at, "aliases are not allowed here", "write the value out");
	if (fy_event_get_anchor_token(event))
		return refuse(r, at, "anchors are not allowed here", "write the value out where it is needed");
	if (fy_event_get_tag_token(event))
		return refuse(r, at, "tags are not allowed here", "remove the '!…'");
	if (++r->nodes > YAML_NODES_MAX)
		return refuse(r, at, "too many values", "a policy has a few dozen");
	return 0;
}

static int read_node(struct reader *r, struct fy_event *event, struct place otherwise, unsigned depth,
		     struct yaml_node **ret);

/* A key stands in `event`: text and place into the node that its value will become. */
static int read_key(struct reader *r, struct fy_event *event, struct place otherwise, char **ret_key,
		    struct place *ret_at)
{
	struct place at = event_place(event, otherwise);

	if (check_plainness(r, event, at) < 0)
		return -1;
	if (event->type != FYET_SCALAR)
		return refuse(r, at, "a key must be a word", "write 'key: value'");
	*ret_at = at;
	if (scalar_text(r, event, at, ret_key) < 0)
		return -1;
	if (strcmp(*ret_key, "<<") == 0)
		return refuse(r, at, "merge keys are not allowed here", "use 'extends:' instead");
	return 0;
}

static int check_twice(struct reader *r, const struct yaml_node *map, const char *key, struct place at)
{
	for (const struct yaml_node *n = map->child; n; n = n->next)
		if (strcmp(n->key, key) == 0) {
			cordon_fail(r->err, CORDON_INVALID, 0, "%s:%u:%u: the key '%s' stands here twice", r->name,
				    at.line, at.column, key);
			return fail_hint(r->err, "the first is at line %u; remove one", n->key_line);
		}
	return 0;
}

static bool is_end(const struct fy_event *event, const struct yaml_node *parent)
{
	return event->type == (parent->kind == YAML_MAP ? FYET_MAPPING_END : FYET_SEQUENCE_END);
}

/* The next value, or key and value, of `parent`; NULL at its end. */
static int read_child(struct reader *r, const struct yaml_node *parent, unsigned depth, struct yaml_node **ret)
{
	struct fy_event *event = fy_parser_parse(r->parser);
	struct place at = { parent->line, parent->column };
	struct yaml_node *node = NULL;
	auto_free char *key = NULL;
	int status;

	if (!event)
		return refuse_syntax(r);
	if (is_end(event, parent)) {
		fy_parser_event_free(r->parser, event);
		*ret = NULL;
		return 0;
	}
	if (parent->kind == YAML_MAP) {
		status = read_key(r, event, at, &key, &at);
		fy_parser_event_free(r->parser, event);
		if (status < 0 || check_twice(r, parent, key, at) < 0)
			return -1;
		event = fy_parser_parse(r->parser);
		if (!event)
			return refuse_syntax(r);
	}
	status = read_node(r, event, at, depth, &node);
	fy_parser_event_free(r->parser, event);
	if (status < 0 || !node)
		return -1;
	node->key = STEAL(key);
	node->key_line = at.line;
	node->key_column = at.column;
	*ret = node;
	return 0;
}

static int read_children(struct reader *r, struct yaml_node *parent, unsigned depth)
{
	struct yaml_node **tail = &parent->child, *child = NULL;

	if (depth >= YAML_DEPTH_MAX)
		return refuse(r, (struct place){ parent->line, parent->column }, "nested too deeply",
			      "a policy is three levels deep");
	for (;;) {
		if (read_child(r, parent, depth + 1, &child) < 0)
			return -1;
		if (!child)
			return 0;
		*tail = child;
		tail = &child->next;
	}
}

/* The node that begins with `event`, with all below it. */
static int read_node(struct reader *r, struct fy_event *event, struct place otherwise, unsigned depth,
		     struct yaml_node **ret)
{
	struct place at = event_place(event, otherwise);
	struct yaml_node *node;

	if (check_plainness(r, event, at) < 0)
		return -1;
	node = calloc(1, sizeof(*node));
	if (!node)
		return fail_memory(r->err);
	node->line = at.line;
	node->column = at.column;
	if (event->type == FYET_MAPPING_START || event->type == FYET_SEQUENCE_START) {
		node->kind = event->type == FYET_MAPPING_START ? YAML_MAP : YAML_LIST;
		if (read_children(r, node, depth) < 0)
			goto fail;
	} else if (event->type == FYET_SCALAR) {
		node->plain = !event->scalar.value || fy_token_scalar_style(event->scalar.value) == FYSS_PLAIN;
		if (scalar_text(r, event, at, &node->text) < 0)
			goto fail;
	} else {
		refuse(r, at, "a value is missing", "write one");
		goto fail;
	}
	*ret = node;
	return 0;
fail:
	yaml_free(node);
	return -1;
}

/* Skips stream and document starts; what follows the one document must be the end. */
static int read_document(struct reader *r, struct yaml_node **root)
{
	bool done = false;

	while (!done) {
		struct fy_event *event = fy_parser_parse(r->parser);
		int status = 0;

		if (!event)
			return refuse_syntax(r);
		switch (event->type) {
		case FYET_STREAM_START:
		case FYET_DOCUMENT_END:
			break;
		case FYET_DOCUMENT_START:
			if (*root)
				status = refuse(r, event_place(event, (struct place){ 1, 1 }), "a second document",
						"one file holds one document; remove the '---'");
			break;
		case FYET_STREAM_END:
			done = true;
			break;
		case FYET_NONE:
		case FYET_MAPPING_START:
		case FYET_MAPPING_END:
		case FYET_SEQUENCE_START:
		case FYET_SEQUENCE_END:
		case FYET_SCALAR:
		case FYET_ALIAS:
			status = *root ? refuse(r, event_place(event, (struct place){ 1, 1 }), "more than one value",
						"one file holds one document")
				       : read_node(r, event, (struct place){ 1, 1 }, 0, root);
			break;
		}
		fy_parser_event_free(r->parser, event);
		if (status < 0)
			return -1;
	}
	return *root ? 0 : refuse(r, (struct place){ 1, 1 }, "the file is empty", "begin it with 'version: 1'");
}

/* The place of a byte, for what is refused before parsing. */
static struct place place_of(const char *text, size_t offset)
{
	struct place at = { 1, 1 };

	for (size_t i = 0; i < offset; i++) {
		at.column++;
		if (text[i] == '\n')
			at = (struct place){ at.line + 1, 1 };
	}
	return at;
}

/* How many bytes from the start are UTF-8. */
static size_t utf8_prefix(const char *text, size_t len)
{
	size_t at = 0;

	while (at < len) {
		size_t n = 1;

		while (n < 4 && at + n < len && !json_is_utf8(text + at, n))
			n++;
		if (!json_is_utf8(text + at, n))
			break;
		at += n;
	}
	return at;
}

static int check_bytes(struct reader *r, const char *text, size_t len)
{
	const char *nul;

	if (len > YAML_BYTES_MAX)
		return refuse(r, (struct place){ 1, 1 }, "larger than 1 MiB", "a policy is a page or two");
	nul = memchr(text, 0, len);
	if (nul)
		return refuse(r, place_of(text, (size_t)(nul - text)), "a NUL byte", "is this a text file?");
	if (!json_is_utf8(text, len))
		return refuse(r, place_of(text, utf8_prefix(text, len)), "not UTF-8", "save the file as UTF-8");
	return 0;
}

/* The library is silent: libfyaml's messages are collected, never printed. */
static void say_nothing(struct fy_diag *diag, void *user, const char *buf, size_t len)
{
	(void)diag;
	(void)user;
	(void)buf;
	(void)len;
}

int yaml_parse(struct yaml_node **ret_root, const char *name, const char *text, size_t len, struct cordon_error *err)
{
	struct reader r = { .name = name, .err = err };
	struct fy_diag_cfg diag_cfg;
	struct fy_parse_cfg cfg = { .flags = FYPCF_QUIET | FYPCF_SLOPPY_FLOW_INDENTATION };
	struct yaml_node *root = NULL;
	int status = -1;

	if (check_bytes(&r, text, len) < 0)
		return -1;
	if (str_ends(name, ".json"))
		cfg.flags |= FYPCF_JSON_FORCE;
	else
		cfg.flags |= FYPCF_JSON_NONE;
	fy_diag_cfg_default(&diag_cfg);
	diag_cfg.fp = NULL;
	diag_cfg.output_fn = say_nothing;
	diag_cfg.colorize = false;
	r.diag = fy_diag_create(&diag_cfg);
	if (!r.diag)
		return fail_memory(err);
	fy_diag_set_collect_errors(r.diag, true);
	cfg.diag = r.diag;
	r.parser = fy_parser_create(&cfg);
	if (!r.parser || fy_parser_set_string(r.parser, text, len) < 0)
		fail_memory(err);
	else
		status = read_document(&r, &root);
	if (r.parser)
		fy_parser_destroy(r.parser);
	fy_diag_destroy(r.diag);
	if (status < 0) {
		yaml_free(root);
		return -1;
	}
	*ret_root = root;
	return 0;
}
