/* What words and paths of a policy may look like. Each check names the fault and what to write instead. */
#ifndef POLICY_TEXT_H
#define POLICY_TEXT_H

#include "policy/option.h"
#include "policy/source.h"

enum { TEXT_PATH_MAX = 4095, TEXT_WORD_MAX = 1024 };
#define TEXT_TMPFS_MIN 4096ULL
#define TEXT_TMPFS_MAX (1ULL << 50)

/* A STRING, or an entry of STRINGS, by what the option means. */
int text_check_word(enum option_id id, const char *text, const struct source *at, struct cordon_error *err);
int text_check_env(const char *name, const struct source *at, struct cordon_error *err);

/* Clean paths, malloc'd into *ret. In the box: absolute, no "..". */
int text_box_path(char **ret, const char *text, const struct source *at, struct cordon_error *err);
/* On the host: relative ones start at at->dir; ".." only in front, since behind a name it depends on symlinks. */
int text_host_path(char **ret, const char *text, const struct source *at, struct cordon_error *err);
/* files.protect: absolute in the box, or relative to every writable mount; a slash at the end stays. */
int text_protect_path(char **ret, const char *text, const struct source *at, struct cordon_error *err);
/* Where something may be mounted: not the root, not /proc, /sys or /dev. */
int text_mount_dest(char **ret, const char *text, const struct source *at, struct cordon_error *err);
/* "SRC[:DEST]" and "DEST:SIZE" (SIZE becomes bytes), each as two malloc'd strings. */
int text_mount(char *ret[2], const char *text, const struct source *at, struct cordon_error *err);
int text_tmpfs(char *ret[2], const char *text, const struct source *at, struct cordon_error *err);
/* "host", "image:NAME" or a host directory. */
int text_root(char **ret, const char *text, const struct source *at, struct cordon_error *err);

#endif
