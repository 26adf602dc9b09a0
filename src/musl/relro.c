/*
 * What the linker means to be read-only once it is relocated (-z relro: tables of functions, of steps, the GOT) is made so before main(). musl leaves that to
 * its dynamic loader, and a static program has none. Only in programs that are built with musl.
 */
#include <elf.h>
#include <link.h>
#include <stdint.h>
#include <sys/auxv.h>
#include <sys/mman.h>

/* NOLINTNEXTLINE(bugprone-reserved-identifier): the linker's name */
extern const ElfW(Ehdr) __ehdr_start __attribute__((visibility("hidden")));

__attribute__((constructor)) static void protect(void)
{
	const uintptr_t base = (uintptr_t)&__ehdr_start, in_page = getauxval(AT_PAGESZ) - 1;
	const ElfW(Phdr) *p = (const void *)(base + __ehdr_start.e_phoff);

	for (unsigned i = 0; i < __ehdr_start.e_phnum; i++) {
		uintptr_t from = (base + p[i].p_vaddr) & ~in_page;
		uintptr_t to = (base + p[i].p_vaddr + p[i].p_memsz) &
			       ~in_page; /* a rest that shares its page stays writable */

		if (p[i].p_type == PT_GNU_RELRO && to > from && mprotect((void *)from, to - from, PROT_READ) < 0)
			__builtin_trap();
	}
}
