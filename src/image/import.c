/*
 * cordon image import: see import.h. First everything is made in tmp/OWNER of the store: each layer that the store does not have yet,
 * held against its diff id, and each root. Then it is brought to the disk, renamed, and last the names are written: whoever sees a name sees
 * a whole image.
 */
#include "image/import.h"

#include "base/fd.h"
#include "base/path.h"
#include "image/bundle.h"
#include "image/depot.h"
#include "image/jail.h"
#include "image/manifest.h"
#include "image/merge.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

struct import {
	const struct import_options *options;
	struct depot depot;
	struct budget budget;
	struct bundle *bundle;
	struct manifest *manifests;
	size_t manifest_count;
	struct strv layers, blobs; /* what has to be unpacked: diff ids, and the blobs they are in */
	struct imported *done;
};

/* ---- where it comes from ---- */

/* What can be read only once is copied into the store first; it has no name there. */
static int spool(struct import *im, int from, struct cordon_error *err)
{
	auto_close int to = openat(im->depot.tmp, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	char piece[64 << 10];
	uint64_t all = 0;
	ssize_t n;

	if (to < 0)
		return cordon_fail(err, CORDON_SYSTEM, errno, "make a file in the image store");
	while ((n = fd_read_full(from, piece, sizeof(piece))) > 0) {
		int r = fd_write_all(to, piece, (size_t)n);

		if (r < 0)
			return cordon_fail(err, CORDON_SYSTEM, -r, "write to the image store");
		all += (uint64_t)n;
		if (all > im->budget.max_bytes)
			return cordon_fail(err, CORDON_DENIED, 0, "the archive is larger than --max-size");
	}
	return n < 0 ? cordon_fail(err, CORDON_SYSTEM, (int)-n, "read the archive") : STEAL_FD(to);
}

static int open_source(const struct import_options *o, struct cordon_error *err)
{
	int fd = strcmp(o->source, "-") == 0 ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3)
					     : open(o->source, O_RDONLY | O_CLOEXEC | O_NOCTTY);

	if (fd < 0)
		return cordon_fail(err, errno == ENOENT ? CORDON_NOT_FOUND : CORDON_SYSTEM, errno, "open '%s'",
				   o->source);
	return fd;
}

/* ---- layers ---- */

static int take_layer(void *arg, size_t index, struct stream *s, struct cordon_error *err)
{
	struct import *im = arg;
	const char *want = im->layers.n ? im->layers.v[index] : NULL;
	auto_close int dir = depot_make(&im->depot, want ? want : "layer", err);
	char hex[STREAM_HEX];

	if (dir < 0 || unpack_layer(s, dir, &im->budget, &im->done->report, err) < 0 || stream_finish(s, hex, err) < 0)
		return -1;
	if (want && strcmp(want, hex) != 0) {
		cordon_fail(err, CORDON_DENIED, 0, "layer '%s' is not what the image says: its diff id is sha256:%s",
			    im->blobs.v[index], hex);
		return fail_hint(err, "the file is damaged, or somebody has changed it");
	}
	if (want)
		return 0;
	if (renameat(im->depot.tmp, "layer", im->depot.tmp, hex) < 0)
		return cordon_fail(err, CORDON_SYSTEM, errno, "name the layer");
	return strv_add(&im->layers, hex) < 0 ? fail_memory(err) : 0;
}

static int unpack_images(struct import *im, struct cordon_error *err)
{
	for (size_t i = 0; i < im->manifest_count; i++) {
		const struct manifest *m = &im->manifests[i];

		for (size_t k = 0; k < m->blobs.n; k++) {
			const char *diff = m->image.layers.v[k];

			if (strv_has(&im->layers, diff) || depot_has(&im->depot, "layers", diff))
				continue;
			if (strv_add(&im->layers, diff) < 0 || strv_add(&im->blobs, m->blobs.v[k]) < 0)
				return fail_memory(err);
		}
	}
	return im->layers.n ? bundle_each(im->bundle, &im->blobs, &im->budget, take_layer, im, err) : 0;
}

