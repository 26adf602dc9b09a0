/*
 * Boxes of engines that have images of their own: what goes into the specification besides the image, and what init has to find in the
 * container. The daemon is told paths: on the shelf as root, where they are idmapped and read-only already; the sources themselves as an
 * ordinary user, who is himself in the container. Either way init compares what it finds with what the plan has open. Runs in the
 * keeper, with the caller's rights.
 */
#include "engine/foreign_state.h"

#include "base/error.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/path.h"
#include "box/certificates.h"
#include "box/etc.h"
#include "plan/engine.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define WALK (RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS)
enum { SHM_MAX = 64 << 20 };

/* ---- certificates ---- */

/* What lies where TLS is looked into; the image's own bundle and Java store are laid over. */
static const struct {
	const char *name, *dest;
} certificate_files[] = {
	{ SHELF_ETC "/ca.pem", PLAN_CA_FILE },
	{ SHELF_ETC "/ca-bundle.pem", PLAN_CA_BUNDLE },
	{ SHELF_ETC "/ca-bundle.pem", CERTIFICATES_BUNDLE_PLACE },
	{ SHELF_ETC "/cacerts", CERTIFICATES_JAVA_PLACE },
};

static int write_certificate(struct foreign *f, size_t i, const struct str *text, struct cordon_error *err)
{
	const char *name = certificate_files[i].name;
	auto_close int fd = openat(f->shelf.fd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
	int r = fd < 0 ? -errno : fd_write_all(fd, text->data, text->len);

	if (r == 0 && fchmod(fd, 0644) < 0)
		r = -errno;
	return r < 0 ? cordon_fail(err, CORDON_SYSTEM, -r, "write '%s/%s'", f->shelf.path, name) : 0;
}

static int shelve_certificates(struct foreign *f, struct cordon_error *err)
{
	struct certificates c;
	int status = certificates_receive(f->net.authority, &c, err);

	if (status == 0)
		status = write_certificate(f, 0, &c.authority, err) < 0 ||
					 write_certificate(f, 1, &c.bundle, err) < 0 ||
					 (c.java.len && write_certificate(f, 3, &c.java, err) < 0)
				 ? -1
				 : 0;
	certificates_done(&c);
	return status < 0 ? fail_step(err, "certificates") : 0;
}

int foreign_shelve(struct foreign *f, struct cordon_error *err)
{
	if (shelf_make(&f->shelf, f->plan, &f->k->prepared, f->k->owner, err) < 0)
		return -1;
	if (foreign_link_open(f, err) < 0)
		return -1;
	return f->net.authority < 0 ? 0 : shelve_certificates(f, err);
}

/* ---- the pieces ---- */

static void lay(struct json *j, const char *source, const char *dest, bool writable, bool held)
{
	json_object(j, NULL);
	json_string(j, "source", source);
	json_string(j, "dest", dest);
	json_bool(j, "writable", writable);
	json_bool(j, "held", held);
	json_end_object(j);
}

/* Something that lies on the shelf. */
static void lay_shelf(struct json *j, const struct foreign *f, const char *name, const char *dest, bool writable)
{
	auto_free char *source = str_printf("%s/%s", f->shelf.path, name);

	lay(j, source, dest, writable, false);
}

static void tmpfs(struct json *j, const char *dest, uint64_t size_bytes, uint64_t inodes, unsigned mode)
{
	json_object(j, NULL);
	json_string(j, "dest", dest);
	json_uint(j, "size_bytes", size_bytes);
	json_uint(j, "inodes", inodes);
	json_uint(j, "mode", mode);
	json_end_object(j);
}

/* ---- private directories ---- */

static void lay_privates(struct json *j, const struct foreign *f)
{
	const struct cordon_plan *p = f->plan;
	auto_free char *home = str_printf(SHELF_HOME "/%s", path_name(p->home));
	char name[32];

	lay_shelf(j, f, home, p->home, true);
	lay_shelf(j, f, SHELF_SHM, "/dev/shm", true);
	lay_shelf(j, f, SHELF_TMP, "/tmp", true);
	for (size_t i = 0; i < p->private_count; i++) {
		snprintf(name, sizeof(name), SHELF_PRIVATE "%zu", i);
		lay_shelf(j, f, name, p->privates[i].dest, true);
	}
}

/* The engine's own memory: home and /dev/shm cannot share a size there. */
static void tmpfs_privates(struct json *j, const struct foreign *f)
{
	const struct cordon_plan *p = f->plan;
	uint64_t rest = shelf_rest_bytes(p), inodes = shelf_inodes(p), shm = rest / 4 < SHM_MAX ? rest / 4 : SHM_MAX;

	json_array(j, "tmpfs");
	if (!p->as_root) {
		tmpfs(j, p->home, rest - shm, inodes - inodes / 4, 0755);
		tmpfs(j, "/dev/shm", shm, inodes / 4, 01777);
		tmpfs(j, "/tmp", p->limits.tmp_bytes, inodes, 01777);
	}
	for (size_t i = 0; !p->as_root && i < p->private_count; i++)
		tmpfs(j, p->privates[i].dest, p->privates[i].size_bytes, inodes, 01777);
	json_end_array(j);
}

/* ---- protected paths ---- */

/* How much of a protected path is there: itself, or the placeholder in its stead. */
static size_t held_len(const struct plan_mount *m, const char *below)
{
	size_t len = strlen(below);

	while (len) {
		auto_free char *part = strndup(below, len);
		auto_close int fd = part ? fd_openat2(m->fd, part, O_PATH | O_NOFOLLOW, 0, WALK) : -1;

		if (fd >= 0)
			return len;
		while (len && below[--len] != '/')
			;
	}
	return 0;
}

struct pin {
	char *below;
	size_t mount;
	bool is_held; /* read-only; else a directory on the way, which must not be renamed */
};

struct pins {
	struct pin *v;
	size_t n;
};

static bool is_pinned(const struct pins *p, size_t mount, const char *below, bool *ret_within)
{
	for (size_t i = 0; i < p->n; i++) {
		if (p->v[i].mount != mount)
			continue;
		if (strcmp(p->v[i].below, below) == 0)
			return true;
		if (p->v[i].is_held && str_starts(below, p->v[i].below) && below[strlen(p->v[i].below)] == '/')
			*ret_within = true;
	}
	return false;
}

static int add_pin(struct pins *p, size_t mount, const char *below, size_t len, bool is_held)
{
	auto_free char *part = strndup(below, len);
	bool within = false;
	struct pin *v;

	if (!part)
		return -ENOMEM;
	if (is_pinned(p, mount, part, &within) || within)
		return 0;
	v = realloc(p->v, (p->n + 1) * sizeof(*v));
	if (!v)
		return -ENOMEM;
	p->v = v;
	v[p->n++] = (struct pin){ .below = STEAL(part), .mount = mount, .is_held = is_held };
	return 0;
}

/* As in a native box (box/pin.c): what is protected first, so that nothing within it is pinned besides. */
static int find_pins(const struct cordon_plan *plan, struct pins *p)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < plan->protect_count; i++) {
		const struct plan_protect *t = &plan->protects[i];

		r = add_pin(p, t->mount, t->below, held_len(&plan->mounts[t->mount], t->below), true);
	}
	for (size_t i = 0; r == 0 && i < plan->protect_count; i++) {
		const struct plan_protect *t = &plan->protects[i];
		size_t len = held_len(&plan->mounts[t->mount], t->below);

		for (size_t k = 1; r == 0 && k < len; k++)
			if (t->below[k] == '/')
				r = add_pin(p, t->mount, t->below, k, false);
	}
	return r;
}

