/* What the keeper makes before init exists: see prepare.h. */
#include "box/prepare.h"

#include "base/error.h"
#include "base/fd.h"
#include "box/protect.h"
#include "box/scratch.h"
#include "os/mount.h"
#include "os/scope.h"
#include "os/userns.h"
#include "plan/engine.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* As root each box has two host ids of its own, from a range that no account uses: the keeper's pid makes them unique. */
enum { UID_BASE = 0x60000000 };

/* No scope after all: the limits are watched, and the result says so. */
static void go_without(struct cordon_plan *plan, int r)
{
	struct cgroup_host *host = &plan->cgroup;

	if (r < 0) {
		snprintf(host->why, sizeof(host->why), "systemd's user manager gives no scope: %s",
			 strerrordesc_np(-r));
		snprintf(host->remedy, sizeof(host->remedy), "%s", CGROUP_SCOPE_REMEDY);
	}
	host->mode = CGROUP_NONE;
	host->can = 0;
	plan->layers &= ~LAYER_BIT(CGROUP);
}

int prepare_scope(struct cordon_plan *plan, const char *owner, struct cordon_error *err)
{
	int r;

	if (!plan->cgroup.needs_scope)
		return 0;
	r = scope_request(owner, getpid(), 2000);
	if (r == 0)
		cgroup_probe(&plan->cgroup);
	if (r < 0 || plan->cgroup.mode == CGROUP_NONE || plan->cgroup.needs_scope)
		go_without(plan, r);
	plan->limits_by_watch = (plan->cgroup.can & PLAN_CGROUP_NEEDS) != PLAN_CGROUP_NEEDS;
	if (plan->limits_by_watch && plan->required & LAYER_BIT(CGROUP)) {
		cordon_fail(err, CORDON_UNAVAILABLE, 0, "required layer 'cgroup' cannot be had: %s", plan->cgroup.why);
		(void)fail_hint(err, "%s", plan->cgroup.remedy);
		return fail_step(err, "cgroup");
	}
	return plan_settle_rates(plan, err);
}

static int fail_idmap(const struct plan_mount *m, int r, struct cordon_error *err)
{
	cordon_fail(err, CORDON_UNAVAILABLE, -r, "'%s' cannot be given to the box's user (idmapped mount)", m->source);
	(void)fail_hint(err, "this file system or kernel has no idmapped mounts; run cordon as the user who owns '%s'",
			m->source);
	return fail_step(err, "idmap");
}

/*
 * A detached copy in which `owner` is the box's user. Returns the tree, or -errno. `server`: whoever makes files there for the payload (a
 * kernel's file server) is the container's root, which has its own id there until it has given the file away.
 */
static int idmapped(int source, struct id_range uid, struct id_range gid, bool server)
{
	const struct id_range uids[] = { uid, { uid.outside + 1, uid.outside + 1, 1 } },
			      gids[] = { gid, { gid.outside + 1, gid.outside + 1, 1 } };
	auto_close int tree = mount_clone(source, "", true), userns = -1;
	int r;

	if (tree < 0)
		return tree;
	userns = userns_for_idmap(uids, gids, server ? 2 : 1);
	r = userns < 0 ? userns : mount_idmap(tree, userns, true);
	return r < 0 ? r : STEAL_FD(tree);
}

static int prepare_mounts(const struct cordon_plan *plan, struct prepared *p, struct cordon_error *err)
{
	p->mounts = calloc(plan->mount_count, sizeof(*p->mounts));
	if (!p->mounts)
		return fail_memory(err);
	for (size_t i = 0; i < plan->mount_count; i++) {
		const struct plan_mount *m = &plan->mounts[i];

		p->mounts[p->mount_count++] =
			idmapped(m->fd, (struct id_range){ m->owner_uid, p->uid, 1 },
				 (struct id_range){ m->owner_gid, p->gid, 1 }, plan->engine->own_kernel && m->writable);
		if (p->mounts[i] < 0 && m->writable)
			return fail_idmap(m, p->mounts[i], err);
		if (p->mounts[i] < 0)
			p->mounts[i] = -1; /* readable as far as everyone may read it */
	}
	return 0;
}

