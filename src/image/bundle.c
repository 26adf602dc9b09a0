/*
 * What is imported: see bundle.h. An archive is read twice: first for its names and small files, since what says what the others are may
 * come last; then for the layers, in the order they lie. Between the two only the list below is kept. A root file system is known by its
 * first entries, and read once.
 */
#include "image/bundle.h"

#include "base/fd.h"
#include "base/path.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define WALK (RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS)

enum { FILES_MAX = 20000, TEXTS_MAX = 64 << 20, BLOCK = 128 << 10 };

struct bundle_file {
	char *path; /* clean, absolute within the bundle */
	char *link; /* the same, of what it stands for; NULL: it is a file itself */
	char *text; /* of a small one */
	size_t len;
};

struct bundle {
	int fd;
	bool is_dir;
	enum bundle_kind kind;
	struct bundle_file *files;
	size_t count, text_bytes;
};

/* ---- the list ---- */

static const struct bundle_file *find(const struct bundle *b, const char *path)
{
	for (int hops = 0; hops < 8; hops++) {
		const struct bundle_file *found = NULL;

		for (size_t i = 0; i < b->count && !found; i++)
			if (strcmp(b->files[i].path, path) == 0)
				found = &b->files[i];
		if (!found || !found->link)
			return found;
		path = found->link;
	}
	return NULL;
}

/* Relative names start at the top; NULL for what leads out of it. */
static char *clean(const char *base, const char *path)
{
	return path ? path_clean(base, path) : NULL;
}

static struct bundle_file *add(struct bundle *b, struct archive_entry *e, struct cordon_error *err)
{
	const char *raw = archive_entry_pathname(e);
	auto_free char *path = clean("/", raw);
	struct bundle_file *bigger, *f;

	if (!path) {
		cordon_fail(err, CORDON_DENIED, 0, "the archive is refused: '%.200s' leads out of it", raw ? raw : "");
		return NULL;
	}
	if (b->count == FILES_MAX) {
		cordon_fail(err, CORDON_DENIED, 0, "the archive is refused: it has too many files for an image");
		return NULL;
	}
	bigger = realloc(b->files, (b->count + 1) * sizeof(*bigger));
	if (!bigger) {
		fail_memory(err);
		return NULL;
	}
	b->files = bigger;
	f = &bigger[b->count++];
	*f = (struct bundle_file){ .path = STEAL(path) };
	return f;
}

/* `docker save` of old wrote a layer once, and links to it. */
static int note_link(struct bundle_file *f, struct archive_entry *e, struct cordon_error *err)
{
	const char *hard = archive_entry_hardlink(e);
	auto_free char *dir = strdup(f->path);
	char *slash = dir ? strrchr(dir, '/') : NULL;

	if (!slash)
		return fail_memory(err);
	slash[slash == dir] = '\0';
	f->link = hard ? clean("/", hard) : clean(dir, archive_entry_symlink(e));
	return 0;
}

static int note_text(struct bundle *b, struct bundle_file *f, struct archive *a, size_t size, struct cordon_error *err)
{
	la_ssize_t n = 0;

	f->text = malloc(size + 1);
	if (!f->text)
		return fail_memory(err);
	while (f->len < size && (n = archive_read_data(a, f->text + f->len, size - f->len)) > 0)
		f->len += (size_t)n;
	if (n < 0 || f->len != size)
		return cordon_fail(err, CORDON_INVALID, 0, "the archive cannot be read: %s",
				   n < 0 ? archive_error_string(a) : "it ends too early");
	f->text[size] = '\0';
	b->text_bytes += size;
	return 0;
}

static int note(struct bundle *b, struct archive *a, struct archive_entry *e, struct cordon_error *err)
{
	bool is_link = archive_entry_hardlink(e) || archive_entry_filetype(e) == AE_IFLNK;
	struct bundle_file *f;
	la_int64_t size;

	if (!is_link && archive_entry_filetype(e) != AE_IFREG)
		return 0;
	f = add(b, e, err);
	if (!f)
		return -1;
	if (is_link)
		return note_link(f, e, err);
	size = archive_entry_size(e);
	if (size < 0 || size > BUNDLE_TEXT_MAX || b->text_bytes + (size_t)size > TEXTS_MAX)
		return 0;
	return note_text(b, f, a, (size_t)size, err);
}

/* ---- what it is ---- */

