/*
 * Driving a container of Docker or Podman over the Engine API: create, attach, start, wait, remove.
 *
 * The container is named and labelled by its owner, so that whoever comes later can tell an orphan and remove it. A daemon that goes in the
 * middle is an error; the container's first process is killed by pidfd where it is on this host and ours to kill, and the
 * removal is tried again for some seconds, for daemons that restart.
 */
#include "driver/docker.h"

#include "base/clock.h"
#include "base/fd.h"
#include "base/owner.h"
#include "base/str.h"
#include "driver/docker_group.h"
#include "driver/oci.h"
#include "os/process.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum {
	REMOVE_TRIES = 20,
	REMOVE_MS = 500,
	PAUSE_TRIES = 4,
	PAUSE_NAP_US = 100000,
	SWEEP_MS = 20000,         /* without an answer to it there may still be one to what matters */
	KILL_MS = 2000,           /* for an answer; who was killed by us needs none */
	SILENT_MS = 3000,         /* for the removal, where there was none */
	PODMAN_PROCESSES = 32768, /* what its service leaves itself */
};

struct docker {
	struct docker_relay relay;
	struct docker_api api;
	struct docker_group group;
	struct oci_dir dir; /* Podman: of the filter */
	char id[DOCKER_ID_MAX], place[DOCKER_PLACE_MAX];
	int init, sweeper; /* pidfds, or -1 */
	bool was_created, keeps_id, is_silent;
};

/* ---- removing ---- */

int docker_remove(struct docker_api *api, const char *id)
{
	struct docker_answer answer;
	char path[160];
	int r;

	snprintf(path, sizeof(path), "/containers/%s?force=1&v=1", id);
	r = docker_ask(api, "DELETE", path, NULL, &answer, NULL);
	if (r == 0)
		r = answer.status / 100 == 2 || answer.status == 404 ? 0 : -1;
	json_decref(answer.json);
	return r;
}

/* Owner names are good in one pid namespace of one machine, and a daemon may serve several: an orphan of elsewhere is not ours to tell. */
static void find_place(char buf[DOCKER_PLACE_MAX])
{
	char machine[40] = "";
	struct stat pids = { 0 };

	if (fd_read_file_at(AT_FDCWD, "/etc/machine-id", machine, sizeof(machine)) < 32)
		(void)fd_read_file_at(AT_FDCWD, "/proc/sys/kernel/random/boot_id", machine, sizeof(machine));
	machine[strspn(machine, "0123456789abcdef-")] = '\0';
	(void)stat("/proc/self/ns/pid", &pids);
	snprintf(buf, DOCKER_PLACE_MAX, "%s-%lu", machine, (unsigned long)pids.st_ino);
}

void docker_sweep(struct docker_api *api)
{
	char place[DOCKER_PLACE_MAX];
	auto_free char *labels = NULL;
	char *filter;
	char path[512], id[DOCKER_ID_MAX], owner[OWNER_NAME_MAX];
	json_t *list = NULL, *entry;
	size_t i;

	find_place(place);
	labels = str_printf("{\"label\":[\"" ENGINE_LABEL "\",\"" ENGINE_PLACE_LABEL "=%s\"]}", place);
	filter = labels ? curl_easy_escape(api->curl, labels, 0) : NULL;
	if (!filter)
		return;
	snprintf(path, sizeof(path), "/containers/json?all=1&filters=%s", filter);
	curl_free(filter);
	if (docker_do(api, "GET", path, NULL, &list, "list its containers", NULL) < 0)
		return;
	json_array_foreach(list, i, entry)
	{
		if (docker_read_listed(entry, place, id, owner, sizeof(owner)) && owner_is_orphan(owner) &&
		    docker_remove(api, id) == 0)
			docker_group_remove(NULL, id);
	}
	json_decref(list);
}

/*
 * Without the daemon's help. It is the pid that the daemon told, of this machine or, behind a tunnel, of another: only who runs the very file
 * that we gave, in the very place, is killed, or who is in a group of the container's name where the daemon is root's and the caller may
 * not see what runs: it has his own id. True: it has been.
 */
