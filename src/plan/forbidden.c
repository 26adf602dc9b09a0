/* What is never mounted: see forbidden.h. Runs in the front, with the caller's rights. */
#include "plan/forbidden.h"

#include "base/fd.h"
#include "base/path.h"
#include "plan/engine.h"
#include "plan/place.h"
#include "policy/config.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const system_paths[] = {
	"/etc/shadow", "/etc/gshadow", "/etc/passwd", "/etc/sudoers", "/etc/sudoers.d", "/root",          "/proc",
	"/sys",        "/dev",         "/boot",       "/run",         "/var/run",       "/tmp/.X11-unix", NULL,
};

/* In /etc whatever begins so: copies that editors and package managers leave. */
static const char *const etc_names[] = { "shadow", "gshadow", "passwd", "sudoers", NULL };

/* In every home. */
static const char *const home_names[] = {
	".ssh",
	".aws",
	".gnupg",
	".config",
	".kube",
	".docker",
	".netrc",
	".git-credentials",
	".npmrc",
	".pypirc",
	".azure",
	".gcloud",
	".password-store",
	".vault-token",
	".bash_history",
	".zsh_history",
	".sh_history",
	".ash_history",
	".ksh_history",
	".zhistory",
	".histfile",
	".local/share/fish/fish_history",
	".history",
	".python_history",
	".node_repl_history",
	".sqlite_history",
	".psql_history",
	".mysql_history",
	NULL,
};

/* Sockets that the caller's own environment names: an agent's, a bus's, an engine's. */
static const char *const socket_variables[] = { "SSH_AUTH_SOCK", "DBUS_SESSION_BUS_ADDRESS", "DOCKER_HOST",
						"CONTAINER_HOST", NULL };

/* In the caller's own runtime directory: where an engine listens when no variable says where, and its directories with further sockets. */
static const char *const runtime_names[] = { "docker.sock", "docker", "podman", NULL };

struct check {
	const char *path; /* the real path of what is to be mounted */
	int fd;
	struct stat st;
	struct place_table mounts;
	struct place place; /* path NULL where the kernel does not tell it */
	struct cordon_error *err;
};

static int refuse(const struct check *c, const char *rule)
{
	/* What is no directory contains nothing: it is the thing itself, under another name. */
	bool inside = path_is_within(c->path, rule) || !S_ISDIR(c->st.st_mode);

	cordon_fail(c->err, CORDON_DENIED, 0, "mount of '%s' refused: %s '%s', which is forbidden", c->path,
		    inside ? "it is or lies in" : "it contains", rule);
	if (inside)
		return fail_hint(c->err, "mount what lies elsewhere; the built-in list cannot be switched off");
	return fail_hint(c->err,
			 "mount a directory that does not contain it; the built-in list cannot be switched off");
}

