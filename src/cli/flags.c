/*
 * Flags: the policy's come from the option table (cordon_options()), the job's from the small table below. Parsing only
 * notes what was said; the policy is made afterwards, since --policy may come last.
 */
#include "cli/cli.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define AT(member) offsetof(struct cli_request, member)
static const struct cli_flag flags[] = {
	{ "--policy", "-p", SCOPE_POLICY, "NAME|FILE", AT(policy), false,
	  "a preset or a policy file; flags can then only narrow it" },
	{ "--image", NULL, SCOPE_POLICY, "NAME", AT(image), false,
	  "an image as the root: the same as --root image:NAME; see `cordon image`" },
	{ "--in", NULL, SCOPE_JOB, "HOST[:DEST]", AT(in), true, "copy this in before the run" },
	{ "--out", NULL, SCOPE_JOB, "PATH[:HOST]", AT(out), true, "copy this out after the run" },
	{ "--eval", "-e", SCOPE_CODE, "CODE", AT(code), false, "the program itself" },
	{ "--tty", "-t", SCOPE_JOB, NULL, AT(tty), false, "give it a terminal of its own" },
	{ "--keep", NULL, SCOPE_JOB, NULL, AT(keep), false, "keep the scratch directory of --storage disk" },
	{ "--log", NULL, SCOPE_JOB, "FILE", AT(log), false,
	  "append every name, connection and request, allowed or refused, as a line of JSON" },
	{ "--json", NULL, SCOPE_ANY, NULL, AT(json), false, "one JSON document on stdout" },
	{ "--quiet", "-q", SCOPE_JOB, NULL, AT(quiet), false, "say nothing on stderr about how it ended" },
	{ "--verbose", "-v", SCOPE_JOB, NULL, AT(verbose), false,
	  "say how it ended and what it used, also after success" },
	{ "--help", "-h", SCOPE_ANY, NULL, AT(help), false, "this" },
};

const struct cli_flag *cli_flags(size_t *ret_count)
{
	*ret_count = ARRAY_LEN(flags);
	return flags;
}

void cli_nearest_offer(struct cli_nearest *nearest, const char *candidate)
{
	size_t limit = strlen(nearest->word) / 3 + 1, distance;

	if (strlen(nearest->word) > 3 && str_starts(candidate, nearest->word))
		distance = 0;
	else
		distance = str_distance(nearest->word, candidate, limit);
	if (distance > limit || (nearest->best && distance >= nearest->distance))
		return;
	nearest->best = candidate;
	nearest->distance = distance;
}

/* ---- one flag ----------------------------------------------------------------------------------------- */

struct flag_word {
	char name[40];     /* "--memory" */
	const char *value; /* after "=", or NULL */
};

static int flag_split(struct flag_word *w, const char *arg, struct cordon_error *err)
{
	size_t len = arg[1] == '-' ? strcspn(arg, "=") : strlen(arg);

	if (len >= sizeof(w->name))
		return cordon_fail(err, CORDON_INVALID, 0, "no such flag: %.60s…", arg);
	memcpy(w->name, arg, len);
	w->name[len] = '\0';
	w->value = arg[len] ? arg + len + 1 : NULL;
	return 0;
}

/* What Docker's users type, and what it is here. */
static const struct {
	const char *theirs, *ours;
} translations[] = {
	{ "--volume", "mounts are --ro HOST[:DEST] and --rw HOST[:DEST]" },
	{ "--mount", "mounts are --ro HOST[:DEST] and --rw HOST[:DEST]" },
	{ "--network", "it is --net none|allow|open, and --allow HOST for each host" },
	{ "-it", "it is --tty (-t); standard input is passed on always" },
	{ "-ti", "it is --tty (-t); standard input is passed on always" },
	{ "-i", "standard input is passed on always; a terminal is --tty" },
	{ "--interactive", "standard input is passed on always; a terminal is --tty" },
	{ "-e", "variables are --env NAME=VALUE" },
	{ "-w", "it is --workdir PATH" },
	{ "-m", "it is --memory SIZE" },
	{ "-u", "the payload is never root; --user NAME is what it is called" },
	{ "--pids-limit", "it is --pids NUMBER" },
	{ "--read-only", "the root is read-only always" },
	{ "--rm", "nothing of a box outlives its run: leave it out" },
	{ "--name", "boxes have no names: nothing of one outlives its run" },
	{ "-d", "a run is not detached: `&`, or boxes that live, in the library" },
	{ "--detach", "a run is not detached: `&`, or boxes that live, in the library" },
	{ "--publish", "nothing from outside reaches into a box" },
	{ "--entrypoint", "an image's entry point is not used: name the command" },
	{ "--privileged", "there is no such box" },
	{ "--cap-add", "there is no such box: the payload has no capabilities" },
	{ "--security-opt", "there is no such box: the filter is always on; --syscalls strict narrows it" },
};

