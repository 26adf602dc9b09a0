/* A root that is an image: see image.h. Reads the store and takes a shared lock; changes nothing. Runs in the front. */
#include "plan/image.h"

#include "base/fd.h"
#include "base/path.h"
#include "plan/engine.h"
#include "policy/config.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <string.h>

/* Somebody may replace the image between its record and its root: then there is a newer record. */
enum { TRIES = 5 };

/* A box without its root is our failure, not a command that was not found. */
static int missing(const char *name, struct cordon_error *err)
{
	cordon_fail(err, CORDON_UNAVAILABLE, 0, "there is no image '%s'", name);
	return fail_hint(
		err,
		"`cordon image ls` lists them; `cordon image pull %s` or `cordon image import FILE %s` brings it; "
		"Docker's and Podman's own are with --engine",
		name, name);
}

static int open_image(struct cordon_plan *plan, int store, const char *name, struct cordon_error *err)
{
	struct cordon_error why = { 0 };

	for (int i = 0; i < TRIES; i++) {
		store_image_done(&plan->image);
		if (store_find(store, name, &plan->image, &why) < 0 && why.code == CORDON_NOT_FOUND)
			return missing(name, err);
		if (why.code != CORDON_OK) {
			if (err)
				*err = why;
			return -1;
		}
		plan->root_fd = store_open_root(store, &plan->image);
		if (plan->root_fd != -ESTALE)
			break;
	}
	if (plan->root_fd >= 0)
		return 0;
	cordon_fail(err, CORDON_SYSTEM, -plan->root_fd, "open the root of image '%s'", name);
	plan->root_fd = -1;
	return fail_hint(err, "import it again");
}

/* The image's own PATH, if every entry of it is a path. */
static int choose_path(struct cordon_plan *plan, struct cordon_error *err)
{
	const char *path = NULL;

	for (size_t i = 0; i < plan->image.env.n; i++)
		if (str_starts(plan->image.env.v[i], "PATH=/") && !strstr(plan->image.env.v[i], "::"))
			path = plan->image.env.v[i] + strlen("PATH=");
	if (!path)
		return 0;
	for (const char *p = strchr(path, ':'); p; p = strchr(p + 1, ':'))
		if (p[1] != '/')
			return 0;
	free(plan->path);
	plan->path = strdup(path);
	return plan->path ? 0 : fail_memory(err);
}

int plan_resolve_image(struct cordon_plan *plan, const char *name, struct cordon_error *err)
{
	const struct config *config = config_get(err);
	auto_close int store = -1;
	char real[PATH_MAX];
	int r;

	if (!config)
		return -1;
	if (!config->images_dir)
		return cordon_fail(err, CORDON_INVALID, 0, "there is no place for images: HOME is not set");
	r = store_enter(config->images_dir, &store, err);
	if (r == -ENOENT)
		return missing(name, err);
	if (r < 0 || open_image(plan, store, name, err) < 0)
		return -1;
	r = fd_real_path(plan->root_fd, real, sizeof(real));
	if (r < 0)
		return cordon_fail(err, CORDON_SYSTEM, -r, "find the root of image '%s'", name);
	plan->root = strdup(real);
	return plan->root ? choose_path(plan, err) : fail_memory(err);
}

int plan_take_engine_image(struct cordon_plan *plan, const char *root, struct cordon_error *err)
{
	const char *engine = plan->engine->name;

	if (!root || !str_starts(root, PLAN_IMAGE_PREFIX)) {
		cordon_fail(err, CORDON_INVALID, 0, "engine '%s' runs its own images, and none was named%s%s", engine,
			    root && strcmp(root, "host") != 0 ? ": files.root is " : "",
			    root && strcmp(root, "host") != 0 ? root : "");
		return fail_hint(err, "name one that `%s images` lists or that can be pulled: --image NAME", engine);
	}
	plan->engine_image = strdup(root + strlen(PLAN_IMAGE_PREFIX));
	return plan->engine_image ? 0 : fail_memory(err);
}

const char *plan_image_workdir(const struct cordon_plan *plan)
{
	static const char *const own[] = { "/proc", "/sys", "/dev", "/tmp", "/home", "/run" };
	const char *dir = plan->image.workdir;
	auto_close int fd = -1;

	if (!dir || dir[0] != '/' || !dir[1])
		return NULL;
	for (size_t i = 0; i < ARRAY_LEN(own); i++)
		if (path_is_within(dir, own[i]))
			return NULL;
	fd = fd_openat2(plan->root_fd, dir, O_PATH | O_DIRECTORY, 0, RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS);
	return fd < 0 ? NULL : dir;
}
