/*
 * cordon-engine ENGINE and cordon-engine-docker ENGINE: the driver of one container of a foreign engine, started by the keeper with the
 * descriptors of stream/engine.h. Programs of their own: they link what only these engines need, and what the daemon of an engine
 * answers is read here and nowhere else. Two of them, since loading what talks HTTP takes as long as starting a container: main_oci.c and
 * main_docker.c say what each drives. The caller's rights throughout.
 */
#include "driver/driver.h"

#include "base/fd.h"
#include "base/str.h"
#include "os/process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

static int read_spec(struct driver *d, struct cordon_error *err)
{
	auto_free char *text = NULL;
	ssize_t n = lseek(ENGINE_FD_SPEC, 0, SEEK_SET) < 0 ? -errno : fd_load(ENGINE_FD_SPEC, ENGINE_SPEC_MAX, &text);

	if (n < 0)
		return cordon_fail(err, CORDON_INTERNAL, (int)-n, "read the specification of the container");
	close(ENGINE_FD_SPEC);
	return spec_parse(&d->spec, text, (size_t)n, err);
}

static int find_engine(struct driver *d, struct cordon_error *err)
{
	for (const struct driver_engine *e = driver_engines; e->name; e++)
		if (strcmp(e->name, d->engine) == 0)
			d->ops = e->ops;
	return d->ops ? 0 : cordon_fail(err, CORDON_INVALID, 0, "this program drives no engine '%s'", d->engine);
}

static int drive(struct driver *d, struct cordon_error *err)
{
	return read_spec(d, err) < 0 || find_engine(d, err) < 0 ? -1 : driver_run(d, err);
}

static int run_errand(struct driver *d, const char *what, const char *owner, struct cordon_error *err)
{
	char version[DRIVER_VERSION_MAX];
	int r;

	if (strcmp(what, "--sweep") == 0)
		return d->ops->sweep(d, err);
	if (strcmp(what, "--remove") == 0 && spec_is_owner(owner))
		return d->ops->remove(d, owner, err);
	if (strcmp(what, "--probe") != 0)
		return cordon_fail(err, CORDON_INVALID, 0, "no such errand");
	r = d->ops->probe(d, version, err);
	if (r == 0)
		printf("%s\n", version);
	return r;
}

/* ENGINE --probe|--sweep, ENGINE --remove OWNER. What fails is said on stdout, with the remedy on a line of its own. */
static int run_aside(const char *engine, const char *what, const char *owner)
{
	struct driver d = {
		.engine = engine, .stream = -1, .control = -1, .is_gone = true
	}; /* there is nobody to be told */
	struct cordon_error err = { 0 };

	if (find_engine(&d, &err) < 0)
		return 2;
	if (run_errand(&d, what, owner, &err) == 0)
		return 0;
	printf("%s\n%s\n", err.message, err.hint);
	return 1;
}

int main(int argc, char **argv)
{
	struct driver d = { .stream = ENGINE_FD_STREAM, .control = ENGINE_FD_CONTROL };
	struct cordon_error err = { 0 };
	int r;

	if (argc == 3 || argc == 4)
		return run_aside(argv[1], argv[2], argc == 4 ? argv[3] : "");
	if (argc != 2 || fcntl(ENGINE_FD_CONTROL, F_GETFD) < 0 || fcntl(ENGINE_FD_STREAM, F_GETFD) < 0) {
		fprintf(stderr, "%s is started by cordon\n", program_invocation_short_name);
		return 2;
	}
	d.engine = argv[1];
	for (int fd = ENGINE_FD_SPEC; fd <= ENGINE_FD_CONTROL; fd++)
		(void)fcntl(fd, F_SETFD, FD_CLOEXEC);
	/* Interrupts at the terminal are the keeper's business: its end of the control socket says when. */
	process_reset_signals();
	signal(SIGPIPE, SIG_IGN);
	signal(SIGINT, SIG_IGN);
	signal(SIGTERM, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	(void)prctl(PR_SET_CHILD_SUBREAPER, 1);
	umask(022);
	r = drive(&d, &err);
	if (r < 0) {
		fail_step(&err, d.engine);
		control_tell_error(&d, &err);
	} else {
		control_tell_numbers(&d, ENGINE_EXITED);
	}
	spec_done(&d.spec);
	return r < 0;
}
