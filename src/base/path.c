/* Paths as text: see path.h. */
#include "base/path.h"

#include "base/str.h"

#include <errno.h>
#include <string.h>

/* Appends the components of path to out; false where ".." leaves the root. */
static bool path_append(struct str *out, const char *path)
{
	while (*path) {
		size_t n = strcspn(path, "/");

		if (n == 2 && memcmp(path, "..", 2) == 0) {
			char *slash = out->data ? strrchr(out->data, '/') : NULL;

			if (!slash)
				return false;
			*slash = '\0';
			out->len = (size_t)(slash - out->data);
		} else if (n && !(n == 1 && *path == '.')) {
			str_add_char(out, '/');
			str_add_bytes(out, path, n);
		}
		path += n;
		path += strspn(path, "/");
	}
	return true;
}

char *path_clean(const char *base, const char *path)
{
	auto_str struct str out = { 0 };
	char *text;

	if ((*path != '/' && (!base || !path_append(&out, base))) || !path_append(&out, path)) {
		errno = EINVAL;
		return NULL;
	}
	if (!out.len)
		str_add_char(&out, '/');
	text = str_take(&out);
	if (!text)
		errno = ENOMEM;
	return text;
}

const char *path_below(const char *path, const char *dir)
{
	size_t n = strlen(dir);

	if (n == 1)
		return path + 1;
	if (strncmp(path, dir, n) != 0)
		return NULL;
	if (path[n] == '\0')
		return path + n;
	return path[n] == '/' ? path + n + 1 : NULL;
}

bool path_is_within(const char *path, const char *dir)
{
	return path_below(path, dir) != NULL;
}

const char *path_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}
