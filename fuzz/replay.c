/*
 * Runs a fuzzer's function over files and directories of files, without libFuzzer: the corpus in every test run, under any
 * sanitizer. Usage: NAME FILE|DIRECTORY…
 */
#include "base/fd.h"
#include "base/str.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static unsigned replayed;

static int replay_file(const char *path)
{
	auto_free char *data = NULL;
	ssize_t len = fd_load_at(AT_FDCWD, path, 16 << 20, &data);
	uint8_t *exact;

	if (len < 0) {
		fprintf(stderr, "%s: %s\n", path, strerror((int)-len));
		return -1;
	}
	/* Exactly as long as the file, so that a byte read behind it is seen. */
	exact = malloc(len ? (size_t)len : 1);
	if (!exact)
		return -1;
	memcpy(exact, data, (size_t)len);
	LLVMFuzzerTestOneInput(exact, (size_t)len);
	free(exact);
	replayed++;
	return 0;
}

static int replay(const char *path)
{
	DIR *dir = opendir(path);
	int status = 0;

	if (!dir)
		return errno == ENOTDIR ? replay_file(path) : -1;
	for (struct dirent *e; (e = readdir(dir));) {
		auto_free char *below = str_printf("%s/%s", path, e->d_name);

		if (e->d_name[0] != '.' && (!below || replay_file(below) < 0))
			status = -1;
	}
	closedir(dir);
	return status;
}

int main(int argc, char **argv)
{
	int status = 0;

	for (int i = 1; i < argc; i++)
		if (replay(argv[i]) < 0)
			status = 1;
	printf("%s: %u inputs replayed\n", argv[0], replayed);
	return replayed ? status : 1;
}
