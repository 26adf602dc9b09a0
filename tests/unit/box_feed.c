/* Files into a box that lives, the front's side: what cannot be read is told as what it is. */
#include "box/feed.h"
#include "tap.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

int main(void)
{
	struct plan_copy in = { .host = (char[]){ "/etc" }, .box = (char[]){ "/tmp/etc" } };
	struct cordon_plan plan = { .ins = &in, .in_count = 1 };
	struct cordon_error err = { 0 };
	struct rlimit before, none;
	int pair[2], r;

	in.fd = open("/etc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (in.fd < 0 || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0 ||
	    getrlimit(RLIMIT_NOFILE, &before) < 0)
		return 1;
	none = before;
	none.rlim_cur = (rlim_t)pair[1] + 1;
	(void)setrlimit(RLIMIT_NOFILE, &none);
	r = feed_send(&plan, pair[0], &err);
	(void)setrlimit(RLIMIT_NOFILE, &before);
	ok(r < 0, "a directory that cannot be opened is not copied in");
	is_num(err.errnum, EMFILE, "and why is told: %s", err.message);
	is_str(err.step, "copy in", "with the step");
	return done_testing();
}
