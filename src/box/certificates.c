/*
 * Where TLS is looked into, the box trusts an authority of its own: its certificate comes from the egress process, which has made it for this
 * box alone. The box gets it by itself, and a bundle of it and the host's roots, which also lies over the host's own bundle; and
 * Java's store in the same way, where the host has one.
 * Runs in init, before the payload exists.
 */
#include "box/certificates.h"
#include "box/root.h"

#include "base/error.h"
#include "base/fd.h"
#include "os/mount.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PEM_MAX = 64 << 10, BUNDLE_MAX = 16 << 20 };

static const char java_file[] = "/etc/cordon/cacerts";

/* ---- from egress ---- */

/* The files are egress's: their bytes are copied, nothing else of them is used. */
static int load(int fd, size_t max, struct str *ret, struct cordon_error *err)
{
	auto_free char *data = NULL;
	ssize_t len = lseek(fd, 0, SEEK_SET) < 0 ? -errno : fd_load(fd, max, &data);

	if (len < 0)
		return cordon_fail(err, CORDON_SYSTEM, (int)-len, "read the box's certificate");
	str_add_bytes(ret, data, (size_t)len);
	return ret->failed ? fail_memory(err) : 0;
}

static int make_bundle(struct certificates *c, struct cordon_error *err)
{
	auto_free char *host = NULL;
	ssize_t len = fd_load_at(AT_FDCWD, CERTIFICATES_BUNDLE_PLACE, BUNDLE_MAX, &host);

	str_add_bytes(&c->bundle, c->authority.data, c->authority.len);
	if (len > 0)
		str_add_bytes(&c->bundle, host, (size_t)len);
	return c->bundle.failed ? fail_memory(err) : 0;
}

int certificates_receive(int authority, struct certificates *ret, struct cordon_error *err)
{
	int fds[2] = { -1, -1 }, status;
	size_t n = 0;
	char byte;

	*ret = (struct certificates){ 0 };
	if (fd_recv(authority, &byte, 1, fds, 2, &n) != 1 || n < 1)
		return cordon_fail(err, CORDON_SYSTEM, 0, "egress did not send the box's certificate");
	status = load(fds[0], PEM_MAX, &ret->authority, err) < 0 || make_bundle(ret, err) < 0 ? -1 : 0;
	if (status == 0 && n > 1)
		status = load(fds[1], BUNDLE_MAX, &ret->java, err);
	fd_close(&fds[0]);
	if (n > 1)
		fd_close(&fds[1]);
	return status;
}

void certificates_done(struct certificates *c)
{
	str_done(&c->authority);
	str_done(&c->bundle);
	str_done(&c->java);
}

/* ---- into the root ---- */

/* Where programs look by themselves. On a root without such a file there is nothing to lie over. */
static int cover(struct root *r, const char *path, const char *with)
{
	auto_close int place = fd_openat2(r->fd, path + 1, O_PATH, 0, RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS),
		       tree = -1;
	int n;

	if (place < 0)
		return 0;
	tree = mount_clone(r->fd, with + 1, false);
	n = tree < 0 ? tree : mount_attach(tree, place, "");
	return n < 0 ? root_fail(r, -n, "lay over", path) : 0;
}

static int write_all(struct root *r, const struct certificates *c)
{
	if (root_write_file(r, PLAN_CA_FILE, c->authority.data, c->authority.len, 0644) < 0 ||
	    root_write_file(r, PLAN_CA_BUNDLE, c->bundle.data, c->bundle.len, 0644) < 0 ||
	    cover(r, CERTIFICATES_BUNDLE_PLACE, PLAN_CA_BUNDLE) < 0)
		return -1;
	if (!c->java.len)
		return 0;
	return root_write_file(r, java_file, c->java.data, c->java.len, 0644) < 0
		       ? -1
		       : cover(r, CERTIFICATES_JAVA_PLACE, java_file);
}

/* A root of its own is read-only: its empty /etc/cordon gets a directory of the skeleton laid over it. */
static int place_on_root(struct root *r)
{
	auto_close int place = fd_openat2(r->fd, "etc/cordon", O_PATH | O_DIRECTORY | O_NOFOLLOW, 0,
					  RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS),
		       tree = -1;
	int n;

	if (place < 0) {
		root_fail(r, -place, "open", "/etc/cordon");
		return fail_hint(r->err,
				 "a root of its own needs this directory where TLS is looked into: make it in '%s'",
				 r->plan->root);
	}
	if (mkdirat(r->fd, ".etc-cordon", 0755) < 0)
		return root_fail(r, errno, "make", "/.etc-cordon");
	tree = mount_clone(r->fd, ".etc-cordon", false);
	n = tree < 0 ? tree : mount_attach(tree, place, "");
	return n < 0 ? root_fail(r, -n, "lay over", "/etc/cordon") : 0;
}

static int place(struct root *r)
{
	if (r->plan->root)
		return place_on_root(r);
	return mkdirat(r->fd, "etc/cordon", 0755) < 0 && errno != EEXIST ? root_fail(r, errno, "make", "/etc/cordon")
									 : 0;
}

int root_certificates(struct root *r)
{
	struct certificates c;
	int status;

	if (r->authority < 0)
		return 0;
	status = certificates_receive(r->authority, &c, r->err);
	if (status == 0)
		status = place(r) < 0 ? -1 : write_all(r, &c);
	certificates_done(&c);
	return status;
}
