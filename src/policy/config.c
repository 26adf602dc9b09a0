/*
 * The installation's configuration: see config.h. Without a file it costs two failed opens and three copies of short texts: no
 * parser is started. A file of the home directory counts only where it belongs to the caller or to root; environment variables
 * count only where the caller is who it says (secure_getenv). Runs in the front, with the caller's rights.
 */
#include "policy/config.h"

#include "base/fd.h"
#include "base/json.h"
#include "base/yaml.h"
#include "policy/config_file.h"
#include "policy/option.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct {
	pthread_once_t once;
	struct config_full full;
	struct cordon_error error; /* what is wrong, if `bad` */
	bool bad;
} state = { .once = PTHREAD_ONCE_INIT };

/* NULL where there is no home to lie in, or no memory: whoever wants an image is told. */
static char *default_images_dir(void)
{
	const char *data = secure_getenv("XDG_DATA_HOME"), *home = secure_getenv("HOME");

	if (geteuid() == 0)
		return strdup("/var/lib/cordon/images");
	if (data && data[0] == '/')
		return str_printf("%s/cordon/images", data);
	return home && home[0] == '/' ? str_printf("%s/.local/share/cordon/images", home) : NULL;
}

static int add_engines(struct strv *to)
{
	const char *words = options[OPT_ENGINE].metavar;
	char word[24];

	for (uint64_t i = 0; *option_word_at(words, i, word, sizeof(word)); i++)
		if (strv_add(to, word) < 0)
			return -ENOMEM;
	return 0;
}

static int set_defaults(struct config *c, struct cordon_error *err)
{
	const char *runtime = secure_getenv("XDG_RUNTIME_DIR");
	uid_t uid = geteuid();

	if (uid == 0)
		c->state_dir = strdup("/run/cordon");
	else if (runtime && runtime[0] == '/')
		c->state_dir = str_printf("%s/cordon", runtime);
	else
		c->state_dir = str_printf("/tmp/cordon-%u", (unsigned)uid);
	c->scratch_dir = strdup("/var/tmp");
	c->images_dir = default_images_dir();
	if (!c->state_dir || !c->scratch_dir || add_engines(&c->engines) < 0)
		return fail_memory(err);
	return 0;
}

/* A file that anyone may write would let anyone choose the policy. */
static int check_mode(const char *path, const struct stat *st, struct cordon_error *err)
{
	if (!S_ISREG(st->st_mode) || !(st->st_mode & S_IWOTH))
		return 0;
	cordon_fail(err, CORDON_DENIED, 0, "the configuration '%s' can be written by anyone", path);
	return fail_hint(err, "chmod o-w '%s'", path);
}

/* Whose file it is, and whether it must be there. */
enum file_kind { FILE_SYSTEM, FILE_HOME, FILE_NAMED };

static int read_file(struct config_full *c, enum file_kind kind, const char *path, struct cordon_error *err)
{
	auto_close int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	auto_free char *text = NULL, *dir = NULL;
	struct stat st;
	ssize_t len;

	if (fd < 0 && kind != FILE_NAMED &&
	    (errno == ENOENT || errno == ENOTDIR || (kind == FILE_HOME && errno == EACCES)))
		return 0;
	if (fd < 0 || fstat(fd, &st) < 0) {
		cordon_fail(err, errno == ENOENT ? CORDON_NOT_FOUND : CORDON_SYSTEM, errno, "the configuration '%s'",
			    path);
		return fail_hint(err, kind == FILE_NAMED ? "CORDON_CONFIG names it" : "it must be readable");
	}
	if (kind == FILE_HOME && st.st_uid != geteuid() && st.st_uid != 0)
		return 0;
	if (check_mode(path, &st, err) < 0)
		return -1;
	len = fd_load(fd, YAML_BYTES_MAX, &text);
	if (len < 0)
		return cordon_fail(err, CORDON_SYSTEM, (int)-len, "cannot read the configuration '%s'", path);
	dir = source_dir(path);
	return config_file_read(c, path, dir, text, (size_t)len, err);
}

static int read_all(struct config_full *c, struct cordon_error *err)
{
	const char *home = secure_getenv("HOME"), *named = secure_getenv("CORDON_CONFIG");
	char path[4096];

	if (set_defaults(&c->config, err) < 0 || read_file(c, FILE_SYSTEM, "/etc/cordon/config.yaml", err) < 0)
		return -1;
	if (home && home[0] == '/' && strlen(home) < sizeof(path) - 40) {
		snprintf(path, sizeof(path), "%s/.config/cordon/config.yaml", home);
		if (read_file(c, FILE_HOME, path, err) < 0)
			return -1;
	}
	return named && *named ? read_file(c, FILE_NAMED, named, err) : 0;
}

