/*
 * Anything as what is to be imported: its kind, what its JSON says, and its layers. Whatever comes, a refusal says why, and what is taken for an
 * image is whole: an id, as many diff ids as layers, and each layer is met once.
 *
 * Bytes are an archive as they are. A text that begins with "bundle" is packed into one here, so that the fuzzer need not invent the checksums of tar
 * and the digests of OCI. A line of it that begins with a control word starts an entry, what follows is its content:
 *
 *   == PATH           a file; "blob" as PATH: blobs/sha256/ and its digest
 *   =l PATH TARGET    a hard link
 *   =s PATH TARGET    a symbolic link
 *
 * "@N" in a text is the digest of the Nth entry, from 0, which must have come before.
 */
#include "base/fd.h"
#include "base/str.h"
#include "image/manifest.h"

#include <archive.h>
#include <archive_entry.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { ENTRIES_MAX = 10, PACKED_MAX = 1 << 20 };

static void must(bool holds, const char *what)
{
	if (holds)
		return;
	fprintf(stderr, "%s\n", what);
	abort();
}

/* ---- packing ---- */

struct packing {
	struct archive *a;
	char digests[ENTRIES_MAX][STREAM_HEX];
	size_t count;
};

static void put_entry(struct packing *p, const char *kind, const char *path, const char *target, const struct str *text)
{
	struct archive_entry *e = archive_entry_new();
	bool is_file = kind[1] == '=';

	must(e != NULL, "memory");
	archive_entry_set_pathname(e, path);
	archive_entry_set_perm(e, 0644);
	archive_entry_set_filetype(e, kind[1] == 's' ? AE_IFLNK : AE_IFREG);
	if (kind[1] == 'l')
		archive_entry_set_hardlink(e, target);
	if (kind[1] == 's')
		archive_entry_set_symlink(e, target);
	archive_entry_set_size(e, is_file ? (la_int64_t)text->len : 0);
	if (archive_write_header(p->a, e) == ARCHIVE_OK && is_file && text->len)
		(void)archive_write_data(p->a, text->data, text->len);
	archive_entry_free(e);
}

/* With digests in their places. */
static void fill_in(const struct packing *p, const char *from, size_t len, struct str *to)
{
	for (size_t i = 0; i < len; i++) {
		size_t n = i + 1 < len ? (size_t)(from[i + 1] - '0') : ENTRIES_MAX;

		if (from[i] == '@' && n < p->count) {
			str_add(to, p->digests[n]);
			i++;
		} else {
			str_add_bytes(to, from + i, 1);
		}
	}
}

/* An entry: its line, and what follows up to the next one. */
static void pack_entry(struct packing *p, const char *line, size_t len)
{
	const char *end = memchr(line, '\n', len);
	size_t head = end ? (size_t)(end - line) : len;
	auto_free char *words = strndup(line, head);
	auto_str struct str text = { 0 }, path = { 0 };
	char *rest = words, *kind, *name;

	if (end)
		fill_in(p, end + 1, len - head - 1, &text);
	kind = words ? strsep(&rest, " ") : NULL;
	name = rest ? strsep(&rest, " ") : NULL;
	if (!kind || strlen(kind) != 2 || !name || p->count == ENTRIES_MAX || text.failed)
		return;
	must(stream_digest(text.data ? text.data : "", text.len, p->digests[p->count]) == 0, "a digest");
	if (strcmp(name, "blob") == 0)
		str_addf(&path, "blobs/sha256/%s", p->digests[p->count]);
	else
		fill_in(p, name, strlen(name), &path);
	p->count++;
	put_entry(p, kind, path.data ? path.data : "", rest ? rest : "", &text);
}

static size_t pack(const char *text, size_t size, char *to)
{
	struct packing p = { .a = archive_write_new() };
	const char *at = text, *end = text + size;
	size_t used = 0;

	must(p.a && archive_write_set_format_pax_restricted(p.a) == ARCHIVE_OK &&
		     archive_write_open_memory(p.a, to, PACKED_MAX, &used) == ARCHIVE_OK,
	     "an archive");
	while ((at = memmem(at, (size_t)(end - at), "\n=", 2))) {
		const char *next = memmem(at + 1, (size_t)(end - at - 1), "\n=", 2);

		pack_entry(&p, at + 1, (size_t)((next ? next : end) - at - 1));
		at++;
	}
	(void)archive_write_close(p.a);
	(void)archive_write_free(p.a);
	return used;
}

/* ---- reading ---- */

struct met {
	size_t count;
	bool seen[4096];
};

static int take(void *arg, size_t index, struct stream *s, struct cordon_error *err)
{
	struct met *met = arg;
	char hex[STREAM_HEX];
	int r = stream_finish(s, hex, err);

	must(index < ARRAY_LEN(met->seen) && !met->seen[index], "each is met once");
	must(r < 0 || store_hex_is_valid(hex), "and has a digest");
	met->seen[index] = true;
	met->count++;
	return r;
}

static void check_image(struct bundle *b, const struct manifest *m)
{
	struct budget budget = { .max_bytes = 1 << 20, .max_entries = 200, .max_ratio = 200 };
	struct strv diffs = { 0 }, blobs = { 0 };
	struct met met = { 0 };
	struct cordon_error err = { 0 };
	int r;

	must(m->image.id && str_starts(m->image.id, "sha256:") && store_hex_is_valid(m->image.id + 7), "an id");
	must(m->image.platform && str_starts(m->image.platform, "linux/"), "a platform");
	must(m->blobs.n && m->blobs.n == m->image.layers.n, "as many layers as diff ids");
	for (size_t i = 0; i < m->image.layers.n; i++)
		must(store_hex_is_valid(m->image.layers.v[i]), "a diff id is one");
	for (size_t i = 0; i < m->image.env.n; i++)
		must(strchr(m->image.env.v[i], '='), "a variable is one");
	/* As the import does: one that is there twice is unpacked once. */
	for (size_t i = 0; i < m->blobs.n; i++)
		if (!strv_has(&diffs, m->image.layers.v[i]))
			must(strv_add(&diffs, m->image.layers.v[i]) == 0 && strv_add(&blobs, m->blobs.v[i]) == 0,
			     "memory");
	r = bundle_each(b, &blobs, &budget, take, &met, &err);
	must(r == 0 ? met.count == blobs.n : err.code != 0, "all layers, or why not");
	strv_done(&diffs);
	strv_done(&blobs);
}

static void check_bundle(struct bundle *b)
{
	struct manifest *list = NULL;
	struct cordon_error err = { 0 };
	size_t count = 0;

	if (bundle_kind(b) == BUNDLE_ROOT)
		return;
	if (manifest_read(b, &list, &count, &err) < 0) {
		must(err.code && *err.message, "a refusal says why");
		return;
	}
	must(count > 0, "there is an image");
	for (size_t i = 0; i < count; i++)
		check_image(b, &list[i]);
	manifest_free(list, count);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static char packed[PACKED_MAX];
	auto_close int fd = memfd_create("bundle", MFD_CLOEXEC);
	const void *bytes = data;
	struct cordon_error err = { 0 };
	struct bundle *b = NULL;

	(void)setlocale(LC_CTYPE, "C.UTF-8");
	if (size >= 6 && memcmp(data, "bundle", 6) == 0) {
		size = pack((const char *)data, size, packed);
		bytes = packed;
	}
	must(fd_write_all(fd, bytes, size) == 0, "the input");
	if (bundle_open(&b, fd, &err) < 0) {
		must(err.code && *err.message, "a refusal says why");
		return 0;
	}
	check_bundle(b);
	bundle_free(b);
	return 0;
}