/* A root file system: one layer, whose digest is the image's. */
static int unpack_root(struct import *im, int source, struct cordon_error *err)
{
	struct stream *s = NULL;
	struct manifest *m = calloc(1, sizeof(*m));
	int status;

	im->manifests = m;
	if (!m)
		return fail_memory(err);
	im->manifest_count = 1;
	if (lseek(source, 0, SEEK_SET) < 0)
		return cordon_fail(err, CORDON_SYSTEM, errno, "read the archive again");
	if (stream_open_fd(&s, source, &im->budget, err) < 0)
		return -1;
	status = take_layer(im, 0, s, err);
	stream_free(s);
	if (status < 0)
		return -1;
	m->image.id = str_printf("sha256:%s", im->layers.v[0]);
	m->image.platform = strdup("linux/unknown");
	return m->image.id && m->image.platform && strv_add(&m->image.layers, im->layers.v[0]) == 0 ? 0
												    : fail_memory(err);
}

/* ---- roots ---- */

/* OCI's chain id: what lies below is part of what a layer makes. */
static char *chain_id(const struct strv *layers)
{
	char hex[STREAM_HEX], text[2 * STREAM_HEX + 20];

	snprintf(hex, sizeof(hex), "%s", layers->v[0]);
	for (size_t i = 1; i < layers->n; i++) {
		int n = snprintf(text, sizeof(text), "sha256:%s sha256:%s", hex, layers->v[i]);

		if (stream_digest(text, (size_t)n, hex) < 0)
			return NULL;
	}
	return strdup(hex);
}

