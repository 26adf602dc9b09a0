/*
 * Any bytes as a layer: nothing is made outside its directory, whatever comes, and what was unpacked can be laid over a root and be removed.
 * The tar is given as it is, so that the fuzzer need not invent a compression.
 */
#include "base/fd.h"
#include "base/remove.h"
#include "image/merge.h"
#include "image/unpack.h"

#include <dirent.h>
#include <fcntl.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char work[] = "/dev/shm/cordon-fuzz.XXXXXX";
static int top = -1;

static void must(bool holds, const char *what)
{
	if (holds)
		return;
	fprintf(stderr, "%s\n", what);
	abort();
}

static void clean_up(void)
{
	(void)remove_tree(AT_FDCWD, work);
}

static void begin(void)
{
	if (top >= 0)
		return;
	(void)setlocale(LC_CTYPE, "C.UTF-8");
	umask(0);
	must(mkdtemp(work) != NULL, "a place to work");
	top = open(work, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	atexit(clean_up);
}

static int make(const char *name)
{
	must(mkdirat(top, name, 0755) == 0, "what was there is gone");
	return openat(top, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

/* In the working directory there is nothing but the two that were made here. */
static void check_outside(void)
{
	DIR *d = fdopendir(openat(top, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));

	for (struct dirent *e; (e = readdir(d));)
		must(e->d_name[0] == '.' || strcmp(e->d_name, "layer") == 0 || strcmp(e->d_name, "root") == 0,
		     "something was made outside");
	closedir(d);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct budget budget = { .max_bytes = 1 << 20, .max_entries = 200, .max_ratio = 200 };
	auto_close int fd = memfd_create("layer", MFD_CLOEXEC), layer = -1, root = -1;
	struct unpack_report report = { 0 };
	struct cordon_error err = { 0 };
	struct stream *s = NULL;
	char hex[STREAM_HEX];
	uint64_t bytes;

	begin();
	layer = make("layer");
	root = make("root");
	must(fd_write_all(fd, data, size) == 0 && lseek(fd, 0, SEEK_SET) == 0, "the input");
	if (stream_open_fd(&s, fd, &budget, &err) == 0) {
		int r = unpack_layer(s, layer, &budget, &report, &err);

		must(r == 0 || err.code, "a refusal says why");
		if (r == 0 && stream_finish(s, hex, &err) == 0) {
			must(merge_layer(layer, root, &err) == 0 && merge_places(root, &err) == 0,
			     "what was unpacked is laid over");
			must(merge_layer(layer, root, &err) == 0, "and once more");
			must(merge_size(root, &bytes) == 0, "and measured");
		}
	}
	stream_free(s);
	check_outside();
	must(remove_tree(top, "layer") == 0 && remove_tree(top, "root") == 0, "everything can be removed");
	return 0;
}
