/*
 * What an installed runtime is: its version; for runsc also which platforms it knows and whether it lays an overlay of its own over the
 * root, which would be memory of no bound. Asked once for each program and kept beside the containers: asking takes as long as a good
 * part of starting. Runs in cordon-engine, with the caller's rights.
 */
#include "driver/oci.h"

#include "base/fd.h"
#include "base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ANSWER_SIZE = 32768 };

/* What identifies the program as it is installed, after the number of the file's format. */
static void program_key(const char *program, char *buf, size_t size)
{
	struct stat st = { 0 };

	(void)stat(program, &st);
	snprintf(buf, size, "2-%llu-%lld-%lld.%ld", (unsigned long long)st.st_ino, (long long)st.st_size,
		 (long long)st.st_mtim.tv_sec, st.st_mtim.tv_nsec);
}

/* What it prints, to whichever of the two; NULL: nothing. */
static char *ask(const char *engine, const char *program, const char *question)
{
	const char *argv[] = { engine, question, NULL };
	auto_close int out = memfd_create("answer", MFD_CLOEXEC);
	auto_free char *text = calloc(1, ANSWER_SIZE);
	struct oci_call call = { .program = program, .argv = argv, .stdio = out, .stderr_too = true };

	if (out < 0 || !text || oci_call(&call) < 0 || lseek(out, 0, SEEK_SET) < 0 ||
	    fd_read_full(out, text, ANSWER_SIZE - 1) <= 0)
		return NULL;
	return STEAL(text);
}

/* "crun version 1.8.1" of the first line. */
static void ask_version(const char *engine, const char *program, struct oci_about *a)
{
	auto_free char *text = ask(engine, program, "--version");
	const char *word = text ? strstr(text, "version ") : NULL;

	if (word)
		snprintf(a->version, sizeof(a->version), "%.*s", (int)strcspn(word + 8, " \n"), word + 8);
}

/* From its list of flags: those that the line of -platform names, the best first. */
static void ask_platforms(const char *program, struct oci_about *a)
{
	static const char *const known[] = { "systrap", "ptrace", "kvm" };
	auto_free char *text = ask("runsc", program, "flags");
	char *at = text ? strstr(text, "\n  -platform ") : NULL, *end;

	a->has_overlay = text && strstr(text, "\n  -overlay2 ");
	end = at ? strstr(at + 1, "\n  -") : NULL;
	if (end)
		*end = '\0';
	for (size_t i = 0; at && i < ARRAY_LEN(known); i++)
		if (strstr(at, known[i]))
			snprintf(a->platforms[a->platform_count++], sizeof(a->platforms[0]), "%s", known[i]);
}

/* KEY VERSION OVERLAY SETTLED PLATFORM…, where "-" is settled as long as none is. */
static bool recall(const char *path, const char *key, struct oci_about *a)
{
	char text[256], *rest = text, *word;

	if (fd_read_file_at(AT_FDCWD, path, text, sizeof(text)) <= 0)
		return false;
	word = strsep(&rest, " \n");
	if (!word || strcmp(word, key) != 0 || !(word = strsep(&rest, " \n")) || !rest)
		return false;
	snprintf(a->version, sizeof(a->version), "%s", word);
	a->has_overlay = str_starts(rest, "1");
	(void)strsep(&rest, " \n");
	word = strsep(&rest, " \n");
	if (word && strcmp(word, "-") != 0)
		snprintf(a->settled, sizeof(a->settled), "%s", word);
	while ((word = strsep(&rest, " \n")) && a->platform_count < ARRAY_LEN(a->platforms))
		if (*word)
			snprintf(a->platforms[a->platform_count++], sizeof(a->platforms[0]), "%s", word);
	return true;
}

static void keep(const char *path, const char *key, const struct oci_about *a)
{
	auto_close int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	auto_str struct str text = { 0 };

	str_addf(&text, "%s %s %d %s", key, a->version, a->has_overlay, *a->settled ? a->settled : "-");
	for (size_t i = 0; i < a->platform_count; i++)
		str_addf(&text, " %s", a->platforms[i]);
	if (fd >= 0 && !text.failed)
		(void)fd_write_all(fd, text.data, text.len);
}

void oci_about(const char *top, const char *engine, const char *program, struct oci_about *ret)
{
	char key[96], path[320];

	*ret = (struct oci_about){ 0 };
	snprintf(path, sizeof(path), "%s/about-%s", top ? top : "", engine);
	program_key(program, key, sizeof(key));
	if (top && recall(path, key, ret))
		return;
	*ret = (struct oci_about){ 0 };
	ask_version(engine, program, ret);
	if (strcmp(engine, "runsc") == 0)
		ask_platforms(program, ret);
	if (top && *ret->version)
		keep(path, key, ret);
}

int oci_about_check(const struct oci_about *about, const char *platform, struct cordon_error *err)
{
	auto_str struct str all = { 0 };
	bool has = !about->platform_count; /* of one that does not say, it is found out by trying */

	for (size_t i = 0; i < about->platform_count; i++) {
		str_addf(&all, "%s%s", i ? ", " : "", about->platforms[i]);
		has = has || strcmp(about->platforms[i], platform) == 0;
	}
	if (!has) {
		cordon_fail(err, CORDON_UNAVAILABLE, 0, "runsc %s has no platform '%s'", about->version, platform);
		return fail_hint(err, "it has %s: one of them, or auto, as runsc_platform (`cordon config show`)",
				 all.failed ? "others" : all.data);
	}
	if (strcmp(platform, "kvm") == 0 && access("/dev/kvm", R_OK | W_OK) < 0) {
		cordon_fail(err, CORDON_UNAVAILABLE, errno, "platform 'kvm' of runsc needs /dev/kvm");
		return fail_hint(err, "runsc_platform: auto takes the first that works (`cordon config show`)");
	}
	return 0;
}

void oci_about_settle(const char *top, const char *engine, const char *program, const struct oci_about *about,
		      const char *platform)
{
	struct oci_about one = *about;
	char key[96], path[320];

	snprintf(path, sizeof(path), "%s/about-%s", top, engine);
	program_key(program, key, sizeof(key));
	snprintf(one.settled, sizeof(one.settled), "%s", platform ? platform : "");
	keep(path, key, &one);
}
