/*
 * The installation's configuration: /etc/cordon/config.yaml, ~/.config/cordon/config.yaml, $CORDON_CONFIG, each over the one
 * before. Read once per process and only when asked for.
 */
#ifndef POLICY_CONFIG_H
#define POLICY_CONFIG_H

#include "base/error.h"
#include "base/str.h"

struct config_language {
	char *name, *extension;
	struct strv command; /* "{file}" and "{args}" stand for themselves */
};

struct config {
	char *policy;       /* default policy: preset or path; NULL: built-in */
	char *policy_place; /* "FILE:LINE:COLUMN: " of it, for messages; NULL with it */
	char *preset_dir;   /* more presets; NULL: none */
	char *state_dir; /* records for the sweep; default /run/cordon or $XDG_RUNTIME_DIR/cordon or /tmp/cordon-UID */
	char *scratch_dir; /* for storage: disk and process level; default /var/tmp */
	char *images_dir; /* default /var/lib/cordon/images, or $XDG_DATA_HOME/cordon/images; NULL: the caller has no home */
	struct strv engines;        /* that may be used; the first where nobody names one. Default: all, native first */
	const char *runsc_platform; /* systrap, ptrace or kvm; NULL: the first that works */
	struct config_language *languages; /* adds to and overrides the built-in table */
	size_t language_count;
	int colour; /* 0 auto, 1 always, 2 never */
};

/* The same object for the life of the process (thread-safe). NULL and *err when a file is wrong. */
const struct config *config_get(struct cordon_error *err);

#endif
