/* Watching protected paths from outside: see guard.h. An event only says when to look; what counts is the inode. */
#include "box/guard.h"

#include "base/error.h"
#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#define WALK (RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS)
#define CHANGES (IN_MOVED_FROM | IN_MOVED_TO | IN_DELETE | IN_MOVE_SELF | IN_DELETE_SELF | IN_ONLYDIR)

/* The protected path, or as much of it as exists: the placeholder stands for the rest. Watches the directories on the way. */
static int hold(struct guard *g, const struct plan_mount *m, const char *below, bool watch, struct stat *ret)
{
	auto_close int at = fcntl(m->fd, F_DUPFD_CLOEXEC, 3);

	while (at >= 0 && *below) {
		size_t n = strcspn(below, "/");
		auto_free char *name = strndup(below, n);
		char path[32];
		int next;

		if (!name)
			return -ENOMEM;
		snprintf(path, sizeof(path), "/proc/self/fd/%d", at);
		if (watch && inotify_add_watch(g->fd, path, CHANGES) < 0)
			return -errno;
		next = fd_openat2(at, name, O_PATH | O_NOFOLLOW, 0, WALK);
		if (next < 0)
			break;
		fd_close(&at);
		at = next;
		if (fstat(at, ret) < 0)
			return -errno;
		if (!S_ISDIR(ret->st_mode))
			break;
		below += n + (below[n] == '/');
	}
	return at < 0 ? -EBADF : 0;
}

int guard_begin(struct guard *g, const struct cordon_plan *plan, struct cordon_error *err)
{
	int r = 0;

	if (!plan->protect_count)
		return 0;
	g->fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	g->held = calloc(plan->protect_count, sizeof(*g->held));
	if (g->fd < 0 || !g->held)
		return cordon_fail(err, CORDON_SYSTEM, errno, "watch the protected paths");
	for (size_t i = 0; r == 0 && i < plan->protect_count; i++, g->count++)
		r = hold(g, &plan->mounts[plan->protects[i].mount], plan->protects[i].below, true, &g->held[i]);
	if (r == 0)
		return 0;
	cordon_fail(err, CORDON_SYSTEM, -r, "watch the protected paths");
	return fail_hint(err, "fs.inotify.max_user_watches and max_user_instances bound how many can be watched");
}

int guard_check(struct guard *g, const struct cordon_plan *plan, struct cordon_error *err)
{
	char events[4096];

	while (read(g->fd, events, sizeof(events)) > 0)
		;
	for (size_t i = 0; i < g->count; i++) {
		const struct plan_protect *p = &plan->protects[i];
		const struct plan_mount *m = &plan->mounts[p->mount];
		struct stat now = { 0 };

		if (hold(g, m, p->below, false, &now) == 0 && now.st_dev == g->held[i].st_dev &&
		    now.st_ino == g->held[i].st_ino)
			continue;
		cordon_fail(err, CORDON_DENIED, 0, "protected path '%s/%s' was replaced on the host while the box ran",
			    m->source, p->below);
		(void)fail_hint(
			err,
			"the box was ended, since its protection was gone; do not change protected paths during a run");
		return fail_step(err, "protect");
	}
	return 0;
}

void guard_done(struct guard *g)
{
	fd_close(&g->fd);
	free(g->held);
	*g = (struct guard)GUARD_INIT;
}
