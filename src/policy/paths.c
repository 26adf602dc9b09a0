/*
 * Paths of a policy, as text: see text.h. Nothing is opened here; whether a path exists, and where its symlinks lead, is
 * looked at when it is used. Pure.
 */
#include "base/path.h"
#include "policy/text.h"
#include "policy/unit.h"
#include "store/store.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static int check_bytes(const char *text, const struct source *at, struct cordon_error *err)
{
	if (!*text) {
		source_fail(at, err, "an empty path");
		return fail_hint(err, "write the path, or remove the entry");
	}
	if (strlen(text) > TEXT_PATH_MAX)
		return source_fail(at, err, "a path longer than %d bytes", TEXT_PATH_MAX);
	for (const char *p = text; *p; p++)
		if ((unsigned char)*p < 0x20 || *p == 0x7f) {
			source_fail(at, err, "a control character in a path");
			return fail_hint(err, "a path is one line of text");
		}
	return 0;
}

/* Whether a ".." stands in it; with `behind` only one that follows a name. */
static bool has_dotdot(const char *path, bool behind)
{
	bool name = false;

	while (*path) {
		size_t n = strcspn(path, "/");
		bool dotdot = n == 2 && memcmp(path, "..", 2) == 0;

		if (dotdot && (name || !behind))
			return true;
		name = name || (n && !dotdot && !(n == 1 && *path == '.'));
		path += n;
		path += strspn(path, "/");
	}
	return false;
}

int text_box_path(char **ret, const char *text, const struct source *at, struct cordon_error *err)
{
	char *path;

	if (check_bytes(text, at, err) < 0)
		return -1;
	if (text[0] != '/') {
		source_fail(at, err, "'%.200s' is not an absolute path", text);
		return fail_hint(err, "paths inside the box begin with a slash");
	}
	if (has_dotdot(text, false)) {
		source_fail(at, err, "'%.200s' has '..' in it", text);
		return fail_hint(err, "write the path without it");
	}
	path = path_clean(NULL, text);
	if (!path)
		return fail_memory(err);
	*ret = path;
	return 0;
}

int text_host_path(char **ret, const char *text, const struct source *at, struct cordon_error *err)
{
	char *path;

	if (check_bytes(text, at, err) < 0)
		return -1;
	if (text[0] == '~') {
		source_fail(at, err, "'%.200s': '~' is not expanded here", text);
		return fail_hint(err, "write the path out; a file that is really called '~' is './~'");
	}
	if (text[0] != '/' && !at->dir) {
		source_fail(at, err, "'%.200s' is not an absolute path", text);
		return fail_hint(err, "there is no directory here that it could start at");
	}
	if (has_dotdot(text, true)) {
		source_fail(at, err, "'%.200s' has '..' behind a name", text);
		return fail_hint(err, "where that leads depends on symlinks; write the path without it");
	}
	path = path_clean(at->dir, text);
	if (!path && errno == EINVAL) {
		source_fail(at, err, "'%.200s' leads above the root", text);
		return fail_hint(err, "it starts at '%.200s'", at->dir ? at->dir : "/");
	}
	if (!path)
		return fail_memory(err);
	if (strlen(path) > TEXT_PATH_MAX) {
		free(path);
		return source_fail(at, err, "a path longer than %d bytes", TEXT_PATH_MAX);
	}
	*ret = path;
	return 0;
}

int text_protect_path(char **ret, const char *text, const struct source *at, struct cordon_error *err)
{
	bool is_dir = str_ends(text, "/");
	auto_free char *path = NULL;

	if (check_bytes(text, at, err) < 0)
		return -1;
	if (has_dotdot(text, false)) {
		source_fail(at, err, "'%.200s' has '..' in it", text);
		return fail_hint(err, "write the path without it");
	}
	path = path_clean("/", text);
	if (!path)
		return fail_memory(err);
	if (strcmp(path, "/") == 0) {
		source_fail(at, err, "'%.200s' names no path below anything", text);
		return fail_hint(err, "what is not to be written at all is a files.read mount");
	}
	*ret = str_printf("%s%s", text[0] == '/' ? path : path + 1, is_dir ? "/" : "");
	return *ret ? 0 : fail_memory(err);
}

