/*
 * Resolving what the box sees of the host: opens each source by fd, resolves symlinks once, checks it against the forbidden
 * list and places it. Runs in the front, with the caller's rights; changes nothing.
 */
#include "plan/mounts.h"

#include "base/fd.h"
#include "base/path.h"
#include "plan/forbidden.h"
#include "plan/place.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Places that cordon builds itself: nothing of the host is laid on them. */
static const char *const own_places[] = { "/proc", "/dev", "/sys", NULL };

static int check_dest(const char *dest, struct cordon_error *err)
{
	if (strcmp(dest, "/") == 0)
		return cordon_fail(err, CORDON_INVALID, 0,
				   "a mount cannot replace '/'; use files.root for another root");
	for (const char *const *p = own_places; *p; p++)
		if (path_is_within(dest, *p))
			return cordon_fail(err, CORDON_INVALID, 0, "'%s' lies in %s, which the box has of its own",
					   dest, *p);
	return 0;
}

int plan_open_source(const char *path, uint64_t resolve, const struct strv *forbidden, char **ret_real,
		     struct stat *ret_st, struct cordon_error *err)
{
	auto_close int fd = fd_above_stdio(fd_openat2(AT_FDCWD, path, O_PATH, 0, resolve | RESOLVE_NO_MAGICLINKS));
	char real[4096];
	int r;

	if (fd == -ELOOP)
		return cordon_fail(err, CORDON_SYSTEM, 0,
				   "mount of '%s': its symbolic links lead in a circle or through /proc", path);
	if (fd < 0)
		return cordon_fail(err, fd == -ENOENT ? CORDON_INVALID : CORDON_SYSTEM, -fd, "mount of '%s'", path);
	r = fd_real_path(fd, real, sizeof(real));
	if (r < 0 || fstat(fd, ret_st) < 0)
		return cordon_fail(err, CORDON_SYSTEM, r < 0 ? -r : errno, "resolve '%s'", path);
	if (forbidden_check(fd, real, forbidden, err) < 0)
		return -1;
	if (!S_ISDIR(ret_st->st_mode) && !S_ISREG(ret_st->st_mode)) {
		cordon_fail(err, CORDON_DENIED, 0, "mount of '%s' refused: it is neither a file nor a directory", path);
		return fail_hint(err, "sockets, devices and FIFOs lead out of the box");
	}
	*ret_real = strdup(real);
	return *ret_real ? STEAL_FD(fd) : fail_memory(err);
}

static int add_mount(struct cordon_plan *plan, const struct cordon_policy *policy, const char *source, const char *dest,
		     bool writable, struct cordon_error *err)
{
	struct plan_mount *m = &plan->mounts[plan->mount_count];
	/* What a caller asked for was resolved when it was checked against allowed_*: a symlink now would be a new one. */
	uint64_t resolve = policy_mount_is_requested(policy, dest) ? RESOLVE_NO_SYMLINKS : 0;
	struct stat st;

	if (check_dest(dest, err) < 0)
		return -1;
	m->fd = plan_open_source(source, resolve, policy_list(policy, OPT_FORBIDDEN), &m->source, &st, err);
	if (m->fd < 0)
		return -1;
	plan->mount_count++; /* from here on plan_free() closes it */
	m->dest = strdup(dest);
	if (!m->dest)
		return fail_memory(err);
	m->writable = writable;
	m->is_dir = S_ISDIR(st.st_mode);
	m->owner_uid = st.st_uid;
	m->owner_gid = st.st_gid;
	return 0;
}

static int compare_dest(const void *a, const void *b)
{
	const struct plan_mount *x = a, *y = b;

	return strcmp(x->dest, y->dest);
}

static int check_overlap(const struct cordon_plan *plan, struct cordon_error *err)
{
	for (size_t i = 1; i < plan->mount_count; i++)
		if (strcmp(plan->mounts[i - 1].dest, plan->mounts[i].dest) == 0)
			return cordon_fail(err, CORDON_INVALID, 0, "two mounts at '%s'", plan->mounts[i].dest);
	return 0;
}