/* A name at the top that only a root file system has. */
static bool is_of_a_root(const char *path)
{
	static const char *const tops[] = { "bin",   "boot", "dev", "etc",  "home", "lib", "lib64",
					    "media", "mnt",  "opt", "proc", "root", "run", "sbin",
					    "srv",   "sys",  "tmp", "usr",  "var" };
	size_t len;

	while (path[0] == '.' && path[1] == '/')
		path += 2;
	len = strcspn(path, "/");
	for (size_t i = 0; i < ARRAY_LEN(tops); i++)
		if (strlen(tops[i]) == len && memcmp(tops[i], path, len) == 0)
			return true;
	return false;
}

static int fail_archive(struct archive *a, struct cordon_error *err)
{
	const char *why = archive_error_string(a);

	cordon_fail(err, CORDON_INVALID, 0, "the archive cannot be read: %s", why ? why : "out of memory");
	return fail_hint(
		err,
		"an image is a tar (plain, or packed by gzip, bzip2, xz or zstd), or a directory with an OCI layout");
}

static struct archive *rewind_archive(struct bundle *b, struct cordon_error *err)
{
	struct archive *a = stream_reader(0);

	if (!a) {
		fail_memory(err);
		return NULL;
	}
	if (lseek(b->fd, 0, SEEK_SET) < 0 || archive_read_open_fd(a, b->fd, BLOCK) != ARCHIVE_OK) {
		(void)fail_archive(a, err);
		(void)archive_read_free(a);
		return NULL;
	}
	return a;
}

static int index_archive(struct bundle *b, struct cordon_error *err)
{
	struct archive *a = rewind_archive(b, err);
	struct archive_entry *e;
	int r, status = 0;
	bool is_root = false, is_empty = true;

	if (!a)
		return -1;
	while (status == 0 && !is_root && ((r = archive_read_next_header(a, &e)) == ARCHIVE_OK || r == ARCHIVE_WARN)) {
		const char *path = archive_entry_pathname(e);

		is_empty = false;
		is_root = path && is_of_a_root(path);
		status = is_root ? 0 : note(b, a, e, err);
	}
	if (status == 0 && !is_root && r != ARCHIVE_EOF)
		status = fail_archive(a, err);
	else if (status == 0 && is_empty) /* what was to write it has failed, more often than not */
		status = cordon_fail(err, CORDON_INVALID, 0, "the archive is empty");
	(void)archive_read_free(a);
	b->kind = is_root                     ? BUNDLE_ROOT
		  : find(b, "/manifest.json") ? BUNDLE_DOCKER
		  : find(b, "/oci-layout")    ? BUNDLE_OCI
					      : BUNDLE_ROOT;
	return status;
}

int bundle_open(struct bundle **ret, int fd, struct cordon_error *err)
{
	struct bundle *b = calloc(1, sizeof(*b));
	struct stat st;
	int status = 0;

	if (!b)
		return fail_memory(err);
	b->fd = fd;
	if (fstat(fd, &st) < 0)
		status = cordon_fail(err, CORDON_SYSTEM, errno, "look at what is to be imported");
	b->is_dir = status == 0 && S_ISDIR(st.st_mode);
	if (b->is_dir)
		b->kind = BUNDLE_OCI;
	else if (status == 0)
		status = index_archive(b, err);
	if (b->is_dir && faccessat(fd, "oci-layout", F_OK, AT_SYMLINK_NOFOLLOW) < 0) {
		cordon_fail(err, CORDON_INVALID, 0, "the directory is no OCI layout: it has no file oci-layout");
		status = fail_hint(
			err, "a root file system is imported as a tar: tar -C DIR -c . | cordon image import - NAME");
	}
	if (status < 0) {
		bundle_free(b);
		return -1;
	}
	*ret = b;
	return 0;
}

enum bundle_kind bundle_kind(const struct bundle *b)
{
	return b->kind;
}

void bundle_free(struct bundle *b)
{
	if (!b)
		return;
	for (size_t i = 0; i < b->count; i++) {
		free(b->files[i].path);
		free(b->files[i].link);
		free(b->files[i].text);
	}
	free(b->files);
	free(b);
}

/* ---- blobs ---- */

static int missing(const char *path, struct cordon_error *err)
{
	cordon_fail(err, CORDON_INVALID, 0, "'%.200s' is named by the image, but it is not there", path);
	return fail_hint(err, "an image must be whole: layers that lie elsewhere cannot be fetched here");
}

