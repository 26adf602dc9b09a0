/* The whole of one egress process: see egress.h. */
#include "egress/egress.h"

#include "base/fd.h"
#include "egress/capture.h"
#include "egress/conn.h"
#include "egress/inspect.h"
#include "egress/resolve.h"

#include <stdlib.h>

enum {
	FLUSH_MS = 200, /* how long a reader of events may make us wait at the end */
	/* Questions: a client that keeps no answers asks twice for each connection, and may make a thousand at once. */
	DNS_RATE = 2000,
	DNS_BURST = 4000,
};

/* A fifth of a second's worth, and never less than a few packets. */
static uint64_t burst_of(uint64_t rate)
{
	return rate / 5 > 16384 ? rate / 5 : 16384;
}

int egress_init(struct egress *egress, struct cordon_error *err)
{
	const char *why = NULL;
	int r;

	egress->event_fd = -1;
	egress->loop = loop_new();
	if (!egress->loop)
		return fail_memory(err);
	r = pool_init(&egress->pool);
	if (r < 0)
		return cordon_fail(err, CORDON_SYSTEM, -r, "addresses for names");
	egress->resolver = resolver_new(egress->loop, &why);
	if (!egress->resolver)
		return cordon_fail(err, CORDON_SYSTEM, 0, "the resolver: %s", why);
	bucket_init(&egress->bucket[CONN_UP], egress->loop, egress->config.upload_bps,
		    burst_of(egress->config.upload_bps));
	bucket_init(&egress->bucket[CONN_DOWN], egress->loop, egress->config.download_bps,
		    burst_of(egress->config.download_bps));
	bucket_init(&egress->questions, egress->loop, DNS_RATE, DNS_BURST);
	return inspect_prepare(egress, err);
}

void egress_done(struct egress *egress)
{
	while (egress->conns) {
		conn_reset(egress->conns, NET_ALLOWED, "the box ended");
		if (egress->queue_count == EVENT_QUEUE)
			egress_events_flush(egress, FLUSH_MS);
	}
	egress_events_flush(egress, FLUSH_MS);
	capture_free(egress);
	attempts_free(egress);
	if (egress->engine.done)
		egress->engine.done(egress);
	resolver_free(egress->resolver);
	relay_pipes_done(&egress->pipes);
	if (egress->loop) {
		bucket_done(&egress->bucket[CONN_UP]);
		bucket_done(&egress->bucket[CONN_DOWN]);
		bucket_done(&egress->questions);
		loop_unwatch(egress->loop, &egress->event_io);
	}
	fd_close(&egress->event_fd);
	free(egress->queue);
	pool_done(&egress->pool);
	net_config_done(&egress->config);
	loop_free(egress->loop);
}
