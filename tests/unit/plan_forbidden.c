/* What is never mounted: where the host cannot be looked at for it, nothing is taken for allowed. */
#include "plan/forbidden.h"
#include "tap.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

/* With so many descriptors left. */
static int check(int fd, const char *path, rlim_t left, struct cordon_error *err)
{
	const struct strv none = { 0 };
	struct rlimit before, few;
	int next = open("/", O_PATH | O_CLOEXEC), r;

	(void)close(next);
	(void)getrlimit(RLIMIT_NOFILE, &before);
	few = before;
	few.rlim_cur = (rlim_t)next + left;
	(void)setrlimit(RLIMIT_NOFILE, &few);
	*err = (struct cordon_error){ 0 };
	r = forbidden_check(fd, path, &none, err);
	(void)setrlimit(RLIMIT_NOFILE, &before);
	return r;
}

int main(void)
{
	char dir[] = "/tmp/cordon-unit-XXXXXX";
	struct cordon_error err;
	int fd;

	if (!mkdtemp(dir))
		return 1;
	fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	ok(check(fd, dir, 32, &err) == 0, "control: a directory that may be mounted: %s", err.message);
	for (rlim_t left = 0; left < 3; left++) {
		ok(check(fd, dir, left, &err) < 0, "with %u descriptors left it may not", (unsigned)left);
		is_num(err.errnum, EMFILE, "since nobody can tell: %s", err.message);
	}
	(void)rmdir(dir);
	return done_testing();
}
