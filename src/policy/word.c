/* Words of a policy: users, layers, commands, variables, patterns. See text.h. Pure. */
#include "policy/network.h"
#include "policy/text.h"

#include <ctype.h>
#include <string.h>

/* Every layer that a host may lack or a caller insist on; plan.h has what each is. */
static const char *const layers[] = {
	"userns", "mountns", "pidns",        "netns",    "ipcns",   "utsns", "cgroupns",
	"cgroup", "rlimits", "no_new_privs", "landlock", "seccomp", NULL,
};

static bool has_control(const char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text < 0x20 || *text == 0x7f)
			return true;
	return false;
}

bool env_name_is_valid(const char *name, size_t len)
{
	if (!len || isdigit((unsigned char)name[0]))
		return false;
	for (size_t i = 0; i < len; i++)
		if (!isalnum((unsigned char)name[i]) && name[i] != '_')
			return false;
	return true;
}

bool env_name_is_loader(const char *name)
{
	return str_starts(name, "LD_") || strcmp(name, "GLIBC_TUNABLES") == 0 || strcmp(name, "GCONV_PATH") == 0;
}

int text_check_env(const char *name, const struct source *at, struct cordon_error *err)
{
	if (env_name_is_valid(name, strlen(name)))
		return 0;
	source_fail(at, err, "'%.100s' is not a variable's name", name);
	return fail_hint(err, "letters, digits and _, and no digit first");
}

static int check_layer(const char *text, const struct source *at, struct cordon_error *err)
{
	struct suggestion s = { .word = text };

	for (size_t i = 0; layers[i]; i++)
		if (strcmp(layers[i], text) == 0)
			return 0;
	suggest_words(&s, layers);
	source_fail(at, err, "no such layer: '%.60s'", text);
	if (s.best)
		return fail_hint(err, "did you mean %s?", s.best);
	return fail_hint(
		err, "layers are userns, mountns, pidns, netns, ipcns, utsns, cgroupns, cgroup, rlimits, no_new_privs, "
		     "landlock, seccomp");
}

static int check_command(const char *text, const struct source *at, struct cordon_error *err)
{
	bool path = strchr(text, '/');

	if (strcmp(text, "[") == 0) /* test's other name */
		return 0;
	if (strpbrk(text, " ,;|&<>()$`'\"*?[]{}\\")) {
		source_fail(at, err, "'%.60s' is not the name of one program", text);
		return fail_hint(err, "one name or absolute path for each entry; arguments are not part of it");
	}
	if ((path && text[0] != '/') || str_ends(text, "/") || strstr(text, "//") || strstr(text, "/../") ||
	    strstr(text, "/./") || str_ends(text, "/..") || str_ends(text, "/.")) {
		source_fail(at, err, "'%.60s' is neither a name nor an absolute path", text);
		return fail_hint(err, "write python3 or /usr/bin/python3");
	}
	return 0;
}

static int check_user(const char *text, const struct source *at, struct cordon_error *err)
{
	size_t len = strlen(text);
	bool good = len && len <= 32 && (islower((unsigned char)text[0]) || text[0] == '_');

	for (size_t i = 0; good && i < len; i++)
		good = islower((unsigned char)text[i]) || isdigit((unsigned char)text[i]) || text[i] == '_' ||
		       text[i] == '-';
	if (good && strcmp(text, "root") == 0) {
		source_fail(at, err, "the user inside is never root");
		return fail_hint(err, "any other name does; it has no rights outside");
	}
	if (good)
		return 0;
	source_fail(at, err, "'%.60s' is not a user's name", text);
	return fail_hint(err, "small letters, digits, _ and -, at most 32, a letter first");
}

static int check_proxy(const char *text, const struct source *at, struct cordon_error *err)
{
	auto_free char *host = NULL;
	uint16_t port;

	return network_proxy(text, &host, &port, at, err);
}

int text_check_word(enum option_id id, const char *text, const struct source *at, struct cordon_error *err)
{
	if (!*text)
		return source_fail(at, err, "an empty text");
	if (has_control(text)) {
		source_fail(at, err, "a control character in the text");
		return fail_hint(err, "remove it");
	}
	if (strlen(text) > TEXT_WORD_MAX)
		return source_fail(at, err, "longer than %d bytes", TEXT_WORD_MAX);
	if (id == OPT_DEGRADE || id == OPT_REQUIRE)
		return check_layer(text, at, err);
	if (id == OPT_COMMANDS)
		return check_command(text, at, err);
	if (id == OPT_USER)
		return check_user(text, at, err);
	if (id == OPT_PASS_ENV)
		return text_check_env(text, at, err);
	if (id == OPT_UPSTREAM_PROXY)
		return check_proxy(text, at, err);
	if (id == OPT_CA_FILE && text[0] != '/') {
		source_fail(at, err, "'%.60s' is not an absolute path", text);
		return fail_hint(err, "write it from the root on: /etc/ssl/company.pem");
	}
	return 0;
}