static bool kill_init(const struct docker *k)
{
	const struct driver *d = k->api.d;
	const int pid = d->created.init_pid;
	enum docker_whose whose = k->init >= 0 ? docker_whose(pid, d->created.init_path, d->spec.init) : DOCKER_GONE;
	int r = -EPERM;

	if (whose == DOCKER_OURS || (whose == DOCKER_UNSEEN && docker_group_names(pid, k->id)))
		r = process_signal(k->init, SIGKILL);
	else if (k->init >= 0 && whose == DOCKER_GONE)
		r = -ESRCH;
	return r == 0 || r == -ESRCH;
}

static void undo(struct docker *k)
{
	const struct timespec pause = { .tv_nsec = REMOVE_MS * 1000000L };

	docker_relay_done(&k->relay);
	k->api.d->is_gone = true; /* nothing that the keeper says stops the removal */
	/* A request that lies with a daemon that stands still is done once it goes on. */
	k->api.until_us = clock_us() + (k->is_silent ? SILENT_MS : ENGINE_REMOVE_MS) * 1000ULL;
	for (int i = 0; k->was_created && i < REMOVE_TRIES && clock_us() < k->api.until_us; i++) {
		/* By name: what was being created when we were told to stop has no id yet. */
		(void)kill_init(k); /* first: the daemon may take its time */
		if (docker_remove(&k->api, k->api.d->spec.owner) == 0) {
			docker_group_remove(&k->group, k->id);
			break;
		}
		nanosleep(&pause, NULL);
	}
	fd_close(&k->init);
	oci_dir_swept(&k->sweeper);
	docker_group_close(&k->group);
	oci_dir_remove(&k->dir);
	docker_close(&k->api);
}

/* ---- creating ---- */

static int try_create(struct docker *k, const json_t *body, bool *ret_missing, struct cordon_error *err)
{
	struct driver *d = k->api.d;
	struct docker_answer answer;
	char path[160];
	unsigned lacks = 0;
	int r = 0;

	snprintf(path, sizeof(path), "/containers/create?name=%s", d->spec.owner);
	k->was_created = true; /* or perhaps not: to be removed in any case */
	if (docker_ask(&k->api, "POST", path, body, &answer, err) < 0)
		return -1;
	*ret_missing = answer.status == 404;
	if (answer.status != 201)
		r = docker_fail(&k->api, &answer, "create the container", err);
	else if (!docker_read_created(answer.json, k->id, &lacks))
		r = cordon_fail(err, CORDON_SYSTEM, 0, "%s created a container and did not say which", d->engine);
	d->created.lacks |= lacks;
	json_decref(answer.json);
	return r;
}

/* Before 1.44 a read-only mount is so only at its top. */
static bool is_nonrecursive(const struct docker_api *api)
{
	const char *minor = strchr(api->version.api, '.');

	return strcmp(api->d->engine, "docker") == 0 && minor && strtoul(minor + 1, NULL, 10) < 44;
}

static int write_filter(struct docker *k, char *path, size_t size, struct cordon_error *err)
{
	struct driver *d = k->api.d;

	k->sweeper = oci_dir_sweep(d);
	if (oci_dir_make(&k->dir, d, err) < 0 || oci_dir_write(&k->dir, d->spec.seccomp, err) < 0)
		return -1;
	snprintf(path, size, "%s/config.json", k->dir.path);
	return 0;
}

static uint64_t hard_limit(int resource)
{
	struct rlimit limit;

	return getrlimit(resource, &limit) == 0 && limit.rlim_max != RLIM_INFINITY ? (uint64_t)limit.rlim_max : 0;
}

static void suit_podman(struct docker *k, struct docker_ways *ways)
{
	ways->is_plain_tmpfs = true;
	ways->open_files = hard_limit(RLIMIT_NOFILE);
	ways->processes_of_user = hard_limit(RLIMIT_NPROC);
	if (!ways->processes_of_user || ways->processes_of_user > PODMAN_PROCESSES)
		ways->processes_of_user = PODMAN_PROCESSES;
	k->api.d->created.lacks |= ENGINE_LACKS_INODES;
}

/*
 * An image's links lead engines: one where init is to lie, through /proc say, and it is laid in one place and executed from another, where
 * the image has a program of its own. No image has a link at a name that nobody knew.
 */
static int find_inside(char *buf, size_t size, struct cordon_error *err)
{
	uint64_t random[2];

	if (getrandom(random, sizeof(random), 0) != (ssize_t)sizeof(random))
		return cordon_fail(err, CORDON_SYSTEM, errno, "find a name for init's place");
	snprintf(buf, size, ENGINE_INIT_DIR "-%016" PRIx64 "%016" PRIx64, random[0], random[1]);
	return 0;
}

