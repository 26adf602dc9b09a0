/*
 * Where TLS is looked into, the box trusts an authority of its own: its certificate comes from the egress process, which has made it for this
 * box alone. The box gets it by itself, and a bundle of it and the host's roots, which also lies over the host's own bundle.
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

static const char host_bundle[] = "/etc/ssl/certs/ca-certificates.crt";

/* The file is egress's: its bytes are copied, nothing else of it is used. */
static int receive_pem(struct root *r, struct str *ret)
{
	auto_close int fd = -1;
	auto_free char *data = NULL;
	ssize_t len;
	size_t n = 0;
	char byte;

	if (fd_recv(r->authority, &byte, 1, &fd, 1, &n) != 1 || n != 1)
		return cordon_fail(r->err, CORDON_SYSTEM, 0, "egress did not send the box's certificate");
	if (lseek(fd, 0, SEEK_SET) < 0)
		return root_fail(r, errno, "read", "the box's certificate");
	len = fd_load(fd, PEM_MAX, &data);
	if (len < 0)
		return root_fail(r, (int)-len, "read", "the box's certificate");
	str_add_bytes(ret, data, (size_t)len);
	return ret->failed ? fail_memory(r->err) : 0;
}

/* What programs look for by themselves. On a root without such a file there is nothing to lie over. */
static int cover_bundle(struct root *r)
{
	auto_close int place = fd_openat2(r->fd, host_bundle + 1, O_PATH, 0, RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS),
		       tree = -1;
	int n;

	if (place < 0)
		return 0;
	tree = mount_clone(r->fd, PLAN_CA_BUNDLE + 1, false);
	n = tree < 0 ? tree : mount_attach(tree, place, "");
	return n < 0 ? root_fail(r, -n, "lay over", host_bundle) : 0;
}

int root_certificates(struct root *r)
{
	auto_str struct str pem = { 0 };
	auto_free char *host = NULL;
	ssize_t len;

	if (r->authority < 0)
		return 0;
	if (receive_pem(r, &pem) < 0)
		return -1;
	if (mkdirat(r->fd, "etc/cordon", 0755) < 0 && errno != EEXIST)
		return root_fail(r, errno, "make", "/etc/cordon");
	if (root_write_file(r, PLAN_CA_FILE, pem.data, pem.len, 0644) < 0)
		return -1;
	len = fd_load_at(AT_FDCWD, host_bundle, BUNDLE_MAX, &host);
	if (len > 0)
		str_add_bytes(&pem, host, (size_t)len);
	if (pem.failed)
		return fail_memory(r->err);
	if (root_write_file(r, PLAN_CA_BUNDLE, pem.data, pem.len, 0644) < 0)
		return -1;
	return cover_bundle(r);
}