/* What is copied in is read by init, whose id is the one after the payload's. */
static int prepare_ins(const struct cordon_plan *plan, struct prepared *p, struct cordon_error *err)
{
	p->ins = calloc(plan->in_count, sizeof(*p->ins));
	if (!p->ins)
		return fail_memory(err);
	for (size_t i = 0; i < plan->in_count; i++) {
		struct stat st;

		if (fstat(plan->ins[i].fd, &st) < 0)
			return cordon_fail(err, CORDON_SYSTEM, errno, "stat '%s'", plan->ins[i].host);
		p->ins[p->in_count++] = idmapped(plan->ins[i].fd, (struct id_range){ st.st_uid, p->uid + 1, 1 },
						 (struct id_range){ st.st_gid, p->gid + 1, 1 }, false);
		if (p->ins[i] < 0)
			p->ins[i] = -1;
	}
	return 0;
}

/*
 * An image lies in a store that only root may enter, and its files are root's. In the box they are the payload's own, as they are in an ordinary
 * user's box, so that it can read what the image keeps from others; the tree is read-only. Where the file system has no idmapped mounts, the
 * payload reads what everybody may.
 */
static int prepare_image(const struct cordon_plan *plan, struct prepared *p, struct cordon_error *err)
{
	int r;

	p->image = idmapped(plan->root_fd, (struct id_range){ 0, p->uid, 1 }, (struct id_range){ 0, p->gid, 1 }, false);
	if (p->image < 0)
		p->image = mount_clone(plan->root_fd, "", false);
	r = p->image < 0 ? p->image
			 : mount_restrict(p->image, MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV, 0, false);
	if (r == 0)
		return 0;
	cordon_fail(err, CORDON_SYSTEM, -r, "take the root of image '%s'", plan->image.name);
	return fail_step(err, "image");
}

bool prepare_lasts(const struct cordon_plan *plan)
{
	return plan->protect_count || plan->storage != PLAN_STORAGE_MEMORY || plan->level == LEVEL_PROCESS;
}

int prepare_box(struct cordon_plan *plan, const char *owner, struct prepared *ret, struct cordon_error *err)
{
	struct prepared *p = ret;
	bool own_ids = plan->as_root;

	p->uid = own_ids ? UID_BASE + (uid_t)getpid() * 2 : plan->caller_uid;
	p->gid = own_ids ? UID_BASE + (gid_t)getpid() * 2 : plan->caller_gid;
	if (plan->process_uid) {
		p->uid = plan->process_uid;
		p->gid = plan->process_gid;
	}
	if (plan->protect_count && (placeholder_make(plan, owner, err) < 0 || guard_begin(&p->guard, plan, err) < 0))
		return fail_step(err, "protect");
	if (scratch_make(plan, owner, p, err) < 0)
		return fail_step(err, "scratch");
	if (!plan->as_root || plan->level != LEVEL_CONTAINER)
		return 0;
	if (plan->image.name && prepare_image(plan, p, err) < 0)
		return -1;
	if (plan->mount_count && prepare_mounts(plan, p, err) < 0)
		return -1;
	return plan->in_count ? prepare_ins(plan, p, err) : 0;
}

void prepare_done(struct prepared *p)
{
	for (size_t i = 0; i < p->mount_count; i++)
		fd_close(&p->mounts[i]);
	for (size_t i = 0; i < p->in_count; i++)
		fd_close(&p->ins[i]);
	free(p->mounts);
	free(p->ins);
	free(p->work);
	free(p->scratch_path);
	fd_close(&p->scratch);
	fd_close(&p->image);
	guard_done(&p->guard);
	*p = (struct prepared)PREPARED_INIT;
}