static int open_blob(struct bundle *b, const char *path, struct cordon_error *err)
{
	int fd = fd_openat2(b->fd, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0, WALK);
	struct stat st;

	if (fd < 0)
		return fd == -ENOENT ? missing(path, err) : cordon_fail(err, CORDON_DENIED, -fd, "open '%.200s'", path);
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
		return fd;
	fd_close(&fd);
	return cordon_fail(err, CORDON_DENIED, 0, "'%.200s' is not a file", path);
}

int bundle_text(struct bundle *b, const char *path, char **ret_text, size_t *ret_len, struct cordon_error *err)
{
	const struct bundle_file *f;
	auto_free char *at = clean("/", path);
	auto_close int fd = -1;
	ssize_t n;

	if (b->is_dir) {
		fd = open_blob(b, path, err);
		n = fd < 0 ? -1 : fd_load(fd, BUNDLE_TEXT_MAX, ret_text);
		if (fd >= 0 && n < 0)
			return cordon_fail(err, CORDON_INVALID, (int)-n, "read '%.200s'", path);
		*ret_len = n < 0 ? 0 : (size_t)n;
		return n < 0 ? -1 : 0;
	}
	f = at ? find(b, at) : NULL;
	if (!f)
		return missing(path, err);
	if (!f->text)
		return cordon_fail(err, CORDON_INVALID, 0, "'%.200s' is too large for what it should be", path);
	*ret_text = malloc(f->len + 1);
	if (!*ret_text)
		return fail_memory(err);
	memcpy(*ret_text, f->text, f->len + 1);
	*ret_len = f->len;
	return 0;
}

static int each_in_dir(struct bundle *b, const struct strv *wanted, struct budget *budget, bundle_take take, void *arg,
		       struct cordon_error *err)
{
	for (size_t i = 0; i < wanted->n; i++) {
		auto_close int fd = open_blob(b, wanted->v[i], err);
		struct stream *s = NULL;
		int r;

		if (fd < 0 || stream_open_fd(&s, fd, budget, err) < 0)
			return -1;
		r = take(arg, i, s, err);
		stream_free(s);
		if (r < 0)
			return -1;
	}
	return 0;
}

struct walk {
	struct bundle *b;
	const struct strv *wanted;
	const struct bundle_file **files; /* per wanted: where it lies */
	size_t left;
	struct budget *budget;
	bundle_take take;
	void *arg;
};

static int take_entry(struct walk *w, struct archive *a, struct archive_entry *e, struct cordon_error *err)
{
	auto_free char *path = clean("/", archive_entry_pathname(e));

	for (size_t i = 0; path && i < w->wanted->n; i++) {
		struct stream *s = NULL;
		int r;

		if (!w->files[i] || strcmp(w->files[i]->path, path) != 0)
			continue;
		if (stream_open_entry(&s, a, w->budget, err) < 0)
			return -1;
		r = w->take(w->arg, i, s, err);
		stream_free(s);
		w->files[i] = NULL;
		w->left--;
		return r;
	}
	return 0;
}

static int walk_archive(struct walk *w, struct cordon_error *err)
{
	struct archive *a = rewind_archive(w->b, err);
	struct archive_entry *e;
	int r = ARCHIVE_OK, status = a ? 0 : -1;

	while (status == 0 && w->left && ((r = archive_read_next_header(a, &e)) == ARCHIVE_OK || r == ARCHIVE_WARN))
		status = archive_entry_filetype(e) == AE_IFREG && !archive_entry_hardlink(e) ? take_entry(w, a, e, err)
											     : 0;
	if (status == 0 && w->left)
		status = r == ARCHIVE_EOF ? cordon_fail(err, CORDON_INVALID, 0,
							"a layer is named twice, or the archive changed meanwhile")
					  : fail_archive(a, err);
	if (a)
		(void)archive_read_free(a);
	return status;
}

int bundle_each(struct bundle *b, const struct strv *wanted, struct budget *budget, bundle_take take, void *arg,
		struct cordon_error *err)
{
	struct walk w = { .b = b, .wanted = wanted, .left = wanted->n, .budget = budget, .take = take, .arg = arg };
	auto_free const struct bundle_file **files = NULL;

	if (b->is_dir)
		return each_in_dir(b, wanted, budget, take, arg, err);
	w.files = files = calloc(wanted->n + 1, sizeof(*files));
	if (!files)
		return fail_memory(err);
	for (size_t i = 0; i < wanted->n; i++) {
		auto_free char *at = clean("/", wanted->v[i]);

		files[i] = at ? find(b, at) : NULL;
		if (!files[i])
			return missing(wanted->v[i], err);
	}
	return wanted->n ? walk_archive(&w, err) : 0;
}
