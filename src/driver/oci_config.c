/*
 * config.json of an OCI bundle, from the specification: always hardened, nothing of it can be asked away. Of the host it asks only
 * whether something is a directory.
 *
 * No sysfs: what programs look for there, the number of processors, /proc tells as well, and it is the host's. No mqueue and no
 * shared /dev/shm beyond what the specification's tmpfs say. The user of init has no capability in any set. No filter: init's is the
 * narrower one, and of two the one that answers would win over the one that tells.
 */
#include "driver/oci.h"

#include "base/str.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

static json_t *strings(const char *const *list)
{
	json_t *array = json_array();

	for (; array && *list; list++)
		if (json_array_append_new(array, json_string(*list)) < 0) {
			json_decref(array);
			return NULL;
		}
	return array;
}

static json_t *rlimit(const char *type, uint64_t value)
{
	return json_pack("{s:s, s:I, s:I}", "type", type, "hard", (json_int_t)value, "soft", (json_int_t)value);
}

static json_t *rlimits(const struct spec_limits *l)
{
	json_t *list = json_array();
	int r = json_array_append_new(list, rlimit("RLIMIT_CORE", l->core_bytes));

	if (l->open_files)
		r |= json_array_append_new(list, rlimit("RLIMIT_NOFILE", l->open_files));
	if (l->file_size_bytes)
		r |= json_array_append_new(list, rlimit("RLIMIT_FSIZE", l->file_size_bytes));
	if (r < 0) {
		json_decref(list);
		return NULL;
	}
	return list;
}

/* gVisor's root is one only there, and init needs to be it: see inner/inner.h. Elsewhere nobody has a capability. */
static json_t *capabilities(const struct oci_config *c)
{
	static const char *const none[] = { NULL }, *const rights[] = { "CAP_SETPCAP", "CAP_DAC_READ_SEARCH",
									"CAP_KILL",    "CAP_SETUID",
									"CAP_SETGID",  NULL };
	const char *const *list = c->is_gvisor && c->uid == 0 ? rights : none;

	return json_pack("{s:o, s:o, s:o, s:[], s:[]}", "bounding", strings(list), "effective", strings(list),
			 "permitted", strings(list), "inheritable", "ambient");
}

static json_t *process(const struct oci_config *c)
{
	const char *const argv[] = { ENGINE_INIT_PATH, NULL };
	json_t *env = c->spec->env ? json_incref(c->spec->env) : json_array();

	return json_pack("{s:b, s:{s:i, s:i}, s:o, s:o, s:s, s:b, s:o, s:o}", "terminal", 0, "user", "uid", (int)c->uid,
			 "gid", (int)c->gid, "args", strings(argv), "env", env, "cwd", "/", "noNewPrivileges", 1,
			 "capabilities", capabilities(c), "rlimits", rlimits(&c->spec->limits));
}

static int add_mount(json_t *list, const char *dest, const char *type, const char *source, const char *const *options)
{
	return json_array_append_new(list, json_pack("{s:s, s:s, s:s, s:o}", "destination", dest, "type", type,
						     "source", source, "options", strings(options)));
}

/* What every root has. /dev holds the six devices that a runtime always makes, and a devpts. */
static int kernel_mounts(json_t *list)
{
	static const char *const proc[] = { "nosuid", "nodev", "noexec", "hidepid=2", NULL };
	static const char *const dev[] = { "nosuid", "noexec", "strictatime", "mode=755", "size=64k", NULL };
	static const char *const pts[] = { "nosuid", "noexec", "newinstance", "ptmxmode=0666", "mode=0620", NULL };

	return add_mount(list, "/proc", "proc", "proc", proc) | add_mount(list, "/dev", "tmpfs", "tmpfs", dev) |
	       add_mount(list, "/dev/pts", "devpts", "devpts", pts);
}

static int add_tmpfs(json_t *list, const struct oci_config *c, const struct spec_tmpfs *t)
{
	char size[48], inodes[48], mode[24], uid[24], gid[24];
	const char *options[] = { "nosuid", "nodev", mode, size, t->exec ? "exec" : "noexec", uid, gid, inodes, NULL };

	snprintf(size, sizeof(size), "size=%" PRIu64, t->size_bytes);
	snprintf(inodes, sizeof(inodes), "nr_inodes=%" PRIu64, t->inodes);
	snprintf(mode, sizeof(mode), "mode=%o", t->mode);
	snprintf(uid, sizeof(uid), "uid=%u", c->uid);
	snprintf(gid, sizeof(gid), "gid=%u", c->gid);
	if (!t->inodes || c->is_gvisor)
		options[ARRAY_LEN(options) - 2] = NULL;
	return add_mount(list, t->dest, "tmpfs", "tmpfs", options);
}

