/*
 * The egress process: carries the connections of one box, and only those that its policy allows. Started by the keeper as net/start.h says,
 * beside the building of the box; sheds its rights before it has a descriptor of the box in its hands. One thread, one loop. What goes wrong
 * before it serves is told on stderr and by its exit status; the keeper then has no network to give.
 */
#include "base/fd.h"
#include "base/str.h"
#include "egress/capture.h"
#include "egress/egress.h"
#include "egress/inspect.h"
#include "egress/jail.h"
#include "net/start.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { CONFIG_MAX = 4 << 20 };

/* "UID:GID" */
static int parse_ids(const char *text, struct jail_options *ret)
{
	char *end = NULL;
	unsigned long uid, gid;

	errno = 0;
	uid = strtoul(text, &end, 10);
	if (errno || end == text || *end != ':')
		return -EINVAL;
	text = end + 1;
	gid = strtoul(text, &end, 10);
	if (errno || end == text || *end || uid == 0 || gid == 0 || uid >= UINT32_MAX || gid >= UINT32_MAX)
		return -EINVAL;
	ret->has_ids = true;
	ret->uid = (uid_t)uid;
	ret->gid = (gid_t)gid;
	return 0;
}

static int load_config(struct net_config *ret, struct cordon_error *err)
{
	auto_free char *data = NULL;
	ssize_t len = lseek(NET_START_CONFIG, 0, SEEK_SET);

	if (len == 0)
		len = fd_load(NET_START_CONFIG, CONFIG_MAX, &data);
	else
		len = -errno;
	close(NET_START_CONFIG);
	if (len < 0)
		return cordon_fail(err, CORDON_SYSTEM, (int)-len, "egress: its configuration");
	return net_config_decode(data, (size_t)len, ret, err);
}

static int start(struct egress *egress, struct jail_options *jail, struct cordon_error *err)
{
	uint16_t ports[NET_LISTEN_MAX];
	int r;

	(void)syscall(SYS_close_range, NET_START_FDS, ~0u, 0);
	if (load_config(&egress->config, err) < 0 || egress_init(egress, err) < 0)
		return -1;
	r = net_rules_intercept(&egress->config.rules) ? inspect_hand_over(egress, NET_START_AUTHORITY) : 0;
	if (r < 0)
		return cordon_fail(err, CORDON_SYSTEM, -r, "egress: hand over the certificate");
	close(NET_START_AUTHORITY);
	(void)net_rules_ports(&egress->config.rules, ports, NET_LISTEN_MAX, &jail->listens);
	if (jail_enter(jail, err) < 0)
		return -1;
	r = fd_set_nonblock(NET_START_EVENTS, true);
	if (r == 0)
		r = egress_events_start(egress, NET_START_EVENTS);
	if (r == 0)
		r = capture_start(egress, NET_START_CAPTURE);
	return r < 0 ? cordon_fail(err, CORDON_SYSTEM, -r, "egress: its sockets") : 0;
}

int main(int argc, char **argv)
{
	static struct egress egress = { .event_fd = -1 };
	struct jail_options jail = { 0 };
	struct cordon_error err = { 0 };
	int r;

#ifdef __SANITIZE_ADDRESS__
	jail.sanitized = true;
#endif
	if (argc > 1 && parse_ids(argv[1], &jail) < 0) {
		fprintf(stderr, "%s: started by cordon, not by hand\n", argv[0]);
		return 2;
	}
	r = start(&egress, &jail, &err);
	if (r == 0)
		r = loop_run(egress.loop);
	else /* the keeper tells it; where there is none, nobody listens */
		(void)send(NET_START_CAPTURE, &err, sizeof(err), MSG_DONTWAIT | MSG_NOSIGNAL);
	egress_done(&egress);
	return r < 0 ? 1 : 0;
}