static int create(struct docker *k, struct cordon_error *err)
{
	bool is_podman = strcmp(k->api.d->engine, "podman") == 0;
	struct docker_ways ways = { .is_nonrecursive = is_nonrecursive(&k->api),
				    .keeps_flags = !is_podman,
				    .place = k->place };
	char path[512], inside[48];
	const struct spec *s = &k->api.d->spec;
	bool missing = false;
	json_t *body;
	int r;

	if (!s->image)
		return cordon_fail(err, CORDON_INVALID, 0, "%s needs an image", k->api.d->engine);
	if (find_inside(inside, sizeof(inside), err) < 0)
		return -1;
	ways.inside = inside;
	snprintf(k->api.d->created.init_path, sizeof(k->api.d->created.init_path), "%s/init", inside);
	if (is_podman)
		suit_podman(k, &ways);
	if (k->api.is_rootless && geteuid() == 0) {
		cordon_fail(err, CORDON_UNAVAILABLE, 0, "the daemon of %s at %s is another user's", k->api.d->engine,
			    k->api.socket);
		return fail_hint(err, "run cordon as that user, or use root's own daemon");
	}
	/* A rootless daemon's network can be entered by who owns it. Podman would give the private directories to root. */
	ways.links = s->link && k->api.is_local && !is_podman && !k->api.is_rootless && geteuid() != 0;
	k->api.d->created.is_linked = ways.links;
	ways.keeps_id = k->keeps_id = is_podman && k->api.is_rootless;
	if (s->seccomp && is_podman) {
		if (write_filter(k, path, sizeof(path), err) < 0)
			return -1;
		ways.seccomp_path = path;
	}
	body = docker_create_body(s, &ways);
	if (!body)
		return fail_memory(err);
	r = try_create(k, body, &missing, err);
	if (r < 0 && missing && s->pull) {
		r = docker_pull(&k->api, s->image, err);
		k->api.until_us = clock_us() + ENGINE_BUILD_MS * 1000ULL;
		r = r < 0 ? -1 : try_create(k, body, &missing, err);
	} else if (r < 0 && missing)
		fail_hint(err, "load the image, or pull it with %s pull", k->api.d->engine);
	json_decref(body);
	return r;
}

/* ---- starting ---- */

/* "0 0 4294967295": ids are the host's. */
static bool has_user_namespace(int pid)
{
	char path[64], text[128];
	unsigned inside, outside, count;

	snprintf(path, sizeof(path), "/proc/%d/uid_map", pid);
	if (fd_read_file_at(AT_FDCWD, path, text, sizeof(text)) <= 0 ||
	    sscanf(text, "%u %u %u", &inside, &outside, &count) != 3)
		return false;
	return inside != outside || count != 4294967295u;
}

/* Podman makes none where groups are v1's, whatever it was told. Who may not look takes it for that. */
static bool has_cgroup_namespace(const struct docker *k, int pid)
{
	char path[64], ours[64] = "", theirs[64] = "";

	snprintf(path, sizeof(path), "/proc/%d/ns/cgroup", pid);
	if (readlink("/proc/self/ns/cgroup", ours, sizeof(ours) - 1) <= 0 ||
	    readlink(path, theirs, sizeof(theirs) - 1) <= 0)
		return strcmp(k->api.d->engine, "podman") != 0 || k->group.host.mode == CGROUP_V2;
	return strcmp(ours, theirs) != 0;
}

static int ask_state(struct docker *k, struct docker_state *ret, struct cordon_error *err)
{
	json_t *json = NULL;
	char path[160];
	bool ok;

	snprintf(path, sizeof(path), "/containers/%s/json", k->id);
	if (docker_do(&k->api, "GET", path, NULL, &json, "look at the container", err) < 0)
		return -1;
	ok = docker_read_state(json, ret);
	json_decref(json);
	return ok ? 0 : cordon_fail(err, CORDON_SYSTEM, 0, "%s does not tell the container's state", k->api.d->engine);
}