static void read_once(void)
{
	state.bad = read_all(&state.full, &state.error) < 0;
	if (state.bad && !state.error.step[0])
		snprintf(state.error.step, sizeof(state.error.step), "config");
}

const struct config *config_get(struct cordon_error *err)
{
	pthread_once(&state.once, read_once);
	if (!state.bad)
		return &state.full.config;
	if (err)
		*err = state.error;
	return NULL;
}

bool cordon_config_colour(void)
{
	const struct config *c = config_get(NULL);
	const char *no = getenv("NO_COLOR");

	if (c && c->colour != COLOUR_AUTO)
		return c->colour == COLOUR_ALWAYS;
	return !(no && *no);
}

/* ---- telling ------------------------------------------------------------------------------------------ */

static void json_languages(struct json *j, const struct config *c)
{
	json_object(j, "languages");
	for (size_t i = 0; i < c->language_count; i++) {
		json_object(j, c->languages[i].name);
		json_strings(j, "command", (const char *const *)c->languages[i].command.v);
		json_string(j, "extension", c->languages[i].extension);
		json_end_object(j);
	}
	json_end_object(j);
}

/* One key's value as JSON, which is YAML as well. */
static void json_key(struct json *j, enum config_key key, const struct config *c)
{
	const char *name = config_keys[key].name;

	switch (key) {
	case CONFIG_POLICY:
		json_string(j, name, c->policy);
		break;
	case CONFIG_PRESET_DIR:
		json_string(j, name, c->preset_dir);
		break;
	case CONFIG_STATE_DIR:
		json_string(j, name, c->state_dir);
		break;
	case CONFIG_SCRATCH_DIR:
		json_string(j, name, c->scratch_dir);
		break;
	case CONFIG_IMAGES_DIR:
		json_string(j, name, c->images_dir);
		break;
	case CONFIG_ENGINES:
		json_strings(j, name, (const char *const *)c->engines.v);
		break;
	case CONFIG_RUNSC_PLATFORM:
		json_string(j, name, c->runsc_platform ? c->runsc_platform : "auto");
		break;
	case CONFIG_LANGUAGES:
		json_languages(j, c);
		break;
	case CONFIG_COLOUR:
		json_string(j, name, colour_words[c->colour]);
		break;
	case CONFIG_KEY_COUNT:
		break;
	}
}

static const char *origin_of(enum config_key key)
{
	return state.full.origins[key] ? state.full.origins[key] : "default";
}

static char *describe_json(const struct config *c)
{
	struct json j = { .pretty = true };

	json_object(&j, NULL);
	json_object(&j, "config");
	for (int i = 0; i < CONFIG_KEY_COUNT; i++)
		json_key(&j, (enum config_key)i, c);
	json_end_object(&j);
	json_object(&j, "origins");
	for (int i = 0; i < CONFIG_KEY_COUNT; i++)
		json_string(&j, config_keys[i].name, origin_of((enum config_key)i));
	json_end_object(&j);
	json_end_object(&j);
	return json_take(&j);
}

/* A file that could be loaded again; what is unset is a comment. */
static char *describe_text(const struct config *c)
{
	auto_str struct str s = { 0 };

	str_add(&s, "version: 1\n");
	for (int i = 0; i < CONFIG_KEY_COUNT; i++) {
		struct json j = { 0 };
		bool unset = (i == CONFIG_POLICY && !c->policy) || (i == CONFIG_PRESET_DIR && !c->preset_dir) ||
			     (i == CONFIG_IMAGES_DIR && !c->images_dir);
		auto_free char *value = NULL;
		const char *colon;

		json_object(&j, NULL);
		json_key(&j, (enum config_key)i, c);
		json_end_object(&j);
		value = json_take(&j);
		colon = value ? strchr(value, ':') : NULL;
		if (!colon)
			return NULL;
		str_addf(&s, "%s%s: %.*s  # %s; %s\n", unset ? "# " : "", config_keys[i].name,
			 (int)strlen(colon + 1) - 1, colon + 1, origin_of((enum config_key)i), config_keys[i].help);
	}
	return str_take(&s);
}

int cordon_config_describe(enum cordon_format format, char **ret_text, struct cordon_error *err)
{
	const struct config *c = config_get(err);
	char *text;

	if (!c)
		return -1;
	text = format == CORDON_JSON ? describe_json(c) : describe_text(c);
	if (!text)
		return fail_memory(err);
	*ret_text = text;
	return 0;
}
