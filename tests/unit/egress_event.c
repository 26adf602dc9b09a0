/* What egress tells a reader that lags: alike events together, none of them lost, and of the others how many. */
#include "base/fd.h"
#include "egress/egress.h"

#include "tap.h"

#include <sys/socket.h>

static struct egress egress;
static int reader;

static void world_open(void)
{
	int pair[2];

	egress = (struct egress){ .event_fd = -1, .loop = loop_new() };
	if (!egress.loop || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) < 0 ||
	    egress_events_start(&egress, pair[1]) < 0)
		exit(1);
	reader = pair[0];
}

static void world_close(void)
{
	loop_unwatch(egress.loop, &egress.event_io);
	fd_close(&egress.event_fd);
	fd_close(&reader);
	free(egress.queue);
	loop_free(egress.loop);
}

static void tell(unsigned n, bool alike)
{
	struct net_event event;

	for (unsigned i = 0; i < n; i++) {
		egress_event_init(&event, NET_EVENT_CONNECTION);
		snprintf(event.host, sizeof(event.host), "%u.example.com", alike ? 0 : i);
		event.up_bytes = 3;
		event.down_bytes = 5;
		event.duration_us = 7;
		egress_event(&egress, &event);
	}
}

struct heard {
	uint64_t records, events, lost, up, down, duration;
};

static struct heard hear(void)
{
	struct heard h = { 0 };
	struct net_event event;

	for (;;) {
		while (recv(reader, &event, sizeof(event), 0) == (ssize_t)sizeof(event)) {
			h.records++;
			if (event.kind == NET_EVENT_LOST) {
				h.lost += event.up_bytes;
				continue;
			}
			h.events += 1 + event.more;
			h.up += event.up_bytes;
			h.down += event.down_bytes;
			h.duration += event.duration_us;
		}
		if (!egress.queue_count && !egress.events_lost)
			return h;
		egress_events_flush(&egress, 0);
	}
}

int main(void)
{
	struct heard h;

	world_open();
	tell(3, true);
	h = hear();
	ok(h.records == 3 && h.events == 3, "a reader that is there hears of each");
	tell(3000, true);
	h = hear();
	ok(h.events == 3000, "of three thousand that are alike a reader that lags hears of all");
	ok(h.up == 9000 && h.down == 15000 && h.duration == 21000, "with their bytes and times");
	ok(h.records > EVENT_QUEUE && h.records < 1000, "together, where there is no room for each (%d)",
	   (int)h.records);
	ok(h.lost == 0, "and none is lost");
	tell(3000, false);
	h = hear();
	ok(h.lost && h.events + h.lost == 3000, "of three thousand different ones it hears how many are lost (%d)",
	   (int)h.lost);
	tell(3, true);
	h = hear();
	ok(h.records == 3 && h.events == 3, "then of each again");
	world_close();
	return done_testing();
}
