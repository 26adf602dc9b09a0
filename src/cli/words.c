/*
 * cordon completion words WORD…: what may stand in place of the last WORD, for the shells' completion. Each line is a
 * candidate, a tab and its description. A line that starts with a colon asks the shell for names of its own:
 * ":files", ":commands". The shells filter by what was typed. Here, so that no shell script holds a second flag table.
 */
#include "cli/cli.h"

#include <string.h>

static void add_word(struct str *s, const char *word, size_t len, const char *help)
{
	str_addf(s, "%.*s\t%s\n", (int)len, word, help ? help : "");
}

/* Lines "name   description" of the library's lists. */
static void add_list(struct str *s, char *text)
{
	auto_free char *lines = text;

	for (const char *p = lines ? lines : ""; *p;) {
		size_t line = strcspn(p, "\n"), name = strcspn(p, " \t\n");
		size_t gap = name + strspn(p + name, " \t");

		if (name)
			str_addf(s, "%.*s\t%.*s\n", (int)name, p, (int)(gap < line ? line - gap : 0),
				 p + (gap < line ? gap : line));
		p += line + (p[line] == '\n');
	}
}

static void add_flags(struct str *s, unsigned scope)
{
	size_t n;
	const struct cli_flag *flags = cli_flags(&n);
	const struct cordon_option *options;

	for (size_t i = 0; i < n; i++)
		if (flags[i].scope & scope)
			add_word(s, flags[i].name, strlen(flags[i].name), flags[i].help);
	options = cordon_options(&n);
	for (size_t i = 0; i < n && (scope & SCOPE_POLICY); i++)
		if (options[i].flag)
			add_word(s, options[i].flag, strlen(options[i].flag), options[i].help);
}

static void add_images(struct str *s)
{
	auto_free char *text = cli_image_list();
	const char *rest = text ? strchr(text, '\n') : NULL; /* behind the heading */

	if (rest)
		add_list(s, strdup(rest + 1));
}

/* "-t, --tag": both. */
static void add_image_flags(struct str *s, const char *verb)
{
	for (const struct cli_image_flag *f = cli_image_flags; f->name; f++) {
		const char *comma = strstr(f->name, ", ");

		if (!verb || !cli_image_takes(f, verb))
			continue;
		if (comma)
			add_word(s, f->name, (size_t)(comma - f->name), f->help);
		add_word(s, comma ? comma + 2 : f->name, strlen(comma ? comma + 2 : f->name), f->help);
	}
}

/* What a flag's value may be, from its metavar: words between bars, paths, a policy. */
static void add_values(struct str *s, const char *metavar)
{
	bool words = strchr(metavar, '|');
	bool paths = !strstr(metavar, "PORT") && !strchr(metavar, '@'); /* there HOST is a name of the network */

	if (str_starts(metavar, "NAME|FILE"))
		add_list(s, cordon_policy_presets(CORDON_TEXT));
	if (strstr(metavar, "FILE") || strstr(metavar, "PATH") || strstr(metavar, "DIR") ||
	    (paths && strstr(metavar, "HOST")))
		str_add(s, ":files\n");
	for (const char *p = metavar; words && *p;) {
		size_t len = strcspn(p, "|");

		if (p[0] >= 'a' && p[0] <= 'z')
			add_word(s, p, len, NULL);
		p += len + (p[len] == '|');
	}
}

/* The metavar of a flag that takes a value, or NULL. */
static const char *value_of(const char *flag, unsigned scope)
{
	size_t n;
	const struct cli_flag *flags = cli_flags(&n);
	const struct cordon_option *options;

	for (size_t i = 0; i < n; i++)
		if ((flags[i].scope & scope) &&
		    (strcmp(flags[i].name, flag) == 0 || (flags[i].letter && strcmp(flags[i].letter, flag) == 0)))
			return flags[i].metavar;
	options = cordon_options(&n);
	for (size_t i = 0; i < n && (scope & SCOPE_POLICY); i++)
		if (options[i].flag && strcmp(options[i].flag, flag) == 0)
			return options[i].is_switch ? NULL : options[i].metavar;
	return NULL;
}

/* The same of an image's verb. */
static const char *image_value_of(const char *flag, const char *verb)
{
	for (const struct cli_image_flag *f = cli_image_flags; f->name; f++) {
		const char *comma = strstr(f->name, ", ");
		size_t letter = comma ? (size_t)(comma - f->name) : 0;

		if ((strcmp(flag, comma ? comma + 2 : f->name) == 0 ||
		     (letter && strlen(flag) == letter && memcmp(flag, f->name, letter) == 0)) &&
		    (!verb || cli_image_takes(f, verb)))
			return f->metavar;
	}
	return NULL;
}

