/*
 * The stream of an attached container without a terminal: frames of a type (0 stdin, 1 stdout, 2 stderr), three zeroes and a length of four
 * bytes, big-endian. Only stdout is init's. Pure.
 */
#include "driver/docker.h"

#include <errno.h>
#include <string.h>

enum { FRAME_OUT = 1, FRAME_ERR = 2 };

static int begin(struct docker_mux *mux)
{
	const unsigned char *h = mux->head;

	if (h[0] > FRAME_ERR || h[1] || h[2] || h[3])
		return -EPROTO;
	mux->is_out = h[0] == FRAME_OUT;
	mux->left = (size_t)h[4] << 24 | (size_t)h[5] << 16 | (size_t)h[6] << 8 | h[7];
	mux->head_len = 0;
	return 0;
}

ssize_t docker_mux_feed(struct docker_mux *mux, unsigned char *data, size_t len)
{
	size_t at = 0, out = 0, n;

	while (at < len) {
		if (mux->left) {
			n = mux->left < len - at ? mux->left : len - at;
			if (mux->is_out) {
				memmove(data + out, data + at, n);
				out += n;
			}
			mux->left -= n;
			at += n;
			continue;
		}
		mux->head[mux->head_len++] = data[at++];
		if (mux->head_len == sizeof(mux->head) && begin(mux) < 0)
			return -EPROTO;
	}
	return (ssize_t)out;
}
