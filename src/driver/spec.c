/* The specification: see spec.h. Pure. */
#include "driver/spec.h"

#include "base/owner.h"
#include "base/str.h"

#include <string.h>

enum { LIST_MAX = 1024 };

static int fail(struct cordon_error *err, const char *what)
{
	return cordon_fail(err, CORDON_INTERNAL, 0, "the specification of the container: %s", what);
}

static bool is_clean(const char *path)
{
	return path[0] == '/' && !strstr(path, "/../") && !str_ends(path, "/..") && !strchr(path, '\n');
}

bool spec_mount(const json_t *entry, struct spec_mount *ret)
{
	int writable = 0, held = 0;

	*ret = (struct spec_mount){ 0 };
	if (json_unpack((json_t *)(uintptr_t)entry, "{s:s, s:s, s?b, s?b !}", "source", &ret->source, "dest",
			&ret->dest, "writable", &writable, "held", &held) < 0)
		return false;
	ret->writable = writable;
	ret->is_held = held;
	return is_clean(ret->source) && is_clean(ret->dest);
}

bool spec_tmpfs(const json_t *entry, struct spec_tmpfs *ret)
{
	json_int_t size = 0, inodes = 0;
	int mode = 01777, exec = 1;

	*ret = (struct spec_tmpfs){ 0 };
	if (json_unpack((json_t *)(uintptr_t)entry, "{s:s, s?I, s?I, s?i, s?b !}", "dest", &ret->dest, "size_bytes",
			&size, "inodes", &inodes, "mode", &mode, "exec", &exec) < 0)
		return false;
	if (size < 0 || inodes < 0 || mode < 0 || mode > 07777 || !is_clean(ret->dest))
		return false;
	ret->size_bytes = (uint64_t)size;
	ret->inodes = (uint64_t)inodes;
	ret->mode = (unsigned)mode;
	ret->exec = exec;
	return true;
}

static bool is_mount(const json_t *entry)
{
	struct spec_mount ignored;

	return spec_mount(entry, &ignored);
}

static bool is_tmpfs(const json_t *entry)
{
	struct spec_tmpfs ignored;

	return spec_tmpfs(entry, &ignored);
}

static bool is_text(const json_t *entry)
{
	return json_is_string(entry);
}

static bool is_directory(const json_t *entry)
{
	const char *path = json_string_value(entry);

	/* Colons and commas are the overlay's own. */
	return path && is_clean(path) && !strpbrk(path, ":,\\");
}

static bool is_range(const json_t *entry)
{
	json_int_t inside, outside, count;

	return json_unpack((json_t *)(uintptr_t)entry, "{s:I, s:I, s:I !}", "inside", &inside, "outside", &outside,
			   "count", &count) == 0 &&
	       inside >= 0 && inside <= UINT32_MAX && outside >= 0 && outside <= UINT32_MAX && count > 0 &&
	       count <= UINT32_MAX;
}

static bool is_list_of(const json_t *list, bool (*is_entry)(const json_t *))
{
	size_t i;
	json_t *entry;

	if (!list)
		return true;
	if (!json_is_array(list) || json_array_size(list) > LIST_MAX)
		return false;
	json_array_foreach(list, i, entry)
	{
		if (!is_entry(entry))
			return false;
	}
	return true;
}

static int read_limits(json_t *json, struct spec_limits *ret, struct cordon_error *err)
{
	json_int_t v[8] = { 0 };
	uint64_t *to[] = { &ret->memory_bytes,    &ret->cpu_milli,  &ret->processes, &ret->open_files,
			   &ret->file_size_bytes, &ret->core_bytes, &ret->read_bps,  &ret->write_bps };

	if (!json)
		return 0;
	if (json_unpack(json, "{s?I, s?I, s?I, s?I, s?I, s?I, s?I, s?I !}", "memory_bytes", &v[0], "cpu_milli", &v[1],
			"processes", &v[2], "open_files", &v[3], "file_size_bytes", &v[4], "core_bytes", &v[5],
			"read_bps", &v[6], "write_bps", &v[7]) < 0)
		return fail(err, "limits");
	for (size_t i = 0; i < ARRAY_LEN(v); i++) {
		if (v[i] < 0)
			return fail(err, "limits");
		*to[i] = (uint64_t)v[i];
	}
	return 0;
}