int plan_resolve_mounts(struct cordon_plan *plan, const struct cordon_policy *policy, struct cordon_error *err)
{
	const struct strv *lists[] = { policy_list(policy, OPT_READ), policy_list(policy, OPT_WRITE) };
	size_t count = lists[0]->n / 2 + lists[1]->n / 2;

	if (!count)
		return 0;
	plan->mounts = calloc(count, sizeof(*plan->mounts));
	if (!plan->mounts)
		return fail_memory(err);
	for (size_t k = 0; k < ARRAY_LEN(lists); k++)
		for (size_t i = 0; i + 1 < lists[k]->n; i += 2)
			if (add_mount(plan, policy, lists[k]->v[i], lists[k]->v[i + 1], k == 1, err) < 0)
				return -1;
	/* Parents before what lies in them. */
	qsort(plan->mounts, plan->mount_count, sizeof(*plan->mounts), compare_dest);
	return check_overlap(plan, err);
}

static int add_protect(struct cordon_plan *plan, size_t mount, const char *below, bool is_dir, struct cordon_error *err)
{
	struct plan_protect *p;

	p = realloc(plan->protects, (plan->protect_count + 1) * sizeof(*p));
	if (!p)
		return fail_memory(err);
	plan->protects = p;
	p = &p[plan->protect_count];
	*p = (struct plan_protect){ .mount = mount, .is_dir = is_dir };
	p->below = strdup(below);
	if (!p->below)
		return fail_memory(err);
	plan->protect_count++;
	return 0;
}

/* The same host directory under two writable names would leave the second name unprotected. */
static int check_pair(const struct place_table *table, const struct plan_mount *a, const struct plan_mount *b,
		      struct cordon_error *err)
{
	struct place x = { 0 }, y = { 0 };
	bool related = path_is_within(a->source, b->source) || path_is_within(b->source, a->source);

	/* By place as well: a bind mount on the host shows the same directory under another path. */
	if (!related && place_of(table, a->fd, a->source, &x) == 0 && place_of(table, b->fd, b->source, &y) == 0)
		related = place_related(&x, &y);
	free(x.path);
	free(y.path);
	if (!related)
		return 0;
	cordon_fail(err, CORDON_INVALID, 0, "'%s' and '%s' are both writable and overlap, so files.protect cannot hold",
		    a->source, b->source);
	return fail_hint(err, "mount '%s' once, or drop files.protect", a->source);
}

static int check_aliases(const struct cordon_plan *plan, struct cordon_error *err)
{
	struct place_table table;
	int status = place_load(&table);

	if (status < 0)
		return cordon_fail(err, CORDON_SYSTEM, -status, "read /proc/self/mountinfo");
	for (size_t i = 0; status == 0 && i < plan->mount_count; i++)
		for (size_t j = i + 1; status == 0 && j < plan->mount_count; j++)
			if (plan->mounts[i].writable && plan->mounts[j].writable)
				status = check_pair(&table, &plan->mounts[i], &plan->mounts[j], err);
	place_done(&table);
	return status;
}

static int protect_absolute(struct cordon_plan *plan, const char *path, bool is_dir, struct cordon_error *err)
{
	const struct plan_mount *best = NULL;
	const char *below;

	for (size_t i = 0; i < plan->mount_count; i++)
		if (path_is_within(path, plan->mounts[i].dest))
			best = &plan->mounts[i]; /* sorted: the last is the deepest */
	if (!best || !best->writable)
		return 0; /* nothing can write there anyway */
	below = path_below(path, best->dest);
	if (!*below)
		return cordon_fail(err, CORDON_INVALID, 0, "files.protect names the whole writable mount '%s'", path);
	return add_protect(plan, (size_t)(best - plan->mounts), below, is_dir, err);
}

