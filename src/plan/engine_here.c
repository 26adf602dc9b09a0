/*
 * Whether an engine is here, as far as looking tells: a runtime's program, a daemon's socket. For `cordon plan`, which touches nothing, and
 * for `cordon doctor`, which asks further. Runs in the caller, with his rights.
 */
#include "plan/engine.h"

#include "base/fd.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

bool engine_find_program(const char *name, char *buf, size_t size)
{
	const char *path = getenv("PATH");
	auto_free char *all =
		str_printf("%s:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", path ? path : "");

	for (const char *at = all; at && *at;) {
		size_t n = strcspn(at, ":");

		if (n && *at == '/' && (size_t)snprintf(buf, size, "%.*s/%s", (int)n, at, name) < size &&
		    access(buf, X_OK) == 0)
			return true;
		at += n + (at[n] == ':');
	}
	return false;
}

/* Where the driver looks for it; false: it is reached in another way, which is not for looking. */
static bool find_socket(const struct engine *e, char *buf, size_t size)
{
	bool is_podman = strcmp(e->name, "podman") == 0;
	const char *host = getenv(is_podman ? "CONTAINER_HOST" : "DOCKER_HOST"), *runtime = getenv("XDG_RUNTIME_DIR");

	if (host && *host) {
		snprintf(buf, size, "%s", str_starts(host, "unix://") ? host + strlen("unix://") : "");
		return *buf;
	}
	snprintf(buf, size, "%s", is_podman ? "/run/podman/podman.sock" : "/var/run/docker.sock");
	if (geteuid() != 0 && access(buf, R_OK | W_OK) < 0 && runtime && *runtime == '/')
		snprintf(buf, size, "%s/%s", runtime, is_podman ? "podman/podman.sock" : "docker.sock");
	return true;
}

/* Somebody listens, and lets us in. */
static int try_socket(const char *path)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	auto_close int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0 || strlen(path) >= sizeof(to.sun_path))
		return 0;
	memcpy(to.sun_path, path, strlen(path) + 1);
	return connect(fd, (const struct sockaddr *)&to, sizeof(to)) < 0 && errno != EAGAIN ? -errno : 0;
}

bool engine_is_missing(const struct engine *e, char *ret_why, size_t size)
{
	char where[256];
	int r;

	if (!e->driver)
		return false;
	if (e->makes_root) {
		snprintf(ret_why, size, "%s is not installed", e->name);
		return !engine_find_program(e->name, where, sizeof(where));
	}
	r = find_socket(e, where, sizeof(where)) ? try_socket(where) : 0;
	if (r < 0)
		snprintf(ret_why, size, "the daemon of %s at %s: %s", e->name, where, strerror(-r));
	return r < 0;
}
