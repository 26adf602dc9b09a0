/*
 * Which mounts a request may have. A source is opened (O_PATH) and its real path taken, so that no symlink leads out of
 * files.allowed_read and files.allowed_write; that real path is what the narrowed policy holds, and its DEST is noted as
 * requested, so that whoever mounts it follows no symlink either. The rules:
 *
 *  - a mount that the policy has already may be repeated; a writable one may be asked for as readable, and then is;
 *  - anything else must come from allowed_write, or for reading from allowed_read or allowed_write;
 *  - it goes neither over, into nor around what the policy mounts, nor into the system's own directories, nor into or (for
 *    private directories) around a protected path: that could replace what the operator put there;
 *  - a writable source may not overlap one that the policy mounts writable, nor begin inside of a protected path: a second
 *    way to the same files would go around files.protect.
 *
 * Runs in the front, with the rights of the operator's program.
 */
#include "base/fd.h"
#include "base/path.h"
#include "policy/narrow.h"
#include "policy/value.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

/* What belongs to the box's root. */
static const char *const system_dirs[] = {
	"/usr", "/bin",  "/sbin", "/lib", "/lib32", "/lib64", "/libx32",
	"/etc", "/proc", "/sys",  "/dev", "/boot",  "/run",   "/var/run",
};
/* Private directories of the box: mounts may go below, not over or around. */
static const char *const private_dirs[] = { "/tmp", "/home", "/var/tmp" };

/* The real path of an existing host path; -errno. */
static int real_path(const char *path, char *buf, size_t size)
{
	auto_close int fd = open(path, O_PATH | O_CLOEXEC);

	return fd < 0 ? -errno : fd_real_path(fd, buf, size);
}

static bool overlap(const char *a, const char *b)
{
	return path_is_within(a, b) || path_is_within(b, a);
}

/* Whether the real path lies within an entry of an allowed_* list, symlinks of the entry resolved as well. */
static bool is_allowed(const struct strv *allowed, const char *real)
{
	char dir[4096];

	for (size_t i = 0; i < allowed->n; i++)
		if (real_path(allowed->v[i], dir, sizeof(dir)) == 0 && path_is_within(real, dir))
			return true;
	return false;
}

/* ---- where it goes ------------------------------------------------------------------------------------ */

static int dest_denied(const struct cordon_policy *p, enum option_id id, const char *dest, const char *what,
		       const char *path, struct cordon_error *err)
{
	narrow_denied(p, id, dest, err, "'%.200s' %s", path, what);
	return fail_hint(err, "choose another DEST");
}

static int check_dest_system(const struct cordon_policy *p, enum option_id id, const char *dest,
			     struct cordon_error *err)
{
	for (size_t i = 0; i < ARRAY_LEN(system_dirs); i++)
		if (overlap(dest, system_dirs[i]))
			return dest_denied(p, id, dest, "belongs to the box itself", system_dirs[i], err);
	for (size_t i = 0; i < ARRAY_LEN(private_dirs); i++)
		if (path_is_within(private_dirs[i], dest))
			return dest_denied(p, id, dest, "belongs to the box itself", private_dirs[i], err);
	return 0;
}

static int check_dest_mounts(const struct cordon_policy *p, enum option_id id, const char *dest,
			     struct cordon_error *err)
{
	static const enum option_id ids[] = { OPT_READ, OPT_WRITE, OPT_TMPFS };

	for (size_t k = 0; k < ARRAY_LEN(ids); k++) {
		const struct strv *list = policy_list(p, ids[k]);

		for (size_t i = 0; i + 2 <= list->n; i += 2) {
			const char *has = list->v[ids[k] == OPT_TMPFS ? i : i + 1];

			if (overlap(dest, has))
				return dest_denied(p, id, dest, "is mounted by the policy", has, err);
		}
	}
	return 0;
}

static int check_dest_protect(const struct cordon_policy *p, enum option_id id, const char *dest,
			      struct cordon_error *err)
{
	const struct strv *list = policy_list(p, OPT_PROTECT);

	for (size_t i = 0; i < list->n; i++) {
		auto_free char *path = list->v[i][0] == '/' ? path_clean(NULL, list->v[i]) : NULL;

		if (list->v[i][0] != '/')
			continue;
		if (!path)
			return fail_memory(err);
		if (path_is_within(dest, path) || (id == OPT_TMPFS && path_is_within(path, dest)))
			return dest_denied(p, id, dest, "is protected by the policy", list->v[i], err);
	}
	return 0;
}

