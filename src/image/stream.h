/*
 * The bytes of a layer: taken from a file or from an entry of another archive, decompressed (gzip, bzip2, xz, zstd or not at all), counted
 * against the budget and hashed on the way. Runs in cordon-image, in its jail.
 */
#ifndef IMAGE_STREAM_H
#define IMAGE_STREAM_H

#include "image/budget.h"

#include <stddef.h>
#include <sys/types.h>

struct archive;
struct stream;

enum { STREAM_HEX = 65 };

/* From fd (borrowed, at its beginning), or from the data of the entry that `outer` stands at. The budget is borrowed, too. */
int stream_open_fd(struct stream **ret, int fd, struct budget *budget, struct cordon_error *err);
int stream_open_entry(struct stream **ret, struct archive *outer, struct budget *budget, struct cordon_error *err);
/* The next piece: its length, 0 at the end, -1 with *err. The data is the stream's, until the next call. */
ssize_t stream_read(struct stream *s, const void **ret_data, struct cordon_error *err);
/* Reads what is left and tells the sha256 of all of it. */
int stream_finish(struct stream *s, char ret_hex[STREAM_HEX], struct cordon_error *err);
void stream_free(struct stream *s);

/* The sha256 of a text in hex. */
int stream_digest(const void *data, size_t len, char ret_hex[STREAM_HEX]);
/* A reader of archives with the compressions of above; `raw` takes any bytes for one entry, else it must be a tar. NULL: no memory. */
struct archive *stream_reader(int raw);

#endif
