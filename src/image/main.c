/*
 * cordon-image: import, ls, rm and inspect of the image store; `cordon image` executes it. A program of its own, so that nothing that unpacks
 * archives is part of the command. With the caller's rights, which import gives up before it reads the archive.
 */
#include "base/fd.h"
#include "base/json.h"
#include "image/depot.h"
#include "image/import.h"
#include "policy/config.h"
#include "policy/unit.h"

#include <errno.h>
#include <inttypes.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { STATUS_FAILED = 125 };

struct request {
	const char *dir;
	const char *words[16];
	size_t word_count;
	bool json;
	struct budget budget;
};

/* ---- saying ---- */

/* Names in messages come from archives: control characters are not for terminals. */
static void say(const char *head, const char *text)
{
	auto_str struct str s = { 0 };

	str_add(&s, head);
	for (const char *p = text; *p; p++)
		str_add_char(&s, (unsigned char)*p < 0x20 || *p == 0x7f ? '?' : *p);
	str_add_char(&s, '\n');
	if (!s.failed)
		(void)fd_write_all(STDERR_FILENO, s.data, s.len);
}

static int print(char *text)
{
	auto_free char *t = text;

	return t && fd_write_all(STDOUT_FILENO, t, strlen(t)) == 0 ? 0 : STATUS_FAILED;
}

static int fail(const struct cordon_error *err, bool json)
{
	struct json j = { .pretty = true };

	say("cordon: ", err->message);
	if (err->hint[0])
		say("hint: ", err->hint);
	if (!json)
		return STATUS_FAILED;
	json_object(&j, NULL);
	json_object(&j, "error");
	json_string(&j, "code", cordon_code_name(err->code));
	json_string(&j, "message", err->message);
	json_string(&j, "hint", err->hint);
	json_end_object(&j);
	json_end_object(&j);
	str_add_char(&j.out, '\n');
	(void)print(json_take(&j));
	return STATUS_FAILED;
}

static void json_image(struct json *j, const struct store_image *image, const char *dir)
{
	auto_free char *root = str_printf("%s/roots/%s", dir, image->root);

	json_object(j, NULL);
	json_string(j, "name", image->name);
	json_string(j, "id", image->id);
	json_string(j, "platform", image->platform);
	json_uint(j, "size_bytes", image->size_bytes);
	json_uint(j, "imported", image->imported_s);
	json_string(j, "root", root);
	json_strings(j, "layers", (const char *const *)image->layers.v);
	json_object(j, "config");
	json_strings(j, "env", (const char *const *)image->env.v);
	json_string(j, "workdir", image->workdir);
	json_string(j, "user", image->user);
	json_strings(j, "entrypoint", (const char *const *)image->entrypoint.v);
	json_strings(j, "cmd", (const char *const *)image->cmd.v);
	json_end_object(j);
	json_end_object(j);
}

static char *text_images(const struct store_image *images, size_t count)
{
	struct str s = { 0 };

	str_addf(&s, "%-32s %-19s %9s %6s  %s\n", "NAME", "ID", "SIZE", "LAYERS", "IMPORTED");
	for (size_t i = 0; i < count; i++) {
		time_t when = (time_t)images[i].imported_s;
		char size[32], date[32] = "";
		struct tm tm;

		if (localtime_r(&when, &tm))
			strftime(date, sizeof(date), "%Y-%m-%d %H:%M", &tm);
		str_addf(&s, "%-32s %-19.19s %9s %6zu  %s\n", images[i].name, images[i].id,
			 str_size(images[i].size_bytes, size), images[i].layers.n, date);
	}
	return str_take(&s);
}

static int print_images(const struct request *r, const struct store_image *images, size_t count)
{
	struct json j = { .pretty = true };

	if (!r->json)
		return print(text_images(images, count));
	json_array(&j, NULL);
	for (size_t i = 0; i < count; i++)
		json_image(&j, &images[i], r->dir);
	json_end_array(&j);
	str_add_char(&j.out, '\n');
	return print(json_take(&j));
}

/* ---- the commands ---- */

static int cmd_import(struct request *r, struct cordon_error *err)
{
	struct import_options o = { .dir = r->dir, .source = r->words[0], .name = r->words[1], .budget = r->budget };
	struct imported done = { 0 };
	char text[160];
	int status;

	status = import_run(&o, &done, err) < 0 ? -1 : print_images(r, done.images, done.count);
	if (status == 0 && done.report.devices) {
		snprintf(text, sizeof(text), "%" PRIu64 " devices below dev/ were left out: a box has its own",
			 done.report.devices);
		say("note: ", text);
	}
	if (status == 0 && done.report.stripped) {
		snprintf(text, sizeof(text),
			 "%" PRIu64 " set-user-id and set-group-id bits were taken off: none counts in a box",
			 done.report.stripped);
		say("note: ", text);
	}
	imported_done(&done);
	return status;
}

static int cmd_ls(struct request *r, struct cordon_error *err)
{
	struct store_image *list = NULL;
	auto_close int store = -1;
	size_t count = 0;
	int status = store_enter(r->dir, &store, err);

	if (status == -ENOENT)
		status = 0;
	else if (status == 0)
		status = depot_list(store, &list, &count, err);
	status = status < 0 ? -1 : print_images(r, list, count);
	while (count)
		store_image_done(&list[--count]);
	free(list);
	return status;
}

static int find(const struct request *r, const char *name, struct store_image *ret, struct cordon_error *err)
{
	auto_close int store = -1;
	int status = store_enter(r->dir, &store, err);

	if (status == -ENOENT) {
		cordon_fail(err, CORDON_NOT_FOUND, 0, "there is no image '%s'", name);
		return fail_hint(err, "no image has been imported yet");
	}
	return status < 0 ? -1 : store_find(store, name, ret, err);
}

