/*
 * What init sees to in a container whose root is the engine's own image, before anything goes in: that what was mounted is what the plan
 * checked, since an engine mounts by name, perhaps on another machine; and the image's variables, which nobody outside has read.
 */
#include "inner/inner.h"

#include "base/error.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int check_place(const char *text, struct cordon_error *err)
{
	uint64_t device, inode;
	struct stat st;
	int skip = 0;

	if (sscanf(text, "%" SCNu64 " %" SCNu64 " %n", &device, &inode, &skip) != 2 || text[skip] != '/')
		return cordon_fail(err, CORDON_SYSTEM, EINVAL, "read what has to lie where");
	if (lstat(text + skip, &st) < 0)
		return cordon_fail(err, CORDON_DENIED, errno, "look at what was mounted at '%s'", text + skip);
	if (st.st_dev == device && st.st_ino == inode)
		return 0;
	cordon_fail(err, CORDON_DENIED, 0, "what the engine mounted at '%s' is not what was checked", text + skip);
	return fail_hint(
		err, "the path was replaced meanwhile, or the daemon is on another machine or has mounts of its own");
}

/* An image says who is in which group, and an engine may believe it: on a host without a user namespace they are the host's. */
static int check_groups(struct cordon_error *err)
{
	gid_t groups[64];
	int n = getgroups(ARRAY_LEN(groups), groups);

	for (int i = 0; i < n; i++)
		if (groups[i] != getgid())
			n = -1;
	return n < 0 || getgid() == 0
		       ? cordon_fail(err, CORDON_DENIED, 0, "the container has groups that nobody gave it")
		       : 0;
}

int inner_check_places(const struct inner *n, struct cordon_error *err)
{
	if ((n->job.flags & STREAM_IMAGE_ENV) && check_groups(err) < 0)
		return -1;
	for (size_t i = 0; i < n->job.checks.n; i++)
		if (check_place(n->job.checks.v[i], err) < 0)
			return -1;
	return 0;
}

/* ---- variables ---- */

/* Replaces what has the same name. */
static int set(struct strv *env, const char *entry)
{
	size_t name = strcspn(entry, "=") + 1;

	for (size_t i = 0; i < env->n; i++)
		if (strncmp(env->v[i], entry, name) == 0) {
			char *copy = strdup(entry);

			if (!copy)
				return -ENOMEM;
			free(env->v[i]);
			env->v[i] = copy;
			return 0;
		}
	return strv_add(env, entry);
}

/* What is the box's own, or what engines say about themselves. */
static bool is_image_own(const char *entry)
{
	static const char *const others[] = { "HOME=", "TERM=", "HOSTNAME=", "container=" };

	for (size_t i = 0; i < ARRAY_LEN(others); i++)
		if (str_starts(entry, others[i]))
			return false;
	return strchr(entry, '=') && entry[0] != '=';
}

/* Every entry of it is a path. */
static bool is_path_list(const char *path)
{
	if (*path != '/')
		return false;
	for (const char *p = strchr(path, ':'); p; p = strchr(p + 1, ':'))
		if (p[1] != '/')
			return false;
	return true;
}

static int set_path(struct strv *env, const char *path)
{
	auto_free char *entry = str_printf("PATH=%s", path);

	return entry ? set(env, entry) : -ENOMEM;
}

/* As for a native box of an image: it lies under what the policy and the caller say, and its PATH is where programs are looked for. */
static int merge(struct stream_job *job, char *const *given)
{
	struct strv env = { 0 };
	int r = set(&env, "LANG=C.UTF-8");

	for (; r == 0 && *given; given++) {
		if (str_starts(*given, "PATH=") && is_path_list(*given + 5)) {
			free(job->path);
			job->path = strdup(*given + 5);
			r = job->path ? 0 : -ENOMEM;
		} else if (!str_starts(*given, "PATH=") && is_image_own(*given)) {
			r = set(&env, *given);
		}
	}
	r = r < 0 ? r : set_path(&env, job->path);
	for (size_t i = 0; r == 0 && i < job->env.n; i++)
		r = set(&env, job->env.v[i]);
	strv_done(r < 0 ? &env : &job->env);
	if (r == 0)
		job->env = env;
	return r;
}

int inner_merge_env(struct inner *n, struct cordon_error *err)
{
	if (!(n->job.flags & STREAM_IMAGE_ENV))
		return 0;
	return merge(&n->job, environ) < 0 ? fail_memory(err) : 0;
}