static bool is_directory(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* Read-only to the last mount below it. crun 1.8 takes a file for a directory with that. */
static int add_bind(json_t *list, const struct oci_config *c, const struct spec_mount *m)
{
	const char *options[] = { "rbind", m->writable ? "rw" : "ro", "nosuid", "nodev", "rprivate", "rro", NULL };

	if (m->writable || c->is_gvisor || !is_directory(m->source))
		options[ARRAY_LEN(options) - 2] = NULL;

	return add_mount(list, m->dest, "bind", m->source, options);
}

/* Smaller things come later, so that they lie on top: tmpfs, directories, files, init. */
static json_t *mounts(const struct oci_config *c)
{
	const struct spec_mount init = { .source = c->spec->init, .dest = ENGINE_INIT_PATH };
	const json_t *const binds[] = { c->spec->mounts, c->spec->files };
	json_t *list = json_array(), *entry;
	int r = kernel_mounts(list);
	struct spec_tmpfs t;
	struct spec_mount m;
	size_t i;

	json_array_foreach(c->spec->tmpfs, i, entry)
	{
		r |= spec_tmpfs(entry, &t) ? add_tmpfs(list, c, &t) : -1;
	}
	for (size_t n = 0; n < ARRAY_LEN(binds); n++)
		json_array_foreach(binds[n], i, entry)
		{
			r |= spec_mount(entry, &m) ? add_bind(list, c, &m) : -1;
		}
	r |= add_bind(list, c, &init);
	if (r < 0) {
		json_decref(list);
		return NULL;
	}
	return list;
}

static json_t *id_map(const json_t *from)
{
	json_t *list = json_array(), *entry;
	size_t i;

	json_array_foreach(from, i, entry)
	{
		json_t *range = json_pack("{s:O, s:O, s:O}", "containerID", json_object_get(entry, "inside"), "hostID",
					  json_object_get(entry, "outside"), "size", json_object_get(entry, "count"));

		if (json_array_append_new(list, range) < 0) {
			json_decref(list);
			return NULL;
		}
	}
	return list;
}

static json_t *namespace(const char *type, const char *path)
{
	return path ? json_pack("{s:s, s:s}", "type", type, "path", path) : json_pack("{s:s}", "type", type);
}

static json_t *namespaces(const struct oci_config *c)
{
	static const char *const types[] = { "pid", "mount", "ipc", "uts", "network", "cgroup", "user" };
	json_t *list = json_array();

	for (size_t i = 0; list && i < ARRAY_LEN(types) - !c->uid_map; i++) {
		const char *path = strcmp(types[i], "network") == 0 ? c->spec->netns : NULL;

		if (json_array_append_new(list, namespace(types[i], path)) < 0) {
			json_decref(list);
			return NULL;
		}
	}
	return list;
}

static json_t *kernel(const struct oci_config *c)
{
	static const char *const masked[] = { "/proc/acpi",          "/proc/asound",      "/proc/interrupts",
					      "/proc/kcore",         "/proc/keys",        "/proc/key-users",
					      "/proc/latency_stats", "/proc/sched_debug", "/proc/scsi",
					      "/proc/timer_list",    "/sys/firmware",     NULL };
	static const char *const read_only[] = { "/proc/bus",           "/proc/fs", "/proc/irq", "/proc/sys",
						 "/proc/sysrq-trigger", NULL };
	json_t *linux_part = json_pack("{s:o}", "namespaces", namespaces(c));
	int r = linux_part ? 0 : -1;

	if (c->uid_map)
		r |= json_object_set_new(linux_part, "uidMappings", id_map(c->uid_map)) |
		     json_object_set_new(linux_part, "gidMappings", id_map(c->gid_map));
	if (!c->is_gvisor)
		r |= json_object_set_new(linux_part, "maskedPaths", strings(masked)) |
		     json_object_set_new(linux_part, "readonlyPaths", strings(read_only));
	if (c->cgroups_path)
		r |= json_object_set_new(linux_part, "cgroupsPath", json_string(c->cgroups_path));
	if (r < 0) {
		json_decref(linux_part);
		return NULL;
	}
	return linux_part;
}

/*
 * runsc remounts what is to be read-only from a user namespace, where what the mount has besides cannot be taken away, and forgets to keep
 * it. A root that is read-only on the host already is so whatever runsc believes.
 */
static bool asks_read_only(const struct oci_config *c)
{
	struct statvfs fs;

	return !c->is_gvisor || statvfs(c->root, &fs) < 0 || !(fs.f_flag & ST_RDONLY) ||
	       !(fs.f_flag & (ST_NOSUID | ST_NODEV));
}

json_t *oci_config_new(const struct oci_config *c)
{
	return json_pack("{s:s, s:o, s:{s:s, s:b}, s:s, s:o, s:o}", "ociVersion", "1.0.2", "process", process(c),
			 "root", "path", c->root, "readonly", (int)asks_read_only(c), "hostname", c->spec->hostname,
			 "mounts", mounts(c), "linux", kernel(c));
}
