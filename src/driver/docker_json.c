/* What is said to a daemon of Docker's kind and what it answers: see docker.h. Pure. */
#include "driver/docker.h"

#include "base/str.h"
#include "stream/link.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* ---- create ---- */

static int add_tmpfs(json_t *to, const struct spec *s, bool is_plain)
{
	struct spec_tmpfs t;
	json_t *entry;
	size_t i;
	int r = 0;

	json_array_foreach(s->tmpfs, i, entry)
	{
		char text[256], rest[96] = "";

		if (!spec_tmpfs(entry, &t))
			return -1;
		if (!is_plain && t.inodes)
			snprintf(rest, sizeof(rest), ",uid=%u,gid=%u,nr_inodes=%" PRIu64, s->uid, s->gid, t.inodes);
		else if (is_plain) /* the user's; and not filled from the image's directory */
			snprintf(rest, sizeof(rest), ",notmpcopyup,U");
		else
			snprintf(rest, sizeof(rest), ",uid=%u,gid=%u", s->uid, s->gid);
		snprintf(text, sizeof(text), "rw,nosuid,nodev,%s,size=%" PRIu64 ",mode=%o%s",
			 t.exec ? "exec" : "noexec", t.size_bytes, t.mode, rest);
		r |= json_object_set_new(to, t.dest, json_string(text));
	}
	return r;
}

static bool has_mount(const json_t *mounts, const char *dest)
{
	json_t *entry;
	size_t i;

	json_array_foreach(mounts, i, entry)
	{
		const char *at = json_string_value(json_object_get(entry, "dest"));

		if (at && strcmp(at, dest) == 0)
			return true;
	}
	return false;
}

/* Podman lays writable memory over these in every read-only root; nothing says not to, so something else lies there first. */
static int cover_podman(json_t *to, const json_t *mounts)
{
	static const char *const places[] = { "/run", "/tmp", "/var/tmp" };
	int r = 0;

	for (size_t i = 0; i < ARRAY_LEN(places); i++)
		if (!json_object_get(to, places[i]) && !has_mount(mounts, places[i]))
			r |= json_object_set_new(to, places[i],
						 json_string("ro,nosuid,nodev,noexec,size=4096,mode=555,notmpcopyup"));
	return r;
}

/* What is read-only already is not asked to become so: Docker would drop its nosuid and nodev on the way. Init looks whether it is. */
static int add_mount(json_t *to, const struct spec_mount *m, const struct docker_ways *ways)
{
	return json_array_append_new(to, json_pack("{s:s, s:s, s:s, s:b, s:{s:s, s:b}}", "Type", "bind", "Source",
						   m->source, "Target", m->dest, "ReadOnly",
						   !m->writable && !(m->is_held && ways->keeps_flags), "BindOptions",
						   "Propagation", "rprivate", "NonRecursive",
						   !m->writable && !m->is_held && ways->is_nonrecursive));
}

/* What lies beside init, or itself. */
static char *inside(const struct docker_ways *ways, const char *name)
{
	return str_printf("%s/%s", ways->inside ? ways->inside : ENGINE_INIT_DIR, name);
}

static int add_mounts(json_t *to, const struct spec *s, const struct docker_ways *ways)
{
	auto_free char *dest = inside(ways, "init");
	const struct spec_mount init = { .source = s->init, .dest = dest };
	const json_t *const binds[] = { s->mounts, s->files };
	struct spec_mount m;
	json_t *entry;
	size_t i;
	int r = 0;

	for (size_t n = 0; n < ARRAY_LEN(binds); n++)
		json_array_foreach(binds[n], i, entry)
		{
			r |= spec_mount(entry, &m) ? add_mount(to, &m, ways) : -1;
		}
	return dest ? r | add_mount(to, &init, ways) : -1;
}

static int add_ulimit(json_t *to, const char *name, uint64_t value)
{
	return json_array_append_new(to, json_pack("{s:s, s:I, s:I}", "Name", name, "Soft", (json_int_t)value, "Hard",
						   (json_int_t)value));
}