static const char *translate(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(translations); i++)
		if (strcmp(translations[i].theirs, name) == 0)
			return translations[i].ours;
	return NULL;
}

static int flag_unknown(const char *name, enum cli_scope scope, struct cordon_error *err)
{
	struct cli_nearest nearest = { .word = name };
	size_t n;
	const struct cordon_option *options = cordon_options(&n);

	for (size_t i = 0; i < n && (scope & SCOPE_POLICY); i++)
		if (options[i].flag)
			cli_nearest_offer(&nearest, options[i].flag);
	for (size_t i = 0; i < ARRAY_LEN(flags); i++)
		if (flags[i].scope & scope)
			cli_nearest_offer(&nearest, flags[i].name);
	cordon_fail(err, CORDON_INVALID, 0, "no such flag: %s", name);
	if ((scope & SCOPE_JOB) && translate(name))
		return fail_hint(err, "%s", translate(name));
	if (nearest.best)
		return fail_hint(err, "did you mean %s?", nearest.best);
	return fail_hint(err, "--help lists them%s",
			 scope == SCOPE_RUN ? "; flags of the command itself go after it" : "");
}

/* Takes the value from "=" or from the next argument. */
static int flag_value(struct flag_word *w, const char *metavar, char **argv, int *i, struct cordon_error *err)
{
	const char *next = argv[*i + 1];

	if (w->value)
		return 0;
	if (!next || strcmp(next, "--") == 0)
		return cordon_fail(err, CORDON_INVALID, 0, "%s wants a value: %s %s", w->name, w->name, metavar);
	w->value = next;
	(*i)++;
	return 0;
}

static int flag_no_value(const struct flag_word *w, struct cordon_error *err)
{
	if (w->value)
		return cordon_fail(err, CORDON_INVALID, 0, "%s takes no value", w->name);
	return 0;
}

static int take_job_flag(struct cli_request *r, const struct cli_flag *flag, struct flag_word *w, char **argv, int *i,
			 struct cordon_error *err)
{
	char *member = (char *)r + flag->offset;

	if (!flag->metavar) {
		if (flag_no_value(w, err) < 0)
			return -1;
		*(bool *)(void *)member = true;
		return 0;
	}
	if (flag_value(w, flag->metavar, argv, i, err) < 0)
		return -1;
	if (!flag->is_list)
		*(const char **)(void *)member = w->value;
	else if (strv_add((struct strv *)(void *)member, w->value) < 0)
		return fail_memory(err);
	return 0;
}

static int take_option(struct cli_request *r, const struct cordon_option *option, struct flag_word *w, char **argv,
		       int *i, struct cordon_error *err)
{
	struct cli_setting *bigger;

	if (option->is_switch) {
		if (flag_no_value(w, err) < 0)
			return -1;
		w->value = "true";
	} else if (flag_value(w, option->metavar, argv, i, err) < 0) {
		return -1;
	}
	bigger = realloc(r->settings, (r->setting_count + 1) * sizeof(*bigger));
	if (!bigger)
		return fail_memory(err);
	r->settings = bigger;
	bigger[r->setting_count++] = (struct cli_setting){ .option = option, .value = w->value };
	return 0;
}

static int take_flag(struct cli_request *r, enum cli_scope scope, char **argv, int *i, struct cordon_error *err)
{
	struct flag_word w = { 0 };
	size_t n;
	const struct cordon_option *options;

	if (flag_split(&w, argv[*i], err) < 0)
		return -1;
	for (size_t f = 0; f < ARRAY_LEN(flags); f++)
		if ((flags[f].scope & scope) &&
		    (strcmp(flags[f].name, w.name) == 0 || (flags[f].letter && strcmp(flags[f].letter, w.name) == 0)))
			return take_job_flag(r, &flags[f], &w, argv, i, err);
	options = cordon_options(&n);
	for (size_t o = 0; o < n && (scope & SCOPE_POLICY); o++)
		if (options[o].flag && strcmp(options[o].flag, w.name) == 0)
			return take_option(r, &options[o], &w, argv, i, err);
	return flag_unknown(w.name, scope, err);
}

/* `-v /src:/dst`, as Docker has it: the path would be taken for the command. */
static int check_volume(const char *flag, const char *next, struct cordon_error *err)
{
	const char *colon = next ? strchr(next, ':') : NULL;

	if (strcmp(flag, "-v") != 0 || !colon || colon[1] != '/' || !strchr("/.~", next[0]))
		return 0;
	cordon_fail(err, CORDON_INVALID, 0, "-v is --verbose, and '%.200s' looks like a mount", next);
	return fail_hint(err, "mounts are --ro %.200s and --rw %.200s", next, next);
}

