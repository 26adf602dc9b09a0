#!/bin/sh
# Whether programs can be linked with musl here: lite.sh 'INCLUDE FLAGS' 'LINK COMMAND' 'LIBRARIES'; writes a line for make.
# The libraries are those that the distribution built for glibc: one that wants more of it than src/musl has fails here, not in a run.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cat >"$work/try.c" <<'C'
#include <idn2.h>
#include <jansson.h>
#include <libfyaml.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Everything of them that is used: src/base/yaml.c, src/net/hostname.c, src/driver. */
static int parse(const char *text, struct fy_diag *diag)
{
	struct fy_parse_cfg cfg = { .flags = FYPCF_QUIET | FYPCF_COLLECT_DIAG, .diag = diag };
	struct fy_parser *parser = fy_parser_create(&cfg);
	struct fy_token_iter *iter;
	struct fy_event *event;
	size_t len;
	int events = 0, rc = 0;

	if (!parser || fy_parser_set_string(parser, text, FY_NT) < 0)
		return -1;
	for (; (event = fy_parser_parse(parser)); events++) {
		if (event->type == FYET_SCALAR) {
			iter = fy_token_iter_create(event->scalar.value);
			(void)fy_token_iter_chunk_next(iter, NULL, &rc);
			fy_token_iter_destroy(iter);
			(void)fy_token_get_text(event->scalar.value, &len);
			(void)fy_token_scalar_style(event->scalar.value);
		}
		(void)fy_event_get_anchor_token(event);
		(void)fy_event_get_tag_token(event);
		(void)fy_event_start_mark(event);
		fy_parser_event_free(parser, event);
	}
	fy_parser_destroy(parser);
	return events;
}

static int json(void)
{
	json_error_t error;
	json_t *root = json_loads("{\"a\": [1, 2.5, \"x\"], \"b\": true}", JSON_REJECT_DUPLICATES, &error), *list = NULL, *made;
	char *text;
	int b = 0, same;

	if (!root || json_unpack_ex(root, &error, 0, "{s:o, s:b}", "a", &list, "b", &b) < 0 || json_array_size(list) != 3 || !b)
		return -1;
	made = json_pack("{s:s, s:I, s:[f]}", "s", "t", "n", (json_int_t)1 << 40, "l", 2.5);
	text = made ? json_dumps(made, JSON_COMPACT | JSON_SORT_KEYS) : NULL;
	same = text && strcmp(text, "{\"l\":[2.5],\"n\":1099511627776,\"s\":\"t\"}") == 0;
	free(text);
	json_decref(made);
	json_decref(root);
	return same && !json_loads("{", 0, &error) && error.line == 1 ? 0 : -1;
}

int main(void)
{
	struct fy_diag_cfg cfg;
	struct fy_diag *diag;
	uint8_t *ascii = NULL;
	char *wide = NULL;
	void *at = NULL;

	if (json() < 0)
		return 1;
	fy_diag_cfg_default(&cfg);
	diag = fy_diag_create(&cfg);
	if (!diag)
		return 1;
	fy_diag_set_collect_errors(diag, true);
	if (parse("a: [1, 2.5]\n", diag) != 11 || parse("a: [1\n", diag) == 8 || !fy_diag_errors_iterate(diag, &at))
		return 1;
	fy_diag_destroy(diag);
	if (idn2_lookup_u8((const uint8_t *)"b\303\274cher", &ascii, IDN2_NONTRANSITIONAL | IDN2_NFC_INPUT) != IDN2_OK ||
	    idn2_to_unicode_8z8z((char *)ascii, &wide, 0) != IDN2_OK)
		return 1;
	return strcmp((char *)ascii, "xn--bcher-kva") != 0 || strcmp(wide, "b\303\274cher") != 0;
}
C
own=
# shellcheck disable=SC2086  # lists of words
build() {
	$CC $1 -D_GNU_SOURCE -O1 -fPIC -c "$work/try.c" -o "$work/try.o" || return
	for part in checked alloc relro; do
		$CC $1 -D_GNU_SOURCE -O1 -fPIC -fno-builtin -include musl/musl.h -c "src/musl/$part.c" -o "$work/$part.o" || return
		own="$own $work/$part.o"
	done
	$2 "$work/try.o" $own $3 -o "$work/try" && "$work/try"
}
if build "$@" >"$work/said" 2>&1; then
	echo 'LITE ?= yes'
else
	echo "cordon is linked with glibc and starts a little slower, since musl does not do here:" >&2
	tail -3 "$work/said" >&2
	echo 'LITE ?= no'
fi