static void lay_pin(struct json *j, const struct foreign *f, const struct pin *pin)
{
	const struct plan_mount *m = &f->plan->mounts[pin->mount];
	auto_free char *source = f->plan->as_root
					 ? str_printf("%s/" SHELF_MOUNT "%zu/%s", f->shelf.path, pin->mount, pin->below)
					 : str_printf("%s/%s", m->source, pin->below);
	auto_free char *dest = str_printf("%s/%s", m->dest, pin->below);

	lay(j, source, dest, !pin->is_held, false);
}

static int lay_pins(struct json *j, const struct foreign *f)
{
	struct pins pins = { 0 };
	int r = find_pins(f->plan, &pins);

	for (size_t i = 0; i < pins.n; i++) {
		if (r == 0)
			lay_pin(j, f, &pins.v[i]);
		free(pins.v[i].below);
	}
	free(pins.v);
	return r;
}

/* ---- the whole ---- */

static void lay_mounts(struct json *j, const struct foreign *f)
{
	for (size_t i = 0; i < f->plan->mount_count; i++) {
		const struct plan_mount *m = &f->plan->mounts[i];
		char name[32];

		snprintf(name, sizeof(name), SHELF_MOUNT "%zu", i);
		if (f->plan->as_root) {
			auto_free char *source = str_printf("%s/%s", f->shelf.path, name);

			lay(j, source, m->dest, m->writable, !m->writable);
		} else {
			lay(j, m->source, m->dest, m->writable, false);
		}
	}
	if (lay_pins(j, f) < 0)
		j->out.failed = true;
}

static void describe_mounts(struct json *j, const struct foreign *f)
{
	json_array(j, "mounts");
	lay_shelf(j, f, SHELF_HOME, "/home", false);
	lay_shelf(j, f, SHELF_EMPTY, "/run", false);
	lay_shelf(j, f, SHELF_SYS, "/sys", false);
	/* Where an engine lays the container's control groups, which nobody in there has business with. */
	lay_shelf(j, f, SHELF_EMPTY, "/sys/fs/cgroup", false);
	lay(j, "/sys/devices/system/cpu", "/sys/devices/system/cpu", false, false);
	if (f->plan->as_root)
		lay_privates(j, f);
	lay_mounts(j, f);
	json_end_array(j);
}

static void describe_file(struct json *j, const struct foreign *f, const char *name, const char *dest)
{
	auto_free char *source = str_printf("%s/%s", f->shelf.path, name);

	json_object(j, NULL);
	json_string(j, "source", source);
	json_string(j, "dest", dest);
	json_end_object(j);
}

