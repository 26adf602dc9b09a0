/*
 * What init sees to in a container whose root is the engine's own image, before anything goes in: that what was mounted is what the plan
 * checked, since an engine mounts by name, perhaps on another machine; that nothing of the image's lies where the payload may write, whose
 * volumes and links nobody outside has read; and the image's variables, the same.
 */
#include "inner/inner.h"

#include "base/error.h"
#include "base/fd.h"
#include "base/path.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <unistd.h>

enum { MOUNTS_MAX = 1 << 20 };

static bool is_read_only(const char *path)
{
	struct statvfs fs;

	return statvfs(path, &fs) == 0 && (fs.f_flag & ST_RDONLY);
}

static bool is_mount(const char *path)
{
	auto_free char *parent = str_printf("%s/..", path);
	struct statx here, above;

	return parent && statx(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, STATX_MNT_ID, &here) == 0 &&
	       statx(AT_FDCWD, parent, 0, STATX_MNT_ID, &above) == 0 &&
	       (here.stx_mask & above.stx_mask & STATX_MNT_ID) && here.stx_mnt_id != above.stx_mnt_id;
}

/*
 * That it is the same file is not enough for what is protected: it also lies there where the engine's own mount does not, because somebody
 * had another one in its place at that moment.
 */
static int check_place(const char *text, struct cordon_error *err)
{
	uint64_t device, inode;
	const char *path;
	struct stat st;
	int skip = 0;
	char how;

	if (sscanf(text, "%" SCNu64 " %" SCNu64 " %c %n", &device, &inode, &how, &skip) != 3 || text[skip] != '/')
		return cordon_fail(err, CORDON_SYSTEM, EINVAL, "read what has to lie where");
	path = text + skip;
	if (lstat(path, &st) < 0)
		return cordon_fail(err, CORDON_DENIED, errno, "look at what was mounted at '%s'", path);
	if (st.st_dev == device && st.st_ino == inode && (how != STREAM_CHECK_READ_ONLY || is_read_only(path)) &&
	    (how != STREAM_CHECK_MOUNT || is_mount(path)))
		return 0;
	cordon_fail(err, CORDON_DENIED, 0, "what the engine mounted at '%s' is not what was checked", path);
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

/* ---- where it may be written ---- */

/* Where the grants' and disks' names lead, as the kernel tells of mounts. */
struct places {
	struct strv granted, disks;
};

static int resolve(struct strv *to, const char *path)
{
	auto_free char *real = realpath(path, NULL);

	return strv_add(to, real ? real : path);
}

static int find_places(const struct stream_job *job, struct places *ret)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < job->grants.n; i++) {
		const char *path = strchr(job->grants.v[i], ' '); /* "rwx /tmp" */

		r = path ? resolve(&ret->granted, path + 1) : -EINVAL;
	}
	for (size_t i = 0; r == 0 && i < job->disks.n; i++)
		r = resolve(&ret->disks, job->disks.v[i]);
	return r;
}

/* The innermost place that is granted and contains the path. */
static const char *innermost(const struct places *p, const char *path)
{
	const char *best = "/";

	for (size_t i = 0; i < p->granted.n; i++)
		if (strlen(p->granted.v[i]) > strlen(best) && path_is_within(path, p->granted.v[i]))
			best = p->granted.v[i];
	return best;
}

static bool is_disk(const struct places *p, const char *path)
{
	for (size_t i = 0; i < p->disks.n; i++)
		if (strcmp(p->disks.v[i], path) == 0)
			return true;
	return false;
}

/* What an engine lays below /dev itself; an image's volume is on a disk. */
static bool is_device_type(const char *type)
{
	static const char *const types[] = { "tmpfs", "devtmpfs", "devpts", "mqueue" };

	for (size_t i = 0; i < ARRAY_LEN(types); i++)
		if (strcmp(type, types[i]) == 0)
			return true;
	return false;
}

/* One line: "36 35 98:0 /root /point options… - type source options". */
static bool may_lie(const struct places *p, char *line)
{
	char *type = strstr(line, " - "), *point = line, *to, *from;
	const char *place;

	for (int i = 0; i < 4 && point; i++)
		point = strchr(point, ' ') ? strchr(point, ' ') + 1 : NULL;
	if (!type || !point || point > type)
		return false;
	type += 3;
	type[strcspn(type, " ")] = '\0';
	point[strcspn(point, " ")] = '\0';
	for (to = from = point; *from; to++) { /* "\\040" is a blank */
		unsigned code;

		if (*from == '\\' && sscanf(from + 1, "%3o", &code) == 1 && strlen(from) >= 4) {
			*to = (char)code;
			from += 4;
		} else {
			*to = *from++;
		}
	}
	*to = '\0';
	place = innermost(p, point);
	if (strcmp(place, "/dev") == 0)
		return is_device_type(type);
	return strcmp(place, point) == 0 || !is_disk(p, place);
}

/* The uppermost of what lies there is memory of the box's own size. */
static bool is_memory(const char *path)
{
	struct statfs fs;

	return statfs(path, &fs) == 0 && (uint64_t)fs.f_type == TMPFS_MAGIC;
}

static int check_mounts(const struct places *p, char *text, struct cordon_error *err)
{
	const char *where = NULL;
	char *line;

	for (size_t i = 0; i < p->disks.n; i++)
		if (!is_memory(p->disks.v[i]))
			where = p->disks.v[i];
	while (!where && (line = strsep(&text, "\n")))
		if (*line && !may_lie(p, line))
			where = "a place of the box's own";
	if (!where)
		return 0;
	cordon_fail(err, CORDON_DENIED, 0, "the image has a volume in %s", where);
	return fail_hint(err, "what is written there would not be within limits.disk; use another image");
}

static int check_writable(const struct stream_job *job, struct cordon_error *err)
{
	auto_free char *text = NULL;
	struct places places = { 0 };
	ssize_t r = fd_load_at(AT_FDCWD, "/proc/self/mountinfo", MOUNTS_MAX, &text);
	int status;

	r = r < 0 ? r : find_places(job, &places);
	status = r < 0 ? cordon_fail(err, CORDON_SYSTEM, (int)-r, "look at the container's mounts")
		       : check_mounts(&places, text, err);
	strv_done(&places.granted);
	strv_done(&places.disks);
	return status;
}

int inner_check_places(const struct inner *n, struct cordon_error *err)
{
	if ((n->job.flags & STREAM_IMAGE_ENV) && (check_groups(err) < 0 || check_writable(&n->job, err) < 0))
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
