/* The programs of libexec: see libexec.h. */
#include "base/libexec.h"

#include "base/str.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Somebody else's file in a shared directory is not the one that was meant. Whoever owns the program that runs is trusted already (in a
 * user namespace that may be nobody, for root). */
static bool is_trusted(const char *path)
{
	struct stat st, self;

	if (stat(path, &st) < 0 || !S_ISREG(st.st_mode) || (st.st_mode & 022) || access(path, X_OK) < 0)
		return false;
	return st.st_uid == 0 || st.st_uid == geteuid() ||
	       (stat("/proc/self/exe", &self) == 0 && st.st_uid == self.st_uid);
}

char *libexec_find(const char *name)
{
	char self[4096] = "", beside[4096 + 32];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	char *slash = n > 0 ? strrchr(self, '/') : NULL, *above;
	const char *const places[] = { self, beside, "/usr/local/libexec/cordon", "/usr/libexec/cordon" };

	/* The kernel's path has no symlinks, so that cutting it is going up. Drivers want a path without "..". */
	if (slash)
		*slash = '\0';
	above = slash ? strrchr(self, '/') : NULL;
	snprintf(beside, sizeof(beside), "%.*s/libexec/cordon", above ? (int)(above - self) : 0, self);
	for (size_t i = slash ? 0 : 2; i < ARRAY_LEN(places); i++) {
		auto_free char *path = str_printf("%s/%s", places[i], name);

		if (!path || is_trusted(path))
			return STEAL(path);
	}
	errno = ENOENT;
	return NULL;
}