/* Where the cursor stands: how many words that are no flags came before it, and whether a flag waits for its value. */
struct place {
	size_t words;
	bool rest; /* behind "--", or in the command that `run` runs */
	const char *metavar;
	bool image;       /* which is the name of one */
	const char *verb; /* the first word */
};

static struct place find_place(const struct cli_command *c, char **argv, unsigned scope)
{
	struct place place = { 0 };

	for (; argv[0] && argv[1]; argv++) {
		const char *metavar;

		if (place.metavar) {
			if (strcmp(argv[0], "=") != 0) /* bash splits --flag=value there */
				place.metavar = NULL, place.image = false;
			continue;
		}
		metavar = argv[0][0] == '-' ? value_of(argv[0], scope) : NULL;
		if (!metavar && argv[0][0] == '-' && c->main == cmd_image)
			metavar = image_value_of(argv[0], place.verb);
		place.image = metavar && strcmp(argv[0], "--image") == 0;
		if (metavar)
			place.metavar = metavar;
		else if (strcmp(argv[0], "--") == 0)
			place.rest = true;
		else if (argv[0][0] != '-' || !argv[0][1])
			place.verb = place.words++ ? place.verb : argv[0];
		if (place.rest || (scope == SCOPE_RUN && place.words)) {
			place.rest = true;
			break;
		}
	}
	return place;
}

/* What may follow in the way of words, by subcommand. */
static void add_position(struct str *s, const struct cli_command *c, const struct place *place, unsigned scope)
{
	size_t n;
	const struct cli_command *commands = cli_commands(&n);

	if (scope == SCOPE_CODE) {
		if (place->words == 0)
			add_list(s, cordon_languages(CORDON_TEXT));
		else
			str_add(s, ":files\n");
	} else if (scope == SCOPE_RUN) {
		str_add(s, ":commands\n");
	} else if (c->main == cmd_help && place->words == 0) {
		add_word(s, "options", 7, "all policy keys");
		for (size_t i = 0; i < n; i++)
			add_word(s, commands[i].name, strlen(commands[i].name), commands[i].help);
	} else if (c->main == cmd_image && place->words == 1 &&
		   (strcmp(place->verb, "import") == 0 || strcmp(place->verb, "build") == 0)) {
		str_add(s, ":files\n");
	} else if (c->main == cmd_image && place->words &&
		   (strcmp(place->verb, "rm") == 0 || strcmp(place->verb, "inspect") == 0)) {
		add_images(s);
	} else if (c->main == cmd_policy && place->words == 1 &&
		   (strcmp(place->verb, "check") == 0 || strcmp(place->verb, "show") == 0)) {
		add_values(s, "NAME|FILE");
	}
	for (const char *p = c->words; p && *p && place->words == 0 && scope != SCOPE_CODE;) {
		size_t len = strcspn(p, " ");

		add_word(s, p, len, NULL);
		p += len + (p[len] == ' ');
	}
}

static void add_words(struct str *s, const struct cli_command *c, char **argv)
{
	bool plan_code = c->main == cmd_plan && argv[0] && argv[1] && strcmp(argv[0], "code") == 0;
	unsigned scope = c->main == cmd_plan ? (plan_code ? SCOPE_CODE : SCOPE_RUN) : (unsigned)c->scope;
	struct place place;
	const char *current;

	argv += plan_code;
	place = find_place(c, argv, scope);
	for (current = ""; *argv; argv++)
		current = *argv;
	if (place.image)
		add_images(s);
	else if (place.metavar)
		add_values(s, place.metavar);
	else if (c->main == cmd_image && current[0] == '-')
		add_image_flags(s, place.verb);
	else if (place.rest)
		str_add(s, scope == SCOPE_RUN && !place.words ? ":commands\n:files\n" : ":files\n");
	else if (current[0] == '-')
		add_flags(s, scope);
	else
		add_position(s, c, &place, scope);
}

int cli_words(char **argv)
{
	auto_str struct str s = { 0 };
	size_t n;
	const struct cli_command *commands = cli_commands(&n), *command;

	if (!argv[0] || !argv[1]) {
		for (size_t i = 0; i < n; i++)
			add_word(&s, commands[i].name, strlen(commands[i].name), commands[i].help);
	} else {
		command = cli_command_find(argv[0]);
		if (command)
			add_words(&s, command, argv + 1);
	}
	return cli_print(str_take(&s), 0);
}
