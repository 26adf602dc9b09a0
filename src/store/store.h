/*
 * The image store, as whoever wants a root file system sees it: a name leads to a record, the record to a directory that holds the whole
 * root, ready to be laid into a box. Nothing is mounted, unpacked or changed here; cordon-image (src/image) is the only one that writes.
 *
 *	DIR/names/NAME    the record of an image, a small text file; "/" in a name is "%"
 *	DIR/roots/CHAIN   the root: what its layers make together; CHAIN is OCI's chain id. Files are hard links into the layers
 *	DIR/layers/DIFF   a layer as it was unpacked, with its whiteouts; DIFF is the sha256 of the uncompressed archive
 *	DIR/tmp/OWNER     what an import is working on
 *	DIR/lock          held shared by imports, exclusively by whoever collects what no name leads to
 *
 * The whole of it belongs to its user and is closed to everybody else (0700). A root that is in use is locked (flock, shared) and
 * is not removed. Any process, with the caller's rights.
 */
#ifndef STORE_STORE_H
#define STORE_STORE_H

#include "base/error.h"
#include "base/str.h"

enum { STORE_NAME_MAX = 200, STORE_HEX = 64, STORE_RECORD_MAX = 1 << 20 };

struct store_image {
	char *name;
	char *id;   /* "sha256:…" of the image's configuration; of its layer where it came without one */
	char *root; /* the chain id, in hex */
	char *platform;
	char *workdir, *user; /* of the configuration; NULL: none */
	struct strv layers;   /* diff ids in hex, the lowest first */
	struct strv env;      /* NAME=VALUE */
	struct strv entrypoint, cmd;
	uint64_t size_bytes; /* of the files in its root */
	uint64_t imported_s; /* since the epoch */
};
void store_image_done(struct store_image *image);
#define auto_image __attribute__((cleanup(store_image_done)))

/* Letters, digits and . _ : / + -, a letter or digit first, no empty or dotted component. With may_pin "@sha256:HEX" may follow. */
bool store_name_is_valid(const char *name, bool may_pin);
/* What its record is called; malloc'd or NULL. */
char *store_record_file(const char *name);
bool store_hex_is_valid(const char *text);

/* A record as text, and back. Text from elsewhere may be anything: what is not a record is -1 (err may be NULL). */
char *store_record_text(const struct store_image *image);
int store_record_parse(const char *text, size_t len, struct store_image *ret, struct cordon_error *err);

/* The store's directory; its owner must be the caller, and nobody else may write it. -ENOENT: there is none (yet), or -1 and *err. */
int store_enter(const char *dir, int *ret_fd, struct cordon_error *err);
/* The record of NAME, NAME:latest, or NAME@sha256:… if that is its id. */
int store_find(int store, const char *name, struct store_image *ret, struct cordon_error *err);
/* Its root: a directory, readable, with a shared lock that lasts as long as any copy of the fd. -ESTALE: it was removed meanwhile, look
 * again. -errno. */
int store_open_root(int store, const struct store_image *image);

#endif
