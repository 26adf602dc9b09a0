/*
 * The context of a build, as a tar: see build.h. Directories are walked by descriptor and no link is followed, so nothing outside of the
 * context is ever read, whoever changes it meanwhile. Owners are root's, as Docker's own client sends them; sockets, FIFOs and
 * devices are left out.
 */
#include "base/fd.h"
#include "driver/build.h"

#include <archive.h>
#include <archive_entry.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { DEPTH_MAX = 128, IGNORE_MAX = 1 << 20, DOCKERFILE_MAX = 16 << 20 };

struct walk {
	struct archive *tar;
	const struct build_context *context;
	struct build_ignore ignore;
	char path[PATH_MAX]; /* of what is being looked at, below the context */
	struct cordon_error *err;
};

static int fail(const struct walk *w, int errnum, const char *what)
{
	return cordon_fail(w->err, CORDON_SYSTEM, errnum, "%s '%s' of the build's directory", what, w->path);
}

static int fail_tar(const struct walk *w)
{
	return cordon_fail(w->err, CORDON_SYSTEM, archive_errno(w->tar), "send the build's directory");
}

/* ---- entries ---- */

static int put_head(struct walk *w, const char *path, const struct stat *st, const char *target)
{
	struct archive_entry *e = archive_entry_new();
	int r;

	if (!e)
		return fail_memory(w->err);
	archive_entry_copy_stat(e, st);
	archive_entry_set_uid(e, 0);
	archive_entry_set_gid(e, 0);
	archive_entry_set_pathname(e, path);
	if (target)
		archive_entry_set_symlink(e, target);
	if (!S_ISREG(st->st_mode))
		archive_entry_set_size(e, 0);
	r = archive_write_header(w->tar, e) == ARCHIVE_OK ? 0 : fail_tar(w);
	archive_entry_free(e);
	return r;
}

/* What grew meanwhile is cut, what shrank is filled with zeroes: its length has been said. */
static int put_data(struct walk *w, int fd, uint64_t size)
{
	static char buf[1 << 16];

	while (size) {
		ssize_t n = read(fd, buf, size < sizeof(buf) ? (size_t)size : sizeof(buf));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return fail(w, errno, "read");
		if (n == 0)
			break;
		if (archive_write_data(w->tar, buf, (size_t)n) != n)
			return fail_tar(w);
		size -= (uint64_t)n;
	}
	return archive_write_finish_entry(w->tar) == ARCHIVE_OK ? 0 : fail_tar(w);
}

static int put_text(struct walk *w, const char *path, const char *text, size_t len)
{
	const struct stat st = { .st_mode = S_IFREG | 0644, .st_size = (off_t)len };

	if (put_head(w, path, &st, NULL) < 0)
		return -1;
	return archive_write_data(w->tar, text, len) == (la_ssize_t)len ? 0 : fail_tar(w);
}

static int put_link(struct walk *w, int dir, const char *name, const struct stat *st)
{
	char target[PATH_MAX];
	ssize_t n = readlinkat(dir, name, target, sizeof(target) - 1);

	if (n < 0)
		return fail(w, errno, "read the link");
	target[n] = '\0';
	return put_head(w, w->path, st, target);
}

static int put_file(struct walk *w, int dir, const char *name)
{
	auto_close int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0) {
		(void)fail(w, errno, "open");
		return fail_hint(w->err, "name it in .dockerignore if it is not for the image");
	}
	if (!S_ISREG(st.st_mode))
		return fail(w, 0, "something else became of");
	return put_head(w, w->path, &st, NULL) < 0 ? -1 : put_data(w, fd, (uint64_t)st.st_size);
}

/* ---- the walk ---- */

/* The daemon wants these two, whatever is ignored. */
static bool is_wanted(const struct walk *w)
{
	return strcmp(w->path, ".dockerignore") == 0 ||
	       (!w->context->is_outside && strcmp(w->path, w->context->name) == 0);
}

static int walk_dir(struct walk *w, int dir, unsigned depth);

static int walk_entry(struct walk *w, int dir, const char *name, unsigned depth)
{
	bool ignored = build_ignores(&w->ignore, w->path) && !is_wanted(w);
	struct stat st;
	int sub;

	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : fail(w, errno, "look at");
	if (S_ISDIR(st.st_mode)) {
		/* Below what is ignored there may be exceptions, and the Dockerfile. */
		if (ignored && !w->ignore.has_exceptions && !str_starts(w->context->name, w->path))
			return 0;
		if (!ignored && put_head(w, w->path, &st, NULL) < 0)
			return -1;
		sub = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		return sub < 0 ? (ignored ? 0 : fail(w, errno, "open")) : walk_dir(w, sub, depth + 1);
	}
	if (ignored || strcmp(w->path, ".dockerignore") == 0) /* that one was put first */
		return 0;
	if (S_ISLNK(st.st_mode))
		return put_link(w, dir, name, &st);
	return S_ISREG(st.st_mode) ? put_file(w, dir, name) : 0;
}

