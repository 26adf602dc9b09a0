/*
 * cordon-build: `cordon image build` and `cordon image pull`. A program of its own: it links what talks HTTP, and reads what a daemon answers.
 * With the caller's rights; what is imported is read by cordon-image, in its jail.
 */
#include "base/error.h"
#include "base/fd.h"
#include "driver/build.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { STATUS_FAILED = 125 };

#define AGENT "cordon-agent"

static void say(const char *head, const char *text)
{
	fprintf(stderr, "%s", head);
	for (const char *p = text; *p; p++)
		if ((unsigned char)p[0] == 0xc2 && (unsigned char)p[1] < 0xa0 && p[1]) /* C1, which terminals obey */
			p++;
		else
			fputc((unsigned char)*p < 0x20 || *p == 0x7f ? ' ' : *p, stderr);
	fputc('\n', stderr);
}

static int usage(struct cordon_error *err, const char *verb)
{
	return cordon_fail(err, CORDON_INVALID, 0, "usage: cordon image %s",
			   strcmp(verb, "pull") == 0
				   ? "pull [--engine docker|podman] [--no-import] NAME"
				   : "build [--engine docker|podman] [-t NAME] [-f FILE] "
				     "[--build-arg NAME=VALUE] [--net open|none] [--no-import] [DIR]");
}

/* ---- flags ---- */

static int take_value(struct build_options *o, const char *flag, const char *value, struct cordon_error *err)
{
	if (strcmp(flag, "--engine") == 0) {
		if (strcmp(value, "docker") != 0 && strcmp(value, "podman") != 0)
			return cordon_fail(err, CORDON_INVALID, 0, "--engine '%.60s': docker and podman build images",
					   value);
		o->engine = value;
	} else if (strcmp(flag, "--net") == 0) {
		if (strcmp(value, "none") != 0 && strcmp(value, "open") != 0)
			return cordon_fail(err, CORDON_INVALID, 0, "--net '%.60s': open or none", value);
		o->no_net = strcmp(value, "none") == 0;
	} else if (strcmp(flag, "--build-arg") == 0) {
		if (!strchr(value, '=') || *value == '=')
			return cordon_fail(err, CORDON_INVALID, 0, "--build-arg '%.60s': NAME=VALUE is wanted", value);
		return strv_add(&o->args, value) < 0 ? fail_memory(err) : 0;
	} else if (strcmp(flag, "--file") == 0) {
		o->context.dockerfile = value;
	} else {
		o->name = value;
	}
	return 0;
}

/* 1: it is no flag. */
static int take_flag(struct build_options *o, bool is_build, char **argv, int *i, struct cordon_error *err)
{
	static const struct {
		const char *name, *other;
		bool for_build;
	} flags[] = { { "--engine", NULL, false },
		      { "--tag", "-t", true },
		      { "--file", "-f", true },
		      { "--net", NULL, true },
		      { "--build-arg", NULL, true } };
	const char *arg = argv[*i];
	size_t len = strcspn(arg, "=");

	if (arg[0] != '-' || !arg[1])
		return 1;
	if (strcmp(arg, "--no-import") == 0) {
		o->no_import = true;
		return 0;
	}
	for (size_t f = 0; f < ARRAY_LEN(flags); f++) {
		bool is_long = strlen(flags[f].name) == len && memcmp(flags[f].name, arg, len) == 0;
		const char *value;

		if ((flags[f].for_build && !is_build) ||
		    (!is_long && !(flags[f].other && strcmp(arg, flags[f].other) == 0)))
			continue;
		value = is_long && arg[len] ? arg + len + 1 : argv[++*i];
		return value ? take_value(o, flags[f].name, value, err)
			     : cordon_fail(err, CORDON_INVALID, 0, "%s wants a value", arg);
	}
	return cordon_fail(err, CORDON_INVALID, 0, "no such flag: %.60s", arg);
}

static int parse(struct build_options *o, bool is_build, char **argv, struct cordon_error *err)
{
	const char **word = is_build ? &o->context.dir : &o->name;
	bool only_words = false;

	for (int i = 2; argv[i]; i++) {
		int r = only_words ? 1 : 0;

		if (!only_words && strcmp(argv[i], "--") == 0) {
			only_words = true;
			continue;
		}
		if (!only_words)
			r = take_flag(o, is_build, argv, &i, err);
		if (r < 0)
			return -1;
		if (r && *word)
			return usage(err, argv[1]);
		if (r)
			*word = argv[i];
	}
	return 0;
}

/* Names go into requests and become names in the store. */
static bool is_name(const char *name)
{
	return *name && *name != '-' && *name != '.' && strlen(name) < 256 && !strstr(name, "..") &&
	       strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-/:@") == strlen(name);
}

/* ---- the image of our own ---- */

/* Where `make install` puts it, seen from where it puts us; or a build tree's. */
static char *find_agent(void)
{
	static const char *const places[] = { "/../../share/cordon/images", "/../../images" };
	char self[4096] = "";
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	char *slash = n > 0 ? strrchr(self, '/') : NULL;

	if (!slash)
		return NULL;
	*slash = '\0';
	for (size_t i = 0; i < ARRAY_LEN(places); i++) {
		auto_free char *path = str_printf("%s%s/Dockerfile.agent", self, places[i]);

		if (path && access(path, R_OK) == 0)
			return STEAL(path);
	}
	return NULL;
}

static int complete(struct build_options *o, char **ret_agent, struct cordon_error *err)
{
	if (!o->context.dir && !o->context.dockerfile) {
		*ret_agent = find_agent();
		if (!*ret_agent)
			return cordon_fail(err, CORDON_NOT_FOUND, 0, "there is no Dockerfile.agent: say what to build");
		o->context.dockerfile = *ret_agent;
		o->name = o->name ? o->name : AGENT;
	}
	if (!o->name)
		return cordon_fail(err, CORDON_INVALID, 0, "the image needs a name: -t NAME");
	return 0;
}

static int run(struct build_options *o, int argc, char **argv, struct cordon_error *err)
{
	bool is_build = argc > 1 && strcmp(argv[1], "build") == 0;
	auto_free char *agent = NULL;

	if (!is_build && (argc < 2 || strcmp(argv[1], "pull") != 0))
		return cordon_fail(err, CORDON_INVALID, 0, "cordon-build is started by cordon image build and pull");
	if (parse(o, is_build, argv, err) < 0 || (is_build && complete(o, &agent, err) < 0))
		return -1;
	if (!o->name)
		return usage(err, argv[1]);
	if (!is_name(o->name))
		return cordon_fail(err, CORDON_INVALID, 0, "'%.60s' cannot be the name of an image", o->name);
	return is_build ? build_run(o, err) : build_pull(o, err);
}

int main(int argc, char **argv)
{
	struct build_options o = { 0 };
	struct cordon_error err = { 0 };
	int r;

	signal(SIGPIPE, SIG_IGN);
	r = run(&o, argc, argv, &err);
	strv_done(&o.args);
	if (r == 0)
		return 0;
	say("cordon: ", err.message);
	if (err.hint[0])
		say("hint: ", err.hint);
	return STATUS_FAILED;
}
