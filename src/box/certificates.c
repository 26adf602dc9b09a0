/*
 * Where TLS is looked into, the box trusts an authority of its own: its certificate comes from the egress process, which has made it for this
 * box alone. The box gets it by itself, and a bundle of it and the host's roots, which also lies over the host's own bundle; and
 * Java's store in the same way, where the host has one.
 * Runs in init, before the payload exists.
 */
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

static const char host_bundle[] = "/etc/ssl/certs/ca-certificates.crt", java_store[] = "/etc/ssl/certs/java/cacerts",
		  java_file[] = "/etc/cordon/cacerts";

struct certificates {
	int pem, java; /* -1: none */
};

/* The files are egress's: their bytes are copied, nothing else of them is used. */
static int receive(struct root *r, struct certificates *ret)
{
	int fds[2] = { -1, -1 };
	size_t n = 0;
	char byte;

	if (fd_recv(r->authority, &byte, 1, fds, 2, &n) != 1 || n < 1)
		return cordon_fail(r->err, CORDON_SYSTEM, 0, "egress did not send the box's certificate");
	ret->pem = fds[0];
	ret->java = n > 1 ? fds[1] : -1;
	return 0;
}

static int load(struct root *r, int fd, size_t max, struct str *ret)
{
	auto_free char *data = NULL;
	ssize_t len = lseek(fd, 0, SEEK_SET) < 0 ? -errno : fd_load(fd, max, &data);

	if (len < 0)
		return root_fail(r, (int)-len, "read", "the box's certificate");
	str_add_bytes(ret, data, (size_t)len);
	return ret->failed ? fail_memory(r->err) : 0;
}

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

static int write_bundle(struct root *r, int fd)
{
	auto_str struct str pem = { 0 };
	auto_free char *host = NULL;
	ssize_t len;

	if (load(r, fd, PEM_MAX, &pem) < 0 || root_write_file(r, PLAN_CA_FILE, pem.data, pem.len, 0644) < 0)
		return -1;
	len = fd_load_at(AT_FDCWD, host_bundle, BUNDLE_MAX, &host);
	if (len > 0)
		str_add_bytes(&pem, host, (size_t)len);
	if (pem.failed)
		return fail_memory(r->err);
	return root_write_file(r, PLAN_CA_BUNDLE, pem.data, pem.len, 0644) < 0 ? -1
									       : cover(r, host_bundle, PLAN_CA_BUNDLE);
}

static int write_java(struct root *r, int fd)
{
	auto_str struct str store = { 0 };

	if (fd < 0)
		return 0;
	if (load(r, fd, BUNDLE_MAX, &store) < 0 || root_write_file(r, java_file, store.data, store.len, 0644) < 0)
		return -1;
	return cover(r, java_store, java_file);
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

int root_certificates(struct root *r)
{
	struct certificates c;
	int status;

	if (r->authority < 0)
		return 0;
	if (receive(r, &c) < 0)
		return -1;
	if (r->plan->root ? place_on_root(r) < 0 : mkdirat(r->fd, "etc/cordon", 0755) < 0 && errno != EEXIST)
		status = r->plan->root ? -1 : root_fail(r, errno, "make", "/etc/cordon");
	else
		status = write_bundle(r, c.pem) < 0 ? -1 : write_java(r, c.java);
	fd_close(&c.pem);
	fd_close(&c.java);
	return status;
}