/* Takes dir. */
static int walk_dir(struct walk *w, int dir, unsigned depth)
{
	size_t len = strlen(w->path);
	struct dirent *e;
	DIR *d = fdopendir(dir);
	int r = 0;

	if (!d) {
		close(dir);
		return fail(w, errno, "read");
	}
	if (depth > DEPTH_MAX)
		r = fail(w, ELOOP, "enter");
	while (r == 0 && (e = readdir(d))) {
		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
			continue;
		if ((size_t)snprintf(w->path + len, sizeof(w->path) - len, "%s%s", len ? "/" : "", e->d_name) >=
		    sizeof(w->path) - len)
			r = fail(w, ENAMETOOLONG, "enter");
		else
			r = walk_entry(w, dirfd(d), e->d_name, depth);
		w->path[len] = '\0';
	}
	closedir(d);
	return r;
}

/* Its own text goes on; a Dockerfile that is only lent to the context is none of the image's. */
static int put_ignore(struct walk *w, int dir)
{
	auto_free char *text = NULL, *all = NULL;
	ssize_t n = fd_load_at(dir, ".dockerignore", IGNORE_MAX, &text);

	if (n == -ENOENT && !w->context->is_outside)
		return 0;
	if (n < 0 && n != -ENOENT)
		return cordon_fail(w->err, CORDON_SYSTEM, (int)-n, "read .dockerignore of the build's directory");
	all = str_printf("%s%s", text ? text : "", w->context->is_outside ? "\n" BUILD_DOCKERFILE "\n" : "");
	if (!all || build_ignore_parse(&w->ignore, all) < 0)
		return fail_memory(w->err);
	return put_text(w, ".dockerignore", all, strlen(all));
}

static int put_dockerfile(struct walk *w)
{
	auto_free char *text = NULL;
	ssize_t n = fd_load_at(AT_FDCWD, w->context->dockerfile, DOCKERFILE_MAX, &text);

	if (n < 0)
		return cordon_fail(w->err, CORDON_NOT_FOUND, (int)-n, "read '%s'", w->context->dockerfile);
	return put_text(w, w->context->name, text, (size_t)n);
}

static int put_all(struct walk *w)
{
	int dir = -1, r = 0;

	if (w->context->dir) {
		dir = open(w->context->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (dir < 0)
			return cordon_fail(w->err, CORDON_NOT_FOUND, errno, "open '%s'", w->context->dir);
		r = put_ignore(w, dir);
	}
	if (r == 0 && w->context->is_outside)
		r = put_dockerfile(w);
	if (r < 0 || dir < 0) {
		fd_close(&dir);
		return r;
	}
	return walk_dir(w, dir, 0);
}

int build_context_write(const struct build_context *context, int fd, struct cordon_error *err)
{
	struct walk w = { .tar = archive_write_new(), .context = context, .err = err };
	int r;

	if (!w.tar)
		return fail_memory(err);
	if (archive_write_set_format_pax_restricted(w.tar) != ARCHIVE_OK ||
	    archive_write_set_options(w.tar, "hdrcharset=BINARY") != ARCHIVE_OK ||
	    archive_write_open_fd(w.tar, fd) != ARCHIVE_OK)
		r = fail_tar(&w);
	else
		r = put_all(&w);
	if (r == 0 && archive_write_close(w.tar) != ARCHIVE_OK)
		r = fail_tar(&w);
	archive_write_free(w.tar);
	build_ignore_done(&w.ignore);
	return r;
}

/* ---- the Dockerfile ---- */

int build_context_find(struct build_context *c, struct cordon_error *err)
{
	auto_free char *given = c->dockerfile ? strdup(c->dockerfile) : str_printf("%s/Dockerfile", c->dir);
	auto_free char *file = given ? realpath(given, NULL) : NULL, *dir = c->dir ? realpath(c->dir, NULL) : NULL;
	size_t len = dir ? strlen(dir) : 0;

	if (!given)
		return fail_memory(err);
	if (c->dir && !dir)
		return cordon_fail(err, CORDON_NOT_FOUND, errno, "the directory '%s'", c->dir);
	if (!file) {
		cordon_fail(err, CORDON_NOT_FOUND, errno, "the Dockerfile '%s'", given);
		return fail_hint(err, "-f FILE says which one");
	}
	len = len == 1 ? 0 : len; /* "/" */
	c->is_outside = !dir || !(str_starts(file, dir) && file[len] == '/');
	if (c->is_outside && !c->dockerfile)
		return cordon_fail(err, CORDON_DENIED, 0, "'%s' is a link to outside of the directory", given);
	snprintf(c->name, sizeof(c->name), "%s", c->is_outside ? BUILD_DOCKERFILE : file + len + 1);
	return strlen(c->name) + 1 == sizeof(c->name) ? cordon_fail(err, CORDON_INVALID, ENAMETOOLONG, "'%s'", given)
						      : 0;
}