static int add_limits(json_t *host, const struct spec_limits *l, const struct docker_ways *ways)
{
	json_t *ulimits = json_array();
	int r = add_ulimit(ulimits, "core", l->core_bytes);

	if (l->open_files || ways->open_files)
		r |= add_ulimit(ulimits, "nofile", l->open_files ? l->open_files : ways->open_files);
	if (ways->processes_of_user)
		r |= add_ulimit(ulimits, "nproc", ways->processes_of_user);
	if (l->file_size_bytes)
		r |= add_ulimit(ulimits, "fsize", l->file_size_bytes);
	r |= json_object_set_new(host, "Ulimits", ulimits);
	if (l->memory_bytes) /* the second counts swap, too: the same number means none */
		r |= json_object_set_new(host, "Memory", json_integer((json_int_t)l->memory_bytes)) |
		     json_object_set_new(host, "MemorySwap", json_integer((json_int_t)l->memory_bytes));
	if (l->cpu_milli)
		r |= json_object_set_new(host, "NanoCpus", json_integer((json_int_t)l->cpu_milli * 1000000));
	if (l->processes)
		r |= json_object_set_new(host, "PidsLimit", json_integer((json_int_t)l->processes));
	return r;
}

/* What tells about the host, as in a native box. Podman has a list of its own and takes more. */
static int add_masks(json_t *host, json_t *options, bool is_podman)
{
	static const char *const more = "mask=/proc/asound:/proc/interrupts:/proc/key-users";

	if (is_podman)
		return json_array_append_new(options, json_string(more));
	return json_object_set_new(host, "MaskedPaths",
				   json_pack("[s, s, s, s, s, s, s, s, s, s, s]", "/proc/acpi", "/proc/asound",
					     "/proc/interrupts", "/proc/kcore", "/proc/keys", "/proc/key-users",
					     "/proc/latency_stats", "/proc/sched_debug", "/proc/scsi",
					     "/proc/timer_list", "/sys/firmware")) |
	       json_object_set_new(host, "ReadonlyPaths",
				   json_pack("[s, s, s, s, s]", "/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys",
					     "/proc/sysrq-trigger"));
}

static int add_security(json_t *host, const struct spec *s, const struct docker_ways *ways)
{
	json_t *options = json_pack("[s]", "no-new-privileges");
	auto_free char *profile = s->seccomp ? json_dumps(s->seccomp, JSON_COMPACT) : NULL;
	auto_free char *text =
		profile ? str_printf("seccomp=%s", ways->seccomp_path ? ways->seccomp_path : profile) : NULL;
	int r = add_masks(host, options, ways->is_plain_tmpfs);

	/* Without one of ours the daemon's own stands. */
	if (s->seccomp)
		r |= text ? json_array_append_new(options, json_string(text)) : -1;
	return r | json_object_set_new(host, "SecurityOpt", options);
}

/* init starts as root, with these rights and no others, and gives them up before there is a payload. Ports are the payload's own, all of them. */
static int add_link(json_t *host, json_t *mounts, const struct spec *s, const struct docker_ways *ways)
{
	auto_free char *dest = inside(ways, ENGINE_LINK_NAME);
	const struct spec_mount socket = { .source = s->link, .dest = dest };
	const char *const rights[] = { ENGINE_LINK_RIGHTS };
	json_t *list = json_array();
	int r = dest ? add_mount(mounts, &socket, ways) : -1;

	for (size_t i = 0; i < ARRAY_LEN(rights); i++)
		r |= json_array_append_new(list, json_string(rights[i]));
	return r | json_object_set_new(host, "CapAdd", list) |
	       json_object_set_new(host, "Sysctls", json_pack("{s:s}", "net.ipv4.ip_unprivileged_port_start", "0"));
}

static json_t *host_config(const struct spec *s, const struct docker_ways *ways)
{
	json_t *tmpfs = json_object(), *mounts = json_array(), *host;
	int r = add_tmpfs(tmpfs, s, ways->is_plain_tmpfs) | add_mounts(mounts, s, ways);

	if (ways->is_plain_tmpfs)
		r |= cover_podman(tmpfs, s->mounts);
	host = json_pack("{s:b, s:b, s:b, s:b, s:[s], s:s, s:s, s:s, s:{s:s}, s:o, s:o}", "ReadonlyRootfs", 1,
			 "Privileged", 0, "Init", 0, "AutoRemove", 0, "CapDrop", "ALL", "NetworkMode", "none",
			 "IpcMode", "none", "CgroupnsMode", "private", "LogConfig", "Type", "none", "Tmpfs", tmpfs,
			 "Mounts", mounts);
	if (!host)
		return NULL;
	if (ways->keeps_id)
		r |= json_object_set_new(host, "UsernsMode", json_string("keep-id"));
	if (ways->links)
		r |= add_link(host, mounts, s, ways);
	r |= add_limits(host, &s->limits, ways) | add_security(host, s, ways);
	if (r < 0) {
		json_decref(host);
		return NULL;
	}
	return host;
}

