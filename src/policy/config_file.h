/* A configuration file over a configuration: what each key is, and the reading of it. */
#ifndef POLICY_CONFIG_FILE_H
#define POLICY_CONFIG_FILE_H

#include "policy/config.h"
#include "policy/source.h"

enum config_key {
	CONFIG_POLICY,
	CONFIG_PRESET_DIR,
	CONFIG_STATE_DIR,
	CONFIG_SCRATCH_DIR,
	CONFIG_IMAGES_DIR,
	CONFIG_ENGINES,
	CONFIG_RUNSC_PLATFORM,
	CONFIG_LANGUAGES,
	CONFIG_COLOUR,
	CONFIG_KEY_COUNT
};

struct config_key_info {
	const char *name, *help;
};
extern const struct config_key_info config_keys[CONFIG_KEY_COUNT];

/* A configuration with where each key comes from; NULL: the default. */
struct config_full {
	struct config config;
	char *origins[CONFIG_KEY_COUNT];
};
void config_full_done(struct config_full *c);

enum { COLOUR_AUTO, COLOUR_ALWAYS, COLOUR_NEVER };
extern const char *const colour_words[]; /* NULL-terminated */

/* Lays a file's text over what is there; relative paths in it start at `dir`. */
int config_file_read(struct config_full *c, const char *name, const char *dir, const char *text, size_t len,
		     struct cordon_error *err);

#endif
