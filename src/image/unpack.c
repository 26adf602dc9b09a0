/*
 * Unpacking one layer: see unpack.h.
 *
 * The archive is hostile. A name is cut into components first: absolute ones, "..", and what is too long or too deep are refused. Its
 * directory is then opened from the top by openat2, beneath it and without symlinks, so that no link of the archive is ever followed; the
 * entry itself is only touched as one component of that directory. Hard links lead to what this layer made before, found the same way.
 * What the tar says later wins, but a directory with something in it is not replaced.
 *
 * Everything belongs to who imports, with the modes of the archive but for set-user-id and set-group-id; its owner may always read, and
 * enter directories. Extended attributes, capabilities and ACLs are left out. Devices and FIFOs below dev/ are, too, since a box has a /dev of
 * its own (root file systems from debootstrap have some); anywhere else they are refused. Whiteouts are kept by their names, as empty
 * files, for merge.c.
 */
#include "image/unpack.h"

#include "base/fd.h"
#include "base/str.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define WALK (RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV)
#define WHITEOUT ".wh."

struct unpack {
	struct stream *stream;
	struct archive *tar;
	int top;
	int parent; /* the directory of the last entry, or -1 */
	char parent_path[BUDGET_PATH + 1];
	struct budget *budget;
	struct unpack_report *report;
	struct cordon_error *err;
	bool failed; /* the stream, with *err */
};

/* "./a//b/" is dir "a" and name "b"; the top itself is an empty name. */
struct entry_name {
	char dir[BUDGET_PATH + 1], name[BUDGET_NAME + 1];
};

static int refuse(struct unpack *u, const char *path, const char *why)
{
	return cordon_fail(u->err, CORDON_DENIED, 0, "the archive is refused: '%.200s' %s", path, why);
}

static int fail_system(struct unpack *u, int errnum, const char *what, const struct entry_name *n)
{
	return cordon_fail(u->err, CORDON_SYSTEM, errnum, "%s '%.200s%s%.200s'", what, n->dir, n->dir[0] ? "/" : "",
			   n->name);
}

/* ---- names ---- */

const char *unpack_whiteout(const char *name)
{
	if (!str_starts(name, WHITEOUT))
		return NULL;
	return strcmp(name, WHITEOUT WHITEOUT ".opq") == 0 ? "" : name + strlen(WHITEOUT);
}

static int append_dir(struct unpack *u, const char *path, struct entry_name *n)
{
	size_t len = strlen(n->dir);

	if (!n->name[0])
		return 0;
	if (str_starts(n->name, WHITEOUT))
		return refuse(u, path, "lies below a whiteout");
	snprintf(n->dir + len, sizeof(n->dir) - len, "%s%s", len ? "/" : "", n->name);
	return 0;
}

static int split_name(struct unpack *u, const char *path, struct entry_name *n)
{
	unsigned depth = 0;

	n->dir[0] = n->name[0] = '\0';
	if (path[0] == '/')
		return refuse(u, path, "is an absolute name");
	if (strlen(path) >= BUDGET_PATH)
		return refuse(u, path, "is too long a name");
	for (const char *p = path; *p;) {
		size_t len = strcspn(p, "/");

		if (len == 2 && p[0] == '.' && p[1] == '.')
			return refuse(u, path, "leads upwards");
		if (len > BUDGET_NAME || ++depth > BUDGET_DEPTH)
			return refuse(u, path, len > BUDGET_NAME ? "has too long a component" : "lies too deep");
		if (len && !(len == 1 && p[0] == '.')) {
			if (append_dir(u, path, n) < 0)
				return -1;
			memcpy(n->name, p, len);
			n->name[len] = '\0';
		}
		p += len + (p[len] == '/');
	}
	return 0;
}

/* ---- places ---- */

static void forget_parent(struct unpack *u)
{
	fd_close(&u->parent);
}

static int open_dir(struct unpack *u, const char *dir)
{
	return fd_openat2(u->top, dir[0] ? dir : ".", O_PATH | O_DIRECTORY | O_NOFOLLOW, 0, WALK);
}