/* Who has limits and is not to be found here has none that anybody could look up. */
static int fail_unfound(struct docker *k, struct cordon_error *err)
{
	struct docker_state state = { .is_running = true };

	if (ask_state(k, &state, NULL) == 0 && !state.is_running) {
		cordon_fail(err, CORDON_SYSTEM, 0, "the container of %s ended as soon as it had begun",
			    k->api.d->engine);
		return fail_hint(err, "limits.memory may be too small for it to start in; the log of %s knows more",
				 k->api.d->engine);
	}
	cordon_fail(err, CORDON_UNAVAILABLE, 0,
		    "the daemon of %s at %s names no process of this machine: nobody can "
		    "look whether the limits hold",
		    k->api.d->engine, k->api.socket[0] ? k->api.socket : k->api.base);
	return fail_hint(err, "a daemon on another machine holds no box: use one here, that sees the same processes");
}

/* init, by the number that the daemon tells, where that is no other's. */
static int find_init(struct docker *k, int pid, struct cordon_error *err)
{
	struct engine_created *c = &k->api.d->created;
	const struct spec_limits *l = &k->api.d->spec.limits;
	enum docker_whose whose = DOCKER_GONE;

	if (k->api.is_local && pid > 0) {
		k->init = (int)syscall(SYS_pidfd_open, pid, 0);
		whose = docker_await(pid, c->init_path, k->api.d->spec.init);
	}
	if (whose == DOCKER_OURS || whose == DOCKER_UNSEEN) {
		docker_group_open(&k->group, pid);
		c->init_pid = pid;
		c->is_local = 1;
		if (!docker_group_can_swap(&k->group)) /* which the daemon warns of, too */
			c->lacks &= ~(unsigned)ENGINE_LACKS_SWAP;
		c->lacks |=
			docker_group_lacks(&k->group, l) | (has_cgroup_namespace(k, pid) ? 0u : ENGINE_LACKS_CGROUPNS);
		return 0;
	}
	fd_close(&k->init);
	return l->memory_bytes || l->cpu_milli || l->processes ? fail_unfound(k, err) : 0;
}

static int start(struct docker *k, struct cordon_error *err)
{
	struct engine_created *c = &k->api.d->created;
	const struct spec_limits *l = &k->api.d->spec.limits;
	const uint64_t until_us = clock_us() + ENGINE_BUILD_MS * 1000ULL;
	struct docker_state state = { 0 };
	char path[160];

	if (docker_open(&k->api, k->api.d, err) < 0)
		return -1;
	find_place(k->place);
	k->api.until_us = clock_us() + SWEEP_MS * 1000ULL;
	docker_sweep(&k->api);
	k->api.until_us = until_us;
	if (create(k, err) < 0)
		return -1;
	k->relay = (struct docker_relay){ .api = &k->api, .id = k->id };
	snprintf(path, sizeof(path), "/containers/%s/start", k->id);
	if (docker_attach(&k->relay, err) < 0 ||
	    docker_do(&k->api, "POST", path, NULL, NULL, "start the container", err) < 0 ||
	    ask_state(k, &state, err) < 0 || find_init(k, state.pid, err) < 0)
		return -1;
	k->api.until_us = 0;
	if (!has_user_namespace(c->init_pid))
		c->lacks |= ENGINE_LACKS_USERNS;
	else if (!k->keeps_id)
		c->lacks |= ENGINE_LACKS_OWNER;
	if (l->read_bps || l->write_bps)
		c->lacks |= ENGINE_LACKS_DISK_RATE;
	snprintf(c->id, sizeof(c->id), "%s", k->id);
	snprintf(c->version, sizeof(c->version), "%s %s (api %s)", k->api.d->engine, k->api.version.version,
		 k->api.version.api);
	return 0;
}

/* ---- running ---- */

static void docker_stats(struct driver *d)
{
	struct docker *k = d->state;
	struct engine_exited *e = &d->exited;
	struct cgroup_usage usage;
	struct docker_stats stats;
	json_t *json = NULL;
	char path[160];

	if (docker_group_read(&k->group, &usage)) {
		e->memory_peak_bytes = usage.memory_peak_bytes;
		e->cpu_us = usage.cpu_us;
		e->oom = usage.oom_kills > INT32_MAX ? INT32_MAX : (int32_t)usage.oom_kills;
		e->process_refusals = usage.process_refusals;
		cgroup_read_now(&k->group.cgroup, &e->memory_bytes, &e->processes);
		return;
	}
	snprintf(path, sizeof(path), "/containers/%s/stats?stream=0&one-shot=1", k->id);
	if (docker_do(&k->api, "GET", path, NULL, &json, "tell numbers", NULL) == 0 &&
	    docker_read_stats(json, &stats)) {
		e->memory_bytes = stats.memory_bytes;
		e->memory_peak_bytes = stats.memory_peak_bytes;
		e->cpu_us = stats.cpu_us;
		e->processes = stats.processes;
	}
	json_decref(json);
}

