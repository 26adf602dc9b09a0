/* Layers, honest and hostile, made with libarchive: what is refused, what is made, and what two of them are together. */
#include "base/fd.h"
#include "base/remove.h"
#include "base/str.h"
#include "image/merge.h"
#include "image/unpack.h"
#include "tap.h"

#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <locale.h>
#include <sys/stat.h>
#include <unistd.h>

struct made {
	const char *name;
	unsigned type; /* AE_IF…; 0: a hard link */
	const char *text;
	unsigned mode;
};

static char work[] = "/tmp/cordon-unit.XXXXXX";
static int top = -1;

static int pack(const struct made *list, size_t n, bool compress)
{
	int fd = openat(top, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	struct archive *a = archive_write_new();

	(void)archive_write_set_format_gnutar(a);
	if (compress)
		(void)archive_write_add_filter_gzip(a);
	(void)archive_write_open_fd(a, fd);
	for (size_t i = 0; i < n; i++) {
		struct archive_entry *e = archive_entry_new();
		size_t len = list[i].type == AE_IFREG && list[i].text ? strlen(list[i].text) : 0;

		archive_entry_set_pathname(e, list[i].name);
		archive_entry_set_filetype(e, list[i].type ? list[i].type : AE_IFREG);
		archive_entry_set_perm(e, (mode_t)(list[i].mode ? list[i].mode : 0644));
		archive_entry_set_size(e, (la_int64_t)len);
		if (list[i].type == AE_IFLNK)
			archive_entry_set_symlink(e, list[i].text);
		if (!list[i].type)
			archive_entry_set_hardlink(e, list[i].text);
		(void)archive_write_header(a, e);
		if (len)
			(void)archive_write_data(a, list[i].text, len);
		archive_entry_free(e);
	}
	(void)archive_write_free(a);
	(void)lseek(fd, 0, SEEK_SET);
	return fd;
}

/* Unpacks into work/NAME; 0 or -1 with err. */
static int unpack(const char *name, const struct made *list, size_t n, struct cordon_error *err)
{
	struct budget budget = BUDGET_INIT;
	struct unpack_report report = { 0 };
	struct stream *s = NULL;
	char hex[STREAM_HEX];
	auto_close int fd = pack(list, n, true), dir = -1;
	int r;

	(void)remove_tree(top, name);
	(void)mkdirat(top, name, 0755);
	dir = openat(top, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	*err = (struct cordon_error){ 0 };
	r = stream_open_fd(&s, fd, &budget, err);
	r = r < 0 ? r : unpack_layer(s, dir, &budget, &report, err);
	r = r < 0 ? r : stream_finish(s, hex, err);
	stream_free(s);
	return r;
}

static void test_hostile(void)
{
	static const struct {
		const char *what;
		struct made list[3];
	} cases[] = {
		{ "an absolute name", { { "/tmp/x", AE_IFREG, "x", 0 } } },
		{ "..", { { "../x", AE_IFREG, "x", 0 } } },
		{ ".. behind a directory", { { "a/../../x", AE_IFREG, "x", 0 } } },
		{ "a link as parent", { { "l", AE_IFLNK, "/tmp", 0 }, { "l/x", AE_IFREG, "x", 0 } } },
		{ "a link to itself as parent", { { "l", AE_IFLNK, "l", 0 }, { "l/x", AE_IFREG, "x", 0 } } },
		{ "a file as parent", { { "f", AE_IFREG, "x", 0 }, { "f/x", AE_IFREG, "x", 0 } } },
		{ "a hard link outside", { { "h", 0, "../../etc/passwd", 0 } } },
		{ "a hard link to an absolute name", { { "h", 0, "/etc/passwd", 0 } } },
		{ "a hard link through a link", { { "l", AE_IFLNK, "/etc", 0 }, { "h", 0, "l/passwd", 0 } } },
		{ "a hard link to a directory", { { "d", AE_IFDIR, NULL, 0755 }, { "h", 0, "d", 0 } } },
		{ "a device", { { "d", AE_IFCHR, NULL, 0 } } },
		{ "a FIFO", { { "f", AE_IFIFO, NULL, 0 } } },
		{ "a whiteout of ..", { { ".wh...", AE_IFREG, NULL, 0 } } },
		{ "a whiteout of nothing", { { ".wh.", AE_IFREG, NULL, 0 } } },
		{ "a full directory replaced",
		  { { "d/x", AE_IFREG, "x", 0 }, { "d", AE_IFLNK, "/tmp", 0 }, { "d/y", AE_IFREG, "x", 0 } } },
	};
	struct cordon_error err;

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		size_t n = 0;

		while (n < 3 && cases[i].list[n].name)
			n++;
		ok(unpack("hostile", cases[i].list, n, &err) < 0 && err.code == CORDON_DENIED, "%s is refused: %s",
		   cases[i].what, err.message);
	}
}

static bool is_text(const char *path, const char *want)
{
	char buf[64];

	return fd_read_file_at(top, path, buf, sizeof(buf)) >= 0 && strcmp(buf, want) == 0;
}

static bool exists(const char *path)
{
	struct stat st;

	return fstatat(top, path, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

static void test_honest(void)
{
	static const struct made list[] = {
		{ "./", AE_IFDIR, NULL, 0755 },
		{ "a/b/c", AE_IFREG, "text", 04755 },
		{ "a/b", AE_IFDIR, NULL, 0500 },
		{ "h", 0, "a/b/c", 0 },
		{ "l", AE_IFLNK, "../../etc/passwd", 0 },
		{ "a/b/c", AE_IFREG, "later", 0001 },
		{ "dev/null", AE_IFCHR, NULL, 0 },
		{ ".wh..wh.plnk", AE_IFREG, NULL, 0 },
		{ "e", AE_IFDIR, NULL, 0700 },
		{ "e", AE_IFREG, "file", 0 },
	};
	struct cordon_error err;
	struct stat st = { 0 };

	ok(unpack("honest", list, ARRAY_LEN(list), &err) == 0, "an honest layer is unpacked (%s)", err.message);
	ok(is_text("honest/a/b/c", "later"), "what comes later counts");
	ok(is_text("honest/h", "text"), "a hard link keeps what it was made of");
	ok(fstatat(top, "honest/h", &st, 0) == 0 && (st.st_mode & 07777) == 0755, "without set-user-id");
	ok(fstatat(top, "honest/a/b", &st, 0) == 0 && (st.st_mode & 07777) == 0700, "its owner can always enter");
	ok(fstatat(top, "honest/a/b/c", &st, 0) == 0 && (st.st_mode & 07777) == 0401, "and read");
	ok(exists("honest/l") && is_text("honest/e", "file"), "a link stays a link, an empty directory makes way");
	ok(!exists("honest/dev/null") && !exists("honest/.wh..wh.plnk"),
	   "devices and books of a file system are left out");
}

static void merge(const char *layer)
{
	auto_close int from = openat(top, layer, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	auto_close int to = openat(top, "root", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct cordon_error err = { 0 };

	ok(merge_layer(from, to, &err) == 0, "layer '%s' is laid over (%s)", layer, err.message);
}

static void test_merge(void)
{
	static const struct made lower[] = { { "d/gone", AE_IFREG, "x", 0 },        { "d/kept", AE_IFREG, "kept", 0 },
					     { "o/old/deep", AE_IFREG, "x", 0 },    { "turn/x", AE_IFREG, "x", 0 },
					     { "l", AE_IFLNK, "/tmp", 0 },          { "again", AE_IFREG, "lower", 0 },
					     { "etc/hosts", AE_IFLNK, "/run/x", 0 } };
	static const struct made upper[] = {
		{ "d/.wh.gone", AE_IFREG, NULL, 0 }, { "o/.wh..wh..opq", AE_IFREG, NULL, 0 },
		{ "o/new", AE_IFREG, "new", 0 },     { "turn", AE_IFREG, "file", 0 },
		{ "l/x", AE_IFREG, "in a dir", 0 },  { ".wh.again", AE_IFREG, NULL, 0 },
		{ "again", AE_IFREG, "upper", 0 },   { ".wh.nothing", AE_IFREG, NULL, 0 }
	};
	auto_close int root = -1;
	struct cordon_error err;
	struct stat a = { 0 }, b = { 0 };
	uint64_t bytes = 0;

	ok(unpack("lower", lower, ARRAY_LEN(lower), &err) == 0 && unpack("upper", upper, ARRAY_LEN(upper), &err) == 0,
	   "two layers (%s)", err.message);
	(void)mkdirat(top, "root", 0755);
	merge("lower");
	ok(exists("root/d/gone") && exists("root/o/old/deep"), "control: the lower one has what goes");
	merge("upper");
	ok(!exists("root/d/gone") && is_text("root/d/kept", "kept"), "a whiteout takes one away");
	ok(!exists("root/o/old") && is_text("root/o/new", "new"), "an opaque directory all that was below");
	ok(is_text("root/turn", "file") && is_text("root/l/x", "in a dir"), "files and directories replace each other");
	ok(is_text("root/again", "upper") && is_text("lower/again", "lower"),
	   "a whiteout and a file of one layer: the file");
	ok(fstatat(top, "root/d/kept", &a, 0) == 0 && fstatat(top, "lower/d/kept", &b, 0) == 0 && a.st_ino == b.st_ino,
	   "files are shared with the layer");
	root = openat(top, "root", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ok(merge_places(root, &err) == 0 && is_text("root/etc/hosts", "") && exists("root/etc/cordon"),
	   "places for the box's own files are made");
	ok(merge_size(root, &bytes) == 0 && bytes == strlen("kept"
							    "new"
							    "file"
							    "in a dir"
							    "upper"),
	   "its size");
}

static void test_budget(void)
{
	struct budget budget = { .max_bytes = 3, .max_entries = 100, .max_ratio = 200 };
	static const struct made list[] = { { "a", AE_IFREG, "1234", 0 } };
	struct unpack_report report = { 0 };
	struct cordon_error err = { 0 };
	struct stream *s = NULL;
	auto_close int fd = pack(list, 1, false), dir = openat(top, "honest", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	ok(stream_open_fd(&s, fd, &budget, &err) == 0 && unpack_layer(s, dir, &budget, &report, &err) < 0 &&
		   err.code == CORDON_DENIED,
	   "more bytes than allowed are refused: %s", err.message);
	stream_free(s);
}

int main(void)
{
	(void)setlocale(LC_CTYPE, "C.UTF-8");
	umask(0);
	if (mkdtemp(work))
		top = open(work, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ok(top >= 0, "a place to work");
	test_hostile();
	test_honest();
	test_merge();
	test_budget();
	(void)remove_tree(AT_FDCWD, work);
	fd_close(&top);
	return done_testing();
}