static int check_lists(const struct spec *s, struct cordon_error *err)
{
	const struct {
		const char *name;
		const json_t *list;
		bool (*is_entry)(const json_t *);
	} lists[] = { { "env", s->env, is_text },
		      { "mounts", s->mounts, is_mount },
		      { "files", s->files, is_mount },
		      { "tmpfs", s->tmpfs, is_tmpfs },
		      { "rootfs", s->rootfs, is_directory },
		      { "userns", s->uid_map, is_range },
		      { "userns", s->gid_map, is_range } };

	for (size_t i = 0; i < ARRAY_LEN(lists); i++)
		if (!is_list_of(lists[i].list, lists[i].is_entry))
			return fail(err, lists[i].name);
	return s->seccomp && !json_is_object(s->seccomp) ? fail(err, "seccomp") : 0;
}

/* One directory is a list of one. */
static int make_list(struct spec *s)
{
	json_t *list;

	if (!json_is_string(s->rootfs))
		return 0;
	list = json_pack("[O]", s->rootfs);
	if (!list || json_object_set_new(s->json, "rootfs", list) < 0)
		return -1;
	s->rootfs = list;
	return 0;
}

bool spec_is_owner(const char *owner)
{
	return str_starts(owner, "cordon-") && strlen(owner) < OWNER_NAME_MAX &&
	       strspn(owner, "abcdefghijklmnopqrstuvwxyz0123456789-") == strlen(owner);
}

int spec_parse(struct spec *ret_spec, const char *text, size_t len, struct cordon_error *err)
{
	struct spec s = { .hostname = "cordon", .pull = true };
	json_t *limits = NULL, *userns = NULL;
	int uid = 1000, gid = 1000, pull = 1;
	json_error_t why;

	*ret_spec = s;
	s.json = json_loadb(text, len, JSON_REJECT_DUPLICATES, &why);
	if (!s.json)
		return fail(err, why.text);
	*ret_spec = s;
	if (json_unpack_ex(s.json, &why, 0,
			   "{s:s, s:s, s?s, s?s, s?s, s?s, s?s, s?s, s?s, s?o, s?o, s?o, s?o, s?o, s?o, s?o, s?o, s?b, "
			   "s?i, s?i !}",
			   "owner", &s.owner, "init", &s.init, "image", &s.image, "hostname", &s.hostname, "runtime",
			   &s.runtime, "dir", &s.dir, "platform", &s.platform, "netns", &s.netns, "link", &s.link,
			   "rootfs", &s.rootfs, "env", &s.env, "mounts", &s.mounts, "files", &s.files, "tmpfs",
			   &s.tmpfs, "seccomp", &s.seccomp, "limits", &limits, "userns", &userns, "pull", &pull, "uid",
			   &uid, "gid", &gid) < 0)
		return fail(err, why.text);
	if (userns && json_unpack(userns, "{s:o, s:o !}", "uid", &s.uid_map, "gid", &s.gid_map) < 0)
		return fail(err, "userns");
	if ((s.netns && !is_clean(s.netns)) || (s.dir && !is_clean(s.dir)) || (s.link && !is_clean(s.link)))
		return fail(err, "netns, link or dir");
	if (!spec_is_owner(s.owner) || !is_clean(s.init) || uid < 0 || gid < 0)
		return fail(err, "owner, init, uid or gid");
	s.uid = (unsigned)uid;
	s.gid = (unsigned)gid;
	s.pull = pull;
	if (make_list(&s) < 0)
		return fail_memory(err);
	*ret_spec = s;
	return check_lists(&s, err) < 0 ? -1 : read_limits(limits, &ret_spec->limits, err);
}

void spec_done(struct spec *spec)
{
	json_decref(spec->json);
	*spec = (struct spec){ 0 };
}