static int check_dest(const struct cordon_policy *p, enum option_id id, const char *dest, struct cordon_error *err)
{
	if (check_dest_system(p, id, dest, err) < 0 || check_dest_mounts(p, id, dest, err) < 0)
		return -1;
	return check_dest_protect(p, id, dest, err);
}

/* ---- where it comes from ------------------------------------------------------------------------------ */

/* A writable source that overlaps the policy's own would reach its protected paths by another name. */
static int check_source_overlap(const struct cordon_policy *p, const char *real, struct cordon_error *err)
{
	const struct strv *list = policy_list(p, OPT_WRITE);
	char has[4096];

	for (size_t i = 0; i + 2 <= list->n; i += 2)
		if (real_path(list->v[i], has, sizeof(has)) == 0 && overlap(real, has))
			return narrow_denied(p, OPT_WRITE, real, err, "the policy mounts '%.200s' at '%.200s' already",
					     has, list->v[i + 1]);
	return 0;
}

/* files.protect ".git/hooks" must not be opened by mounting ".git" or what is below the hooks. */
static int check_source_protect(const struct cordon_policy *p, const char *real, struct cordon_error *err)
{
	const struct strv *list = policy_list(p, OPT_PROTECT);

	for (size_t i = 0; i < list->n; i++) {
		auto_free char *entry = list->v[i][0] == '/' ? NULL : path_clean("/", list->v[i]);

		if (list->v[i][0] == '/')
			continue;
		if (!entry)
			return fail_memory(err);
		for (const char *tail = real; tail && tail[1]; tail = strchr(tail + 1, '/'))
			if (overlap(tail, entry))
				return narrow_denied(p, OPT_WRITE, real, err, "the policy protects '%.200s'",
						     list->v[i]);
	}
	return 0;
}

/* By its text: a real path is allowed if this says so, any other path only seems to be. */
static bool seems_allowed(const struct cordon_policy *p, enum option_id id, const char *source)
{
	return is_allowed(policy_list(p, OPT_ALLOWED_WRITE), source) ||
	       (id == OPT_READ && is_allowed(policy_list(p, OPT_ALLOWED_READ), source));
}

/* Tells neither whether a path outside exists nor where it leads. */
static int source_denied(const struct cordon_policy *p, enum option_id id, const char *source, struct cordon_error *err)
{
	const char *key = options[id == OPT_READ ? OPT_ALLOWED_READ : OPT_ALLOWED_WRITE].key;
	bool none = !policy_list(p, OPT_ALLOWED_WRITE)->n && (id == OPT_WRITE || !policy_list(p, OPT_ALLOWED_READ)->n);

	if (none)
		narrow_denied(p, id, source, err, "%s is empty: callers get no such mount", key);
	else if (seems_allowed(p, id, source))
		narrow_denied(p, id, source, err, "a symlink in it leads out of %s", key);
	else
		narrow_denied(p, id, source, err, "it is not within %s", key);
	return fail_hint(err, "whoever runs cordon can add a directory to %s", key);
}

static int check_source(const struct cordon_policy *p, enum option_id id, const char *source, char *real, size_t size,
			struct cordon_error *err)
{
	int status = real_path(source, real, size);

	if (status < 0 && seems_allowed(p, id, source))
		return cordon_fail(err, status == -ENOENT ? CORDON_NOT_FOUND : CORDON_SYSTEM, -status, "%s: '%.300s'",
				   options[id].key, source);
	if (status < 0 || !seems_allowed(p, id, real))
		return source_denied(p, id, source, err);
	if (strchr(real, ':'))
		return narrow_denied(p, id, source, err, "its real path has a ':' in it");
	if (id == OPT_READ)
		return 0;
	return check_source_overlap(p, real, err) < 0 ? -1 : check_source_protect(p, real, err);
}

/* ---- adding ------------------------------------------------------------------------------------------- */

/* Index of the same SRC and DEST in a list, or list->n. */
static size_t find_mount(const struct strv *list, const char *source, const char *dest)
{
	size_t i = 0;

	while (i + 2 <= list->n && (strcmp(list->v[i], source) != 0 || strcmp(list->v[i + 1], dest) != 0))
		i += 2;
	return i;
}