static int protect_entry(struct cordon_plan *plan, const char *entry, struct cordon_error *err)
{
	auto_free char *clean = path_clean("/", entry);
	bool is_dir = str_ends(entry, "/");

	if (!clean)
		return cordon_fail(err, CORDON_INVALID, 0, "files.protect: '%s' is not a path", entry);
	if (*entry == '/')
		return protect_absolute(plan, clean, is_dir, err);
	for (size_t i = 0; i < plan->mount_count; i++)
		if (plan->mounts[i].writable && plan->mounts[i].is_dir && clean[1] &&
		    add_protect(plan, i, clean + 1, is_dir, err) < 0)
			return -1;
	return 0;
}

static int protect_beside(struct cordon_plan *plan, size_t mount, const char *dir, int dir_len, const char *name,
			  struct cordon_error *err)
{
	auto_free char *path = str_printf("%.*s%s", dir_len, dir, name);

	if (!path)
		return fail_memory(err);
	for (size_t i = 0; i < plan->protect_count; i++)
		if (plan->protects[i].mount == mount && strcmp(plan->protects[i].below, path) == 0)
			return 0;
	return add_protect(plan, mount, path, false, err);
}

/* Whoever protects something in a .git protects it from git's own ways around: with a file "commondir" in it, git reads configuration and hooks
 * from elsewhere; and where it is no repository, or not any more, a "HEAD" beside it makes one of the directory that it lies in. */
static int protect_git(struct cordon_plan *plan, struct cordon_error *err)
{
	for (size_t i = 0, n = plan->protect_count; i < n; i++) {
		const char *below = plan->protects[i].below, *git = strstr(below, ".git/");
		size_t mount = plan->protects[i].mount;

		if (!git || (git != below && git[-1] != '/'))
			continue;
		if (protect_beside(plan, mount, below, (int)(git + 5 - below), PROTECT_COMMONDIR, err) < 0 ||
		    protect_beside(plan, mount, below, (int)(git - below), "HEAD", err) < 0)
			return -1;
	}
	return 0;
}

int plan_resolve_protects(struct cordon_plan *plan, const struct cordon_policy *policy, struct cordon_error *err)
{
	const struct strv *list = policy_list(policy, OPT_PROTECT);

	for (size_t i = 0; i < list->n; i++)
		if (protect_entry(plan, list->v[i], err) < 0)
			return -1;
	if (protect_git(plan, err) < 0)
		return -1;
	return plan->protect_count ? check_aliases(plan, err) : 0;
}

int plan_resolve_privates(struct cordon_plan *plan, const struct cordon_policy *policy, struct cordon_error *err)
{
	const struct strv *list = policy_list(policy, OPT_TMPFS);

	if (!list->n)
		return 0;
	plan->privates = calloc(list->n / 2, sizeof(*plan->privates));
	if (!plan->privates)
		return fail_memory(err);
	for (size_t i = 0; i + 1 < list->n; i += 2) {
		struct plan_private *p = &plan->privates[plan->private_count];

		if (check_dest(list->v[i], err) < 0)
			return -1;
		p->dest = strdup(list->v[i]);
		if (!p->dest)
			return fail_memory(err);
		p->size_bytes = strtoull(list->v[i + 1], NULL, 10);
		plan->private_count++;
	}
	return 0;
}

static int split_copy(const char *spec, char **ret_first, char **ret_second, struct cordon_error *err)
{
	const char *colon = strchr(spec, ':');

	*ret_first = strndup(spec, colon ? (size_t)(colon - spec) : strlen(spec));
	*ret_second = colon ? strdup(colon + 1) : NULL;
	if (!*ret_first || (colon && !*ret_second))
		return fail_memory(err);
	if (!**ret_first || (colon && !**ret_second))
		return cordon_fail(err, CORDON_INVALID, 0, "'%s': expected PATH or PATH:PATH", spec);
	return 0;
}

