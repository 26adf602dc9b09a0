/*
 * Memory for secrets: see vault.h. That it cannot be locked (RLIMIT_MEMLOCK) is no reason to refuse a secret: the process is not dumpable
 * either way, and swapping is the host's. The egress process; no privilege.
 */
#include "egress/vault.h"

#include <string.h>
#include <sys/mman.h>

void *vault_alloc(size_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		return NULL;
	mlock(p, size);
	madvise(p, size, MADV_DONTDUMP);
	madvise(p, size, MADV_WIPEONFORK);
	return p;
}

void vault_free(void *p, size_t size)
{
	if (!p)
		return;
	explicit_bzero(p, size);
	munmap(p, size);
}