static int push(struct cordon_policy *to, const struct cordon_policy *request, enum option_id id, const char *first,
		const char *second, struct cordon_error *err)
{
	struct policy_value *v = &to->values[id];
	const char *origin = request->values[id].origin ? request->values[id].origin : "request";

	if (strv_add(&v->list, first) < 0 || strv_add(&v->list, second) < 0)
		return fail_memory(err);
	if (!v->origin || !strstr(v->origin, origin)) {
		char *both = v->origin ? str_printf("%s, %s", v->origin, origin) : strdup(origin);

		if (!both)
			return fail_memory(err);
		free(v->origin);
		v->origin = both;
	}
	v->set = true;
	v->is_default = false;
	return 0;
}

/* One mount of the request. */
static int reach_mount(struct cordon_policy *to, const struct cordon_policy *policy,
		       const struct cordon_policy *request, enum option_id id, size_t i, struct cordon_error *err)
{
	const struct strv *has_read = policy_list(policy, OPT_READ), *has_write = policy_list(policy, OPT_WRITE);
	const char *source = policy_list(request, id)->v[i], *dest = policy_list(request, id)->v[i + 1];
	struct strv *write = &to->values[OPT_WRITE].list;
	char real[4096];
	size_t at;

	if (find_mount(id == OPT_READ ? has_read : has_write, source, dest) <
	    (id == OPT_READ ? has_read : has_write)->n)
		return 0;
	at = find_mount(write, source, dest);
	if (id == OPT_READ && at < write->n) {
		value_list_remove(write, at, 2);
		return push(to, request, OPT_READ, source, dest, err);
	}
	if (check_source(policy, id, source, real, sizeof(real), err) < 0 || check_dest(policy, id, dest, err) < 0)
		return -1;
	if (strv_add(&to->requested, dest) < 0)
		return fail_memory(err);
	return push(to, request, id, real, dest, err);
}

static int check_count(const struct cordon_policy *to, enum option_id id, struct cordon_error *err)
{
	if (policy_list(to, id)->n <= (size_t)VALUE_ENTRIES_MAX * 2)
		return 0;
	return cordon_fail(err, CORDON_INVALID, 0, "%s: more than %d entries", options[id].key, VALUE_ENTRIES_MAX);
}

int reach_mounts(struct cordon_policy *to, const struct cordon_policy *policy, const struct cordon_policy *request,
		 struct cordon_error *err)
{
	const struct strv *private = policy_list(request, OPT_TMPFS);

	for (size_t i = 0; i + 2 <= policy_list(request, OPT_READ)->n; i += 2)
		if (reach_mount(to, policy, request, OPT_READ, i, err) < 0)
			return -1;
	for (size_t i = 0; i + 2 <= policy_list(request, OPT_WRITE)->n; i += 2)
		if (reach_mount(to, policy, request, OPT_WRITE, i, err) < 0)
			return -1;
	for (size_t i = 0; i + 2 <= private->n; i += 2)
		if (check_dest(policy, OPT_TMPFS, private->v[i], err) < 0 ||
		    push(to, request, OPT_TMPFS, private->v[i], private->v[i + 1], err) < 0)
			return -1;
	if (check_count(to, OPT_READ, err) < 0 || check_count(to, OPT_WRITE, err) < 0)
		return -1;
	return check_count(to, OPT_TMPFS, err);
}

int reach_allowed(struct cordon_policy *to, const struct cordon_policy *policy, const struct cordon_policy *request,
		  enum option_id id, struct cordon_error *err)
{
	const struct strv *asked = policy_list(request, id);
	struct policy_value *v = &to->values[id];
	char real[4096];

	strv_done(&v->list);
	for (size_t i = 0; i < asked->n; i++) {
		if (real_path(asked->v[i], real, sizeof(real)) < 0 || !is_allowed(policy_list(policy, id), real))
			return narrow_denied(policy, id, asked->v[i], err, "it is not within what the policy allows");
		if (id == OPT_ALLOWED_WRITE && check_source_protect(policy, real, err) < 0)
			return -1;
		if (strv_add(&v->list, real) < 0)
			return fail_memory(err);
	}
	free(v->origin);
	v->origin = strdup(request->values[id].origin ? request->values[id].origin : "request");
	return v->origin ? 0 : fail_memory(err);
}