/* ---- the whole line ----------------------------------------------------------------------------------- */

int cli_parse(struct cli_request *r, enum cli_scope scope, int argc, char **argv, struct cordon_error *err)
{
	int i;

	r->rest = argv + argc;
	for (i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--") == 0) {
			r->rest = argv + i + 1;
			return 0;
		}
		if (argv[i][0] == '-' && argv[i][1]) {
			if (check_volume(argv[i], argv[i + 1], err) < 0 || take_flag(r, scope, argv, &i, err) < 0)
				break;
		} else if (scope == SCOPE_RUN) {
			r->rest = argv + i;
			return 0;
		} else if (strv_add(&r->words, argv[i]) < 0) {
			return fail_memory(err);
		}
	}
	if (i >= argc)
		return 0;
	for (; i < argc && strcmp(argv[i], "--") != 0; i++)
		r->json = r->json || strcmp(argv[i], "--json") == 0;
	return -1;
}

void cli_request_done(struct cli_request *r)
{
	strv_done(&r->in);
	strv_done(&r->out);
	strv_done(&r->words);
	free(r->settings);
	*r = (struct cli_request){ 0 };
}

/* ---- from flags to a policy --------------------------------------------------------------------------- */

/* Names hold no commas, so a list of them may be written with commas. */
static bool takes_commas(const struct cordon_option *o)
{
	return o->is_list && (strcmp(o->metavar, "NAME") == 0 || strcmp(o->metavar, "LAYER") == 0);
}

static int set_names(struct cordon_policy *policy, const struct cordon_option *o, const char *text, const char *origin,
		     struct cordon_error *err)
{
	for (const char *p = text;; p++) {
		size_t len = strcspn(p, ",");
		auto_free char *name = strndup(p, len);

		if (!name)
			return fail_memory(err);
		if (!len)
			return cordon_fail(err, CORDON_INVALID, 0, "%s '%s': an empty name", o->flag, text);
		if (cordon_policy_set_from(policy, o->key, name, origin, err) < 0)
			return -1;
		p += len;
		if (!*p)
			return 0;
	}
}

static int set_flag(struct cordon_policy *policy, const struct cli_setting *s, struct cordon_error *err)
{
	const char *key = s->option->key;
	char origin[64];

	snprintf(origin, sizeof(origin), "flag %s", s->option->flag);
	if (takes_commas(s->option))
		return set_names(policy, s->option, s->value, origin, err);
	if (strcmp(key, "process.env") == 0 && !strchr(s->value, '='))
		key = "process.pass_env"; /* --env NAME: as the caller has it */
	return cordon_policy_set_from(policy, key, s->value, origin, err);
}

static int set_image(struct cordon_policy *policy, const struct cli_request *r, struct cordon_error *err)
{
	auto_free char *root = str_printf("image:%s", r->image);

	for (size_t i = 0; i < r->setting_count; i++)
		if (strcmp(r->settings[i].option->key, "files.root") == 0)
			return cordon_fail(err, CORDON_INVALID, 0, "--image and --root both say what the root is");
	return root ? cordon_policy_set_from(policy, "files.root", root, "flag --image", err) : fail_memory(err);
}

static int set_flags(struct cordon_policy *policy, const struct cli_request *r, struct cordon_error *err)
{
	for (size_t i = 0; i < r->setting_count; i++)
		if (set_flag(policy, &r->settings[i], err) < 0)
			return fail_step(err, "flags");
	return r->image && set_image(policy, r, err) < 0 ? fail_step(err, "flags") : 0;
}

static int narrow(struct cordon_policy *policy, const struct cli_request *r, struct cordon_error *err)
{
	struct cordon_policy *request = NULL;
	int rc = -1;

	if (cordon_policy_new_request(&request, err) == 0 && set_flags(request, r, err) == 0)
		rc = cordon_policy_narrow(policy, request, err);
	cordon_policy_free(request);
	return rc;
}

int cli_policy(struct cordon_policy **ret_policy, const struct cli_request *r, struct cordon_error *err)
{
	struct cordon_policy *policy = NULL;
	int rc = r->policy ? cordon_policy_load(&policy, r->policy, err) : cordon_policy_new(&policy, err);

	/* On top of a policy also without flags: --in is a request as well. */
	if (rc == 0)
		rc = r->policy ? narrow(policy, r, err) : set_flags(policy, r, err);
	if (rc < 0) {
		cordon_policy_free(policy);
		return -1;
	}
	*ret_policy = policy;
	return 0;
}