int text_mount_dest(char **ret, const char *text, const struct source *at, struct cordon_error *err)
{
	static const char *const taken[] = { "/proc", "/sys", "/dev" };
	auto_free char *dest = NULL;

	if (text_box_path(&dest, text, at, err) < 0)
		return -1;
	if (strcmp(dest, "/") == 0) {
		source_fail(at, err, "nothing can be mounted over the root");
		return fail_hint(err, "files.root says what the root is; mounts go below it");
	}
	for (size_t i = 0; i < ARRAY_LEN(taken); i++)
		if (path_is_within(dest, taken[i])) {
			source_fail(at, err, "nothing can be mounted at '%.200s'", dest);
			return fail_hint(err, "%s belongs to the box itself", taken[i]);
		}
	*ret = STEAL(dest);
	return 0;
}

int text_mount(char *ret[2], const char *text, const struct source *at, struct cordon_error *err)
{
	const char *colon = strchr(text, ':');
	auto_free char *given = NULL, *source = NULL, *dest = NULL;

	if (colon && strchr(colon + 1, ':')) {
		source_fail(at, err, "more than one ':' in '%.200s'", text);
		if (str_ends(text, ":ro") || str_ends(text, ":rw"))
			return fail_hint(
				err,
				"files.read (--ro) mounts readable, files.write (--rw) writable; no suffix says it");
		return fail_hint(err, "write SRC:DEST; a path that has a ':' cannot be mounted: give it another name");
	}
	given = colon ? strndup(text, (size_t)(colon - text)) : strdup(text);
	if (!given)
		return fail_memory(err);
	if (text_host_path(&source, given, at, err) < 0 ||
	    text_mount_dest(&dest, colon ? colon + 1 : source, at, err) < 0)
		return -1;
	if (strchr(source, ':')) {
		source_fail(at, err, "'%.200s' has a ':' in it", source);
		return fail_hint(err, "a path that has a ':' cannot be mounted: give it another name");
	}
	ret[0] = STEAL(source);
	ret[1] = STEAL(dest);
	return 0;
}

int text_tmpfs(char *ret[2], const char *text, const struct source *at, struct cordon_error *err)
{
	const char *colon = strchr(text, ':');
	auto_free char *given = NULL, *dest = NULL;
	struct unit_fault fault = { 0 };
	uint64_t bytes;

	if (!colon || strchr(colon + 1, ':')) {
		source_fail(at, err, "'%.200s' is not DEST:SIZE", text);
		return fail_hint(err, "as in /cache:64M");
	}
	given = strndup(text, (size_t)(colon - text));
	if (!given)
		return fail_memory(err);
	if (text_mount_dest(&dest, given, at, err) < 0)
		return -1;
	if (unit_parse(TYPE_SIZE, colon + 1, &bytes, &fault) < 0) {
		source_fail(at, err, "%s", fault.message);
		return fail_hint(err, "%s", fault.hint);
	}
	if (bytes < TEXT_TMPFS_MIN || bytes > TEXT_TMPFS_MAX) {
		source_fail(at, err, "'%.60s' is out of range", colon + 1);
		return fail_hint(err, "from 4K to 1024T");
	}
	ret[1] = str_printf("%" PRIu64, bytes);
	if (!ret[1])
		return fail_memory(err);
	ret[0] = STEAL(dest);
	return 0;
}

int text_root(char **ret, const char *text, const struct source *at, struct cordon_error *err)
{
	if (strcmp(text, "host") == 0) {
		*ret = strdup(text);
		return *ret ? 0 : fail_memory(err);
	}
	if (str_starts(text, "image:")) {
		if (!store_name_is_valid(text + strlen("image:"), true)) {
			source_fail(at, err, "'%.200s' is not the name of an image", text);
			return fail_hint(err, "write image:NAME or image:NAME@sha256:…; `cordon image ls` lists them");
		}
		*ret = strdup(text);
		return *ret ? 0 : fail_memory(err);
	}
	if (!strchr(text, '/')) {
		source_fail(at, err, "'%.200s' is neither 'host', an image nor a directory", text);
		if (str_distance(text, "host", 2) <= 2)
			return fail_hint(err, "did you mean host? a directory is written with a slash");
		return fail_hint(err, "write the directory with a slash, as in ./%.60s", text);
	}
	return text_host_path(ret, text, at, err);
}