/* Directories that the archive does not name itself. */
static int make_dirs(struct unpack *u, const char *dir)
{
	char path[BUDGET_PATH + 1];

	for (size_t i = 0; dir[i];) {
		auto_close int up = -1;
		size_t start = i ? i + 1 : 0, len = strcspn(dir + start, "/");
		char name[BUDGET_NAME + 1];

		memcpy(path, dir, i);
		path[i] = '\0';
		memcpy(name, dir + start, len);
		name[len] = '\0';
		up = open_dir(u, path);
		if (up < 0)
			return up;
		if (mkdirat(up, name, 0755) == 0)
			u->budget->entries++;
		else if (errno != EEXIST)
			return -errno;
		i = start + len;
	}
	return 0;
}

/* The directory that the entry lies in: an fd that is u's. */
static int enter_parent(struct unpack *u, const struct entry_name *n)
{
	int fd;

	if (u->parent >= 0 && strcmp(u->parent_path, n->dir) == 0)
		return u->parent;
	forget_parent(u);
	fd = open_dir(u, n->dir);
	if (fd == -ENOENT) {
		int r = make_dirs(u, n->dir);

		fd = r < 0 ? r : open_dir(u, n->dir);
	}
	if (fd == -ELOOP || fd == -ENOTDIR || fd == -EXDEV)
		return refuse(u, n->dir, "is a link or a file, and something lies below it");
	if (fd < 0)
		return fail_system(u, -fd, "enter the directory of", n);
	memcpy(u->parent_path, n->dir, strlen(n->dir) + 1);
	return u->parent = fd;
}