static int cmd_inspect(struct request *r, struct cordon_error *err)
{
	auto_image struct store_image image = { 0 };
	struct json j = { .pretty = true };

	if (find(r, r->words[0], &image, err) < 0)
		return -1;
	json_image(&j, &image, r->dir);
	str_add_char(&j.out, '\n');
	return print(json_take(&j));
}

/* All of them, or none where one is not there. */
static int cmd_rm(struct request *r, struct cordon_error *err)
{
	struct depot d = DEPOT_INIT;
	int status = 0;

	for (size_t i = 0; i < r->word_count; i++) {
		auto_image struct store_image image = { 0 };

		if (find(r, r->words[i], &image, err) < 0)
			return -1;
	}
	status = depot_open(&d, r->dir, err);
	for (size_t i = 0; status == 0 && i < r->word_count; i++) {
		auto_image struct store_image image = { 0 };

		status = store_find(d.dir, r->words[i], &image, err);
		status = status < 0 ? -1 : depot_unname(&d, image.name, err);
	}
	depot_close(&d);
	return status;
}

static const struct command {
	const char *name, *usage;
	size_t min, max;
	bool budget; /* takes --max-… */
	int (*run)(struct request *r, struct cordon_error *err);
} commands[] = {
	{ "import", "import [--max-size SIZE] [--max-entries NUMBER] [--max-ratio NUMBER] [--json] FILE|DIR|- [NAME]",
	  1, 2, true, cmd_import },
	{ "ls", "ls [--json]", 0, 0, false, cmd_ls },
	{ "rm", "rm NAME…", 1, 16, false, cmd_rm },
	{ "inspect", "inspect NAME [--json]", 1, 1, false, cmd_inspect },
};

/* ---- the line ---- */

static int take_number(enum option_type type, const char *flag, const char *text, uint64_t *ret,
		       struct cordon_error *err)
{
	struct unit_fault fault = { 0 };
	uint64_t num;

	if (!text)
		return cordon_fail(err, CORDON_INVALID, 0, "%s wants a value", flag);
	if (unit_parse(type, text, &num, &fault) < 0 || !num)
		return cordon_fail(err, CORDON_INVALID, 0, "%s '%.60s': a number above 0 is wanted", flag, text);
	*ret = num;
	return 0;
}

static int take_flag(struct request *r, const struct command *c, char **argv, int *i, struct cordon_error *err)
{
	const struct {
		const char *name;
		enum option_type type;
		uint64_t *to;
	} flags[] = {
		{ "--max-size", TYPE_SIZE, &r->budget.max_bytes },
		{ "--max-entries", TYPE_COUNT, &r->budget.max_entries },
		{ "--max-ratio", TYPE_COUNT, &r->budget.max_ratio },
	};
	size_t len = strcspn(argv[*i], "=");

	if (strcmp(argv[*i], "--json") == 0) {
		r->json = true;
		return 0;
	}
	for (size_t f = 0; c->budget && f < ARRAY_LEN(flags); f++) {
		const char *arg = argv[*i];

		if (strlen(flags[f].name) != len || memcmp(flags[f].name, arg, len) != 0)
			continue;
		return take_number(flags[f].type, flags[f].name, arg[len] ? arg + len + 1 : argv[++*i], flags[f].to,
				   err);
	}
	return cordon_fail(err, CORDON_INVALID, 0, "no such flag: %.60s", argv[*i]);
}

static int parse(struct request *r, const struct command *c, int argc, char **argv, struct cordon_error *err)
{
	bool only_words = false;

	for (int i = 0; i < argc; i++) {
		if (!only_words && strcmp(argv[i], "--") == 0)
			only_words = true;
		else if (!only_words && argv[i][0] == '-' && argv[i][1]) {
			if (take_flag(r, c, argv, &i, err) < 0)
				return -1;
		} else if (r->word_count == ARRAY_LEN(r->words) || r->word_count == c->max) {
			return cordon_fail(err, CORDON_INVALID, 0, "usage: cordon image %s", c->usage);
		} else {
			r->words[r->word_count++] = argv[i];
		}
	}
	return r->word_count < c->min ? cordon_fail(err, CORDON_INVALID, 0, "usage: cordon image %s", c->usage) : 0;
}

static int run(struct request *r, int argc, char **argv, struct cordon_error *err)
{
	const struct config *config;

	for (size_t i = 0; argc > 1 && i < ARRAY_LEN(commands); i++) {
		if (strcmp(commands[i].name, argv[1]) != 0)
			continue;
		if (parse(r, &commands[i], argc - 2, argv + 2, err) < 0)
			return -1;
		config = config_get(err);
		if (!config)
			return -1;
		if (!config->images_dir)
			return cordon_fail(err, CORDON_INVALID, 0, "there is no place for images: HOME is not set");
		r->dir = config->images_dir;
		return commands[i].run(r, err);
	}
	cordon_fail(err, CORDON_INVALID, 0,
		    argc > 1 ? "no such command: image %.60s" : "what is to be done with images%.0s?",
		    argc > 1 ? argv[1] : "");
	return fail_hint(err, "there are import, build, pull, ls, rm and inspect; see `cordon image --help`");
}

int main(int argc, char **argv)
{
	struct request r = { .budget = BUDGET_INIT };
	struct cordon_error err = { 0 };
	int status;

	(void)setlocale(LC_CTYPE, "C.UTF-8"); /* libarchive reads names of pax headers in the locale's characters */
	umask(0);
	status = run(&r, argc, argv, &err);
	return status < 0 ? fail(&err, r.json) : status;
}
