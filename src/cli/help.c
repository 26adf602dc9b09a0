/* cordon help [COMMAND|options]: written from the tables of subcommands and options. */
#include "cli/cli.h"

#include <string.h>

enum { HELP_COLUMN = 30 };

/* "  --memory SIZE     help [512M]"; a long flag has its help on the next line. Columns count characters, not bytes. */
static void add_row(struct str *s, const char *left, const char *help, const char *value)
{
	size_t width = 0;

	for (const char *p = left; *p; p++)
		width += (*p & 0xc0) != 0x80;
	str_addf(s, "  %s", left);
	if (width + 4 > HELP_COLUMN) {
		str_add_char(s, '\n');
		width = 0;
	} else {
		width += 2;
	}
	str_addf(s, "%*s%s", (int)(HELP_COLUMN - width), "", help);
	if (value && *value)
		str_addf(s, " [%s]", value);
	str_add_char(s, '\n');
}

static void add_job_flags(struct str *s, unsigned scope)
{
	size_t n;
	const struct cli_flag *flags = cli_flags(&n);

	str_add(s, scope & SCOPE_JOB ? "\nthe job:\n" : "\noptions:\n");
	for (size_t i = 0; i < n; i++) {
		const struct cli_flag *f = &flags[i];
		auto_str struct str left = { 0 };

		if (!(f->scope & scope))
			continue;
		if (f->letter)
			str_addf(&left, "%s, ", f->letter);
		str_add(&left, f->name);
		if (f->metavar)
			str_addf(&left, " %s", f->metavar);
		if (left.data)
			add_row(s, left.data, f->help, NULL);
	}
}

/* Sections of the table: what stands before the dot. */
static const char *section_title(const char *key)
{
	static const char *const titles[][2] = {
		{ "limits.", "limits" },      { "files.", "files" },         { "network.", "the network" },
		{ "secrets", "the network" }, { "process.", "the process" },
	};

	for (size_t i = 0; i < ARRAY_LEN(titles); i++)
		if (str_starts(key, titles[i][0]))
			return titles[i][1];
	return "the wall";
}

static bool is_empty_default(const char *text)
{
	return !text || strcmp(text, "[]") == 0 || strcmp(text, "{}") == 0;
}

static void add_options(struct str *s)
{
	static const char *const order[] = { "the wall", "limits", "files", "the network", "the process" };
	size_t n;
	const struct cordon_option *options = cordon_options(&n);

	for (size_t section = 0; section < ARRAY_LEN(order); section++) {
		str_addf(s, "\n%s:\n", order[section]);
		for (size_t i = 0; i < n; i++) {
			const struct cordon_option *o = &options[i];
			auto_str struct str left = { 0 };

			if (!o->flag || strcmp(section_title(o->key), order[section]) != 0)
				continue;
			str_add(&left, o->flag);
			if (!o->is_switch)
				str_addf(&left, " %s%s", o->metavar, o->is_list ? " …" : "");
			if (left.data)
				add_row(s, left.data, o->help,
					is_empty_default(o->default_text) ? NULL : o->default_text);
		}
	}
}

static void add_usage(struct str *s, const struct cli_command *c)
{
	const char *line = c->usage;

	for (const char *head = "usage:";; head = "      ") {
		size_t len = strcspn(line, "\n");

		str_addf(s, "%s cordon %s%s%.*s\n", head, c->name, len ? " " : "", (int)len, line);
		if (!line[len])
			return;
		line += len + 1;
	}
}

static void add_indented(struct str *s, const char *text)
{
	while (*text) {
		size_t len = strcspn(text, "\n");

		str_addf(s, "  %.*s\n", (int)len, text);
		text += len + (text[len] == '\n');
	}
}

static void add_image_flags(struct str *s)
{
	str_add(s, "\noptions:\n");
	for (const struct cli_image_flag *f = cli_image_flags; f->name; f++) {
		auto_free char *left =
			str_printf("%s%s%s", f->name, f->metavar ? " " : "", f->metavar ? f->metavar : "");
		auto_free char *help = str_printf("%s: %s", f->verbs, f->help);

		if (left && help)
			add_row(s, left, help, NULL);
	}
}

int cli_help(const struct cli_command *c)
{
	auto_str struct str s = { 0 };

	add_usage(&s, c);
	str_addf(&s, "\n%s\n", c->help);
	if (c->examples) {
		str_add(&s, "\nexamples:\n");
		add_indented(&s, c->examples);
	}
	if (c->main == cmd_image)
		add_image_flags(&s);
	else
		add_job_flags(&s, c->scope);
	if (c->scope & SCOPE_JOB)
		add_options(&s);
	else if (c->scope & SCOPE_POLICY)
		str_add(&s, "\n`show` takes the policy flags of `cordon run` as well: see `cordon run --help`.\n");
	if (c->scope & SCOPE_POLICY)
		str_add(&s, "\n… may be repeated. Sizes: 64K 512M 2G; times: 500ms 30s 5m. More: man cordon, man "
			    "cordon-policy.\n");
	return cli_print(str_take(&s), 0);
}

static int help_all(void)
{
	auto_str struct str s = { 0 };
	size_t n;
	const struct cli_command *commands = cli_commands(&n);

	str_add(&s, "usage: cordon COMMAND [ARG…]\n\n"
		    "Runs what an AI agent wants to run, so that it can do its work and nothing else.\n\n");
	for (size_t i = 0; i < n; i++)
		str_addf(&s, "  %-12s%s\n", commands[i].name, commands[i].help);
	str_add(&s, "\nexamples:\n"
		    "  cordon run -- ls -l /\n"
		    "  cordon code python -e 'print(6 * 7)'\n"
		    "  cordon run --rw . --timeout 5m -- make test\n"
		    "\n`cordon COMMAND --help` tells more; the manual is cordon(1).\n");
	return cli_print(str_take(&s), 0);
}

static int help_options(void)
{
	auto_str struct str s = { 0 };
	size_t n;
	const struct cordon_option *options = cordon_options(&n);

	str_addf(&s, "%-24s %-14s %-10s %s\n", "KEY", "FLAG", "DEFAULT", "");
	for (size_t i = 0; i < n; i++)
		str_addf(&s, "%-24s %-14s %-10s %s\n", options[i].key, options[i].flag ? options[i].flag : "-",
			 options[i].default_text ? options[i].default_text : "-", options[i].help);
	return cli_print(str_take(&s), 0);
}

int cmd_help(int argc, char **argv)
{
	struct cli_nearest nearest;
	struct cordon_error err = { 0 };
	const struct cli_command *command;
	size_t n;
	const struct cli_command *commands = cli_commands(&n);

	if (argc < 2 || argv[1][0] == '-')
		return help_all();
	if (strcmp(argv[1], "options") == 0)
		return help_options();
	command = cli_command_find(argv[1]);
	if (command)
		return cli_help(command);
	nearest = (struct cli_nearest){ .word = argv[1] };
	for (size_t i = 0; i < n; i++)
		cli_nearest_offer(&nearest, commands[i].name);
	cordon_fail(&err, CORDON_INVALID, 0, "no help on '%.200s'", argv[1]);
	if (nearest.best)
		fail_hint(&err, "did you mean `cordon help %s`?", nearest.best);
	return cli_fail_usage(&err, false);
}