/* Later wins. */
static int make_way(struct unpack *u, int dir, const struct entry_name *n)
{
	struct stat st;

	if (fstatat(dir, n->name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : fail_system(u, errno, "look at", n);
	if (unlinkat(dir, n->name, S_ISDIR(st.st_mode) ? AT_REMOVEDIR : 0) < 0)
		return errno == ENOTEMPTY || errno == EEXIST
			       ? refuse(u, n->name, "replaces a directory that has entries")
			       : fail_system(u, errno, "replace", n);
	if (S_ISDIR(st.st_mode))
		forget_parent(u); /* it may be this one's */
	return 0;
}

/* ---- entries ---- */

static mode_t mode_of(struct unpack *u, struct archive_entry *e, bool is_dir)
{
	mode_t mode = archive_entry_perm(e) & 07777;

	if (mode & (S_ISUID | S_ISGID))
		u->report->stripped++;
	return is_dir ? (mode & 01777) | 0700 : (mode & 0777) | 0400;
}

static int put_dir(struct unpack *u, struct archive_entry *e, const struct entry_name *n)
{
	mode_t mode = mode_of(u, e, true);
	int dir = enter_parent(u, n);
	auto_close int fd = -1;

	if (dir < 0)
		return -1;
	if (mkdirat(dir, n->name, mode) == 0)
		return 0;
	fd = errno == EEXIST ? fd_openat2(dir, n->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0, WALK) : -1;
	if (fd >= 0)
		return fchmod(fd, mode) < 0 ? fail_system(u, errno, "chmod", n) : 0;
	if (make_way(u, dir, n) < 0)
		return -1;
	dir = enter_parent(u, n);
	return dir < 0 || mkdirat(dir, n->name, mode) == 0 ? dir < 0 ? -1 : 0 : fail_system(u, errno, "make", n);
}

/* A new file in its place, or -1. */
static int create(struct unpack *u, const struct entry_name *n, mode_t mode)
{
	const int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
	int dir = enter_parent(u, n), fd = dir < 0 ? -1 : openat(dir, n->name, flags, mode);

	if (fd >= 0 || dir < 0)
		return fd;
	if (errno == EEXIST && make_way(u, dir, n) == 0 && (dir = enter_parent(u, n)) >= 0)
		fd = openat(dir, n->name, flags, mode);
	else if (errno == EEXIST)
		return -1;
	return fd < 0 ? fail_system(u, errno, "create", n) : fd;
}

static int read_failed(struct unpack *u)
{
	const char *why = archive_error_string(u->tar);

	if (u->failed)
		return -1;
	return cordon_fail(u->err, CORDON_INVALID, 0, "the archive cannot be read: %s",
			   why ? why : "it ends too early");
}

static int copy_data(struct unpack *u, const struct entry_name *n, int fd, uint64_t size)
{
	const void *data;
	size_t len;
	la_int64_t offset;
	int r;

	while ((r = archive_read_data_block(u->tar, &data, &len, &offset)) == ARCHIVE_OK) {
		if (offset < 0 || (uint64_t)offset > size || len > size - (uint64_t)offset)
			return refuse(u, n->name, "is longer than it says");
		while (len) {
			ssize_t done = pwrite(fd, data, len, offset);

			if (done < 0 && errno == EINTR)
				continue;
			if (done < 0)
				return fail_system(u, errno, "write", n);
			data = (const char *)data + done;
			len -= (size_t)done;
			offset += done;
		}
	}
	if (r != ARCHIVE_EOF)
		return read_failed(u);
	return size && ftruncate(fd, (off_t)size) < 0 ? fail_system(u, errno, "write", n) : 0;
}

static int put_file(struct unpack *u, struct archive_entry *e, const struct entry_name *n)
{
	struct timespec times[2] = { { .tv_nsec = UTIME_OMIT }, { .tv_sec = archive_entry_mtime(e) } };
	la_int64_t size = archive_entry_size(e);
	auto_close int fd = -1;
	char text[32];

	if (size < 0 || (uint64_t)size > u->budget->max_bytes - u->budget->bytes) {
		cordon_fail(u->err, CORDON_DENIED, 0, "the image is larger than %s",
			    str_size(u->budget->max_bytes, text));
		return fail_hint(u->err, "--max-size SIZE allows more");
	}
	u->budget->bytes += (uint64_t)size;
	fd = create(u, n, mode_of(u, e, false));
	if (fd < 0 || copy_data(u, n, fd, (uint64_t)size) < 0)
		return -1;
	times[1].tv_nsec = archive_entry_mtime_nsec(e);
	if (times[1].tv_nsec < 0 || times[1].tv_nsec > 999999999)
		times[1].tv_nsec = 0;
	(void)futimens(
		fd,
		times); /* compiled Python is only taken where the times agree; a time that the disk cannot hold is no loss */
	return 0;
}

static int put_symlink(struct unpack *u, struct archive_entry *e, const struct entry_name *n)
{
	const char *target = archive_entry_symlink(e);
	int dir = enter_parent(u, n);

	if (dir < 0)
		return -1;
	if (!target || !*target || strlen(target) > BUDGET_PATH)
		return refuse(u, n->name, "is a link without a proper target");
	if (symlinkat(target, dir, n->name) == 0)
		return 0;
	if (errno != EEXIST)
		return fail_system(u, errno, "link", n);
	if (make_way(u, dir, n) < 0 || (dir = enter_parent(u, n)) < 0)
		return -1;
	return symlinkat(target, dir, n->name) < 0 ? fail_system(u, errno, "link", n) : 0;
}

static int put_hardlink(struct unpack *u, struct archive_entry *e, const struct entry_name *n)
{
	const char *target = archive_entry_hardlink(e);
	auto_close int from = -1;
	struct entry_name t;
	struct stat st;
	int dir;

	if (!target || split_name(u, target, &t) < 0)
		return target ? -1 : refuse(u, n->name, "is a hard link without a target");
	if (strcmp(t.dir, n->dir) == 0 && strcmp(t.name, n->name) == 0)
		return refuse(u, n->name, "is a hard link to itself");
	from = open_dir(u, t.dir);
	if (from < 0 || !t.name[0] || fstatat(from, t.name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
	    !(S_ISREG(st.st_mode) || S_ISLNK(st.st_mode)))
		return refuse(u, target, "is the target of a hard link, and no file of this layer");
	dir = enter_parent(u, n);
	if (dir < 0)
		return -1;
	if (linkat(from, t.name, dir, n->name, 0) == 0)
		return 0;
	if (errno != EEXIST)
		return fail_system(u, errno, "link", n);
	if (make_way(u, dir, n) < 0 || (dir = enter_parent(u, n)) < 0)
		return -1;
	return linkat(from, t.name, dir, n->name, 0) < 0 ? fail_system(u, errno, "link", n) : 0;
}

static int put_whiteout(struct unpack *u, const struct entry_name *n)
{
	const char *gone = unpack_whiteout(n->name);
	auto_close int fd = -1;

	if (*gone && str_starts(gone, WHITEOUT))
		return 0; /* a file system's own books */
	if (strcmp(n->name, WHITEOUT) == 0 || strcmp(gone, ".") == 0 || strcmp(gone, "..") == 0)
		return refuse(u, n->name, "is a whiteout of no file");
	fd = create(u, n, 0400);
	return fd < 0 ? -1 : 0;
}

static int put_special(struct unpack *u, const char *path, const struct entry_name *n)
{
	if (strcmp(n->dir, "dev") != 0 && !str_starts(n->dir, "dev/"))
		return refuse(u, path, "is a device, a FIFO or of no known kind");
	u->report->devices++;
	return 0;
}

static int put_entry(struct unpack *u, struct archive_entry *e)
{
	const char *path = archive_entry_pathname(e);
	struct entry_name n;

	if (!path)
		return refuse(u, "an entry", "has no readable name");
	if (split_name(u, path, &n) < 0)
		return -1;
	if (++u->budget->entries > u->budget->max_entries) {
		cordon_fail(u->err, CORDON_DENIED, 0, "the image has more than %llu files",
			    (unsigned long long)u->budget->max_entries);
		return fail_hint(u->err, "--max-entries NUMBER allows more");
	}
	if (!n.name[0])
		return archive_entry_filetype(e) == AE_IFDIR
			       ? 0
			       : refuse(u, path, "stands for the top and is no directory");
	if (unpack_whiteout(n.name))
		return put_whiteout(u, &n);
	if (archive_entry_hardlink(e))
		return put_hardlink(u, e, &n);
	switch (archive_entry_filetype(e)) {
	case AE_IFDIR:
		return put_dir(u, e, &n);
	case AE_IFREG:
		return put_file(u, e, &n);
	case AE_IFLNK:
		return put_symlink(u, e, &n);
	default:
		return put_special(u, path, &n);
	}
}

static la_ssize_t read_stream(struct archive *a, void *arg, const void **ret_data)
{
	struct unpack *u = arg;
	ssize_t n = stream_read(u->stream, ret_data, u->err);

	if (n < 0) {
		u->failed = true;
		archive_set_error(a, EIO, "the stream failed");
	}
	return n;
}

static int unpack_all(struct unpack *u)
{
	struct archive_entry *e;
	int r;

	if (archive_read_open2(u->tar, u, NULL, read_stream, NULL, NULL) != ARCHIVE_OK)
		return read_failed(u);
	while ((r = archive_read_next_header(u->tar, &e)) == ARCHIVE_OK || r == ARCHIVE_WARN)
		if (put_entry(u, e) < 0)
			return -1;
	return r == ARCHIVE_EOF && !u->failed ? 0 : read_failed(u);
}

int unpack_layer(struct stream *s, int dir, struct budget *budget, struct unpack_report *report,
		 struct cordon_error *err)
{
	struct cordon_error own = { 0 };
	struct unpack u = {
		.stream = s, .top = dir, .parent = -1, .budget = budget, .report = report, .err = err ? err : &own
	};
	int status;

	u.tar = archive_read_new();
	if (!u.tar)
		return fail_memory(err);
	(void)archive_read_support_format_empty(u.tar);
	(void)archive_read_support_format_tar(u.tar);
	status = unpack_all(&u);
	(void)archive_read_free(u.tar);
	forget_parent(&u);
	return status;
}
