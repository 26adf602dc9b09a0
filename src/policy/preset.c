/* Presets: see preset.h. Runs in the front, with the caller's rights. */
#include "policy/preset.h"

#include "base/fd.h"
#include "base/json.h"
#include "base/str.h"
#include "policy/config.h"
#include "policy/option.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

enum { PRESET_SHOWN_MAX = 256, PRESET_HEAD_MAX = 4096 };

const struct preset *preset_find(const char *name)
{
	for (const struct preset *p = presets; p->name; p++)
		if (strcmp(p->name, name) == 0)
			return p;
	return NULL;
}

bool preset_name_is_valid(const char *name)
{
	size_t len = strlen(name);

	for (const char *p = name; *p; p++)
		if (!islower((unsigned char)*p) && !isdigit((unsigned char)*p) && *p != '-' && *p != '_')
			return false;
	return len && len <= 64 && name[0] != '-';
}

static int compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Names of all presets, sorted, each once. What cannot be read is left out: this is only for telling. */
static int preset_names(struct strv *names, const char *preset_dir)
{
	DIR *dir = preset_dir ? opendir(preset_dir) : NULL;
	int status = 0;

	for (const struct preset *p = presets; p->name && status == 0; p++)
		status = strv_add(names, p->name);
	for (struct dirent *e; dir && status == 0 && (e = readdir(dir)) && names->n < PRESET_SHOWN_MAX;) {
		auto_free char *name = str_ends(e->d_name, ".yaml") ? strndup(e->d_name, strlen(e->d_name) - 5) : NULL;

		if (name && preset_name_is_valid(name) && !strv_has(names, name))
			status = strv_add(names, name);
	}
	if (dir)
		closedir(dir);
	if (names->n)
		qsort(names->v, names->n, sizeof(*names->v), compare);
	return status;
}

int preset_fail(const char *where, const char *name, const char *preset_dir, struct cordon_error *err)
{
	struct suggestion s = { .word = name };
	struct strv names = { 0 };
	auto_str struct str list = { 0 };

	preset_names(&names, preset_dir);
	for (size_t i = 0; i < names.n; i++) {
		suggest_offer(&s, names.v[i]);
		str_addf(&list, "%s%s", i ? ", " : "", names.v[i]);
	}
	cordon_fail(err, CORDON_NOT_FOUND, 0, "%sno preset is called '%.60s'", where, name);
	fail_step(err, "policy");
	if (s.best)
		fail_hint(err, "did you mean %s?", s.best);
	else
		fail_hint(err, "presets are: %.600s; the path of a file has a slash or ends in .yaml, .yml or .json",
			  list.data ? list.data : "none");
	strv_done(&names);
	return -1;
}

/* The first comment line: what the preset is for. */
static void describe(const char *text, char *buf, size_t size)
{
	size_t len;

	buf[0] = '\0';
	text += strspn(text, "\n");
	if (*text != '#')
		return;
	text += strspn(text, "# ");
	len = strcspn(text, "\n");
	if (len >= size)
		len = size - 1;
	memcpy(buf, text, len);
	buf[len] = '\0';
}

static void describe_named(const char *name, const char *preset_dir, char *buf, size_t size)
{
	const struct preset *built_in = preset_find(name);
	auto_free char *path = preset_dir ? str_printf("%s/%s.yaml", preset_dir, name) : NULL;
	char head[PRESET_HEAD_MAX];

	if (path && fd_read_file_at(AT_FDCWD, path, head, sizeof(head)) > 0)
		describe(head, buf, size);
	else
		describe(built_in ? built_in->text : "", buf, size);
}

char *cordon_policy_presets(enum cordon_format format)
{
	const struct config *config = config_get(NULL);
	const char *dir = config ? config->preset_dir : NULL;
	struct json j = { .pretty = true };
	auto_str struct str text = { 0 };
	struct strv names = { 0 };
	char about[200];

	if (preset_names(&names, dir) < 0)
		text.failed = j.out.failed = true;
	json_array(&j, NULL);
	for (size_t i = 0; i < names.n; i++) {
		describe_named(names.v[i], dir, about, sizeof(about));
		str_addf(&text, "%-14s %s\n", names.v[i], about);
		json_object(&j, NULL);
		json_string(&j, "name", names.v[i]);
		json_string(&j, "about", about);
		json_end_object(&j);
	}
	json_end_array(&j);
	strv_done(&names);
	if (format == CORDON_TEXT) {
		str_done(&j.out);
		return str_take(&text);
	}
	return json_take(&j);
}