static void describe_files(struct json *j, const struct foreign *f)
{
	static const char *const names[ETC_FILES] = { "passwd",   "group",       "hosts",
						      "hostname", "resolv.conf", "nsswitch.conf" };

	json_array(j, "files");
	for (size_t i = 0; i < ETC_FILES; i++) {
		auto_free char *name = str_printf(SHELF_ETC "/%s", names[i]), *dest = str_printf("/etc/%s", names[i]);

		describe_file(j, f, name, dest);
	}
	for (size_t i = 0; i < ARRAY_LEN(certificate_files); i++)
		if (faccessat(f->shelf.fd, certificate_files[i].name, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
			describe_file(j, f, certificate_files[i].name, certificate_files[i].dest);
	json_end_array(j);
}

/*
 * The engine's own filter must be as wide as init's, which is the narrower one and tells: of two filters the one that answers wins. So it
 * has every call that ours decides about, and none that they do not know. Those of the other architectures are ours to refuse, too: an engine
 * would kill for them.
 */
static void describe_filter(struct json *j)
{
	const char *name;

	json_object(j, "seccomp");
	json_string(j, "defaultAction", "SCMP_ACT_ERRNO");
	json_uint(j, "defaultErrnoRet", ENOSYS);
	json_array(j, "architectures");
#if defined(__x86_64__)
	json_string(j, NULL, "SCMP_ARCH_X86_64");
	json_string(j, NULL, "SCMP_ARCH_X86");
	json_string(j, NULL, "SCMP_ARCH_X32");
#else
	json_string(j, NULL, "SCMP_ARCH_AARCH64");
	json_string(j, NULL, "SCMP_ARCH_ARM");
#endif
	json_end_array(j);
	json_array(j, "syscalls");
	json_object(j, NULL);
	json_array(j, "names");
	for (size_t i = 0; (name = seccomp_decides(i)); i++)
		json_string(j, NULL, name);
	json_end_array(j);
	json_string(j, "action", "SCMP_ACT_ALLOW");
	json_end_object(j);
	json_end_array(j);
	json_end_object(j);
}

void foreign_describe_image(const struct foreign *f, struct json *j)
{
	auto_free char *link = str_printf("%s/" SHELF_LINK, f->shelf.path);

	json_string(j, "image", f->plan->engine_image);
	if (f->net.link >= 0)
		json_string(j, "link", link);
	json_uint(j, "uid", f->k->prepared.uid);
	json_uint(j, "gid", f->k->prepared.gid);
	describe_mounts(j, f);
	describe_files(j, f);
	tmpfs_privates(j, f);
	describe_filter(j);
}

/* ---- what init has to find ---- */

static int add_check(struct strv *to, const struct stat *st, enum stream_check how, const char *path)
{
	return strv_add_take(to, str_printf("%" PRIu64 " %" PRIu64 " %c %s", (uint64_t)st->st_dev, (uint64_t)st->st_ino,
					    (char)how, path));
}

/* Directories on the way to what is protected: each is a mount of its own, and by name. */
static int add_pin_check(const struct foreign *f, const struct pin *pin, struct strv *to)
{
	const struct plan_mount *m = &f->plan->mounts[pin->mount];
	auto_close int fd = fd_openat2(m->fd, pin->below, O_PATH | O_NOFOLLOW, 0, WALK);
	auto_free char *path = str_printf("%s/%s", m->dest, pin->below);
	struct stat st;

	if (!path)
		return -ENOMEM;
	return fd < 0 ? fd : fstat(fd, &st) < 0 ? -errno : add_check(to, &st, STREAM_CHECK_MOUNT, path);
}

static int add_pin_checks(const struct foreign *f, struct strv *to)
{
	struct pins pins = { 0 };
	int r = find_pins(f->plan, &pins);

	for (size_t i = 0; i < pins.n; i++) {
		if (r == 0 && !pins.v[i].is_held)
			r = add_pin_check(f, &pins.v[i], to);
		free(pins.v[i].below);
	}
	free(pins.v);
	return r;
}

int foreign_add_checks(const struct foreign *f, struct strv *to)
{
	const struct cordon_plan *p = f->plan;
	int r = add_pin_checks(f, to);

	for (size_t i = 0; r == 0 && i < p->mount_count; i++) {
		struct stat st;

		r = fstat(p->mounts[i].fd, &st) < 0
			    ? -errno
			    : add_check(to, &st, p->mounts[i].writable ? STREAM_CHECK_PLACE : STREAM_CHECK_READ_ONLY,
					p->mounts[i].dest);
	}
	for (size_t i = 0; r == 0 && i < f->k->prepared.guard.count; i++) {
		const struct plan_mount *m = &p->mounts[p->protects[i].mount];
		const char *below = p->protects[i].below;
		auto_free char *path = str_printf("%s/%.*s", m->dest, (int)held_len(m, below), below);

		r = path ? add_check(to, &f->k->prepared.guard.held[i], STREAM_CHECK_READ_ONLY, path) : -ENOMEM;
	}
	return r;
}
