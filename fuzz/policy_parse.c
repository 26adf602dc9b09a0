/*
 * Any bytes as a policy file and as a configuration file. Whatever is accepted must, told as text, be accepted again and told the
 * same; whatever is refused must say where. The first byte chooses between YAML and JSON.
 */
#include "policy/config_file.h"
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

/* Without the origins, which name the file. */
static void strip_comments(char *text)
{
	for (char *p = text; *p; p += strcspn(p, "\n"), p += *p == '\n') {
		size_t len = strcspn(p, "\n");
		char *line_end = p + len, *hash = NULL;

		for (char *q = p; q + 3 <= line_end; q++)
			if (q[0] == ' ' && q[1] == '#' && q[2] == ' ')
				hash = q;
		if (hash)
			memset(hash, ' ', (size_t)(line_end - hash));
	}
}

static void check_told(const struct cordon_policy *p)
{
	char *text = cordon_policy_describe(p, CORDON_TEXT), *json = cordon_policy_describe(p, CORDON_JSON), *again;
	struct cordon_policy *second = NULL;
	struct cordon_error err = { 0 };

	if (!text || !json)
		die("cannot be told", NULL);
	if (cordon_policy_parse(&second, "told.yaml", NULL, text, strlen(text), &err) < 0)
		die(err.message, text);
	again = cordon_policy_describe(second, CORDON_TEXT);
	strip_comments(text);
	strip_comments(again);
	if (strcmp(text, again) != 0 && strlen(text) == strlen(again))
		die("told differently the second time", again);
	cordon_policy_free(second);
	free(text);
	free(json);
	free(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *name = size && data[0] == '{' ? "f.json" : "f.yaml";
	struct cordon_policy *p = NULL;
	struct cordon_error err = { 0 };
	struct config_full config = { 0 };

	if (cordon_policy_parse(&p, name, "/dir", (const char *)data, size, &err) == 0)
		check_told(p);
	else if (!err.message[0] || !err.code)
		die("refused without a reason", NULL);
	cordon_policy_free(p);
	err = (struct cordon_error){ 0 };
	if (config_file_read(&config, name, "/dir", (const char *)data, size, &err) < 0 &&
	    strncmp(err.message, name, 6) != 0)
		die("refused without a place", err.message);
	config_full_done(&config);
	return 0;
}
