/* Certificates for the box: see certificates.h. */
#include "egress/certificates.h"

#include "base/fd.h"
#include "egress/keystore.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { STORE_MAX = 8 << 20 };

static const char java_store[] = "/etc/ssl/certs/java/cacerts";

static int make_file(const char *name, const void *data, size_t len)
{
	auto_close int fd = memfd_create(name, MFD_CLOEXEC);
	int r = fd < 0 ? -errno : fd_write_all(fd, data, len);

	return r < 0 ? r : STEAL_FD(fd);
}

/* -ENOENT: the host has none, or one of another kind. */
static int make_java(const struct authority *a)
{
	auto_free unsigned char *der = NULL;
	auto_free char *host = NULL;
	auto_str struct str store = { 0 };
	ssize_t len = fd_load_at(AT_FDCWD, java_store, STORE_MAX, &host);
	int der_len, r;

	if (len < 0)
		return -ENOENT;
	der_len = authority_der(a, &der);
	if (der_len < 0)
		return der_len;
	r = keystore_add(host, (size_t)len, "cordon", der, (size_t)der_len, &store);
	if (r < 0)
		return r == -EINVAL ? -ENOENT : r;
	return make_file("cordon-java", store.data, store.len);
}

int certificates_send(const struct authority *a, int fd)
{
	auto_free char *pem = authority_pem(a);
	auto_close int first = pem ? make_file("cordon-authority", pem, strlen(pem)) : -ENOMEM;
	auto_close int java = -1;
	int fds[2];

	if (first < 0)
		return first;
	java = make_java(a);
	if (java < 0 && java != -ENOENT)
		return java;
	fds[0] = first;
	fds[1] = java;
	return fd_send(fd, "", 1, fds, java >= 0 ? 2 : 1);
}