static int post(struct docker *k, const char *verb, struct cordon_error *err)
{
	char path[160];

	snprintf(path, sizeof(path), "/containers/%s/%s", k->id, verb);
	return docker_do(&k->api, "POST", path, NULL, NULL, verb, err);
}

/* On a busy host a runtime gives up on who is just forking, and would not the next moment. */
static int docker_pause(struct driver *d, struct cordon_error *err)
{
	for (int tries = 1;; tries++) {
		struct cordon_error why = { 0 };

		if (post(d->state, "pause", &why) == 0)
			return 0;
		if (tries == PAUSE_TRIES || !strstr(why.message, "unable to freeze")) {
			*err = why;
			return -1;
		}
		usleep(PAUSE_NAP_US);
	}
}

static int docker_resume(struct driver *d, struct cordon_error *err)
{
	return post(d->state, "unpause", err);
}

/* A box that could not be ended has not ended, whatever it was to end for. */
static void lose(struct docker *k, bool is_dead, const struct cordon_error *why)
{
	k->relay.lost = *why;
	if (is_dead)
		return;
	cordon_fail(&k->relay.lost, CORDON_SYSTEM, 0,
		    "%.256s: its box could not be ended, and the payload may still run", why->message);
	(void)fail_hint(
		&k->relay.lost,
		"restart the daemon, which ends the container %.12s; what is left of it is removed then, or by the "
		"next start",
		k->id);
	(void)fail_step(&k->relay.lost, "init");
}

static void docker_kill(struct driver *d)
{
	struct docker *k = d->state;
	struct docker_answer answer;
	struct cordon_error why = { 0 };
	char path[160];
	const bool is_dead = kill_init(k);

	snprintf(path, sizeof(path), "/containers/%s/kill", k->id);
	k->api.until_us = clock_us() + KILL_MS * 1000ULL;
	if (docker_ask(&k->api, "POST", path, NULL, &answer, &why) < 0) {
		k->is_silent = clock_us() >= k->api.until_us;
		lose(k, is_dead, &why);
	}
	k->api.until_us = 0;
	json_decref(answer.json);
}

/* Podman tells of an end only when a second process of it has cleaned up; removing does not wait for that one. */
static void docker_leave(struct driver *d)
{
	struct docker *k = d->state;

	k->relay.is_left = strcmp(d->engine, "podman") == 0 && k->group.is_open;
}

static int docker_carry(struct driver *d, struct cordon_error *err)
{
	struct docker *k = d->state;
	struct engine_exited *e = &d->exited;
	struct docker_state state = { 0 };

	if (docker_relay(&k->relay, err) < 0)
		return -1;
	if (k->relay.is_left)
		return 0;
	e->has_status = k->relay.has_exit_code;
	/* As a shell tells it: 128 and the signal's number. */
	e->status = k->relay.exit_code > 128 ? k->relay.exit_code - 128 : k->relay.exit_code << 8;
	if (ask_state(k, &state, NULL) == 0 && state.is_oom)
		e->oom = 1;
	return 0;
}

static int docker_create(struct driver *d, struct cordon_error *err)
{
	struct docker *k = d->state = calloc(1, sizeof(*k));

	if (!k)
		return fail_memory(err);
	*k = (struct docker){ .api.d = d, .group.cgroup = CGROUP_INIT, .init = -1, .sweeper = -1 };
	return start(k, err);
}

static void docker_destroy(struct driver *d, bool is_clean)
{
	bool was_gone = d->is_gone;

	(void)is_clean;
	if (!d->state)
		return;
	undo(d->state);
	d->is_gone = was_gone;
	free(d->state);
	d->state = NULL;
}

const struct driver_ops docker_ops = {
	.create = docker_create,
	.carry = docker_carry,
	.destroy = docker_destroy,
	.stats = docker_stats,
	.pause = docker_pause,
	.resume = docker_resume,
	.kill = docker_kill,
	.leave = docker_leave,
	.probe = docker_probe,
	.remove = docker_remove_of,
	.sweep = docker_sweep_now,
};
