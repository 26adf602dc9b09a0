/* Records, names, finding and locking of images. */
#include "store/store.h"

#include "base/fd.h"
#include "base/remove.h"
#include "image/depot.h"
#include "tap.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define HEX_A "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define HEX_B "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"

static struct store_image make(const char *name)
{
	struct store_image image = { .name = strdup(name), .id = strdup("sha256:" HEX_A), .root = strdup(HEX_B) };

	image.workdir = strdup("/a b\\c\nd");
	image.size_bytes = 12345678901;
	image.imported_s = 1700000000;
	(void)strv_add(&image.layers, HEX_A);
	(void)strv_add(&image.layers, HEX_B);
	(void)strv_add(&image.env, "LINES=one\ntwo\\n");
	(void)strv_add(&image.env, "EMPTY=");
	return image;
}

static void test_names(void)
{
	static const char *const good[] = { "a", "python:3.12-slim", "docker.io/library/x:1", "A.b_c+d" };
	static const char *const bad[] = { "",     "-x",  ".x",  "a/",  "/a", "a//b", "a/../b",
					   "a/.b", "a b", "a%b", "a@b", "ä",  "a\n" };

	for (size_t i = 0; i < ARRAY_LEN(good); i++)
		ok(store_name_is_valid(good[i], false), "'%s' is a name", good[i]);
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		ok(!store_name_is_valid(bad[i], true), "'%s' is none", bad[i]);
	ok(store_name_is_valid("a@sha256:" HEX_A, true) && !store_name_is_valid("a@sha256:" HEX_A, false),
	   "a digest may follow where it is asked for");
}

static void test_record(void)
{
	auto_image struct store_image image = make("x/y:1"), back = { 0 };
	auto_free char *text = store_record_text(&image), *again = NULL;

	ok(store_record_parse(text, strlen(text), &back, NULL) == 0, "a record is read back");
	is_str(back.name, "x/y:1", "its name");
	is_str(back.workdir, "/a b\\c\nd", "text with a newline and a backslash");
	is_num(back.env.n, 2, "its list");
	is_str(back.env.n ? back.env.v[0] : NULL, "LINES=one\ntwo\\n", "an entry of it");
	is_num(back.size_bytes, 12345678901, "its number");
	again = store_record_text(&back);
	is_str(again, text, "and is the same text again");
	for (size_t len = 0; len < strlen(text); len += 7) {
		struct store_image part = { 0 };

		if (store_record_parse(text, len, &part, NULL) == 0)
			store_image_done(&part);
	}
	ok(store_record_parse("cordon-image 2\n", 15, &back, NULL) < 0, "another version is refused");
}

static void test_store(const char *dir)
{
	auto_image struct store_image image = make("tiny:latest"), found = { 0 };
	struct cordon_error err = { 0 };
	struct depot d = DEPOT_INIT;
	struct store_image *list = NULL;
	auto_close int root = -1, made = -1, other = -1;
	size_t count = 0;

	is_num(store_enter(dir, &root, &err), (uint64_t)-ENOENT, "there is no store yet");
	ok(depot_open(&d, dir, &err) == 0, "it is made (%s)", err.message);
	made = depot_make(&d, "one", &err);
	ok(made >= 0 && depot_publish(&d, "one", "roots", HEX_B, &err) == 0, "a root is published");
	fd_close(&made);
	made = depot_make(&d, "one", &err);
	ok(made >= 0 && depot_publish(&d, "one", "roots", HEX_B, &err) == 0, "somebody else's was first: fine");
	ok(depot_name(&d, &image, &err) == 0, "its name is written (%s)", err.message);
	ok(store_find(d.dir, "tiny", &found, &err) == 0, "it is found without :latest");
	store_image_done(&found);
	ok(store_find(d.dir, "tiny@sha256:" HEX_A, &found, &err) == 0, "and by its digest");
	store_image_done(&found);
	ok(store_find(d.dir, "tiny@sha256:" HEX_B, &found, &err) < 0 && err.code == CORDON_DENIED, "not by another");
	ok(store_find(d.dir, "tiny:other", &found, &err) < 0 && err.code == CORDON_NOT_FOUND, "nor by another tag");
	ok(depot_list(d.dir, &list, &count, &err) == 0 && count == 1, "it is listed");
	while (count)
		store_image_done(&list[--count]);
	free(list);

	root = store_open_root(d.dir, &image);
	ok(root >= 0, "its root is opened");
	ok(depot_unname(&d, "tiny:latest", &err) == 0, "its name is taken away");
	depot_close(&d);
	ok(depot_open(&d, dir, &err) == 0 && depot_has(&d, "roots", HEX_B), "its root stays while it is used");
	fd_close(&root);
	other = openat(d.dir, "lock", O_RDWR | O_CLOEXEC);
	ok(other >= 0 && flock(other, LOCK_SH | LOCK_NB) == 0, "another one imports at the same time");
	depot_close(&d);
	ok(depot_open(&d, dir, &err) == 0 && depot_has(&d, "roots", HEX_B), "nothing is collected meanwhile");
	fd_close(&other);
	depot_close(&d);
	ok(depot_open(&d, dir, &err) == 0 && !depot_has(&d, "roots", HEX_B), "then it is");
	is_num(store_open_root(d.dir, &image), (uint64_t)-ESTALE, "and cannot be opened any more");
	depot_close(&d);
}

int main(void)
{
	char work[] = "/tmp/cordon-unit.XXXXXX";
	auto_free char *dir = mkdtemp(work) ? str_printf("%s/a/images", work) : NULL;

	umask(0);
	test_names();
	test_record();
	if (dir)
		test_store(dir);
	(void)remove_tree(AT_FDCWD, work);
	return done_testing();
}