/* Copying in reads the host like a mount does: a caller may only take from where it may take mounts from. */
static int check_in(const struct cordon_policy *policy, const char *real, struct cordon_error *err)
{
	const struct strv *lists[] = { policy_list(policy, OPT_ALLOWED_READ), policy_list(policy, OPT_ALLOWED_WRITE) };

	for (size_t k = 0; k < ARRAY_LEN(lists); k++)
		for (size_t i = 0; i < lists[k]->n; i++) {
			auto_free char *dir = realpath(lists[k]->v[i], NULL);

			if (dir && path_is_within(real, dir))
				return 0;
		}
	cordon_fail(err, CORDON_DENIED, 0, "copy in of '%s' refused: it lies outside of files.allowed_read", real);
	return fail_hint(err, "the policy's files.allowed_read says where callers may read from");
}

bool plan_can_write(const struct cordon_plan *plan, const char *path)
{
	bool own = path_is_within(path, plan->home) || path_is_within(path, "/tmp");

	for (size_t i = 0; i < plan->private_count; i++)
		own = own || path_is_within(path, plan->privates[i].dest);
	for (size_t i = 0; i < plan->mount_count; i++)
		own = own || (plan->mounts[i].writable && path_is_within(path, plan->mounts[i].dest));
	return own;
}

/* A caller fills what is the payload's own; /etc and the like are the operator's. */
static int check_in_dest(const struct cordon_plan *plan, const char *dest, struct cordon_error *err)
{
	if (plan_can_write(plan, dest))
		return 0;
	cordon_fail(err, CORDON_DENIED, 0,
		    "copy in to '%s' refused: with a policy, only what is writable in the box can be filled", dest);
	return fail_hint(err, "copy it into %s or /tmp", plan->home);
}

/* Where nobody says: in the home, under the name that was said, also where that is a link; "." and ".." are none. Cuts slashes off the end. */
static char *home_place(const struct cordon_plan *plan, char *said, const char *real)
{
	const char *name;

	for (size_t n = strlen(said); n && said[n - 1] == '/'; n--)
		said[n - 1] = '\0';
	name = path_name(said);
	return path_clean(plan->home,
			  *name && strcmp(name, ".") != 0 && strcmp(name, "..") != 0 ? name : path_name(real));
}

static int add_in(struct cordon_plan *plan, const struct cordon_policy *policy, const char *spec,
		  struct cordon_error *err)
{
	struct plan_copy *c = &plan->ins[plan->in_count];
	auto_free char *host = NULL, *box = NULL;
	struct stat st;

	if (split_copy(spec, &host, &box, err) < 0)
		return -1;
	c->fd = plan_open_source(host, 0, policy_list(policy, OPT_FORBIDDEN), &c->host, &st, err);
	if (c->fd < 0)
		return -1;
	plan->in_count++;
	if (policy->is_narrowed && check_in(policy, c->host, err) < 0)
		return -1;
	c->box = box ? path_clean(plan->home, box) : home_place(plan, host, c->host);
	if (!c->box)
		return cordon_fail(err, CORDON_INVALID, 0, "--in '%s': the destination is not a path in the box", spec);
	return policy->is_narrowed ? check_in_dest(plan, c->box, err) : 0;
}

static bool payloads_write(const struct cordon_plan *plan, int dir)
{
	char real[PATH_MAX];

	if (fd_real_path(dir, real, sizeof(real)) < 0)
		return true;
	for (size_t i = 0; i < plan->mount_count; i++)
		if (plan->mounts[i].writable && path_is_within(real, plan->mounts[i].source))
			return true;
	return false;
}

/* What a symlink `name` in `dir` leads to, before what is left of the path: malloc'd, or NULL and *ret_error. */
static char *follow(const struct cordon_plan *plan, int dir, int link, const char *rest, int *ret_error)
{
	char target[PATH_MAX];
	char *path = NULL;
	ssize_t n;

	/* Where payloads write, a symlink may be one that an earlier payload left. */
	if (payloads_write(plan, dir)) {
		*ret_error = -ELOOP;
		return NULL;
	}
	n = readlinkat(link, "", target, sizeof(target));
	if (n >= 0 && (size_t)n < sizeof(target))
		path = str_printf("%.*s/%s", (int)n, target, rest);
	*ret_error = path ? 0 : n < 0 ? -errno : n == sizeof(target) ? -ENAMETOOLONG : -ENOMEM;
	return path;
}

