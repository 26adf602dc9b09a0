/*
 * cordon-engine ENGINE: the driver of one container of docker, podman, crun, runc or runsc, started by the keeper with the descriptors of
 * stream/engine.h. A program of its own: it links what only these engines need, and what the daemon of an engine answers is
 * read here and nowhere else. The caller's rights throughout.
 */
#include "engine/driver.h"

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

static const struct {
	const char *name;
	int (*drive)(struct driver *d, struct cordon_error *err);
} engines[] = {
	{ "crun", oci_drive },      { "runc", oci_drive },      { "runsc", oci_drive },
	{ "docker", docker_drive }, { "podman", docker_drive },
};

static int read_spec(struct driver *d, struct cordon_error *err)
{
	auto_free char *text = NULL;
	ssize_t n = lseek(ENGINE_FD_SPEC, 0, SEEK_SET) < 0 ? -errno : fd_load(ENGINE_FD_SPEC, ENGINE_SPEC_MAX, &text);

	if (n < 0)
		return cordon_fail(err, CORDON_INTERNAL, (int)-n, "read the specification of the container");
	close(ENGINE_FD_SPEC);
	return spec_parse(&d->spec, text, (size_t)n, err);
}

static int drive(struct driver *d, struct cordon_error *err)
{
	if (read_spec(d, err) < 0)
		return -1;
	for (size_t i = 0; i < ARRAY_LEN(engines); i++)
		if (strcmp(engines[i].name, d->engine) == 0)
			return engines[i].drive(d, err);
	return cordon_fail(err, CORDON_INVALID, 0, "no engine is called '%s'", d->engine);
}

int main(int argc, char **argv)
{
	struct driver d = { .stream = ENGINE_FD_STREAM, .control = ENGINE_FD_CONTROL };
	struct cordon_error err = { 0 };
	int r;

	if (argc != 2 || fcntl(ENGINE_FD_CONTROL, F_GETFD) < 0 || fcntl(ENGINE_FD_STREAM, F_GETFD) < 0) {
		fprintf(stderr, "cordon-engine is started by cordon\n");
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