static bool same_inode(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* What cannot be looked at for this is not taken for allowed. */
static bool has_run_out(int errnum)
{
	return errnum == EMFILE || errnum == ENFILE || errnum == ENOMEM;
}

static int fail_look(const struct check *c, int errnum, const char *path)
{
	return cordon_fail(c->err, CORDON_SYSTEM, errnum, "look at '%s'", path);
}

/* Walks from fd (taken; -1: errno says why) up to the root: 1 when an ancestor or fd itself is `st`, 0, or -errno. */
static int reaches(int fd, const struct stat *st)
{
	auto_close int at = fd;
	struct stat here, last = { 0 };

	for (int depth = 0; at >= 0 && depth < 256; depth++) {
		int up;

		if (fstat(at, &here) < 0)
			return 0;
		if (same_inode(&here, st))
			return 1;
		if (!S_ISDIR(here.st_mode) || same_inode(&here, &last))
			return 0;
		last = here;
		up = openat(at, "..", O_PATH | O_CLOEXEC);
		fd_close(&at);
		at = up;
	}
	return at < 0 && has_run_out(errno) ? -errno : 0;
}

/* The directory that holds fd, for things that are not directories themselves. */
static int parent_of(const char *path)
{
	auto_free char *copy = strdup(path);
	char *slash = copy ? strrchr(copy, '/') : NULL;

	if (!slash)
		return -1;
	slash[slash == copy] = '\0';
	return open(copy, O_PATH | O_CLOEXEC);
}

/* By place: bind mounts of a part of it, and mounts of it somewhere below what is to be mounted. A missing one has a place, too. */
static int check_place(const struct check *c, int fd, const char *real, const char *name, const char *forbidden)
{
	struct place place = { 0 };
	auto_free char *at = NULL;
	bool hit;
	int r = place_of(&c->mounts, fd, real, &place);

	if (r < 0)
		return r == -ENOMEM ? fail_memory(c->err) : 0;
	at = name ? str_printf("%s/%s", strcmp(place.path, "/") == 0 ? "" : place.path, name) : strdup(place.path);
	free(place.path);
	place.path = at;
	if (!at)
		return fail_memory(c->err);
	hit = c->place.path && place_related(&c->place, &place);
	for (size_t i = 0; i < c->mounts.count && !hit; i++)
		hit = path_is_within(c->mounts.mounts[i].point, c->path) &&
		      place_related(&c->mounts.mounts[i].place, &place);
	return hit ? refuse(c, forbidden) : 0;
}

/* What does not exist (yet): its directory may be known under another name. */
static int check_missing(const struct check *c, const char *forbidden)
{
	auto_close int fd = parent_of(forbidden);
	char real[4096];

	if (fd < 0 && has_run_out(errno))
		return fail_look(c, errno, forbidden);
	if (fd < 0 || fd_real_path(fd, real, sizeof(real)) < 0)
		return 0;
	return check_place(c, fd, real, path_name(forbidden), forbidden);
}

/* One forbidden path, by text, by inode and by place. */
static int check_path(const struct check *c, const char *forbidden)
{
	auto_close int fd = -1;
	char real[4096];
	struct stat st;
	int r = 0;

	if (path_is_within(c->path, forbidden) || path_is_within(forbidden, c->path))
		return refuse(c, forbidden);
	fd = open(forbidden, O_PATH | O_CLOEXEC);
	if (fd < 0 && has_run_out(errno))
		return fail_look(c, errno, forbidden);
	if (fd < 0 || fstat(fd, &st) < 0)
		return check_missing(c, forbidden);
	if (fd_real_path(fd, real, sizeof(real)) == 0) {
		if (path_is_within(c->path, real) || path_is_within(real, c->path))
			return refuse(c, forbidden);
		if (check_place(c, fd, real, NULL, forbidden) < 0)
			return -1;
	}
	/* Inside it? Only a directory can be an ancestor; a file is compared as itself. */
	if (same_inode(&st, &c->st))
		return refuse(c, forbidden);
	if (S_ISDIR(st.st_mode))
		r = reaches(S_ISDIR(c->st.st_mode) ? fcntl(c->fd, F_DUPFD_CLOEXEC, 0) : parent_of(c->path), &st);
	if (r == 0 && S_ISDIR(c->st.st_mode))
		r = reaches(S_ISDIR(st.st_mode) ? STEAL_FD(fd) : parent_of(forbidden), &c->st);
	if (r < 0)
		return fail_look(c, -r, forbidden);
	return r ? refuse(c, forbidden) : 0;
}

static int check_home(const struct check *c, const char *home)
{
	for (const char *const *name = home_names; *name; name++) {
		auto_free char *path = str_printf("%s/%s", home, *name);

		if (!path)
			return fail_memory(c->err);
		if (check_path(c, path) < 0)
			return -1;
	}
	return 0;
}

/* Of a service's account what is there: its home may be any directory of the system, of which the rest is no secret. */
static int check_service(const struct check *c, const char *home)
{
	struct stat st;

	if ((!path_is_within(c->path, home) && !path_is_within(home, c->path)) || stat(home, &st) < 0)
		return 0;
	for (const char *const *name = home_names; *name; name++) {
		auto_free char *path = str_printf("%s/%s", home, *name);

		if (!path)
			return fail_memory(c->err);
		if (lstat(path, &st) == 0 && check_path(c, path) < 0)
			return -1;
	}
	return 0;
}

static int check_etc(const struct check *c)
{
	DIR *d = opendir("/etc");
	struct dirent *e;
	int status = !d && has_run_out(errno) ? fail_look(c, errno, "/etc") : 0;

	while (d && status == 0 && (e = readdir(d)))
		for (const char *const *name = etc_names; status == 0 && *name; name++) {
			auto_free char *path = NULL;

			if (!str_starts(e->d_name, *name))
				continue;
			path = str_printf("/etc/%s", e->d_name);
			status = path ? check_path(c, path) : fail_memory(c->err);
		}
	if (d)
		closedir(d);
	return status;
}

/* Homes of people: root's, the caller's, and every account's from uid 1000 on; and what services have in theirs. */
static int check_accounts(const struct check *c)
{
	auto_free char *text = NULL;
	char *line, *save = NULL;
	ssize_t n = fd_load_at(AT_FDCWD, "/etc/passwd", 16 << 20, &text);

	if (n < 0)
		return has_run_out((int)-n) ? fail_look(c, (int)-n, "/etc/passwd") : 0;
	for (line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		char *field[7] = { 0 }, *at = line;
		unsigned long uid;

		for (size_t i = 0; i < ARRAY_LEN(field) && at; i++)
			field[i] = strsep(&at, ":");
		if (!field[5] || field[5][0] != '/' || !field[5][1])
			continue;
		uid = strtoul(field[2], NULL, 10);
		if ((uid == getuid() || (uid >= 1000 && uid != 65534) ? check_home(c, field[5])
								      : check_service(c, field[5])) < 0)
			return -1;
	}
	return 0;
}

/* "/home/x" is a home even where no account says so. */
static int check_home_directory(const struct check *c)
{
	const char *rest = path_below(c->path, "/home");
	auto_free char *home = NULL;

	if (!rest)
		return 0;
	if (!*rest)
		return refuse(c, "/home/*/.ssh");
	home = str_printf("/home/%.*s", (int)strcspn(rest, "/"), rest);
	return home ? check_home(c, home) : fail_memory(c->err);
}

static int check_sockets(const struct check *c)
{
	for (const char *const *name = socket_variables; *name; name++) {
		const char *value = secure_getenv(*name), *path = value ? strchr(value, '/') : NULL;
		auto_free char *socket = path ? strndup(path, strcspn(path, ",;")) : NULL;
		auto_free char *clean = socket ? path_clean(NULL, socket) : NULL;

		if (value && str_starts(value, "unix:") && clean && str_starts(clean, "//"))
			continue;
		if (clean && strcmp(clean, "/") != 0 && check_path(c, clean) < 0)
			return -1;
	}
	return 0;
}

static int check_runtime(const struct check *c)
{
	const char *value = secure_getenv("XDG_RUNTIME_DIR");
	auto_free char *dir = value && value[0] == '/' ? path_clean(NULL, value) : NULL;

	if (value && value[0] == '/' && !dir)
		return fail_memory(c->err);
	for (const char *const *name = runtime_names; dir && *name; name++) {
		auto_free char *path = str_printf("%s/%s", strcmp(dir, "/") == 0 ? "" : dir, *name);

		if (!path)
			return fail_memory(c->err);
		if (check_path(c, path) < 0)
			return -1;
	}
	return 0;
}

/* What boxes are made of: who could write there would be in the next one, or lead cordon elsewhere. */
static int check_own(const struct check *c)
{
	const struct config *config = config_get(NULL);
	auto_free char *containers = engine_directory(getuid());

	if (!containers)
		return fail_memory(c->err);
	if (config && ((config->images_dir && check_path(c, config->images_dir) < 0) ||
		       (config->state_dir && check_path(c, config->state_dir) < 0)))
		return -1;
	return check_path(c, containers);
}

static int check_all(const struct check *c, const struct strv *extra)
{
	const char *home = secure_getenv("HOME");
	auto_free char *clean = home && home[0] == '/' && home[1] ? path_clean(NULL, home) : NULL;

	for (const char *const *p = system_paths; *p; p++)
		if (check_path(c, *p) < 0)
			return -1;
	for (size_t i = 0; i < extra->n; i++)
		if (check_path(c, extra->v[i]) < 0)
			return -1;
	if (clean && strcmp(clean, "/") != 0 && check_home(c, clean) < 0)
		return -1;
	if (check_etc(c) < 0 || check_own(c) < 0 || check_home_directory(c) < 0 || check_accounts(c) < 0)
		return -1;
	return check_runtime(c) < 0 ? -1 : check_sockets(c);
}

int forbidden_check(int fd, const char *path, const struct strv *extra, struct cordon_error *err)
{
	struct check c = { .path = path, .fd = fd, .err = err };
	int r;

	if (fstat(fd, &c.st) < 0)
		return cordon_fail(err, CORDON_SYSTEM, errno, "stat '%s'", path);
	r = place_load(&c.mounts);
	if (r < 0)
		return cordon_fail(err, CORDON_SYSTEM, -r, "read /proc/self/mountinfo");
	(void)place_of(&c.mounts, fd, path, &c.place);
	r = check_all(&c, extra);
	free(c.place.path);
	place_done(&c.mounts);
	return r;
}