/* Walks an absolute path as the kernel would, but for symlinks in directories that payloads write to. An O_PATH fd or -errno. */
static int walk(const struct cordon_plan *plan, const char *path)
{
	auto_free char *held = NULL;
	auto_close int at = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	int links = 0, error = 0;

	while (at >= 0) {
		auto_close int next = -1;
		char name[NAME_MAX + 1];
		struct stat st;
		size_t len;

		path += strspn(path, "/");
		len = strcspn(path, "/");
		if (!len)
			return STEAL_FD(at);
		if (len > NAME_MAX)
			return -ENAMETOOLONG;
		memcpy(name, path, len);
		name[len] = '\0';
		path += len;
		next = openat(at, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
		if (next < 0 || fstat(next, &st) < 0)
			return -errno;
		if (S_ISLNK(st.st_mode)) {
			char *longer = ++links > 40 ? NULL : follow(plan, at, next, path, &error);

			if (!longer)
				return links > 40 ? -ELOOP : error;
			free(held);
			path = held = longer;
			if (*path == '/') {
				fd_close(&at);
				at = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
			}
		} else if (!S_ISDIR(st.st_mode)) {
			return -ENOTDIR;
		} else {
			fd_close(&at);
			at = next;
			next = -1;
		}
	}
	return -errno;
}

/* The directory that will hold the target, before the payload runs: it may be one that the payload can swap for a link. */
static int open_out(const struct cordon_plan *plan, struct plan_copy *c, struct cordon_error *err)
{
	auto_free char *parent = strdup(c->host);
	char *slash = parent ? strrchr(parent, '/') : NULL;

	if (!slash)
		return fail_memory(err);
	slash[slash == parent] = '\0';
	c->fd = walk(plan, parent);
	if (c->fd >= 0)
		return 0;
	cordon_fail(err, c->fd == -ENOENT ? CORDON_INVALID : CORDON_SYSTEM, -c->fd, "--out to '%s': open its directory",
		    c->host);
	return c->fd == -ELOOP ? fail_hint(err, "a symbolic link in a directory that payloads write to is not followed")
			       : -1;
}

static int add_out(struct cordon_plan *plan, const char *spec, struct cordon_error *err)
{
	struct plan_copy *c = &plan->outs[plan->out_count];
	auto_free char *box = NULL, *host = NULL, *cwd = realpath(".", NULL);

	if (split_copy(spec, &box, &host, err) < 0)
		return -1;
	c->fd = -1;
	plan->out_count++; /* from here on plan_free() frees it */
	c->box = path_clean(plan->workdir, box);
	if (!c->box || strcmp(c->box, "/") == 0)
		return cordon_fail(err, CORDON_INVALID, 0, "--out '%s' is not a path in the box", spec);
	c->host = path_clean(cwd, host ? host : path_name(c->box));
	if (!c->host || strcmp(c->host, "/") == 0)
		return cordon_fail(err, CORDON_INVALID, 0, "--out '%s': the target is not a path", spec);
	return open_out(plan, c, err);
}

int plan_resolve_copies(struct cordon_plan *plan, const struct cordon_policy *policy, const char *const *in,
			const char *const *out, struct cordon_error *err)
{
	size_t n_in = 0, n_out = 0;

	while (in && in[n_in])
		n_in++;
	while (out && out[n_out])
		n_out++;
	plan->ins = calloc(n_in + 1, sizeof(*plan->ins));
	plan->outs = calloc(n_out + 1, sizeof(*plan->outs));
	if (!plan->ins || !plan->outs)
		return fail_memory(err);
	for (size_t i = 0; i < n_in; i++)
		if (add_in(plan, policy, in[i], err) < 0)
			return -1;
	for (size_t i = 0; i < n_out; i++)
		if (add_out(plan, out[i], err) < 0)
			return -1;
	return 0;
}