json_t *docker_create_body(const struct spec *s, const struct docker_ways *ways)
{
	auto_free char *init = inside(ways, "init");
	char user[32];

	if (!init)
		return NULL;
	snprintf(user, sizeof(user), "%u:%u", ways->links ? 0 : s->uid, ways->links ? 0 : s->gid);
	/* An image's own entry point, command, health check and directory are none of ours. */
	return json_pack("{s:s, s:s, s:s, s:[s], s:[], s:o, s:s, s:b, s:b, s:b, s:b, s:b, s:b, s:b, s:{s:[s]}, s:{s:s, "
			 "s:s*}, s:o}",
			 "Image", s->image, "Hostname", s->hostname, "User", user, "Entrypoint", init, "Cmd", "Env",
			 s->env ? json_incref(s->env) : json_array(), "WorkingDir", "/", "Tty", 0, "OpenStdin", 1,
			 "StdinOnce", 1, "AttachStdin", 1, "AttachStdout", 1, "AttachStderr", 0, "NetworkDisabled", 1,
			 "Healthcheck", "Test", "NONE", "Labels", ENGINE_LABEL, s->owner, ENGINE_PLACE_LABEL,
			 ways->place, "HostConfig", host_config(s, ways));
}

/* ---- answers ---- */

static bool take_text(const json_t *json, const char *key, char *buf, size_t size)
{
	const char *text = json_string_value(json_object_get(json, key));

	if (!text)
		return false;
	snprintf(buf, size, "%s", text);
	for (char *p = buf; *p; p++)
		if ((unsigned char)*p < ' ' || *p == 0x7f)
			*p = ' ';
		else if ((unsigned char)p[0] == 0xc2 && (unsigned char)p[1] < 0xa0 &&
			 p[1]) /* C1, which terminals obey */
			p[0] = p[1] = ' ';
	return true;
}

static uint64_t take_number(const json_t *json, const char *key)
{
	json_int_t n = json_integer_value(json_object_get(json, key));

	return n < 0 ? 0 : (uint64_t)n;
}

bool docker_read_version(const json_t *json, struct docker_version *ret)
{
	if (!take_text(json, "Version", ret->version, sizeof(ret->version)) ||
	    !take_text(json, "ApiVersion", ret->api, sizeof(ret->api)))
		return false;
	return ret->api[0] && strspn(ret->api, "0123456789.") == strlen(ret->api);
}

/* "Name: value" up to what ends it, printable. */
static void take_header(const char *line, size_t len, const char *name, const char *end, char *buf, size_t size)
{
	size_t skip = strlen(name), n = 0;

	if (len <= skip || strncasecmp(line, name, skip) != 0)
		return;
	for (line += skip, len -= skip;
	     len && n + 1 < size && (unsigned char)*line > ' ' && *line != 0x7f && !strchr(end, *line); len--)
		buf[n++] = *line++;
	buf[n] = '\0';
}

void docker_read_header(const char *line, size_t len, struct docker_version *v)
{
	char api[sizeof(v->api)] = "";

	take_header(line, len, "Libpod-API-Version: ", "\r\n", v->version, sizeof(v->version));
	take_header(line, len, "Server: Docker/", " \r\n", v->version, sizeof(v->version));
	take_header(line, len, "Api-Version: ", "\r\n", api, sizeof(api));
	if (api[0] && strspn(api, "0123456789.") == strlen(api))
		memcpy(v->api, api, sizeof(api));
}

/* Ids stand in paths of later requests. */
static bool take_id(const json_t *json, char id[DOCKER_ID_MAX])
{
	const char *text = json_string_value(json_object_get(json, "Id"));
	size_t len = text ? strlen(text) : 0;

	if (len < 12 || len >= DOCKER_ID_MAX || strspn(text, "0123456789abcdef") != len)
		return false;
	memcpy(id, text, len + 1);
	return true;
}