static int open_layer(struct import *im, const char *hex)
{
	auto_free char *path = str_printf("layers/%s", hex);
	int fd = openat(im->depot.tmp, hex, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	return fd < 0 && path ? openat(im->depot.dir, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : fd;
}

static int build_root(struct import *im, struct store_image *image, struct cordon_error *err)
{
	auto_free char *name = NULL;
	auto_close int root = -1;
	struct stat st;

	image->root = chain_id(&image->layers);
	name = image->root ? str_printf("root-%s", image->root) : NULL;
	if (!name)
		return fail_memory(err);
	if (depot_has(&im->depot, "roots", image->root) || fstatat(im->depot.tmp, name, &st, AT_SYMLINK_NOFOLLOW) == 0)
		return 0;
	root = depot_make(&im->depot, name, err);
	if (root < 0)
		return -1;
	for (size_t i = 0; i < image->layers.n; i++) {
		auto_close int layer = open_layer(im, image->layers.v[i]);

		if (layer < 0)
			return cordon_fail(err, CORDON_SYSTEM, errno, "open layer %s", image->layers.v[i]);
		if (merge_layer(layer, root, err) < 0)
			return -1;
	}
	return merge_places(root, err);
}

/* ---- names ---- */

/* "/srv/alpine-3.19.tar.gz" is alpine-3.19. */
static char *name_of_file(const char *path)
{
	static const char *const suffixes[] = { ".gz", ".xz", ".bz2", ".zst", ".tgz", ".tar", ".oci" };
	char *name = strdup(path_name(path));

	for (size_t i = 0; name && i < ARRAY_LEN(suffixes); i++)
		if (str_ends(name, suffixes[i]))
			name[strlen(name) - strlen(suffixes[i])] = '\0';
	return name;
}

static int choose_names(struct import *im, struct cordon_error *err)
{
	const char *name = im->options->name;

	if (name && im->manifest_count > 1) {
		cordon_fail(err, CORDON_INVALID, 0, "there are %zu images in it, and one name", im->manifest_count);
		return fail_hint(err, "leave the name out: each is then called as it is there");
	}
	for (size_t i = 0; i < im->manifest_count; i++) {
		struct strv *names = &im->manifests[i].names;

		if (name) {
			strv_done(names);
			*names = (struct strv){ 0 };
		}
		if (!names->n &&
		    (name ? strv_add(names, name) : strv_add_take(names, name_of_file(im->options->source))) < 0)
			return fail_memory(err);
		for (size_t k = 0; k < names->n; k++)
			if (!store_name_is_valid(names->v[k], false)) {
				cordon_fail(err, CORDON_INVALID, 0, "'%.200s' is not a name for an image", names->v[k]);
				return fail_hint(err, "give one: cordon image import %s NAME", im->options->source);
			}
	}
	return 0;
}

/* The record of one more image, which takes nothing of `m`. */
static int add_done(struct import *im, const struct manifest *m, const char *name, struct cordon_error *err)
{
	auto_free char *text = NULL;
	struct imported *done = im->done;
	struct store_image *bigger = realloc(done->images, (done->count + 1) * sizeof(*bigger)), copy = m->image;

	if (!bigger)
		return fail_memory(err);
	done->images = bigger;
	copy.name = (char *)(uintptr_t)name;
	text = store_record_text(&copy);
	if (!text || store_record_parse(text, strlen(text), &bigger[done->count], err) < 0)
		return text ? -1 : fail_memory(err);
	return depot_name(&im->depot, &bigger[done->count++], err);
}

static int measure(struct import *im, struct store_image *image, struct cordon_error *err)
{
	auto_free char *path = str_printf("roots/%s", image->root);
	auto_close int root = path ? openat(im->depot.dir, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : -1;
	int r = root < 0 ? -ENOENT : merge_size(root, &image->size_bytes);

	image->imported_s = (uint64_t)time(NULL);
	return r < 0 ? cordon_fail(err, CORDON_SYSTEM, -r, "measure the root") : 0;
}

static int publish(struct import *im, struct cordon_error *err)
{
	if (depot_sync(&im->depot, err) < 0)
		return -1;
	for (size_t i = 0; i < im->layers.n; i++)
		if (depot_publish(&im->depot, im->layers.v[i], "layers", im->layers.v[i], err) < 0)
			return -1;
	for (size_t i = 0; i < im->manifest_count; i++) {
		struct manifest *m = &im->manifests[i];
		auto_free char *name = str_printf("root-%s", m->image.root);

		if (!name)
			return fail_memory(err);
		if (!depot_has(&im->depot, "roots", m->image.root) &&
		    depot_publish(&im->depot, name, "roots", m->image.root, err) < 0)
			return -1;
		if (measure(im, &m->image, err) < 0)
			return -1;
		for (size_t k = 0; k < m->names.n; k++)
			if (add_done(im, m, m->names.v[k], err) < 0)
				return -1;
	}
	return 0;
}

/* ---- the whole ---- */

static int import_source(struct import *im, int source, struct cordon_error *err)
{
	if (bundle_open(&im->bundle, source, err) < 0)
		return -1;
	if (bundle_kind(im->bundle) == BUNDLE_ROOT
		    ? unpack_root(im, source, err) < 0
		    : manifest_read(im->bundle, &im->manifests, &im->manifest_count, err) < 0 ||
			      unpack_images(im, err) < 0)
		return -1;
	if (choose_names(im, err) < 0)
		return -1;
	for (size_t i = 0; i < im->manifest_count; i++)
		if (build_root(im, &im->manifests[i].image, err) < 0)
			return -1;
	return publish(im, err);
}

static int import_all(struct import *im, struct cordon_error *err)
{
	auto_close int source = open_source(im->options, err), copy = -1;
	struct stat st;

	if (source < 0 || depot_open(&im->depot, im->options->dir, err) < 0)
		return -1;
	if (fstat(source, &st) < 0)
		return cordon_fail(err, CORDON_SYSTEM, errno, "look at '%s'", im->options->source);
	if (jail_enter(im->depot.dir, S_ISDIR(st.st_mode) || S_ISREG(st.st_mode) ? source : -1, err) < 0)
		return -1;
	if (S_ISDIR(st.st_mode) || (S_ISREG(st.st_mode) && lseek(source, 0, SEEK_CUR) == 0))
		return import_source(im, source, err);
	copy = spool(im, source, err);
	return copy < 0 ? -1 : import_source(im, copy, err);
}

int import_run(const struct import_options *options, struct imported *ret, struct cordon_error *err)
{
	struct import im = { .options = options, .depot = DEPOT_INIT, .budget = options->budget, .done = ret };
	int status = options->name && !store_name_is_valid(options->name, false)
			     ? cordon_fail(err, CORDON_INVALID, 0, "'%.200s' is not a name for an image", options->name)
			     : import_all(&im, err);

	depot_close(&im.depot);
	bundle_free(im.bundle);
	manifest_free(im.manifests, im.manifest_count);
	strv_done(&im.layers);
	strv_done(&im.blobs);
	return status;
}

void imported_done(struct imported *i)
{
	while (i->count)
		store_image_done(&i->images[--i->count]);
	free(i->images);
	*i = (struct imported){ 0 };
}
