/*
 * Values of secrets: see fetch.h. Only the front ever has them: it asks its environment, a file or a command, and hands the answer to
 * egress over their own socket. Keeper and init never see it. A value is one line: the newline at its end does not count. Runs in the
 * front, with the caller's rights.
 */
#include "box/fetch.h"

#include "base/clock.h"
#include "base/fd.h"
#include "os/process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { COMMAND_US = 30000000 };

static void answer(struct traffic *t, const char *name, const char *text, size_t len, const char *why)
{
	struct net_secret_value *v = calloc(1, sizeof(*v));

	if (!v)
		return; /* the request in the box times out */
	snprintf(v->name, sizeof(v->name), "%s", name);
	while (!why && len && (text[len - 1] == '\n' || text[len - 1] == '\r'))
		len--;
	if (!why && (!len || len > NET_SECRET_MAX))
		why = len ? "its value is too long" : "its value is empty";
	v->ok = !why;
	if (why)
		snprintf(v->text, sizeof(v->text), "%s", why);
	else
		memcpy(v->text, text, len);
	v->len = (uint32_t)(why ? strlen(v->text) : len);
	(void)send(t->fd, v, sizeof(*v), MSG_NOSIGNAL);
	explicit_bzero(v, sizeof(*v));
	free(v);
}

static void from_file(struct traffic *t, const struct net_secret *s, const char *path)
{
	auto_close int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	char text[NET_SECRET_MAX + 2];
	ssize_t n = fd < 0 ? -errno : fd_read_full(fd, text, sizeof(text));

	answer(t, s->name, text, n < 0 ? 0 : (size_t)n, n < 0 ? "its file cannot be read" : NULL);
	explicit_bzero(text, sizeof(text));
}

/* ---- commands ---- */

void fetch_cancel(struct fetch *f)
{
	int status;

	if (f->fd < 0)
		return;
	(void)kill(-f->pid, SIGKILL); /* a group of its own, which it may have left */
	(void)kill(f->pid, SIGKILL);
	while (waitpid(f->pid, &status, 0) < 0 && errno == EINTR)
		;
	fd_close(&f->fd);
	explicit_bzero(f->text, NET_SECRET_MAX + 1);
	free(f->text);
	f->text = NULL;
}

static int spawn(const char *line, int out, pid_t *ret_pid)
{
	char *const argv[] = { (char[]){ "sh" }, (char[]){ "-c" }, (char *)(uintptr_t)line, NULL };
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attr;
	sigset_t none, usual;
	int r;

	sigemptyset(&none);
	sigemptyset(&usual); /* where the caller ignores them a shell could not tell how its commands end */
	sigaddset(&usual, SIGCHLD);
	sigaddset(&usual, SIGPIPE);
	if (posix_spawn_file_actions_init(&actions) != 0 || posix_spawnattr_init(&attr) != 0)
		return -ENOMEM;
	(void)posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
	(void)posix_spawn_file_actions_adddup2(&actions, out, 1);
	(void)posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
	(void)posix_spawnattr_setsigmask(&attr, &none);
	(void)posix_spawnattr_setsigdefault(&attr, &usual);
	r = posix_spawn(ret_pid, "/bin/sh", &actions, &attr, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	posix_spawnattr_destroy(&attr);
	return -r;
}

static const char *start_command(struct traffic *t, const struct net_secret *s, const char *line)
{
	struct fetch *f = t->fetches;
	int pair[2];

	while (f < t->fetches + TRAFFIC_FETCHES && f->fd >= 0)
		f++;
	if (f == t->fetches + TRAFFIC_FETCHES)
		return "too many commands for secrets run already";
	f->text = malloc(NET_SECRET_MAX + 1);
	if (!f->text || pipe2(pair, O_CLOEXEC) < 0) {
		free(f->text);
		return "its command could not be started";
	}
	if (spawn(line, pair[1], &f->pid) < 0) {
		fd_close(&pair[0]);
		fd_close(&pair[1]);
		free(f->text);
		return "its command could not be started";
	}
	fd_close(&pair[1]);
	f->fd = pair[0];
	f->len = 0;
	f->said_all = false;
	f->secret = s;
	f->deadline_us = clock_us() + COMMAND_US;
	(void)fd_set_nonblock(f->fd, true);
	return NULL;
}

/* It has ended. What a command that failed has said is no value; nor is it where nobody can know. */
static void finish(struct traffic *t, struct fetch *f)
{
	const char *why = NULL;
	int status = 0;
	pid_t pid;

	do
		pid = waitpid(f->pid, &status, 0);
	while (pid < 0 && errno == EINTR);
	if (pid < 0)
		why = "how its command ended is not known: the caller ignores SIGCHLD, or has waited for it";
	else if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
		why = "its command failed";
	fd_close(&f->fd);
	answer(t, f->secret->name, f->text, f->len, why);
	explicit_bzero(f->text, NET_SECRET_MAX + 1);
	free(f->text);
	f->text = NULL;
}

/* The end of its output need not be the end of the command: from here on that is what is waited for, as long as the deadline lets it. */
static void await_end(struct traffic *t, struct fetch *f)
{
	fd_close(&f->fd);
	f->said_all = true;
	f->fd = process_open(f->pid);
	if (f->fd < 0)
		finish(t, f);
}

void fetch_serve(struct traffic *t, struct fetch *f, short events)
{
	ssize_t n;

	if (clock_us() > f->deadline_us) {
		answer(t, f->secret->name, NULL, 0, "its command took longer than 30 s");
		fetch_cancel(f);
		return;
	}
	if (!events)
		return;
	if (f->said_all) {
		finish(t, f);
		return;
	}
	n = read(f->fd, f->text + f->len, NET_SECRET_MAX + 1 - f->len);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n > 0)
		f->len += (size_t)n;
	if (f->len > NET_SECRET_MAX) {
		answer(t, f->secret->name, NULL, 0, "its value is too long");
		fetch_cancel(f);
	} else if (n <= 0) {
		await_end(t, f);
	}
}

void fetch_start(struct traffic *t, const char *name)
{
	const struct net_secret *s = net_config_secret(&t->plan->network.config, name);
	const char *why = NULL, *value;

	if (!s) {
		answer(t, name, NULL, 0, "no such secret");
	} else if (str_starts(s->from, "env:")) {
		value = getenv(s->from + 4);
		answer(t, name, value, value ? strlen(value) : 0, value ? NULL : "its variable is not set");
	} else if (str_starts(s->from, "file:")) {
		from_file(t, s, s->from + 5);
	} else {
		why = start_command(t, s, s->from + strlen("command:"));
		if (why)
			answer(t, name, NULL, 0, why);
	}
}