bool docker_read_created(const json_t *json, char id[DOCKER_ID_MAX], unsigned *ret_lacks)
{
	static const struct {
		const char *word;
		unsigned lacks;
	} known[] = { { "memory limit", ENGINE_LACKS_MEMORY },
		      { "swap limit", ENGINE_LACKS_SWAP },
		      { "limited without swap", ENGINE_LACKS_SWAP },
		      { "pids limit", ENGINE_LACKS_PROCESSES },
		      { "PIDs limit", ENGINE_LACKS_PROCESSES },
		      { "CPU cfs", ENGINE_LACKS_CPU },
		      { "NanoCPUs", ENGINE_LACKS_CPU } };
	json_t *entry;
	size_t i;

	*ret_lacks = 0;
	if (!take_id(json, id))
		return false;
	json_array_foreach(json_object_get(json, "Warnings"), i, entry)
	{
		const char *text = json_string_value(entry);

		for (size_t k = 0; text && k < ARRAY_LEN(known); k++)
			if (strstr(text, known[k].word))
				*ret_lacks |= known[k].lacks;
	}
	return true;
}

bool docker_read_state(const json_t *json, struct docker_state *ret)
{
	json_t *state = json_object_get(json, "State"), *code = json_object_get(state, "ExitCode");
	uint64_t pid = take_number(state, "Pid");

	if (!json_is_object(state) || !json_is_integer(code) || pid > INT32_MAX)
		return false;
	*ret = (struct docker_state){ .is_running = json_is_true(json_object_get(state, "Running")),
				      .is_oom = json_is_true(json_object_get(state, "OOMKilled")),
				      .exit_code = (int)(json_integer_value(code) & 0xff),
				      .pid = (int)pid };
	return true;
}

bool docker_read_stats(const json_t *json, struct docker_stats *ret)
{
	const json_t *memory = json_object_get(json, "memory_stats"), *cpu = json_object_get(json, "cpu_stats");

	if (!json_is_object(memory) || !json_is_object(cpu))
		return false;
	*ret = (struct docker_stats){
		.memory_bytes = take_number(memory, "usage"),
		.memory_peak_bytes = take_number(memory, "max_usage"),
		.cpu_us = take_number(json_object_get(cpu, "cpu_usage"), "total_usage") / 1000,
		.processes = take_number(json_object_get(json, "pids_stats"), "current"),
	};
	return true;
}

bool docker_read_wait(const json_t *json, int *ret_code)
{
	const json_t *code = json_object_get(json, "StatusCode");

	if (!json_is_integer(code))
		return false;
	*ret_code = (int)(json_integer_value(code) & 0xff);
	return true;
}

void docker_read_message(const json_t *json, char text[DOCKER_TEXT_MAX])
{
	if (!take_text(json, "message", text, DOCKER_TEXT_MAX) && !take_text(json, "cause", text, DOCKER_TEXT_MAX))
		snprintf(text, DOCKER_TEXT_MAX, "it did not say why");
}

bool docker_read_listed(const json_t *entry, const char *place, char id[DOCKER_ID_MAX], char *owner, size_t size)
{
	const json_t *labels = json_object_get(entry, "Labels");
	const char *where = json_string_value(json_object_get(labels, ENGINE_PLACE_LABEL));

	return where && strcmp(where, place) == 0 && take_id(entry, id) && take_text(labels, ENGINE_LABEL, owner, size);
}

bool docker_read_pull(const char *line, size_t len, struct engine_progress *progress, char error[DOCKER_TEXT_MAX])
{
	json_t *json = json_loadb(line, len, 0, NULL), *detail = json_object_get(json, "progressDetail");
	bool failed =
		take_text(json, "error", error, DOCKER_TEXT_MAX) || take_text(json, "message", error, DOCKER_TEXT_MAX);

	*progress = (struct engine_progress){ .type = ENGINE_PROGRESS,
					      .done_bytes = take_number(detail, "current"),
					      .total_bytes = take_number(detail, "total") };
	(void)take_text(json, "status", progress->text, sizeof(progress->text));
	json_decref(json);
	return !failed;
}
