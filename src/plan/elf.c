/* What a program needs besides itself: see elf.h. Reads files of the host's root or of files.root; trusts no length in them. */
#include "plan/elf.h"

#include <elf.h>
#include <string.h>
#include <unistd.h>

enum { HEADERS_MAX = 128 };

static enum program_kind elf_loader(int fd, const Elf64_Ehdr *head, char *buf, size_t size)
{
	for (unsigned i = 0; i < head->e_phnum && i < HEADERS_MAX; i++) {
		Elf64_Phdr p;
		ssize_t n;

		if (pread(fd, &p, sizeof(p), (off_t)(head->e_phoff + i * sizeof(p))) != sizeof(p))
			return PROGRAM_OTHER;
		if (p.p_type != PT_INTERP)
			continue;
		if (p.p_filesz == 0 || p.p_filesz >= size)
			return PROGRAM_OTHER;
		n = pread(fd, buf, p.p_filesz, (off_t)p.p_offset);
		if (n != (ssize_t)p.p_filesz)
			return PROGRAM_OTHER;
		buf[n] = '\0';
		return PROGRAM_DYNAMIC;
	}
	return PROGRAM_STATIC;
}

enum program_kind program_needs(int fd, char *buf, size_t size)
{
	union {
		Elf64_Ehdr elf;
		char text[256];
	} head = { 0 };
	ssize_t n = pread(fd, head.text, sizeof(head.text) - 1, 0);

	buf[0] = '\0';
	if (n > 2 && head.text[0] == '#' && head.text[1] == '!') {
		const char *p = head.text + 2 + strspn(head.text + 2, " \t");
		size_t len = strcspn(p, " \t\r\n");

		if (len >= size)
			return PROGRAM_OTHER;
		memcpy(buf, p, len);
		buf[len] = '\0';
		return PROGRAM_SCRIPT;
	}
	if (n < (ssize_t)sizeof(head.elf) || memcmp(head.elf.e_ident, ELFMAG, SELFMAG) != 0 ||
	    head.elf.e_ident[EI_CLASS] != ELFCLASS64 || head.elf.e_phentsize != sizeof(Elf64_Phdr))
		return PROGRAM_OTHER;
	return elf_loader(fd, &head.elf, buf, size);
}
