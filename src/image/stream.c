/* The bytes of a layer: see stream.h. */
#include "image/stream.h"

#include "base/str.h"

#include <archive.h>
#include <archive_entry.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PIECE = 128 << 10 };

struct stream {
	struct archive *raw, *outer;
	EVP_MD_CTX *hash;
	struct budget *budget;
	uint64_t out;
	bool at_end;
	char piece[PIECE]; /* of the outer archive's entry */
};

struct archive *stream_reader(int raw)
{
	struct archive *a = archive_read_new();

	if (!a)
		return NULL;
	(void)archive_read_support_filter_gzip(a);
	(void)archive_read_support_filter_bzip2(a);
	(void)archive_read_support_filter_xz(a);
	(void)archive_read_support_filter_zstd(a);
	(void)archive_read_support_format_empty(a);
	if (raw)
		(void)archive_read_support_format_raw(a);
	else
		(void)archive_read_support_format_tar(a);
	return a;
}

static void to_hex(const unsigned char digest[32], char ret_hex[STREAM_HEX])
{
	for (size_t i = 0; i < 32; i++)
		snprintf(ret_hex + 2 * i, 3, "%02x", digest[i]);
}

int stream_digest(const void *data, size_t len, char ret_hex[STREAM_HEX])
{
	unsigned char digest[32];

	if (!EVP_Digest(data, len, digest, NULL, EVP_sha256(), NULL))
		return -1;
	to_hex(digest, ret_hex);
	return 0;
}

static la_ssize_t read_outer(struct archive *a, void *arg, const void **ret_data)
{
	struct stream *s = arg;
	la_ssize_t n = archive_read_data(s->outer, s->piece, sizeof(s->piece));

	if (n < 0)
		archive_set_error(a, archive_errno(s->outer), "%s", archive_error_string(s->outer));
	*ret_data = s->piece;
	return n;
}

static int fail_archive(struct stream *s, struct cordon_error *err)
{
	const char *why = archive_error_string(s->raw);

	return cordon_fail(err, CORDON_INVALID, 0, "the archive cannot be read: %s", why ? why : "out of memory");
}

static int begin(struct stream *s, struct cordon_error *err)
{
	struct archive_entry *entry;
	int r = archive_read_next_header(s->raw, &entry);

	if (r == ARCHIVE_EOF)
		s->at_end = true;
	return r == ARCHIVE_OK || r == ARCHIVE_WARN || r == ARCHIVE_EOF ? 0 : fail_archive(s, err);
}

static struct stream *stream_new(struct budget *budget)
{
	struct stream *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->budget = budget;
	s->raw = stream_reader(1);
	s->hash = EVP_MD_CTX_new();
	if (s->raw && s->hash && EVP_DigestInit_ex(s->hash, EVP_sha256(), NULL))
		return s;
	stream_free(s);
	return NULL;
}

/* Takes s where it fails. */
static int opened(struct stream **ret, struct stream *s, int r, struct cordon_error *err)
{
	if (r != ARCHIVE_OK)
		(void)fail_archive(s, err);
	if (r != ARCHIVE_OK || begin(s, err) < 0) {
		stream_free(s);
		return -1;
	}
	*ret = s;
	return 0;
}

int stream_open_fd(struct stream **ret, int fd, struct budget *budget, struct cordon_error *err)
{
	struct stream *s = stream_new(budget);

	return s ? opened(ret, s, archive_read_open_fd(s->raw, fd, PIECE), err) : fail_memory(err);
}

int stream_open_entry(struct stream **ret, struct archive *outer, struct budget *budget, struct cordon_error *err)
{
	struct stream *s = stream_new(budget);

	if (!s)
		return fail_memory(err);
	s->outer = outer;
	return opened(ret, s, archive_read_open2(s->raw, s, NULL, read_outer, NULL, NULL), err);
}

/* Headers count, too: an archive of nothing but names is a bomb as well. Twice, for what they add to small files. */
static int check_budget(const struct stream *s, struct cordon_error *err)
{
	uint64_t in = (uint64_t)archive_filter_bytes(s->raw, -1);
	char size[32];

	if (s->out / 2 > s->budget->max_bytes) {
		cordon_fail(err, CORDON_DENIED, 0, "the archive holds more than %s",
			    str_size(s->budget->max_bytes, size));
		return fail_hint(err, "--max-size SIZE allows more");
	}
	if (s->out > BUDGET_RATIO_FROM && s->out / s->budget->max_ratio > in) {
		cordon_fail(err, CORDON_DENIED, 0, "the archive is packed more than %llu to 1",
			    (unsigned long long)s->budget->max_ratio);
		return fail_hint(err, "--max-ratio NUMBER allows more");
	}
	return 0;
}

ssize_t stream_read(struct stream *s, const void **ret_data, struct cordon_error *err)
{
	size_t len = 0;
	la_int64_t offset;
	int r;

	if (s->at_end)
		return 0;
	do
		r = archive_read_data_block(s->raw, ret_data, &len, &offset);
	while (r == ARCHIVE_OK && !len);
	if (r == ARCHIVE_EOF) {
		s->at_end = true;
		return 0;
	}
	if (r != ARCHIVE_OK)
		return fail_archive(s, err);
	s->out += len;
	if (!EVP_DigestUpdate(s->hash, *ret_data, len))
		return fail_memory(err);
	return check_budget(s, err) < 0 ? -1 : (ssize_t)len;
}

int stream_finish(struct stream *s, char ret_hex[STREAM_HEX], struct cordon_error *err)
{
	unsigned char digest[32];
	const void *data;
	ssize_t n;

	do
		n = stream_read(s, &data, err);
	while (n > 0);
	if (n < 0)
		return -1;
	if (!EVP_DigestFinal_ex(s->hash, digest, NULL))
		return fail_memory(err);
	to_hex(digest, ret_hex);
	return 0;
}

void stream_free(struct stream *s)
{
	if (!s)
		return;
	(void)archive_read_free(s->raw);
	EVP_MD_CTX_free(s->hash);
	free(s);
}
