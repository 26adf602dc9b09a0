/*
 * A policy: one value per row of options.def, each with its origin. Pure: nothing here touches the host beyond
 * reading the policy's own files. Runs in the front, with the caller's rights.
 */
#ifndef POLICY_POLICY_H
#define POLICY_POLICY_H

#include "base/error.h"
#include "base/str.h"

enum option_id {
#define OPTION(id, ...) OPT_##id,
#include "policy/options.def"
#undef OPTION
	OPTION_COUNT
};

enum option_type {
	TYPE_SIZE,
	TYPE_RATE,
	TYPE_DURATION,
	TYPE_COUNT,
	TYPE_CPUS,
	TYPE_ENUM,
	TYPE_SWITCH,
	TYPE_STRING,
	TYPE_PATH,
	TYPE_ROOT,
	TYPE_STRINGS,
	TYPE_PATHS,
	TYPE_HOSTPATHS,
	TYPE_MOUNTS,
	TYPE_TMPFS,
	TYPE_MAP,
	TYPE_RULES,
	TYPE_SECRETS,
};

enum option_narrow {
	NARROW_MIN,
	NARROW_MAX,
	NARROW_SUBSET,
	NARROW_MORE,
	NARROW_READ,
	NARROW_WRITE,
	NARROW_FREE,
	NARROW_SAME
};

struct option {
	const char *key, *flag;
	enum option_type type;
	const char *metavar, *default_text;
	uint64_t min, max;
	enum option_narrow narrow;
	const char *help;
};
extern const struct option options[OPTION_COUNT];

struct policy_value {
	bool set;        /* false: no such rule or limit (or, in a request: not asked for) */
	bool is_default; /* the built-in default, that is: nobody chose it */
	uint64_t num;    /* SIZE RATE DURATION COUNT CPUS ENUM SWITCH */
	char *text;      /* STRING PATH ROOT */
	struct strv
		list; /* the others; MOUNTS, TMPFS, MAP and SECRETS hold two entries per item. TMPFS sizes are in bytes */
	char *origin; /* "preset strict", "policy.yaml:3:9", "flag --memory"; NULL: "default" */
};

struct cordon_policy {
	bool is_request;
	bool is_narrowed; /* a request was laid on it: the job comes from a caller, not from the operator */
	struct policy_value values[OPTION_COUNT];
	char *name;            /* the preset or file that was loaded; NULL: none was */
	struct strv requested; /* DESTs of mounts that came from requests: policy_mount_is_requested() */
};

enum policy_level { LEVEL_PROCESS, LEVEL_CONTAINER, LEVEL_VM, LEVEL_WASM };
enum policy_engine { ENGINE_NATIVE, ENGINE_DOCKER, ENGINE_PODMAN, ENGINE_CRUN, ENGINE_RUNC, ENGINE_RUNSC };
enum policy_storage { STORAGE_MEMORY, STORAGE_DISK };
enum policy_syscalls { SYSCALLS_STRICT, SYSCALLS_DEFAULT };

static inline bool policy_has(const struct cordon_policy *p, enum option_id id)
{
	return p->values[id].set;
}

static inline uint64_t policy_num(const struct cordon_policy *p, enum option_id id)
{
	return p->values[id].num;
}

static inline const char *policy_text(const struct cordon_policy *p, enum option_id id)
{
	return p->values[id].text;
}

static inline const struct strv *policy_list(const struct cordon_policy *p, enum option_id id)
{
	return &p->values[id].list;
}

/* A mount that a caller asked for and the operator did not. Its source was resolved and checked when the policy was
 * narrowed: whoever opens it must follow no symlink (RESOLVE_NO_SYMLINKS), or the check was for nothing. */
static inline bool policy_mount_is_requested(const struct cordon_policy *p, const char *dest)
{
	return strv_has(&p->requested, dest);
}

int policy_copy(struct cordon_policy **ret, const struct cordon_policy *from, struct cordon_error *err);

/* Text of a number in the units of its type ("512M", "60s", "1.5", "container"): parses back to the same number.
 * buf holds at least 32. */
const char *option_number_text(const struct option *o, uint64_t num, char *buf, size_t size);

/* A name that the environment can hold: letters, digits and _, no digit first. */
bool env_name_is_valid(const char *name, size_t len);
/* A variable that makes the loader run other code in every program (LD_*, GLIBC_TUNABLES, GCONV_PATH): not for requests. */
bool env_name_is_loader(const char *name);
/* Whether a caller may set it over this policy, by a request or with a job: CORDON_DENIED where it is the loader's, the policy's own with another value, or
 * PATH beside process.commands. */
int policy_check_variable(const struct cordon_policy *policy, const char *name, const char *value,
			  struct cordon_error *err);

/* What process.refuse_patterns means while it is unset; NULL-terminated. */
extern const char *const refuse_builtin[];
const char *refuse_reason(const char *pattern); /* why it is refused, for whoever wrote the line */
/* The first pattern of the policy that a shell line matches, or NULL. A courtesy, not a wall: see refuse.c for the rules. */
const char *refuse_match(const struct cordon_policy *p, const char *line);

#endif
